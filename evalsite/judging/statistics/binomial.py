# SPDX-License-Identifier: Apache-2.0
"""Counts out of counts: exact tails, the gate on them, bounds, intervals, and how many labels it takes.

A decision is made with whole numbers only, so that it is the same on every machine. Bounds and
intervals are for display: they are floats and decide nothing.

Sources: Clopper and Pearson 1934 (exact bound); Wilson 1927 (interval); design notes of judging, §4.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from evalsite.judging.statistics.special import beta_cdf, solve
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.calibration import GateOutcome

NOTHING = Undefined("nothing was counted")


def at_most(count: int, of: int, rate: Fraction) -> Fraction:
    """Return P[X <= count] of a binomial count, exactly.

    Args:
        count: The greatest count that is included; below 0 the probability is 0.
        of: Number of trials.
        rate: Probability of one success.
    """
    if count < 0:
        return Fraction(0)
    if count >= of:
        return Fraction(1)
    if 2 * count < of:
        return _sum(0, count, of, rate)
    return 1 - _sum(count + 1, of, of, rate)


def at_least(count: int, of: int, rate: Fraction) -> Fraction:
    """Return P[X >= count] of a binomial count, exactly."""
    return 1 - at_most(count - 1, of, rate)


def _sum(first: int, last: int, of: int, rate: Fraction) -> Fraction:
    hit, whole = rate.numerator, rate.denominator
    miss = whole - hit
    if not 0 < hit < whole:
        raise ValueError(rate)
    # Horner's rule from the end, so that every step multiplies by small numbers.
    total = term = math.comb(of, last) * hit ** (last - first)
    for place in range(last, first, -1):
        term = term // hit * miss * place // (of - place + 1)
        total += term
    return Fraction(total * hit**first * miss ** (of - last), whole**of)


def exact_gate(errors: int, of: int, tolerance: Fraction, alpha: Fraction) -> GateOutcome:
    """Decide whether errors stay below a tolerance.

    PASS if so few errors would be seen with a probability of at most ``alpha`` were the true rate the
    tolerance, which is the same as an exact upper bound within it; FAIL if so many would; else there
    are too few labels to say.
    """
    if of and at_most(errors, of, tolerance) <= alpha:
        return GateOutcome.PASS
    if of and at_least(errors, of, tolerance) <= alpha:
        return GateOutcome.FAIL
    return GateOutcome.INSUFFICIENT


def more_labels(errors: int, of: int, tolerance: Fraction, alpha: Fraction) -> int:
    """Return the least number of further labels, all judged rightly, with which the gate passes."""
    return _least(lambda more: of + more > 0 and at_most(errors, of + more, tolerance) <= alpha)


def min_labels(errors: int, tolerance: Fraction, alpha: Fraction) -> int:
    """Return the least number of labels with which the gate passes in spite of so many errors."""
    return errors + more_labels(errors, errors, tolerance, alpha)


def max_errors(of: int, tolerance: Fraction, alpha: Fraction) -> int | None:
    """Return the greatest number of errors with which the gate passes; null if not even none is enough."""
    if of == 0 or at_most(0, of, tolerance) > alpha:
        return None
    return _least(lambda errors: at_most(errors, of, tolerance) > alpha) - 1


def gate_power(of: int, true_rate: Fraction, tolerance: Fraction, alpha: Fraction) -> Fraction:
    """Return the probability that the gate passes with so many labels if the judge errs at ``true_rate``."""
    most = max_errors(of, tolerance, alpha)
    if most is None:
        return Fraction(0)
    if true_rate in {0, 1}:
        return Fraction(true_rate == 0)
    return at_most(most, of, true_rate)


def labels_for_power(true_rate: Fraction, tolerance: Fraction, alpha: Fraction, power: Fraction) -> int | Undefined:
    """Return the least number of labels at which the gate passes with the stated probability.

    Looked for where one more error becomes bearable, since power falls between these numbers.
    """
    if true_rate >= tolerance:
        return Undefined("a judge whose true rate is not below the tolerance does not pass more often with more labels")
    for errors in range(2000):
        of = min_labels(errors, tolerance, alpha)
        if gate_power(of, true_rate, tolerance, alpha) >= power:
            return of
    return Undefined("the true rate is too close to the tolerance")


def upper_bound(errors: int, of: int, alpha: float | Fraction) -> float | Undefined:
    """Return the exact one-sided upper bound of a rate (Clopper-Pearson) at confidence ``1 - alpha``."""
    if of == 0:
        return NOTHING
    if errors >= of:
        return 1.0
    if errors == 0:
        return 1.0 - math.pow(float(alpha), 1 / of)
    # P[X <= k] is the regularized incomplete beta function I_{1-p}(n-k, k+1).
    return solve(lambda rate: beta_cdf(1 - rate, of - errors, errors + 1) - float(alpha))


def lower_bound(count: int, of: int, alpha: float | Fraction) -> float | Undefined:
    """Return the exact one-sided lower bound of a rate (Clopper-Pearson) at confidence ``1 - alpha``."""
    upper = upper_bound(of - count, of, alpha)
    return upper if isinstance(upper, Undefined) else 1.0 - upper


def clopper_pearson(count: int, of: int, confidence: float = 0.95) -> tuple[float, float] | Undefined:
    """Return the exact two-sided interval of a rate."""
    side = (1 - confidence) / 2
    low, high = lower_bound(count, of, side), upper_bound(count, of, side)
    if isinstance(low, Undefined) or isinstance(high, Undefined):
        return NOTHING
    return low, high


def wilson(count: int, of: int, confidence: float = 0.95) -> tuple[float, float] | Undefined:
    """Return the score interval of a rate; for display, since it can be too narrow for a gate."""
    if of == 0:
        return NOTHING
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, spread = count / of, z * z / of
    middle = (rate + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(rate * (1 - rate) / of + spread / of / 4)
    return (0.0 if count == 0 else middle - half), (1.0 if count == of else middle + half)


def sign_test(first: int, second: int) -> Fraction | Undefined:
    """Return the exact two-sided probability of so uneven a split of coin throws."""
    of = first + second
    if of == 0:
        return Undefined("there is nothing to compare")
    return min(Fraction(1), 2 * at_most(min(first, second), of, Fraction(1, 2)))


def _least(holds: Callable[[int], bool]) -> int:
    """Return the least number from 0 on for which a condition holds that then holds for all greater ones."""
    if holds(0):
        return 0
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
