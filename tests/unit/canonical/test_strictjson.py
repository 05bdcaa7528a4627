# SPDX-License-Identifier: Apache-2.0
"""The strict reader refuses what lenient readers let through, and names the place and the rule."""

import pytest
from support.values import nested

from evalsite.canonical.jcs import MAX_DEPTH, canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError

ACCEPTED = {
    "null": (b"null", None),
    "blanks around": (b" \t\r\n[1 , 2]\n", [1, 2]),
    "minus zero": (b"-0", 0),
    "a float": (b"1.5e3", 1500.0),
    "an integer beyond 2^53": (b"12345678901234567890", 12345678901234567890),
    "an escaped pair of surrogates": (b'"\\ud83d\\ude00"', "\U0001f600"),
    "an escaped NUL": (b'"\\u0000"', "\0"),
    "brackets inside a string": (b'"' + b"[{" * 100 + b'"', "[{" * 100),
    "an escaped quote before brackets": (b'["\\"' + b"[" * 100 + b'"]', ['"' + "[" * 100]),
    "an escaped backslash at the end": (b'{"a\\\\": 1}', {"a\\": 1}),
    "a noncharacter": ("\uffff".join('""').encode(), "\uffff"),
    "a byte order mark inside a string": ('"\ufeff"'.encode(), "\ufeff"),
    "the same key in two objects": (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
}

REFUSED = {
    "nothing": (b"", "line 1, column 1", "RFC 8259"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "byte 0", "RFC 8259 §8.1"),
    "UTF-16": ("{}".encode("utf-16"), "byte 0", "RFC 8259 §8.1"),
    "a broken sequence": (b'"\xc3("', "byte 1", "RFC 8259 §8.1"),
    "an overlong sequence": (b'"\xc0\xaf"', "byte 1", "RFC 8259 §8.1"),
    "an encoded surrogate": (b'"\xed\xa0\x80"', "byte 1", "RFC 8259 §8.1"),
    "a duplicate key": (b'{"a": 1, "a": 1}', "key 'a'", "RFC 7493 §2.3"),
    "a duplicate key, differently escaped": (b'{"a": 1, "\\u0061": 2}', "key 'a'", "RFC 7493 §2.3"),
    "a duplicate key below": (b'[{"b": {"c": 0, "c": 0}}]', "key 'c'", "RFC 7493 §2.3"),
    "NaN": (b"[NaN]", "NaN", "RFC 8259 §6"),
    "Infinity": (b'{"a": Infinity}', "Infinity", "RFC 8259 §6"),
    "-Infinity": (b"-Infinity", "-Infinity", "RFC 8259 §6"),
    "an overflowing float": (b"1e999", "'1e999'", "RFC 7493 §2.2"),
    "a very long integer": (b"1" * 65, None, "RFC 7493 §2.2"),
    "a very long float": (b"0." + b"1" * 64, None, "RFC 7493 §2.2"),
    "a lone surrogate": (b'{"a": ["\\ud800"]}', "a[0]", "RFC 7493 §2.1"),
    "a lone surrogate in a key": (b'{"a": {"\\udfff": 1}}', "a", "RFC 7493 §2.1"),
    "two surrogates the wrong way round": (b'"\\ude00\\ud83d"', "$", "RFC 7493 §2.1"),
    "a comma at the end": (b"[1,]", None, "RFC 8259"),
    "single quotes": (b"{'a': 1}", None, "RFC 8259"),
    "a comment": (b"{} // no", None, "RFC 8259"),
    "a second value": (b"{} {}", None, "RFC 8259"),
    "a code fence": (b"```json\n{}\n```", "line 1, column 1", "RFC 8259"),
    "a raw newline in a string": (b'"a\nb"', None, "RFC 8259"),
    "a leading zero": (b"[01]", None, "RFC 8259"),
    "a plus sign": (b"[+1]", None, "RFC 8259"),
    "a blank that JSON does not know": ("\u00a0{}".encode(), None, "RFC 8259"),
    "65 levels": (b"[" * 65 + b"]" * 65, "character 64", "depth limit"),
    "65 levels, never closed": (b'{"a":' * 65, "character 320", "depth limit"),
    "a hundred thousand levels": (b"[" * 100_000, "character 64", "depth limit"),
}


@pytest.mark.parametrize(("data", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(data: bytes, value: object) -> None:
    read = parse_json(data, max_bytes=1000)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(("data", "at", "rule"), REFUSED.values(), ids=REFUSED)
def test_refuses(data: bytes, at: str | None, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_json(data, max_bytes=1_000_000)
    assert caught.value.rule == rule
    if at is not None:
        assert caught.value.at == at


def test_depth_is_counted_as_the_writer_counts() -> None:
    deepest = nested(MAX_DEPTH)
    assert parse_json(canonical_bytes(deepest), max_bytes=1000) == deepest
    assert parse_json(canonical_bytes(nested(MAX_DEPTH, "x")), max_bytes=1000) == nested(MAX_DEPTH, "x")


def test_a_caller_can_ask_for_less_depth() -> None:
    assert parse_json(b"[[1]]", max_bytes=10, max_depth=2) == [[1]]
    with pytest.raises(InputError, match="expected at most 1 levels"):
        parse_json(b"[[1]]", max_bytes=10, max_depth=1)


def test_size_is_counted_in_bytes() -> None:
    data = '"é"'.encode()
    assert parse_json(data, max_bytes=4) == "é"
    with pytest.raises(InputError) as caught:
        parse_json(data, max_bytes=3)
    assert str(caught.value) == "expected at most 3 bytes of JSON, got 4 [size limit]"


def test_lone_surrogates_pass_only_on_request() -> None:
    assert parse_json(b'"\\ud800"', max_bytes=10, lone_surrogates=True) == "\ud800"


def test_a_long_value_is_cut_in_the_message() -> None:
    key = b"k" * 10_000
    with pytest.raises(InputError) as caught:
        parse_json(b'{"%b": 1, "%b": 2}' % (key, key), max_bytes=100_000)
    assert len(str(caught.value)) < 600
    assert "10002 characters in all" in str(caught.value)
