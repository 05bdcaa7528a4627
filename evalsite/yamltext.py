# SPDX-License-Identifier: Apache-2.0
"""YAML text to plain JSON values, with the line of every field, and back: the one door to ruamel.yaml.

What is read is the JSON part of YAML 1.2 (core schema): mappings with text keys, lists, text,
integers, booleans and null. Everything else that YAML can say is refused with its line, since it
either surprises its author or hides from a reader what the file holds: anchors and aliases (a few
lines can expand to gigabytes), merge keys, tags, floats, timestamps, octal-looking numbers,
duplicate keys, several documents, directives, byte order marks and encodings other than UTF-8.

The value is built from parser events, one by one, so that a limit stops the reading before
anything has been expanded. What is kept of the file is its value and its lines. `write_yaml` writes a value for
people to read and fill in; reading it gives the same value.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from evalsite.errors import InputError, shorten

MAX_DEPTH = 32  # levels of lists and mappings; a corpus needs 5
MAX_SAFE_INTEGER = 2**53 - 1  # RFC 7493 §2.2

# Plain scalars of the YAML 1.2 core schema (§10.3.2).
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_ODD_INTEGER = re.compile(r"[-+]?0[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# A timestamp of YAML 1.1: other readers turn it into a date object, so its author must quote it.
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
#: What YAML does not let stand in quotes (§5.1), or reads as a line break.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")
_PART = re.compile(r"\[([0-9]+)\]|\.?([^.\[]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlDocument:
    """One parsed YAML file: its plain JSON value and where each field stands.

    Args:
        name: The file's name as errors shall show it, for instance ``corpora/x/corpus.yaml``.
        value: Lists, dicts, text, integers, booleans and null.
    """

    name: str
    value: Any
    _lines: Mapping[tuple[str | int, ...], int] = field(repr=False)

    def place(self, field_path: str) -> str:
        """Return ``file:line`` of a field such as ``cases[3].input.message``.

        A field that is absent gets the line of its nearest existing parent. A part of the path
        that only names the chosen member of a tagged union (``endpoint.ollama.host``) is skipped.
        """
        return f"{self.name}:{self._lines.get(self._resolve(field_path), 1)}"

    def located(self, error: InputError) -> InputError:
        """Return ``error`` with its field path completed by the line: ``file:line cases[3].id``."""
        at = f"{self.place(error.at)} {error.at}".rstrip()
        return InputError(error.message, at=at, rule=error.rule, advice=error.advice)

    def _resolve(self, field_path: str) -> tuple[str | int, ...]:
        found: tuple[str | int, ...] = ()
        value = self.value
        for part in _parts(field_path):
            if isinstance(value, dict) and isinstance(part, str):
                if part in value:
                    found, value = (*found, part), value[part]
                elif part not in value.values():
                    break
            elif isinstance(value, list) and isinstance(part, int) and part < len(value):
                found, value = (*found, part), value[part]
            else:
                break
        return found


def parse_yaml(data: bytes, *, name: str, max_bytes: int) -> YamlDocument:
    """Return the one document in ``data``.

    Args:
        data: UTF-8 without a byte order mark.
        name: The file's name as errors shall show it; never a machine's path.
        max_bytes: The greatest accepted length.

    Raises:
        InputError: ``data`` is not YAML of this profile; the place is ``name:line``.
    """
    text = _decode(data, name, max_bytes)
    builder = _Builder(name)
    yaml = YAML(typ="safe", pure=True)
    try:
        for event in yaml.parse(text):
            builder.take(event)
    except MarkedYAMLError as exc:
        line = exc.problem_mark.line + 1 if exc.problem_mark else 1
        advice = "put text that holds ': ' or ' #' in quotes or in a block (>-)"
        raise InputError(f"expected YAML: {exc.problem}", at=f"{name}:{line}", rule="YAML 1.2", advice=advice) from exc
    except ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        message = f"expected printable text, got the character U+{_code_point(exc.character):04X}"
        raise InputError(message, at=f"{name}:{line}", rule="YAML 1.2 §5.1") from exc
    except (YAMLError, ValueError, IndexError, OverflowError) as exc:
        # The scanner raises plain Python errors for a few malformed escapes and directives.
        raise InputError("expected YAML, got a malformed file", at=f"{name}:1", rule="YAML 1.2") from exc
    return YamlDocument(name=name, value=builder.value, _lines=builder.lines)


def write_yaml(value: Mapping[str, Any]) -> bytes:
    """Return a mapping as YAML in block style: text in quotes, or as a literal block if it has several lines.

    Args:
        value: Text keys that need no quotes; lists, mappings, text, integers, booleans and null. No list
            stands directly in a list.
    """
    return "".join(f"{line}\n" for line in _mapping_lines(value, 0)).encode("utf-8")


def _mapping_lines(value: Mapping[str, Any], level: int) -> Iterator[str]:
    pad = "  " * level
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield f"{pad}{key}:"
            yield from _mapping_lines(item, level + 1)
        elif isinstance(item, list) and item:
            yield f"{pad}{key}:"
            for entry in item:
                yield from _entry_lines(entry, level + 1)
        else:
            yield from _text_lines(f"{pad}{key}: ", item, level + 1)


def _entry_lines(entry: object, level: int) -> Iterator[str]:
    """Yield the lines of one entry of a list; a mapping begins on the line of its hyphen."""
    pad = "  " * level
    if isinstance(entry, Mapping) and entry:
        first, *rest = _mapping_lines(entry, level + 1)
        yield f"{pad}- {first.lstrip(' ')}"
        yield from rest
    else:
        yield from _text_lines(f"{pad}- ", entry, level + 1)


def _text_lines(head: str, value: object, level: int) -> Iterator[str]:
    if isinstance(value, str) and _literal(value):
        yield f"{head}|{'' if value.endswith(chr(10)) else '-'}"
        pad = "  " * level
        yield from (f"{pad}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    else:
        text = json.dumps(value, ensure_ascii=False)
        yield head + _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _literal(text: str) -> bool:
    """Return whether a text of several lines can stand as it is, its ends told by the block's header."""
    lines = text.split("\n")
    bare = not text.startswith(("\n", " ")) and not text.endswith("\n\n")
    return len(lines) > 1 and bare and all(line.isprintable() for line in lines)


