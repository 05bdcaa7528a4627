# SPDX-License-Identifier: Apache-2.0
"""Bytes to JSON values, without any of the usual leniency.

Refused: invalid UTF-8, a byte order mark, duplicate keys, ``NaN`` and ``Infinity``, numbers that
overflow, lone surrogates, more than `MAX_DEPTH` levels, more bytes than the caller allows. The
standard decoder accepts most of these (and so does pydantic), which is why no model in this
package ever sees raw bytes that did not pass here first.
"""

import json
import math
import re
from typing import Any, NoReturn

from evalsite.canonical.jcs import MAX_DEPTH
from evalsite.errors import InputError, shorten

_MAX_NUMBER_CHARS = 64
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(data: bytes, *, max_bytes: int, max_depth: int = MAX_DEPTH, lone_surrogates: bool = False) -> Any:
    """Return the JSON value in ``data``.

    Args:
        data: UTF-8 without a byte order mark.
        max_bytes: The greatest accepted length.
        max_depth: The greatest accepted nesting of arrays and objects.
        lone_surrogates: Let escaped lone surrogates pass. Only for text that is recorded or shown as it
            came; a contract never accepts them.

    Raises:
        InputError: ``data`` is not strict JSON within these limits.
    """
    if len(data) > max_bytes:
        raise InputError(f"expected at most {max_bytes} bytes of JSON, got {len(data)}", rule="size limit")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InputError(
            f"expected UTF-8, got byte 0x{data[exc.start]:02x}", at=f"byte {exc.start}", rule="RFC 8259 §8.1"
        ) from exc
    if text.startswith("\ufeff"):
        raise InputError("expected JSON without a byte order mark", at="byte 0", rule="RFC 8259 §8.1")
    if text.count("{") + text.count("[") > max_depth:  # fewer brackets than levels: no need to look closer
        _check_depth(text, max_depth)
    try:
        value = _decode(text)
    except json.JSONDecodeError as exc:
        raise InputError(
            f"expected JSON: {exc.msg}", at=f"line {exc.lineno}, column {exc.colno}", rule="RFC 8259"
        ) from exc
    except RecursionError as exc:  # pragma: no cover - the depth check runs first
        raise InputError(f"expected at most {max_depth} levels of JSON", rule="depth limit") from exc
    if not lone_surrogates and ("\\ud" in text or "\\uD" in text):  # decoded UTF-8 holds none but escaped ones
        _refuse_surrogates(value, "")
    return value


def _decode(text: str) -> Any:
    """Decode; one value without space around it, as records hold it, needs no second look."""
    try:
        value, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError:
        return _DECODER.decode(text)
    return value if end == len(text) else _DECODER.decode(text)


def _check_depth(text: str, max_depth: int) -> None:
    depth = 0
    in_string = False
    for token in re.finditer(r'"|\\.|[\[\]{}]', text, re.DOTALL):
        mark = token.group()
        if mark == '"':
            in_string = not in_string
        elif in_string or mark.startswith("\\"):
            continue
        elif mark in "[{":
            depth += 1
            if depth > max_depth:
                raise InputError(
                    f"expected at most {max_depth} levels of JSON, got more",
                    at=f"character {token.start()}",
                    rule="depth limit",
                )
        else:
            depth -= 1


def _refuse_surrogates(value: object, at: str) -> None:
    if isinstance(value, str):
        found = _SURROGATE.search(value)
        if found:
            raise InputError(
                f"expected Unicode text, got the lone surrogate U+{ord(found.group()):04X}",
                at=at or "$",
                rule="RFC 7493 §2.1",
            )
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_surrogates(item, f"{at}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key, at)
            _refuse_surrogates(item, f"{at}.{key}" if at else key)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise InputError(
                    f"expected every key once, got {shorten(key)} twice", at=f"key {shorten(key)}", rule="RFC 7493 §2.3"
                )
            seen.add(key)
    return result


def _integer(text: str) -> int:
    if len(text) > _MAX_NUMBER_CHARS:
        raise InputError(
            f"expected a number of at most {_MAX_NUMBER_CHARS} characters", at=shorten(text, 40), rule="RFC 7493 §2.2"
        )
    return int(text)


def _float(text: str) -> float:
    number = float(text) if len(text) <= _MAX_NUMBER_CHARS else math.inf
    if not math.isfinite(number):
        raise InputError("expected a finite number", at=shorten(text, 40), rule="RFC 7493 §2.2")
    return number


def _constant(text: str) -> NoReturn:
    raise InputError(f"expected JSON, got the constant {text}", at=text, rule="RFC 8259 §6")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_float, parse_constant=_constant, strict=True
)
