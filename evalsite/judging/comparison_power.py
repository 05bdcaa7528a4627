# SPDX-License-Identifier: Apache-2.0
"""How much a paired comparison can show: exact McNemar, and how many cases it takes (T7). Pure.

A decision is made on whole numbers: a p-value is a `Fraction`. The power of a plan is a planning number and a
float. It is summed up over every possible number of discordant cases, without a normal approximation, which
would promise too much for the few cases that corpora have.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, lgamma, log

from evalsite.judging.statistics.paired import mcnemar
from evalsite.judging.statistics.undefined import Undefined

ALPHA = Fraction(1, 20)
POWER = Fraction(4, 5)
#: Nobody labels or runs more cases than this by hand; beyond it a search ends without an answer.
MOST_CASES = 5_000
_FAR = 9.0  # standard deviations beyond which a binomial term is below the last digit that is shown
_STEPS = 100  # the least visible share is looked for in steps of one percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Which share of all cases gets worse, and which better, in the difference that is to be seen."""

    worse: float
    better: float

    @property
    def discordant(self) -> float:
        """Return the share of cases that change at all."""
        return self.worse + self.better


def exact_p(worse: int, better: int) -> Fraction | None:
    """Return the two-sided p of the exact McNemar test; null where no case is discordant.

    Args:
        worse: Cases that got worse.
        better: Cases that got better.
    """
    p = mcnemar(worse, better)
    return None if isinstance(p, Undefined) else p


def discordant_needed(other_way: int, alpha: Fraction = ALPHA) -> int:
    """Return the least number of discordant cases with p at most ``alpha``, ``other_way`` of them against the trend.

    Six for none at 5 %: five that all point one way leave p = 0.0625.
    """
    discordant = 2 * other_way + 1
    while (p := exact_p(other_way, discordant - other_way)) is None or p > alpha:
        discordant += 1
    return discordant


def power_of(cases: int, shares: Shares, alpha: Fraction = ALPHA) -> float:
    """Return the probability that ``cases`` show a difference of these shares, in its direction, at ``alpha``.

    Raises:
        ValueError: The shares are no shares, or show no direction (a bug in the caller).
    """
    if min(shares.worse, shares.better) < 0 or shares.discordant > 1 or shares.worse == shares.better:
        raise ValueError(shares)
    trend = max(shares.worse, shares.better) / shares.discordant
    spread = _FAR * (cases * shares.discordant * (1 - shares.discordant)) ** 0.5 + 1
    middle = cases * shares.discordant
    low, high = max(0, int(middle - spread)), min(cases, int(middle + spread) + 1)
    return min(
        1.0,
        sum(
            _term(cases, discordant, shares.discordant) * _seen(discordant, trend, alpha)
            for discordant in range(low, high + 1)
        ),
    )


def cases_needed(shares: Shares, *, alpha: Fraction = ALPHA, power: Fraction = POWER) -> int | None:
    """Return how many cases it takes to see a difference with a stated power; null beyond `MOST_CASES`.

    Exact tests gain power in a saw's teeth, so that one case more can show less. What is returned is the
    least number from which twenty further ones keep the power.
    """
    tooth = 20

    def enough(cases: int) -> bool:
        return all(power_of(more, shares, alpha) >= power for more in range(cases, cases + tooth + 1))

    return _least(enough, MOST_CASES)


def least_visible(cases: int, *, alpha: Fraction = ALPHA, power: Fraction = POWER) -> Fraction | None:
    """Return the least share of cases, all changing one way, that so many cases show with a stated power.

    Null where even a change of every case would not be seen: fewer cases than `discordant_needed`.
    """

    def enough(percent: int) -> bool:
        return power_of(cases, Shares(worse=percent / _STEPS, better=0.0), alpha) >= power

    percent = _least(enough, _STEPS)
    return None if percent is None else Fraction(percent, _STEPS)


def shares_of(before: float, after: float, repetitions: int) -> Shares:
    """Return which share of cases changes when each repetition passes with one rate before and another after.

    A case gets worse when fewer of its repetitions pass. Repetitions and runs are taken as independent and
    all cases as alike. Cases that always pass or always fail would change less often by chance, so that real
    corpora need fewer cases than this says.
    """
    worse = sum(
        _term(repetitions, i, before) * _term(repetitions, j, after) for i in range(repetitions + 1) for j in range(i)
    )
    better = sum(
        _term(repetitions, i, before) * _term(repetitions, j, after)
        for i in range(repetitions + 1)
        for j in range(i + 1, repetitions + 1)
    )
    return Shares(worse=worse, better=better)


def _least(holds: Callable[[int], bool], most: int) -> int | None:
    """Return the least number from 1 to ``most`` for which ``holds``, taken as monotone."""
    low, high = 0, 1
    while not holds(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=16_384)
def _most_against(discordant: int, alpha: Fraction) -> int:
    """Return the greatest number of cases against the trend that is still seen; -1 where none is."""
    bound = alpha * 2 ** (discordant - 1) if discordant else Fraction(0)
    total, term, most = 0, 1, -1
    while 2 * (most + 1) < discordant and total + term <= bound:
        most += 1
        total += term
        term = term * (discordant - most) // (most + 1)
    return most


@lru_cache(maxsize=65_536)
def _seen(discordant: int, trend: float, alpha: Fraction) -> float:
    """Return the probability that so many discordant cases are seen to point the way of the trend."""
    against = _most_against(discordant, alpha)
    if against < 0:
        return 0.0
    total, floor = 0.0, 1e-15
    for i in range(against, -1, -1):
        term = _term(discordant, i, 1 - trend)
        total += term
        if term < floor * total and i < discordant * (1 - trend):
            break
    return total


def _term(n: int, k: int, p: float) -> float:
    """Return the probability of ``k`` in ``n`` at ``p``."""
    if p <= 0.0 or p >= 1.0:
        return float(k == (n if p >= 1.0 else 0))
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log(1 - p))
