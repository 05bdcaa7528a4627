# SPDX-License-Identifier: Apache-2.0
"""Public JSON vectors: what the strict reader takes, and what the canonical writer makes of it."""

import json

import pytest
import rfc8785
from support.stranger import take

from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import CanonicalizationError, InputError

#: The six published inputs of RFC 8785. The second two hold numbers with a fraction or an exponent.
WITHOUT_FLOATS = {"arrays", "french", "unicode", "weird"}
WITH_FLOATS = {"structures", "values"}
#: Inputs of which readers make different values. Refused: a doubled key, and what is no Unicode text.
TRANSFORMS_REFUSED = {
    "object_same_key_different_values.json",
    "object_same_key_same_value.json",
    "object_same_key_unclear_values.json",
    "string_1_escaped_invalid_codepoint.json",
    "string_1_invalid_codepoint.json",
    "string_2_escaped_invalid_codepoints.json",
    "string_2_invalid_codepoints.json",
    "string_3_escaped_invalid_codepoints.json",
    "string_3_invalid_codepoints.json",
}
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


def test_the_strict_reader_on_the_inputs_that_others_transform(audit):
    """What it takes it takes as it stands: every integer exactly, and no name is normalised into another."""
    paths = sorted((audit / "JSONTestSuite/test_transform").glob("*.json"))
    assert len(paths) == 22
    assert {path.name for path in paths if not accepted(path)} == TRANSFORMS_REFUSED
    folder = paths[0].parent
    great = parse_json((folder / "number_10000000000000000999.json").read_bytes(), max_bytes=100)
    assert great == [10_000_000_000_000_000_999]
    composed = parse_json((folder / "object_key_nfc_nfd.json").read_bytes(), max_bytes=100)
    assert list(composed) == ["\u00e9", "e\u0301"]


@pytest.fixture(scope="session")
def published(audit):
    """The six inputs and outputs of RFC 8785's author; the output also stands there in hexadecimal."""
    folder = audit / "json-canonicalization/testdata"
    found = {}
    for path in sorted((folder / "input").iterdir()):
        output = (folder / "output" / path.name).read_bytes()
        digits = (folder / "outhex" / f"{path.stem}.txt").read_text(encoding="ascii")
        assert bytes.fromhex(digits.replace("\n", " ")) == output
        found[path.stem] = (path.read_bytes(), output)
    return found


def test_all_six_published_outputs(published):
    """Four through our door; two hold floats, which no signed byte has: the door names the rule, its library agrees."""
    assert set(published) == WITHOUT_FLOATS | WITH_FLOATS
    for name in WITHOUT_FLOATS:
        given, output = published[name]
        assert canonical_bytes(parse_json(given, max_bytes=10_000)) == output
    for name in WITH_FLOATS:
        given, output = published[name]
        with pytest.raises(CanonicalizationError, match="float") as refused:
            canonical_bytes(parse_json(given, max_bytes=10_000))
        assert refused.value.rule == "no floats in signed bytes"
        assert rfc8785.dumps(json.loads(given)) == output


def test_the_independent_verifier_on_the_published_outputs(published):
    """The same split, by a canonicaliser that shares no line with the one behind our door."""
    plain = take("plain_formats")
    for name in WITHOUT_FLOATS:
        given, output = published[name]
        assert plain.canonical(json.loads(given)) == output
    for name in WITH_FLOATS:
        with pytest.raises(ValueError, match="a float"):
            plain.canonical(json.loads(published[name][0]))
