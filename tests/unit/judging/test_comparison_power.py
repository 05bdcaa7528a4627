# SPDX-License-Identifier: Apache-2.0
"""How much a paired comparison can show: p-values, power and numbers of cases."""

import itertools
from fractions import Fraction

import pytest

from evalsite.judging.comparison_power import (
    MOST_CASES,
    Shares,
    cases_needed,
    discordant_needed,
    exact_p,
    least_visible,
    power_of,
    shares_of,
)


@pytest.mark.parametrize(
    ("down", "up", "p"),
    [
        (0, 5, Fraction(1, 16)),
        (0, 6, Fraction(1, 32)),
        (1, 1, Fraction(1)),
        (1, 8, Fraction(10 * 2, 2**9)),
        (2, 1, Fraction(1)),
    ],
)
def test_exact_p(down, up, p):
    assert exact_p(down, up) == p


def test_without_a_changed_case_there_is_no_p():
    assert exact_p(0, 0) is None


@pytest.mark.parametrize(("against", "needed"), [(0, 6), (1, 9), (2, 12), (3, 15)])
def test_discordant_cases_needed(against, needed):
    assert discordant_needed(against) == needed
    assert exact_p(against, needed - against) <= Fraction(1, 20) < exact_p(against, needed - 1 - against)


def brute_power(cases, shares, alpha=Fraction(1, 20)):
    """Sum the chances of every outcome of every case."""
    chance = {-1: shares.worse, 0: 1 - shares.worse - shares.better, 1: shares.better}
    total = 0.0
    for outcome in itertools.product(chance, repeat=cases):
        down, up = outcome.count(-1), outcome.count(1)
        p = exact_p(down, up)
        if p is not None and p <= alpha and down > up:
            product = 1.0
            for one in outcome:
                product *= chance[one]
            total += product
    return total


@pytest.mark.parametrize(
    "shares", [Shares(worse=0.7, better=0.1), Shares(worse=0.9, better=0.0), Shares(worse=1, better=0)]
)
@pytest.mark.parametrize("cases", [5, 6, 7, 9])
def test_power_is_the_chance_summed_over_every_outcome(cases, shares):
    assert power_of(cases, shares) == pytest.approx(brute_power(cases, shares), abs=1e-9)


def test_power_does_not_ask_which_way_the_difference_points():
    down, up = Shares(worse=0.3, better=0.1), Shares(worse=0.1, better=0.3)
    assert power_of(80, down) == power_of(80, up) > 0.7


@pytest.mark.parametrize("shares", [(0.1, 0.1), (-0.1, 0.2), (0.6, 0.6), (0.0, 0.0)])
def test_shares_without_a_direction_are_a_bug_of_the_caller(shares):
    with pytest.raises(ValueError, match="Shares"):
        power_of(10, Shares(worse=shares[0], better=shares[1]))


@pytest.mark.parametrize(
    ("shares", "cases"),
    [
        (Shares(worse=1, better=0), 6),
        (Shares(worse=0.2, better=0.05), 92),
        (Shares(worse=0.1, better=0.02), 153),
        (Shares(worse=0.011, better=0.01), None),
    ],
)
def test_cases_needed(shares, cases):
    assert cases_needed(shares) == cases
    if cases is not None:
        assert all(power_of(more, shares) >= 0.8 for more in range(cases, cases + 21))
        assert power_of(cases - 1, shares) < 0.8
    else:
        assert power_of(MOST_CASES, shares) < 0.8


@pytest.mark.parametrize(("cases", "share"), [(5, None), (6, Fraction(97, 100)), (8, Fraction(81, 100))])
def test_least_visible_change(cases, share):
    assert least_visible(cases) == share
    if share is not None:
        assert power_of(cases, Shares(worse=float(share), better=0)) >= 0.8
        assert power_of(cases, Shares(worse=float(share) - 0.01, better=0)) < 0.8


def test_shares_of_one_repetition_are_products():
    found = shares_of(0.9, 0.6, 1)
    assert (found.worse, found.better) == (pytest.approx(0.9 * 0.4), pytest.approx(0.1 * 0.6))


def test_shares_of_sure_outcomes():
    assert shares_of(1.0, 0.0, 3) == Shares(worse=1.0, better=0.0)
    assert shares_of(1.0, 0.9, 2).worse == pytest.approx(0.19)


def test_repetitions_let_fewer_cases_show_the_same():
    needed = [cases_needed(shares_of(0.95, 0.85, count)) for count in (1, 2, 3)]
    assert needed == sorted(needed, reverse=True)
    assert len(set(needed)) == 3
