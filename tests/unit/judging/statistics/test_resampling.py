# SPDX-License-Identifier: Apache-2.0
"""A bootstrap that anybody can repeat, and errors over clusters."""

from collections import Counter
from fractions import Fraction

import pytest

from evalsite.judging.statistics import resampling
from evalsite.judging.statistics.undefined import Undefined

COINS = [1] * 30 + [0] * 20


def mean(drawn):
    return Fraction(sum(drawn), len(drawn))


def test_the_interval_of_a_rate_is_about_that_of_wilson():
    found = resampling.bootstrap(COINS, mean)
    assert (found.low, found.high) == pytest.approx((0.4618, 0.7239), abs=0.02)
    assert (found.replicates, found.undefined) == (2000, 0)


def test_the_result_is_the_same_on_every_machine():
    assert resampling.draws("00ff", 0, 8) == [3, 3, 7, 1, 3, 6, 5, 1]
    found = resampling.bootstrap(COINS, mean, replicates=100)
    assert (found.seed, found.low, found.high) == ("d0956a10cc612a0f", 0.46, 0.74)


def test_other_data_and_another_resample_are_drawn_otherwise():
    assert resampling.draws("00ff", 0, 50) != resampling.draws("00ff", 1, 50)
    assert resampling.draws("00ff", 0, 50) != resampling.draws("00fe", 0, 50)
    assert resampling.bootstrap([0, 1, 1], mean).seed != resampling.bootstrap([1, 0, 1], mean).seed


def test_every_item_is_drawn_as_often():
    drawn = Counter(at for number in range(4000) for at in resampling.draws("seed", number, 5))
    assert drawn.keys() == {0, 1, 2, 3, 4}
    assert all(abs(count - 4000) < 300 for count in drawn.values())  # five standard deviations of 57


def test_less_confidence_makes_it_shorter_and_both_ends_are_cut_alike():
    wide, narrow = (resampling.bootstrap(COINS, mean, confidence=confidence) for confidence in (0.95, 0.5))
    assert wide.low < narrow.low < 0.6 < narrow.high < wide.high
    turned = resampling.bootstrap(COINS, lambda drawn: -mean(drawn))
    assert (turned.low, turned.high) == (-wide.high, -wide.low)


@pytest.mark.parametrize("items", [[], [1]])
def test_fewer_than_two_items_are_not_drawn(items):
    assert resampling.bootstrap(items, mean) == Undefined("fewer than two items")


def test_resamples_without_the_statistic_are_counted():
    def fails_once(drawn, calls=Counter()):  # noqa: B006 - counts calls
        calls["made"] += 1
        return Undefined("why") if calls["made"] == 1 else mean(drawn)

    assert resampling.bootstrap(COINS, fails_once, replicates=100).undefined == 1


def test_an_interval_over_what_is_left_of_the_resamples_would_be_one_of_other_data():
    found = resampling.bootstrap([0, 1], lambda drawn: mean(drawn) if len(set(drawn)) > 1 else Undefined("alike"))
    assert isinstance(found, Undefined)
    assert "does not exist" in found.reason


def test_clusters_of_one_are_the_usual_standard_error():
    values = [0.0, 1.0, 1.0, 4.0]
    usual = (sum((value - 1.5) ** 2 for value in values) / 3 / 4) ** 0.5
    assert resampling.clustered_error(values, range(4)) == pytest.approx(usual)


def test_values_that_go_together_leave_more_uncertainty():
    values = [0.0, 0.0, 1.0, 1.0]
    assert resampling.clustered_error(values, "aabb") > resampling.clustered_error(values, "abcd")
    assert resampling.clustered_error(values, "abab") == pytest.approx(0.0)


def test_no_value_and_one_cluster_have_no_error():
    assert resampling.clustered_error([], []) == Undefined("no value")
    assert resampling.clustered_error([0.0, 1.0], "aa") == Undefined("one cluster")
