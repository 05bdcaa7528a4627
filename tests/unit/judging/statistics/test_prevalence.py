# SPDX-License-Identifier: Apache-2.0
"""Corrected rates: a judge that tells nothing corrects nothing, and nothing is bent to fit."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics import prevalence
from evalsite.judging.statistics.undefined import Undefined

HALF, ONE = Fraction(1, 2), Fraction(1)


@pytest.mark.parametrize(
    ("sensitivity", "specificity"), [(HALF, HALF), (ONE, Fraction(0)), (Fraction(2, 5), HALF), (Fraction(0), ONE)]
)
def test_a_judge_no_better_than_chance_corrects_nothing(sensitivity, specificity):
    for found in (
        prevalence.rogan_gladen(HALF, sensitivity, specificity),
        prevalence.lee_interval(HALF, 100, specificity, 50, sensitivity, 50),
    ):
        assert isinstance(found, Undefined)
        assert "tells nothing" in found.reason


def test_a_perfect_judge_needs_no_correction():
    assert prevalence.rogan_gladen(Fraction(3, 10), ONE, ONE) == Fraction(3, 10)


def test_rates_that_contradict_each_other_are_not_cut():
    assert prevalence.rogan_gladen(Fraction(0), ONE, Fraction(9, 10)) == Fraction(-1, 9)
    assert prevalence.rogan_gladen(ONE, Fraction(9, 10), ONE) == Fraction(10, 9)


@pytest.mark.parametrize(("judged", "negatives", "positives"), [(0, 5, 5), (5, 0, 5), (5, 5, 0)])
def test_a_rate_without_counts_has_no_interval(judged, negatives, positives):
    found = prevalence.lee_interval(HALF, judged, ONE, negatives, ONE, positives)
    assert found == Undefined("a rate without counts")


def test_a_perfect_judge_of_few_labels_leaves_a_wide_interval():
    """Eight labels judged rightly say little; an interval without width would say that they say all."""
    low, high = prevalence.lee_interval(Fraction(7, 10), 200, ONE, 4, ONE, 4)
    assert low < 0.55
    assert high > 0.8


def test_an_interval_ends_at_zero_and_one():
    assert prevalence.lee_interval(Fraction(0), 10, ONE, 5, ONE, 5)[0] == 0.0
    assert prevalence.lee_interval(ONE, 10, ONE, 5, ONE, 5)[1] == 1.0


def test_more_labels_and_less_confidence_make_it_shorter():
    def width(labels, confidence=0.95):
        low, high = prevalence.lee_interval(
            HALF, 1000, Fraction(9, 10), labels, Fraction(9, 10), labels, confidence=confidence
        )
        return high - low

    assert width(400) < width(100) < width(25)
    assert width(100, 0.8) < width(100)


@pytest.mark.parametrize("specificity", [Fraction(1, 4), Fraction(1, 8)])
def test_labels_too_few_to_tell_the_judge_from_chance_give_no_interval(specificity):
    """With one success and one failure added, one label of a class pulls sensitivity down to two thirds."""
    found = prevalence.lee_interval(HALF, 100, specificity, 4, ONE, 1)
    assert isinstance(found, Undefined)
    assert "tells nothing" in found.reason
