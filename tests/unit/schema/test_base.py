# SPDX-License-Identifier: Apache-2.0
"""Strictness, names, times and places that all contracts share."""

from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from evalsite.errors import CanonicalizationError, InputError
from evalsite.schema.base import CaseId, Count, Day, DigestText, Finding, FolderName, StrictModel, UtcTime, place_of


class _Inner(StrictModel):
    number: Count


class _Outer(StrictModel):
    word: Annotated[str, Field(min_length=2)]
    items: tuple[_Inner, ...] = ()
    flag: bool | None = None


GOOD: dict[str, Any] = {"word": "ab", "items": [{"number": 0}], "flag": None}


def test_a_model_survives_its_bytes() -> None:
    outer = _Outer.from_value(GOOD)
    assert outer.plain() == GOOD
    assert outer.to_bytes() == b'{"flag":null,"items":[{"number":0}],"word":"ab"}'
    assert _Outer.parse(outer.to_bytes(), max_bytes=100) == outer


@pytest.mark.parametrize(
    ("change", "at", "kind"),
    [
        ({"word": "a"}, "word", "string_too_short"),
        ({"word": 12}, "word", "string_type"),
        ({"items": [{"number": 0}, {"number": -1}]}, "items[1].number", "greater_than_equal"),
        ({"items": [{"number": True}]}, "items[0].number", "int_type"),
        ({"items": [{"number": "1"}]}, "items[0].number", "int_type"),
        ({"items": [{}]}, "items[0].number", "missing"),
        ({"items": {"0": {"number": 1}}}, "items", "tuple_type"),
        ({"flag": "true"}, "flag", "bool_type"),
        ({"more": 1}, "more", "extra_forbidden"),
    ],
)
def test_the_place_of_a_violation_is_its_path(change: dict[str, Any], at: str, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        _Outer.from_value({**GOOD, **change})
    assert (caught.value.at, caught.value.rule) == (at, f"schema: {kind}")


def test_further_violations_are_counted_and_values_cut() -> None:
    with pytest.raises(InputError) as caught:
        _Outer.from_value({"word": ["x" * 1000], "items": None, "flag": 3})
    assert "(2 more violations)" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_duplicate_keys_never_reach_a_model() -> None:
    with pytest.raises(InputError, match="expected every key once"):
        _Outer.parse(b'{"word": "ab", "word": "cd"}', max_bytes=100)


def test_a_value_without_canonical_bytes_is_no_model() -> None:
    with pytest.raises(CanonicalizationError) as caught:
        _Outer.from_value({**GOOD, "items": [{"number": 1.0}]})
    assert caught.value.at == "items[0].number"


def test_a_model_is_frozen_and_closed_in_the_host_too() -> None:
    outer = _Outer.from_value(GOOD)
    with pytest.raises(ValidationError, match="frozen"):
        outer.word = "cd"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        _Outer(word="ab", more=1)  # type: ignore[call-arg]


NAMES: dict[str, tuple[Any, list[str], list[str]]] = {
    "times": (
        UtcTime,
        ["2026-11-30T23:59:59Z", "2026-01-01T00:00:00.123Z"],
        [
            *("2026-11-30T23:59:59", "2026-11-30 23:59:59Z", "2026-11-30T24:00:00Z", "2026-13-01T00:00:00Z"),
            *("2026-11-30T23:59:60Z", "2026-11-30T23:59:59.1Z", "2026-11-30T23:59:59+00:00", "2026-11-30T23:59:59Z\n"),
            "٢٠٢٦-11-30T23:59:59Z",
        ],
    ),
    "days": (Day, ["2026-11-30"], ["2026-11-30\n", "2026-00-01", "2026-1-1", "26-11-30"]),
    "digests": (
        DigestText,
        ["sha256:" + "0a" * 32],
        ["sha256:" + "0A" * 32, "0a" * 32, "sha256:" + "0" * 63, "sha256:" + "0" * 65, "sha256:" + "0" * 64 + "\n"],
    ),
    "folders": (
        FolderName,
        ["a", "support-behaviors-v1", "v1.2_3", "a" * 64],
        ["", "A", ".", "..", ".a", "-a", "_a", "a/b", "a\\b", "a b", "é", "a" * 65, "a\n", "a\0"],
    ),
    "ids": (CaseId, ["NO-EVIDENCE", "a.b_c"], ["", ".", "-A", "a/b", "a b", "é", "A\n", "A" * 65]),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, good, _ in NAMES.values() for text in good])
def test_names_are_accepted(kind: Any, text: str) -> None:
    assert TypeAdapter(kind).validate_python(text) == text


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, _, bad in NAMES.values() for text in bad])
def test_names_of_another_form_are_refused(kind: Any, text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(text)


@pytest.mark.parametrize(
    ("location", "place"),
    [((), ""), (("a",), "a"), (("a", 0, "b"), "a[0].b"), ((0,), "[0]"), (("a", "b", 1, 2), "a.b[1][2]")],
)
def test_place_of_a_location(location: tuple[int | str, ...], place: str) -> None:
    assert place_of(location) == place


def test_a_finding_has_no_rule_unless_given() -> None:
    assert Finding.from_value({"code": "X", "severity": "error", "at": "", "message": "m"}).rule == ""
