# SPDX-License-Identifier: Apache-2.0
"""Special functions where their value is known in closed form."""

import math

import pytest

from evalsite.judging.statistics.special import beta_cdf, chi_squared_tail, solve, t_quantile


@pytest.mark.parametrize("x", [1e-9, 0.1, 0.5, 0.77, 1 - 1e-9])
def test_the_beta_function_in_closed_form(x):
    assert beta_cdf(x, 1, 1) == pytest.approx(x, rel=1e-12)
    assert beta_cdf(x, 3, 1) == pytest.approx(x**3, rel=1e-12)
    assert beta_cdf(x, 1, 4) == pytest.approx(1 - (1 - x) ** 4, rel=1e-6)
    assert beta_cdf(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), rel=1e-9)
    assert beta_cdf(x, 2, 5) + beta_cdf(1 - x, 5, 2) == pytest.approx(1, abs=1e-13)


def test_the_beta_function_ends_at_zero_and_one():
    assert (beta_cdf(0.0, 2, 3), beta_cdf(-0.1, 2, 3)) == (0.0, 0.0)
    assert (beta_cdf(1.0, 2, 3), beta_cdf(1.1, 2, 3)) == (1.0, 1.0)


@pytest.mark.parametrize("a", [1_000, 50_000, 1_000_000])
def test_the_beta_function_of_large_counts_is_a_half_in_its_middle(a):
    assert beta_cdf(0.5, a, a) == pytest.approx(0.5, abs=1e-9)


def test_tails_of_chi_squared_in_closed_form():
    assert chi_squared_tail(3.0, 2) == pytest.approx(math.exp(-1.5))
    assert chi_squared_tail(3.0, 4) == pytest.approx(math.exp(-1.5) * 2.5)
    assert chi_squared_tail(3.0, 8) == pytest.approx(math.exp(-1.5) * (2.5 + 1.5**2 / 2 + 1.5**3 / 6))
    assert chi_squared_tail(4.0, 1) == pytest.approx(math.erfc(math.sqrt(2)))
    assert chi_squared_tail(3.841458820694124, 1) == pytest.approx(0.05, rel=1e-12)
    assert chi_squared_tail(7.814727903251178, 3) == pytest.approx(0.05, rel=1e-12)
    assert [chi_squared_tail(0.0, freedom) for freedom in (1, 2, 3, 4)] == [1.0] * 4


def test_quantiles_of_student_in_closed_form():
    assert t_quantile(0.975, 1) == pytest.approx(math.tan(0.475 * math.pi), rel=1e-12)
    assert t_quantile(0.975, 2) == pytest.approx(0.95 * math.sqrt(2 / (1 - 0.95**2)), rel=1e-12)
    assert t_quantile(0.5, 7) == pytest.approx(0.0, abs=1e-6)


def test_a_zero_is_found_to_the_last_digit():
    assert solve(lambda x: 0.3 - x) == pytest.approx(0.3, abs=1e-15)
    assert solve(lambda _: -1.0) == pytest.approx(0.0, abs=1e-15)
    assert solve(lambda _: 1.0) == pytest.approx(1.0, abs=1e-15)
