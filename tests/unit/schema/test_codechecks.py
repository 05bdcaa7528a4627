# SPDX-License-Identifier: Apache-2.0
"""Checks by code: what a case may ask of code, and how long a pattern may take (R47, decision 0017)."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.campaigns import planned_case

from evalsite.errors import InputError
from evalsite.judging.graders import fulfils
from evalsite.schema import bounds
from evalsite.schema.codechecks import NumberCheck, PatternCheck, pattern_work


def pattern(text, **changes):
    value = {"kind": "pattern", "name": "p", "pattern": text, "found": True, "ignore_case": False}
    return PatternCheck.from_value({**value, **changes})


@pytest.mark.parametrize(
    "text",
    ["(a+)+b", "(a|a)*b", "a*a*b", ".*.*", "a+b+", "[a-z]*[0-9]*x", "a{1,300}b{1,300}", "x*?", "a*+", "a{2}{3}"],
)
def test_a_pattern_that_could_take_long_is_refused(text):
    with pytest.raises(InputError):
        pattern(text)


@pytest.mark.parametrize("text", ["(a)", "(?i)a", "a(?=b)", "\\1", "[", "a]b", "{", "*", "a|*", "[z-a]", ""])
def test_what_is_no_pattern_of_ours_is_refused(text):
    with pytest.raises(InputError):
        pattern(text)


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("N-[0-9]{4}", "Order N-1234.", "Order N-12."),
        (r"\b[0-9]{1,3} days?\b", "within 14 days", "within some days"),
        ("refund|money back", "your money back", "a voucher"),
        (r"^yes\.?$", "yes.", "yes, but"),
        (r"a\|b", "a|b", "a"),
        ("[^a-z]x*!", "9xxx!", "axxx"),
        ("Größe .* cm", "Größe in cm: 12 cm", "Grösse 12 cm"),
    ],
)
def test_a_pattern_is_found_or_not(text, yes, no):
    check = pattern(text)
    assert fulfils(check, yes)
    assert not fulfils(check, no)
    assert fulfils(pattern(check.pattern, found=False), no)


_ATOMS = st.sampled_from(["a", "[ab]", r"\w", ".", "b", "$", "^"])
_COUNTS = st.sampled_from(["", "?", "{3}", "{1,6}", "*", "+"])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(_ATOMS, _COUNTS), min_size=1, max_size=5))
def test_law_whatever_is_accepted_is_quick_on_the_longest_answer(pieces):
    text = "".join(atom + ("" if atom in "$^" else count) for atom, count in pieces)
    work = pattern_work(text)
    if work > bounds.MAX_PATTERN_WORK:
        with pytest.raises(InputError):
            pattern(text)
        return
    check = pattern(text)
    began = time.process_time()
    for letter in "abx":
        fulfils(check, letter * bounds.MAX_RESPONSE_CHARS)
    assert time.process_time() - began < 5


def test_a_tolerance_is_not_negative_and_no_float():
    good = {"kind": "number", "name": "n", "expected": "1.50", "tolerance": "0.01"}
    assert NumberCheck.from_value(good).expected == "1.50"
    for changes in ({"tolerance": "-1"}, {"expected": "1e3"}, {"expected": "01"}, {"expected": "NaN"}):
        with pytest.raises(InputError):
            NumberCheck.from_value(good | changes)


def test_a_case_without_checks_keeps_its_bytes():
    """Records of before know no checks: absent is not null."""
    assert b"checks" not in planned_case("A").to_bytes()
