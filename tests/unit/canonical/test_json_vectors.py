# SPDX-License-Identifier: Apache-2.0
"""Public vectors of JSON parsing and of RFC 8785, read in place where they lie beside the project."""

import json
from pathlib import Path
from typing import Any

import pytest

from evalsite.canonical.jcs import MAX_SAFE_INTEGER, canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import CanonicalizationError, InputError

MAX_BYTES = 1_000_000
# What a parser may refuse ("i_") and we accept: numbers that JSON allows, which a schema narrows later.
ACCEPTED_AT_OUR_CHOICE = {
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
}
# What RFC 8259 accepts ("y_") and we refuse: duplicate keys, as RFC 7493 (I-JSON) does, and numbers of more than
# 64 characters, since their size is an attacker's to choose.
REFUSED_AT_OUR_CHOICE = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
    "y_number_double_close_to_zero.json",
}


def _accepts(data: bytes) -> bool:
    try:
        parse_json(data, max_bytes=MAX_BYTES)
    except InputError:
        return False
    return True


def test_parsing_suite(vectors: Path) -> None:
    cases = sorted((vectors / "audit/JSONTestSuite/test_parsing").glob("*.json"))
    assert len(cases) > 300
    accepted = {path.name for path in cases if _accepts(path.read_bytes())}
    must = {path.name for path in cases if path.name.startswith("y_")} - REFUSED_AT_OUR_CHOICE
    assert accepted == must | ACCEPTED_AT_OUR_CHOICE


def test_a_value_that_is_accepted_is_the_standard_one(vectors: Path) -> None:
    compared = 0
    for path in (vectors / "audit/JSONTestSuite").rglob("*.json"):
        data = path.read_bytes()
        if _accepts(data):
            assert parse_json(data, max_bytes=MAX_BYTES) == json.loads(data), path.name
            compared += 1
    assert compared > 90


def _profile(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_profile, value.values()))
    if isinstance(value, list):
        return all(map(_profile, value))
    return not isinstance(value, float) and not (isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER)


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_canonicalization(vectors: Path, name: str) -> None:
    folder = vectors / "audit/json-canonicalization/testdata"
    value = parse_json((folder / f"input/{name}.json").read_bytes(), max_bytes=MAX_BYTES)
    if _profile(value):
        assert canonical_bytes(value) == (folder / f"output/{name}.json").read_bytes()
    else:
        with pytest.raises(CanonicalizationError):
            canonical_bytes(value)
