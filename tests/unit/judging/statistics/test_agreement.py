# SPDX-License-Identifier: Apache-2.0
"""Two raters: where agreement has no value, and what the coefficients make of extreme tables."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics import agreement
from evalsite.judging.statistics.undefined import Undefined

CORRECTED = (agreement.cohen_kappa, agreement.scott_pi, agreement.gwet_ac1, agreement.brennan_prediger)
ALL = (*CORRECTED, agreement.observed, agreement.kappa_error)
PARADOX = [[80, 10], [5, 5]]


@pytest.mark.parametrize("measure", ALL)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_nothing_is_measured_over_nothing(measure, size):
    found = measure([[0] * size for _ in range(size)])
    assert isinstance(found, Undefined)
    assert found.reason


@pytest.mark.parametrize("measure", [agreement.cohen_kappa, agreement.kappa_error, agreement.scott_pi])
def test_chance_explains_a_single_category(measure):
    found = measure([[0, 0], [0, 7]])
    assert isinstance(found, Undefined)
    assert "chance explains everything" in found.reason


def test_ac1_of_a_single_category_shows_nothing_though_its_formula_gives_one():
    assert isinstance(agreement.gwet_ac1([[8, 0], [0, 0]]), Undefined)
    assert agreement.gwet_ac1([[8, 1], [0, 0]]) == Fraction(127, 145)


def test_of_one_category_there_is_no_even_choice():
    assert isinstance(agreement.brennan_prediger([[3]]), Undefined)


def test_a_constant_judge_agrees_as_chance_would():
    assert agreement.cohen_kappa([[25, 0], [29, 0]]) == 0


def test_opposite_raters_are_worse_than_chance():
    assert agreement.cohen_kappa([[0, 5], [5, 0]]) == -1
    assert agreement.brennan_prediger([[0, 5], [5, 0]]) == -1


def test_the_same_agreement_has_other_kappas_where_one_category_prevails():
    even = [[40, 9], [6, 45]]
    assert agreement.observed(PARADOX) == agreement.observed(even) == Fraction(17, 20)
    assert float(agreement.cohen_kappa(PARADOX)) == pytest.approx(0.32, abs=0.005)
    assert float(agreement.cohen_kappa(even)) == pytest.approx(0.70, abs=0.005)
    assert agreement.gwet_ac1(PARADOX) > Fraction(4, 5)
    assert agreement.brennan_prediger(PARADOX) == 2 * agreement.observed(PARADOX) - 1


def test_the_error_of_kappa_is_zero_at_perfect_agreement_at_any_size():
    assert agreement.kappa_error([[1, 0], [0, 1]]) == 0.0


def test_weights_fall_from_one_to_zero():
    assert [agreement.linear(0, other, 4) for other in range(4)] == [1, Fraction(2, 3), Fraction(1, 3), 0]
    assert [agreement.squared(3, other, 4) for other in range(4)] == [0, Fraction(5, 9), Fraction(8, 9), 1]


def test_a_weight_makes_no_difference_between_two_categories():
    for weight in (agreement.linear, agreement.squared):
        assert agreement.cohen_kappa(PARADOX, weight) == agreement.cohen_kappa(PARADOX)


@pytest.mark.parametrize("weight", [agreement.linear, agreement.squared])
def test_weighted_kappa_of_a_single_category_is_undefined(weight):
    assert isinstance(agreement.cohen_kappa([[4]], weight), Undefined)
    assert isinstance(agreement.cohen_kappa([[4, 0], [0, 0]], weight), Undefined)


def test_pairs_stand_in_the_row_of_the_first_and_the_column_of_the_second():
    assert agreement.table_of([(0, 1), (0, 1), (2, 0)], 3) == [[0, 2, 0], [0, 0, 0], [1, 0, 0]]
