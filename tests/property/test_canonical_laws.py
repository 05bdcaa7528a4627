# SPDX-License-Identifier: Apache-2.0
"""Laws of strict reading and canonical writing."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.values import integers, texts, values

from evalsite.canonical.jcs import canonical_bytes, is_canonical
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import CanonicalizationError, InputError

MAX_BYTES = 1_000_000
#: Pieces of JSON and of what is nearly JSON; their concatenations reach deep into the reader.
pieces = st.sampled_from(
    [
        *b'{ } [ ] , : " \\ \\u d800 0041 null true NaN Infinity - 0 1e9 .5 "a" "a":1 //'.split(),
        *(b" ", b"\n", b"\xef\xbb\xbf", b"\xff", b"\xed\xa0\x80", b"\xc3\xa9"),
    ]
)
byte_soups = st.binary(max_size=60) | st.lists(pieces, max_size=30).map(b"".join)
#: Values with all that has no canonical bytes mixed in.
wild = values(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters()) | st.binary(max_size=3)
)


@given(byte_soups)
@example(b"[" * 70)
@example(b'{"a":1,"a":1}')
def test_any_bytes_are_a_value_or_an_input_error(data: bytes) -> None:
    with suppress(InputError):
        assert parse_json(data, max_bytes=MAX_BYTES) == json.loads(data)


@given(values())
def test_reading_what_was_written_gives_the_value_back(value: Any) -> None:
    data = canonical_bytes(value)
    assert parse_json(data, max_bytes=MAX_BYTES) == value
    assert canonical_bytes(parse_json(data, max_bytes=MAX_BYTES)) == data


@given(wild)
def test_any_value_has_canonical_bytes_or_none(value: Any) -> None:
    with suppress(CanonicalizationError):
        assert parse_json(canonical_bytes(value), max_bytes=MAX_BYTES) == value


@given(values(), values())
def test_two_values_share_their_bytes_exactly_when_they_are_the_same(left: Any, right: Any) -> None:
    same = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (canonical_bytes(left) == canonical_bytes(right)) == same


@given(st.dictionaries(texts, integers), st.randoms(use_true_random=False))
def test_the_order_of_keys_never_matters_and_is_that_of_utf_16(value: dict[str, int], shuffle: Any) -> None:
    items = list(value.items())
    shuffle.shuffle(items)
    data = canonical_bytes(dict(items))
    assert data == canonical_bytes(value)
    written = list(parse_json(data, max_bytes=MAX_BYTES))
    assert written == sorted(value, key=lambda key: key.encode("utf-16-be"))


@given(values())
def test_a_canonical_value_holds_no_free_blank_and_no_line_end(value: Any) -> None:
    data = canonical_bytes(value)
    assert b"\n" not in data
    assert b"\r" not in data
    assert len(data) <= len(json.dumps(value, separators=(",", ":")).encode())


@given(values(), st.integers(0, 200), st.sampled_from([b" ", b"\n", b"\t"]))
def test_blanks_around_tokens_change_no_value(value: Any, seed: int, blank: bytes) -> None:
    spread = json.dumps(value, ensure_ascii=False, indent=seed % 5 or None).encode()
    assert parse_json(blank * (seed % 7) + spread + blank, max_bytes=MAX_BYTES) == value


@given(values(), st.data())
def test_cutting_the_end_off_an_object_or_list_is_refused(value: Any, data: st.DataObject) -> None:
    whole = canonical_bytes([value])
    kept = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(InputError):
        parse_json(whole[:kept], max_bytes=MAX_BYTES)


@given(values())
def test_canonical_bytes_are_known_as_such_and_no_other_spelling_is(value: Any) -> None:
    data = canonical_bytes(value)
    assert is_canonical(data, value)
    others = (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False), data.decode() + "\r")
    for other in (item.encode("utf-8", "surrogatepass") for item in others):
        if other != data:
            assert not is_canonical(other, value)


@given(byte_soups)
def test_what_counts_as_canonical_is_what_would_be_written(data: bytes) -> None:
    with suppress(InputError):
        value = parse_json(data, max_bytes=MAX_BYTES, lone_surrogates=True)
        if is_canonical(data, value):
            assert canonical_bytes(value) == data
