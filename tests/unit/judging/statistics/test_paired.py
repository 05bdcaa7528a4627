# SPDX-License-Identifier: Apache-2.0
"""Pairs and repetitions: exact values that people know, and where there is none."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics import paired
from evalsite.judging.statistics.undefined import Undefined


def test_without_a_difference_there_is_nothing_to_test():
    for found in (
        paired.mcnemar(0, 0),
        paired.mcnemar_chi_squared(0, 0, corrected=True),
        paired.mcnemar_chi_squared(0, 0, corrected=False),
    ):
        assert found == Undefined("no pair differs")


@pytest.mark.parametrize(("one_way", "p"), [(1, 1), (4, Fraction(1, 8)), (5, Fraction(1, 16)), (6, Fraction(1, 32))])
def test_six_pairs_that_all_differ_one_way_are_the_first_below_five_percent(one_way, p):
    assert paired.mcnemar(one_way, 0) == paired.mcnemar(0, one_way) == p


def test_an_even_split_has_a_probability_of_one():
    assert paired.mcnemar(4, 4) == 1


def test_the_continuity_correction_never_turns_the_difference_round():
    assert paired.mcnemar_chi_squared(5, 5, corrected=True) == (0, 1.0)
    assert paired.mcnemar_chi_squared(6, 5, corrected=True)[0] == 0
    assert paired.mcnemar_chi_squared(6, 5, corrected=False)[0] == Fraction(1, 11)
    assert paired.mcnemar_chi_squared(9, 5, corrected=True)[0] == Fraction(9, 14)


@pytest.mark.parametrize("rows", [[], [[1], [0]], [[1, 1, 1], [0, 0, 0]]])
def test_cochran_needs_cases_that_differ_between_two_configurations(rows):
    found = paired.cochran_q(rows)
    assert isinstance(found, Undefined)
    assert found.reason


def test_cochran_of_two_configurations_is_mcnemar_without_correction():
    rows = [[1, 0]] * 9 + [[0, 1]] * 5 + [[1, 1]] * 3
    q, p = paired.cochran_q(rows)
    assert q == Fraction(16, 14)
    assert (q, p) == paired.mcnemar_chi_squared(9, 5, corrected=False)


def test_repetitions_of_a_case():
    assert paired.pass_hat_k(4, 2, 1) == paired.pass_at_k(4, 2, 1) == Fraction(1, 2)
    assert paired.pass_hat_k(4, 2, 2) == Fraction(1, 6)
    assert paired.pass_at_k(4, 2, 2) == Fraction(5, 6)
    assert paired.pass_hat_k(4, 2, 3) == 0
    assert paired.pass_at_k(4, 2, 3) == 1
    assert paired.pass_hat_k(3, 3, 3) == paired.pass_at_k(3, 3, 3) == 1


@pytest.mark.parametrize("function", [paired.pass_hat_k, paired.pass_at_k])
def test_fewer_trials_than_asked_for_say_nothing(function):
    assert function(2, 2, 3) == Undefined("fewer than 3 trials")
    assert function(0, 0, 1) == Undefined("fewer than 1 trials")


def test_a_mean_leaves_no_case_out():
    assert paired.mean_over([Fraction(1), Fraction(0), Fraction(1, 2)]) == Fraction(1, 2)
    assert paired.mean_over([]) == Undefined("no case")
    found = paired.mean_over([Fraction(1), Undefined("fewer than 3 trials"), Fraction(1)])
    assert found == Undefined("1 of 3 cases have no value")
