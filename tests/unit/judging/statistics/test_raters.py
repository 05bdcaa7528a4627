# SPDX-License-Identifier: Apache-2.0
"""Many raters: missing ratings, and where agreement has no value."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics import agreement, raters
from evalsite.judging.statistics.raters import RaterTable
from evalsite.judging.statistics.undefined import Undefined

COEFFICIENTS = (
    raters.fleiss_kappa,
    raters.gwet_ac1,
    raters.brennan_prediger,
    raters.conger_kappa,
    raters.ac1_error,
    RaterTable.observed,
)
DISTANCES = (raters.nominal, raters.ordinal, raters.interval, raters.ratio)
UNPAIRED = ([], [[]], [[None, None]], [[1, None], [None, 2]])


@pytest.mark.parametrize("units", UNPAIRED)
@pytest.mark.parametrize("measure", COEFFICIENTS)
def test_without_two_ratings_of_a_unit_there_is_no_agreement(measure, units):
    found = measure(RaterTable.of(units))
    assert isinstance(found, Undefined)
    assert found.reason


@pytest.mark.parametrize("units", UNPAIRED)
@pytest.mark.parametrize("distance", DISTANCES)
def test_without_two_ratings_of_a_unit_there_is_no_alpha(distance, units):
    found = raters.krippendorff_alpha(units, distance)
    assert isinstance(found, Undefined)
    assert "two ratings" in found.reason


@pytest.mark.parametrize("measure", [measure for measure in COEFFICIENTS if measure is not RaterTable.observed])
def test_ratings_that_are_all_alike_show_nothing(measure):
    found = measure(RaterTable.of([["a", "a"], ["a", "a"]]))
    assert isinstance(found, Undefined)
    assert "alike" in found.reason


@pytest.mark.parametrize("distance", DISTANCES)
def test_alpha_of_ratings_that_are_all_alike_is_undefined(distance):
    found = raters.krippendorff_alpha([[1, 1], [1, 1, 1]], distance)
    assert isinstance(found, Undefined)
    assert "alike" in found.reason


def test_ac1_is_undefined_as_well_where_a_second_category_exists_but_is_not_used():
    assert isinstance(raters.gwet_ac1(RaterTable(counts=((2, 0), (2, 0)))), Undefined)
    assert isinstance(raters.gwet_ac1(RaterTable(counts=((0, 0),))), Undefined)


def test_a_unit_with_one_rating_counts_for_no_pair():
    units = [[1, 1], [0, 1], [0, 0]]
    assert raters.krippendorff_alpha([*units, [1, None], [7, None]]) == raters.krippendorff_alpha(units)
    assert RaterTable.of([*units, [1, None]]).observed() == RaterTable.of(units).observed() == Fraction(2, 3)


def test_a_short_unit_lacks_the_ratings_of_the_last_raters():
    assert RaterTable.of([["a", "b", "b"], ["b"]]) == RaterTable.of([["a", "b", "b"], ["b", None, None]])
    assert RaterTable.of([["a", "b", "b"], ["b"]]).by_rater == ((1, 1), (0, 1), (0, 1))


def test_categories_that_nobody_used_can_be_stated():
    units = [["a", "b"], ["a", "a"]]
    assert RaterTable.of(units).categories == 2
    assert RaterTable.of(units, ["a", "b", "c"]).counts == ((1, 1, 0), (2, 0, 0))
    assert raters.brennan_prediger(RaterTable.of(units)) == 0
    assert raters.brennan_prediger(RaterTable.of(units, ["a", "b", "c"])) == Fraction(1, 4)


def test_two_raters_who_rated_everything_have_the_coefficients_of_two():
    table = [[20, 5], [10, 15]]
    units = [(i, j) for i in range(2) for j in range(2) for _ in range(table[i][j])]
    many = RaterTable.of(units)
    assert raters.fleiss_kappa(many) == agreement.scott_pi(table)
    assert raters.conger_kappa(many) == agreement.cohen_kappa(table)
    assert raters.gwet_ac1(many) == agreement.gwet_ac1(table)
    assert raters.brennan_prediger(many) == agreement.brennan_prediger(table)


def test_a_rater_who_rated_nothing_is_no_second_rater():
    assert isinstance(raters.conger_kappa(RaterTable.of([["a", None], ["b", None]])), Undefined)
    units = [["a", "a"], ["a", "b"], ["b", "b"]]
    with_absent = [[*unit, None] for unit in units]
    assert raters.conger_kappa(RaterTable.of(with_absent)) == raters.conger_kappa(RaterTable.of(units))


def test_one_unit_shows_no_spread():
    found = raters.ac1_error(RaterTable.of([["a", "b"]]))
    assert isinstance(found, Undefined)
    assert "two units" in found.reason
    assert raters.ac1_error(RaterTable.of([["a", "b"], ["a", "a"]])) > 0


def test_distances_of_two_values():
    totals = {1: Fraction(3), 2: Fraction(4), 4: Fraction(1)}
    assert raters.nominal(1, 4, totals) == 1
    assert raters.ordinal(1, 4, totals) == (3 + 4 + 1 - Fraction(3 + 1, 2)) ** 2
    assert raters.ordinal(4, 1, totals) == raters.ordinal(1, 4, totals)
    assert raters.interval(1, 4, totals) == 9
    assert raters.ratio(1, 4, totals) == Fraction(9, 25)
    assert raters.ratio(0, 0, totals) == 0


def test_systematic_disagreement_is_below_zero():
    assert raters.krippendorff_alpha([[0, 1], [0, 1], [1, 0], [1, 0]]) == Fraction(-3, 4)
