# SPDX-License-Identifier: Apache-2.0
"""Canonical bytes of the evalsite profile of RFC 8785."""

from collections import OrderedDict
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest
from support.values import nested

from evalsite.canonical.jcs import MAX_DEPTH, MAX_SAFE_INTEGER, canonical_bytes
from evalsite.errors import CanonicalizationError


class _Word(StrEnum):
    A = "a"


class _Number(IntEnum):
    ONE = 1


BYTES: dict[str, tuple[object, bytes]] = {
    "literals": ([None, True, False], b"[null,true,false]"),
    "integers": ([0, -1, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER], b"[0,-1,9007199254740991,-9007199254740991]"),
    "a tuple": ((1, (2,)), b"[1,[2]]"),
    "other mappings": (MappingProxyType({"b": 1, "a": OrderedDict(c=2)}), b'{"a":{"c":2},"b":1}'),
    "enumerations": ({_Word.A: _Number.ONE, "b": _Word.A}, b'{"a":1,"b":"a"}'),
    "short escapes": ('\b\t\n\f\r"\\', b'"\\b\\t\\n\\f\\r\\"\\\\"'),
    "other control characters": ("\x00\x1f\x7f", b'"\\u0000\\u001f\x7f"'),
    "no other escapes": ("/<é\u2028😀", '"/<é\u2028😀"'.encode()),
    "no normalisation": (["é", "e\u0301"], '["é","e\u0301"]'.encode()),
    # U+1F600 is D83D DE00 in UTF-16 and so comes before U+FB33, though its code point is greater (RFC 8785 §3.2.3).
    "keys in the order of UTF-16": ({"\ufb33": 1, "\U0001f600": 2, "a": 3}, '{"a":3,"😀":2,"\ufb33":1}'.encode()),
    "empty": ({"": {}, "a": []}, b'{"":{},"a":[]}'),
}

_loop: list[Any] = []
_loop.append(_loop)

REFUSED: dict[str, tuple[object, str, str]] = {
    "a float": ({"a": [1.0]}, "a[0]", "no floats in signed bytes"),
    "NaN": (float("nan"), "$", "no floats in signed bytes"),
    "2^53": ([0, MAX_SAFE_INTEGER + 1], "[1]", "RFC 7493 §2.2"),
    "-2^53": (-MAX_SAFE_INTEGER - 1, "$", "RFC 7493 §2.2"),
    "a lone surrogate": ({"a": {"b": "x\ud800"}}, "a.b", "RFC 7493 §2.1"),
    "a lone surrogate in a key": ({"a": {"\udc00": 1}}, "a", "RFC 7493 §2.1"),
    "a key that is no text": ({"a": {1: 2}}, "a", "RFC 8785"),
    "bytes": (b"x", "$", "no floats in signed bytes"),
    "a set": ({"a": {1}}, "a", "no floats in signed bytes"),
    "65 levels": (nested(MAX_DEPTH + 1), "[0]" * MAX_DEPTH, "RFC 8785"),
    "a value that holds itself": (_loop, "[0]" * MAX_DEPTH, "RFC 8785"),
}


@pytest.mark.parametrize(("value", "expected"), BYTES.values(), ids=BYTES)
def test_bytes(value: object, expected: bytes) -> None:
    assert canonical_bytes(value) == expected


@pytest.mark.parametrize(("value", "at", "rule"), REFUSED.values(), ids=REFUSED)
def test_refuses(value: object, at: str, rule: str) -> None:
    with pytest.raises(CanonicalizationError) as caught:
        canonical_bytes(value)
    assert (caught.value.at, caught.value.rule) == (at, rule)


def test_the_deepest_value_is_accepted() -> None:
    assert canonical_bytes(nested(MAX_DEPTH, 1)) == b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    assert canonical_bytes(nested(MAX_DEPTH)) == b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
