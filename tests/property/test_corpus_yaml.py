# SPDX-License-Identifier: Apache-2.0
"""YAML: any bytes give a value or an `InputError`, and what JSON can say comes through unchanged."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError
from evalsite.yamltext import YamlDocument, parse_yaml

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
PIECES = st.sampled_from(
    [
        *"{}[]:-?|>&*!%@`#,'\"\n\t ~",
        "!!",
        "<<",
        ": ",
        "- ",
        "null",
        "true",
        "1.5",
        "0x1",
        "2026-11-30",
        "---",
        "...",
        "%YAML",
        "&a",
    ]
)


def parse(data) -> YamlDocument | None:
    """Return the document, or null for a refusal that has a place and a rule."""
    refused = None
    try:
        return parse_yaml(data, name="f.yaml", max_bytes=5_000)
    except InputError as error:
        refused = error
    assert refused.at.startswith("f.yaml")
    assert refused.rule
    return None


@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"a: \x80")
def test_law_any_bytes_give_a_value_or_an_input_error(data):
    parse(data)


@given(st.lists(PIECES | TEXT, max_size=20).map("".join))
def test_law_any_yaml_like_text_gives_a_plain_value_or_an_input_error(text):
    document = parse(text.encode("utf-8"))
    if document is not None:
        canonical_bytes(document.value)  # holds nothing but what JSON can say


@given(JSON)
def test_law_json_in_ascii_comes_through_unchanged(value):
    """JSON is YAML 1.2: editors that write JSON lose nothing."""
    document = parse(json.dumps(value).encode("ascii"))
    assert document is not None
    assert document.value == value
    assert type(document.value) is type(value)


@given(JSON)
def test_law_every_leaf_has_a_line_inside_the_file(value):
    text = json.dumps({"top": value}, indent=1)
    document = parse(text.encode("ascii"))
    assert document is not None
    line = int(document.place("top").rpartition(":")[2])
    assert line == 2
