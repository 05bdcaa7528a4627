# SPDX-License-Identifier: Apache-2.0
"""Public JSON vectors: what the strict reader takes, and what the canonical writer makes of it."""

import json

import pytest
import rfc8785

from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import CanonicalizationError, InputError

#: Valid JSON that is refused all the same: doubled keys, which no two readers read alike, and a number
#: of more than 64 characters.
REFUSED = {
    "y_object_duplicated_key.json",
    "y_object_duplicated_key_and_value.json",
    "y_number_double_close_to_zero.json",
}
#: What RFC 8259 leaves open and the reader takes: numbers that Python holds exactly or as zero. The
#: schemas bound every integer and know no floats.
TAKEN = {
    "i_number_double_huge_neg_exp.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
}


@pytest.fixture(scope="session")
def audit(vectors):
    return vectors / "audit"


def accepted(path):
    try:
        parse_json(path.read_bytes(), max_bytes=2_000_000)
    except InputError:
        return False
    return True


def test_the_strict_reader_on_json_test_suite(audit):
    paths = sorted((audit / "JSONTestSuite/test_parsing").glob("*.json"))
    taken = {path.name for path in paths if accepted(path)}
    names = {path.name for path in paths}
    assert len(names) == 318
    assert {name for name in taken if name.startswith("n_")} == set()
    assert {name for name in names - taken if name.startswith("y_")} == REFUSED
    assert {name for name in taken if name.startswith("i_")} == TAKEN


@pytest.mark.parametrize("name", ["arrays", "french", "unicode", "weird"])
def test_canonical_bytes_of_the_published_inputs_without_floats(audit, name):
    folder = audit / "json-canonicalization/testdata"
    value = parse_json((folder / "input" / f"{name}.json").read_bytes(), max_bytes=10_000)
    expected = (folder / "output" / f"{name}.json").read_bytes()
    assert canonical_bytes(value) == expected
    assert bytes.fromhex((folder / "outhex" / f"{name}.txt").read_text().replace("\n", " ")) == expected


@pytest.mark.parametrize("name", ["structures", "values"])
def test_published_inputs_with_floats_are_outside_the_profile(audit, name):
    folder = audit / "json-canonicalization/testdata"
    value = json.loads((folder / "input" / f"{name}.json").read_bytes())
    assert rfc8785.dumps(value) == (folder / "output" / f"{name}.json").read_bytes()
    with pytest.raises(CanonicalizationError, match="float"):
        canonical_bytes(value)
