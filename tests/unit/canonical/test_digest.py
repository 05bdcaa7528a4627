# SPDX-License-Identifier: Apache-2.0
"""Digests as text."""

import hashlib

import pytest

from evalsite.canonical.digest import digest_bytes, digest_text, digest_value, hex_of
from evalsite.errors import CanonicalizationError

EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_digest_of_nothing() -> None:
    assert digest_bytes(b"") == EMPTY
    assert digest_text("") == EMPTY


def test_a_value_is_digested_over_its_canonical_bytes() -> None:
    assert digest_value({"b": 1, "a": 2}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    with pytest.raises(CanonicalizationError):
        digest_value(0.5)


def test_text_is_digested_as_utf8() -> None:
    assert digest_text("é😀") == digest_bytes("é😀".encode())


def test_hex_of_a_digest() -> None:
    assert hex_of(EMPTY) == EMPTY[7:]


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        EMPTY[7:],
        EMPTY.upper(),
        EMPTY[:-1],
        EMPTY + "0",
        EMPTY + "\n",
        "sha256:" + "g" * 64,
        "sha256:" + "../" * 21 + "x",
    ],
)
def test_hex_of_anything_else_is_a_bug_of_the_caller(wrong: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the value itself is the message
        hex_of(wrong)
