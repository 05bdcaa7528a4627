# SPDX-License-Identifier: Apache-2.0
"""The exact gate at the numbers that people know, and what has no value."""

from fractions import Fraction

import pytest

from evalsite.judging.statistics import binomial
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.calibration import GateOutcome

FIVE = Fraction(1, 20)


def test_59_labels_without_an_error_pass_at_five_percent_and_58_lack_one():
    assert binomial.exact_gate(0, 59, FIVE, FIVE) is GateOutcome.PASS
    assert binomial.exact_gate(0, 58, FIVE, FIVE) is GateOutcome.INSUFFICIENT
    assert binomial.more_labels(0, 58, FIVE, FIVE) == 1


@pytest.mark.parametrize(
    ("percent", "least"),
    [
        (1, [299, 473, 628, 773, 913, 1049]),
        (2, [149, 236, 313, 386, 456, 523]),
        (3, [99, 157, 208, 257, 303, 348]),
        (5, [59, 93, 124, 153, 181, 208]),
        (10, [29, 46, 61, 76, 89, 103]),
        (15, [19, 30, 40, 50, 59, 68]),
        (20, [14, 22, 30, 37, 44, 50]),
    ],
)
def test_labels_needed_per_tolerance_and_errors(percent, least):
    assert [binomial.min_labels(errors, Fraction(percent, 100), FIVE) for errors in range(6)] == least


@pytest.mark.parametrize(
    ("of", "most"),
    [
        (20, [None, None, 0]),
        (30, [None, 0, 2]),
        (50, [None, 1, 5]),
        (59, [0, 1, 6]),
        (100, [1, 4, 13]),
        (200, [4, 12, 30]),
        (500, [16, 38, 84]),
    ],
)
def test_errors_allowed_per_number_of_labels(of, most):
    assert [binomial.max_errors(of, Fraction(percent, 100), FIVE) for percent in (5, 10, 20)] == most


def test_a_demonstrably_bad_judge_fails():
    assert binomial.exact_gate(8, 20, FIVE, FIVE) is GateOutcome.FAIL


def test_without_labels_nothing_is_decided():
    assert binomial.exact_gate(0, 0, FIVE, FIVE) is GateOutcome.INSUFFICIENT
    for undefined in (
        binomial.upper_bound(0, 0, FIVE),
        binomial.lower_bound(0, 0, FIVE),
        binomial.wilson(0, 0),
        binomial.clopper_pearson(0, 0),
        binomial.sign_test(0, 0),
    ):
        assert isinstance(undefined, Undefined)
        assert undefined.reason


def test_eight_labels_cannot_show_less_than_31_percent():
    assert binomial.upper_bound(0, 8, FIVE) == pytest.approx(0.3123, abs=5e-5)
    assert binomial.lower_bound(8, 8, FIVE) == pytest.approx(0.688, abs=5e-4)


@pytest.mark.parametrize(("errors", "power"), [(0, 0.55), (1, 0.76), (2, 0.87), (3, 0.93), (4, 0.96), (5, 0.98)])
def test_power_of_the_gate_at_a_fifth_of_the_tolerance(errors, power):
    of = binomial.min_labels(errors, FIVE, FIVE)
    assert float(binomial.gate_power(of, Fraction(1, 100), FIVE, FIVE)) == pytest.approx(power, abs=0.005)


def test_labels_for_a_power_reach_it():
    of = binomial.labels_for_power(Fraction(1, 100), FIVE, FIVE, Fraction(9, 10))
    assert of == 153
    reached = binomial.gate_power(of, Fraction(1, 100), FIVE, FIVE)
    assert reached >= Fraction(9, 10)
    assert binomial.labels_for_power(Fraction(1, 100), FIVE, FIVE, reached) == of
    assert isinstance(binomial.labels_for_power(FIVE, FIVE, FIVE, Fraction(1, 2)), Undefined)


def test_a_judge_without_errors_passes_once_there_are_enough_labels():
    assert binomial.gate_power(59, Fraction(0), FIVE, FIVE) == 1
    assert binomial.gate_power(58, Fraction(0), FIVE, FIVE) == 0


def test_a_rate_of_zero_or_one_is_no_tolerance():
    with pytest.raises(ValueError, match="0"):
        binomial.at_most(1, 5, Fraction(0))


def test_large_counts_are_decided_all_the_same():
    assert binomial.exact_gate(400, 10_000, FIVE, FIVE) is GateOutcome.PASS
    assert binomial.upper_bound(400, 10_000, FIVE) == pytest.approx(0.0434, abs=5e-4)


def test_a_probability_of_exactly_alpha_is_small_enough():
    half = Fraction(1, 2)
    assert binomial.exact_gate(0, 1, half, half) is GateOutcome.PASS
    assert binomial.exact_gate(1, 1, half, half) is GateOutcome.FAIL
    assert binomial.more_labels(0, 0, half, half) == binomial.min_labels(0, half, half) == 1
    assert binomial.max_errors(1, half, half) == 0
    assert binomial.max_errors(3, half, half) == 1
    assert binomial.gate_power(3, Fraction(1), half, half) == 0
