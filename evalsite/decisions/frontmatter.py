# SPDX-License-Identifier: Apache-2.0
"""Front matter of decision records in its wild forms, every value kept as text.

Public records hold dates, numbers such as ``0010``, placeholders in braces and remarks that strict
YAML refuses or turns into something else. So each top-level key is read from its own lines, as
text; nothing is expanded or guessed. The ``evalsite:`` block is the exception: it is data, and is
read by the strict reader alone.
"""

import re
from dataclasses import dataclass

from evalsite.decisions.qualification import QualificationBlock
from evalsite.errors import InputError
from evalsite.schema import bounds
from evalsite.schema.base import Finding, Severity
from evalsite.yamltext import parse_yaml

BLOCK_KEY = "evalsite"

_KEY = re.compile(r"^(?P<key>[^\s#:'\"][^:\uff1a]{0,60}?)[ \u00a0\u202f]?[:\uff1a](?:[ \t]+(?P<value>.*)|)$")
_COMMENT = re.compile(r"(^|\s)#.*$")
_BLOCK = re.compile(r"^[|>][-+0-9]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One top-level key: its items as text, its file line, and whether it was written in braces."""

    key: str
    items: tuple[str, ...]
    line: int
    braced: bool

    @property
    def text(self) -> str:
        """Return the items joined by commas."""
        return ", ".join(self.items)


def read_fields(lines: tuple[str, ...], *, first_line: int) -> tuple[list[Field], list[int]]:
    """Return the top-level keys in file order, and the file lines that could not be read."""
    fields: list[Field] = []
    odd: list[int] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if not line.strip() or line.lstrip().startswith("#"):
            index += 1
            continue
        match = _KEY.match(line)
        if not match:
            odd.append(first_line + index)
            index += 1
            continue
        end = index + 1
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t-"):
            end += 1
        items, braced = _items(match["value"] or "", lines[index + 1 : end])
        key = " ".join(match["key"].split())
        fields.append(Field(key=key, items=items, line=first_line + index, braced=braced))
        index = end
    return fields, odd


def _items(value: str, below: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return the items of a value, and whether it stood in braces (a placeholder left in)."""
    value = _uncommented(value)
    if _BLOCK.match(value):
        text = " ".join(line.strip() for line in below if line.strip())
        return ((text,) if text else ()), False
    if not value:
        dashed = [_scalar(line.strip()[1:]) for line in below if re.match(r"\s*-(\s|$)", line)]
        text = " ".join(_uncommented(line.strip()) for line in below if line.strip())
        return tuple(item for item in dashed if item) or ((_scalar(text),) if text and not dashed else ()), False
    whole = " ".join([value, *(_uncommented(line.strip()) for line in below)]).strip()
    if whole.startswith(("[", "{")) and whole.endswith(("]", "}")):
        items = tuple(_scalar(part) for part in split_list(whole[1:-1]))
        return tuple(item for item in items if item), whole.startswith("{") and bool(whole[1:-1].strip())
    scalar = _scalar(whole)
    return ((scalar,) if scalar else ()), False


def split_list(text: str) -> list[str]:
    """Split at commas that stand outside parentheses, brackets and double quotes."""
    parts: list[str] = []
    depth, quoted, start = 0, False, 0
    for index, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth = max(0, depth - 1)
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _scalar(text: str) -> str:
    text = _uncommented(text.strip())
    quote = text[:1]
    if len(text) > 1 and quote in "\"'" and text.endswith(quote):
        inner = text[1:-1]
        return inner.replace("''", "'") if quote == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    return "" if text.casefold() in ("null", "~") else text


def _uncommented(text: str) -> str:
    """Return a value without its YAML comment; a quoted value is cut after its closing quote."""
    quote = text[:1]
    if quote and quote in "\"'":
        end = text.find(quote, 1)
        if end > 0 and _COMMENT.match(text[end + 1 :]):
            return text[: end + 1]
        return text.strip()
    return _COMMENT.sub("", text).strip()


def read_block(
    lines: tuple[str, ...], *, first_line: int, name: str
) -> tuple[QualificationBlock | None, list[Finding]]:
    """Return the ``evalsite:`` block of a front matter, or a finding that says what is wrong with it."""
    starts = [index for index, line in enumerate(lines) if re.match(rf"{BLOCK_KEY}\s*:", line)]
    if not starts:
        return None, []
    start = starts[0]
    end = next((i for i in range(start + 1, len(lines)) if lines[i].strip() and lines[i][0] not in " \t#"), len(lines))
    # Empty lines in front keep the line numbers of the file.
    data = ("\n" * (first_line - 1 + start) + "\n".join(lines[start:end])).encode()
    try:
        return _parse_block(data, name=name, second=first_line + starts[1] if len(starts) > 1 else None), []
    except InputError as exc:
        message = f"the evalsite block: {exc.message}"
        finding = Finding(
            code="qualification-block", severity=Severity.ERROR, at=exc.at, message=message, rule=exc.rule
        )
        return None, [finding]


def _parse_block(data: bytes, *, name: str, second: int | None) -> QualificationBlock:
    if second is not None:
        message = "expected one evalsite block, got a second one"
        raise InputError(message, at=f"{name}:{second}", rule="no duplicate keys")
    document = parse_yaml(data, name=name, max_bytes=bounds.MAX_YAML_BYTES)
    try:
        return QualificationBlock.from_value(document.value[BLOCK_KEY])
    except InputError as exc:
        raise document.located(exc.under(BLOCK_KEY)) from exc
