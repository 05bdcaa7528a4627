# SPDX-License-Identifier: Apache-2.0
"""The few special functions that bounds for display need, in floats.

Sources: the continued fraction of the incomplete beta function (DLMF 8.17.22) by the method of
Lentz; tails of chi-squared for whole degrees of freedom (Abramowitz and Stegun 26.4.4, 26.4.5).
"""

import math
from collections.abc import Callable

_TINY = 1e-300
_CLOSE = 1e-15
_MOST_STEPS = 100_000
_HALVINGS = 200


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    front = math.exp(log_front)
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1.0 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    above, below = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = below
    for step in range(1, _MOST_STEPS):
        twice = a + 2 * step
        even = step * (b - step) * x / ((twice - 1) * twice)
        odd = -(a + step) * (a + b + step) * x / (twice * (twice + 1))
        for term in (even, odd):
            below = 1 / _not_zero(1 + term * below)
            above = _not_zero(1 + term / above)
            value *= below * above
        if abs(below * above - 1) < _CLOSE:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def solve(falling: Callable[[float], float]) -> float:
    """Return where a function that falls from above zero to below it within 0 and 1 is zero, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def chi_squared_tail(value: float, freedom: int) -> float:
    """Return the probability of a chi-squared value at least this great."""
    half = value / 2
    if freedom % 2 == 0:
        terms = (half**place / math.factorial(place) for place in range(freedom // 2))
        return math.exp(-half) * math.fsum(terms)
    terms = (half ** (place + 0.5) / math.gamma(place + 1.5) for place in range((freedom - 1) // 2))
    return math.erfc(math.sqrt(half)) + math.exp(-half) * math.fsum(terms)


def t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t at a probability of at least one half."""
    share = solve(lambda x: beta_cdf(x, freedom / 2, 0.5) / 2 * -1 + (1 - probability))
    return math.sqrt(freedom * (1 - share) / share) if share else math.inf
