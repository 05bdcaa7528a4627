# SPDX-License-Identifier: Apache-2.0
"""Published figures: worked examples of others, and null with a reason where something is undefined."""

from fractions import Fraction

import pytest

from evalsite.judging import calibrating_figures as figures
from evalsite.judging.statistics.position import Choice


def pairs(*table):
    """Return pairs of a square table, row for one rater and column for the other."""
    return [(row, column) for row, cells in enumerate(table) for column, n in enumerate(cells) for _ in range(n)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (((20, 5), (10, 15)), 0.4),
        (((45, 15), (25, 15)), 0.1304),
        (((25, 35), (5, 35)), 0.2593),
        (((40, 9), (6, 45)), 0.70),
        (((80, 10), (5, 5)), 0.32),
    ],
)
def test_kappa_of_published_tables(table, expected):
    found = figures.kappa(pairs(*table), 2)
    assert float(found.value) == pytest.approx(expected, abs=0.005)
    assert float(found.low) < float(found.value) < float(found.high)
    assert (found.replicates, len(found.seed)) == (2000, 16)
    assert figures.kappa(pairs(*table), 2) == found, "the draws follow from the data"


def test_agreement_beyond_chance_is_undefined_for_one_class():
    for found in (figures.kappa(pairs((8, 0), (0, 0)), 2), figures.ac1(pairs((8, 0), (0, 0)), 2)):
        assert found.value is None
        assert "one and the same" in found.reason
    assert figures.kappa([], 2).value is figures.ac1([], 2).value is None


def test_a_constant_judge_agrees_by_chance_alone():
    found = figures.kappa(pairs((0, 25), (0, 29)), 2, interval=False)
    assert (found.value, found.low, found.seed) == ("0.000000", None, None)


def test_an_interval_is_left_out_where_too_many_draws_are_undefined():
    found = figures.kappa(pairs((1, 0), (0, 1)), 2)
    assert (found.value, found.low) == ("1.000000", None)


def test_perfect_agreement_has_no_interval_however_few_the_labels():
    found = figures.kappa(pairs((40, 0), (0, 40)), 2)
    assert (found.value, found.low, found.high) == ("1.000000", None, None)
    assert "every resample gives the same" in found.method


def test_ac1_of_the_paradox_stays_high():
    assert float(figures.ac1(pairs((80, 10), (5, 5)), 2).value) == pytest.approx(0.81, abs=0.01)


def test_rates_are_null_over_nothing():
    assert figures.rate(0, 0, "why").reason == "why"
    assert figures.bound(0, 0, Fraction(1, 20)).value is None
    assert figures.bound(0, 29, Fraction(1, 20)).high == "0.098145"
    assert figures.bound(0, 29, Fraction(1, 40)).method == "Clopper-Pearson, one-sided, 97.5 %"


def test_alpha_of_annotators():
    assert figures.alpha(None, 1).reason.startswith("one annotator")
    assert "undefined" in figures.alpha(None, 2).reason
    assert "human-b not revealed" in figures.alpha(None, 2, hidden=("human-b",)).reason
    assert figures.alpha(Fraction(113, 152), 4).value == "0.743421"
    units = [[1, 1]] * 40 + [[0, 0]] * 30 + [[0, 1]] * 6
    found = figures.alpha(Fraction(4, 5), 2, units)
    assert float(found.low) < 0.8 < float(found.high)
    assert (found.replicates, found) == (500, figures.alpha(Fraction(4, 5), 2, units))
    assert figures.alpha(Fraction(1), 2, units[:70]).low is None


def test_pass_power_is_null_with_fewer_trials():
    tried = [(4, 4), (2, 4), (0, 4)]
    assert figures.all_pass(tried, 1).value == "0.500000"
    assert figures.all_pass(tried, 2).value == f"{(1 + 1 / 6) / 3:.6f}"
    assert figures.any_pass(tried, 2).value == f"{(1 + 5 / 6) / 3:.6f}"
    assert figures.all_pass([(1, 1), (2, 2)], 2).reason == "1 of 2 cases have no value"
    assert figures.all_pass([], 1).value is None


def test_a_corrected_rate_and_its_published_interval():
    found = figures.corrected((400, 1000), (180, 200), (140, 200), "none")
    assert float(found.value) == pytest.approx(1 / 6, abs=1e-6)
    assert (found.low, found.high) == ("0.056351", "0.262733")


@pytest.mark.parametrize(
    ("passing", "hits", "rejections", "reason"),
    [
        ((0, 0), (1, 1), (1, 1), "every item is labelled"),
        ((5, 10), (0, 0), (1, 1), "no labels of one of the two classes"),
        ((50, 100), (1, 2), (1, 2), "nothing can be corrected"),
        ((6, 151), (964, 1000), (927, 1000), "inconsistent"),
    ],
)
def test_what_cannot_be_corrected_says_why(passing, hits, rejections, reason):
    found = figures.corrected(passing, hits, rejections, "every item is labelled")
    assert found.value is None
    assert reason in found.reason


A, B, TIE = Choice


def test_position_counts_flips_and_never_ties_an_error():
    found = figures.position([(A, A), (A, B), (A, B), (B, A), (None, A), (B, B), (None, None), (TIE, A), (TIE, TIE)])
    assert (found.pairs, found.both_decided, found.unavailable) == (9, 7, 2)
    assert (found.wins_a, found.wins_b, found.ties, found.half_ties) == (1, 1, 1, 1)
    assert (found.consistent.count, found.flips_first, found.flips_second) == (3, 2, 1)
    assert found.exact_p.value == "1.000000"
    assert figures.position([(A, A)]).exact_p.reason == "no pair flips"
    assert figures.position([(A, B)] * 48).exact_p.value == "0.000000"


def test_a_figure_may_be_forbidden():
    assert figures.Shown("no live judge")(lambda: figures.rate(1, 1, "x")).reason == "no live judge"
    assert figures.Shown(None)(lambda: figures.rate(1, 1, "x")).value == "1.000000"