def _decode(data: bytes, name: str, max_bytes: int) -> str:
    if len(data) > max_bytes:
        raise InputError(f"expected at most {max_bytes} bytes of YAML, got {len(data)}", at=name, rule="size limit")
    if data.startswith((b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")):
        raise InputError(
            "expected UTF-8 without a byte order mark, got one",
            at=f"{name}:1",
            rule="UTF-8 only",
            advice="save the file as UTF-8 without BOM",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        message = f"expected UTF-8, got byte 0x{data[exc.start]:02x}"
        raise InputError(message, at=f"{name}:{line}", rule="UTF-8 only", advice="save the file as UTF-8") from exc
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(
            "expected UTF-8 text, got a NUL character",
            at=f"{name}:{line}",
            rule="UTF-8 only",
            advice="a file in UTF-16 looks like this: save it as UTF-8",
        )
    return text


def _code_point(character: object) -> int:
    return character if isinstance(character, int) else ord(str(character)[:1] or "\0")


def _parts(field_path: str) -> Iterator[str | int]:
    for found in _PART.finditer(field_path):
        yield int(found.group(1)) if found.group(1) is not None else found.group(2)


_NO_KEY = object()


class _Level:
    """An open list or mapping, with the key that waits for its value."""

    __slots__ = ("container", "key", "path")

    def __init__(self, container: list[Any] | dict[str, Any], path: tuple[str | int, ...]) -> None:
        self.container = container
        self.path = path
        self.key: Any = _NO_KEY


class _Builder:
    """Builds the value from parser events and refuses what the profile leaves out."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._levels: list[_Level] = []
        self._documents = 0

    def take(self, event: Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._start_document(event)
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            self._levels.pop()
        elif isinstance(event, NodeEvent):
            self._refuse_references(event)
            if isinstance(event, ScalarEvent):
                self._take_scalar(event)
            elif isinstance(event, MappingStartEvent):
                self._open({}, event)
            elif isinstance(event, SequenceStartEvent):
                self._open([], event)

    def _start_document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self._refuse(event, "expected one document, got a second one", "one document per file")
        if event.version is not None or event.tags:
            self._refuse(event, "expected no %YAML or %TAG directive, got one", "YAML 1.2 without directives")

    def _refuse_references(self, event: NodeEvent) -> None:
        if isinstance(event, AliasEvent):
            self._refuse(event, f"expected plain values, got the alias *{event.anchor}", "no anchors, no aliases")
        if event.anchor is not None:
            self._refuse(event, f"expected plain values, got the anchor &{event.anchor}", "no anchors, no aliases")
        if tag := str(getattr(event, "ctag", None) or ""):
            self._refuse(event, f"expected a value without a tag, got {shorten(tag, 60)}", "no tags")

    def _open(self, container: list[Any] | dict[str, Any], event: Event) -> None:
        if len(self._levels) >= MAX_DEPTH:
            self._refuse(event, f"expected at most {MAX_DEPTH} levels, got more", "depth limit")
        if self._awaits_key():
            self._refuse(event, "expected a text key, got a list or mapping", "text keys only")
        path = self._add(container, event)
        self._levels.append(_Level(container, path))

    def _take_scalar(self, event: ScalarEvent) -> None:
        plain = not event.style
        if self._awaits_key():
            self._take_key(event, plain=plain)
        else:
            text = self._checked_text(event)
            self._add(self._plain_value(event, text) if plain else text, event)

    def _take_key(self, event: ScalarEvent, *, plain: bool) -> None:
        key, level = self._checked_text(event), self._levels[-1]
        if plain and key == "<<":
            self._refuse(event, "expected plain keys, got the merge key <<", "no merge keys")
        if plain and not isinstance(self._plain_value(event, key), str):
            self._refuse(event, f"expected a text key, got {shorten(key, 60)}", "text keys only", quote=True)
        if key in level.container:
            self._refuse(event, f"expected every key once, got {shorten(key, 60)} twice", "no duplicate keys")
        level.key = key
        self.lines[*level.path, key] = event.start_mark.line + 1

    def _add(self, value: object, event: Event) -> tuple[str | int, ...]:
        if not self._levels:
            self.value = value
            self.lines[()] = event.start_mark.line + 1
            return ()
        level = self._levels[-1]
        if isinstance(level.container, list):
            level.container.append(value)
            path = (*level.path, len(level.container) - 1)
            self.lines[path] = event.start_mark.line + 1
            return path
        path = (*level.path, level.key)
        level.container[level.key] = value
        level.key = _NO_KEY
        return path

    def _awaits_key(self) -> bool:
        return bool(self._levels) and isinstance(self._levels[-1].container, dict) and self._levels[-1].key is _NO_KEY

    def _checked_text(self, event: ScalarEvent) -> str:
        text = str(event.value)
        if _SURROGATE.search(text):
            # JSON escapes a character beyond the basic plane as two halves (RFC 8259 §7); YAML reads them singly.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if found := _SURROGATE.search(text):
            self._refuse(event, f"expected Unicode text, got the lone surrogate U+{ord(found.group()):04X}", "RFC 7493")
        return text

    def _plain_value(self, event: ScalarEvent, text: str) -> str | int | bool | None:
        if _NULL.fullmatch(text):
            return None
        if _TRUE.fullmatch(text):
            return True
        if _FALSE.fullmatch(text):
            return False
        if _INTEGER.fullmatch(text):
            return self._integer(event, text)
        if _ODD_INTEGER.fullmatch(text):
            self._refuse(event, f"expected a decimal integer, got {shorten(text, 60)}", "decimal integers", quote=True)
        if _FLOAT.fullmatch(text):
            self._refuse(event, f"expected no float, got {shorten(text, 60)}", "no floats in signed bytes", quote=True)
        if _TIMESTAMP.fullmatch(text):
            self._refuse(event, f"expected quoted text, got the timestamp {shorten(text, 60)}", "no dates", quote=True)
        return text

    def _integer(self, event: ScalarEvent, text: str) -> int:
        if len(text) > len(str(MAX_SAFE_INTEGER)) + 1 or abs(int(text)) > MAX_SAFE_INTEGER:
            message = f"expected an integer within 2^53 - 1, got {shorten(text, 60)}"
            self._refuse(event, message, "RFC 7493 §2.2", quote=True)
        return int(text)

    def _refuse(self, event: Event, message: str, rule: str, *, quote: bool = False) -> NoReturn:
        advice = "put it in quotes if text is meant" if quote else ""
        raise InputError(message, at=f"{self.name}:{event.start_mark.line + 1}", rule=rule, advice=advice)
