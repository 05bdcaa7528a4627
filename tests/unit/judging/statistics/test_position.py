# SPDX-License-Identifier: Apache-2.0
"""Both orders of a pair: what they say together, and what is never a tie."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics.position import Choice, PairOutcome, count_positions, pair_outcome
from evalsite.judging.statistics.undefined import Undefined

A, B, TIE = Choice.A, Choice.B, Choice.TIE


@pytest.mark.parametrize(
    ("a_first", "b_first", "outcome"),
    [
        (A, A, PairOutcome.A),
        (B, B, PairOutcome.B),
        (TIE, TIE, PairOutcome.TIE),
        (A, B, PairOutcome.TO_FIRST),
        (B, A, PairOutcome.TO_SECOND),
        (A, TIE, PairOutcome.HALF_TIE),
        (TIE, B, PairOutcome.HALF_TIE),
        (None, A, PairOutcome.UNAVAILABLE),
        (TIE, None, PairOutcome.UNAVAILABLE),
        (None, None, PairOutcome.UNAVAILABLE),
    ],
)
def test_what_two_orders_say_together(a_first, b_first, outcome):
    assert pair_outcome(a_first, b_first) is outcome


def test_an_answer_wins_only_in_both_orders_and_an_error_is_no_tie():
    found = count_positions([(A, A), (A, A), (B, B), (TIE, TIE), (A, B), (A, B), (B, A), (A, TIE), (A, None)])
    assert (found.pairs, found.unavailable, found.decided) == (9, 1, 8)
    assert (found.wins_a, found.wins_b, found.ties, found.consistent) == (2, 1, 1, 4)
    assert (found.flips_to_first, found.flips_to_second, found.half_ties) == (2, 1, 1)
    assert found.bias_p == 1


def test_48_flips_to_one_place_are_no_accident():
    found = count_positions([(A, B)] * 48 + [(A, A)] * 52)
    assert found.bias_p == Fraction(1, 2**47)


def test_without_a_flip_there_is_no_test():
    assert count_positions([]).bias_p == count_positions([(A, A), (TIE, A)]).bias_p == Undefined("no pair flipped")
