# SPDX-License-Identifier: Apache-2.0
"""Pairs and repetitions: does one side win more often, and does a case pass every time?

Sources: McNemar 1947 (exact form: the sign test over discordant pairs); Cochran 1950; Chen et al.
2021, arXiv 2107.03374 (pass@k); Yao et al. 2024, arXiv 2406.12045 (pass^k).
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from evalsite.judging.statistics.binomial import sign_test
from evalsite.judging.statistics.special import chi_squared_tail
from evalsite.judging.statistics.undefined import Undefined


def mcnemar(only_first: int, only_second: int) -> Fraction | Undefined:
    """Return the exact two-sided probability of so uneven a split of the pairs that differ."""
    if only_first + only_second == 0:
        return Undefined("no pair differs")
    return sign_test(only_first, only_second)


def mcnemar_chi_squared(only_first: int, only_second: int, *, corrected: bool) -> tuple[Fraction, float] | Undefined:
    """Return the approximate statistic and its probability, with or without the continuity correction."""
    differing = only_first + only_second
    if differing == 0:
        return Undefined("no pair differs")
    gap = max(abs(only_first - only_second) - (1 if corrected else 0), 0)
    value = Fraction(gap * gap, differing)
    return value, chi_squared_tail(float(value), 1)


def cochran_q(rows: Sequence[Sequence[int]]) -> tuple[Fraction, float] | Undefined:
    """Return Cochran's Q over cases (rows of 0 and 1, one column for each configuration) and its probability."""
    columns = len(rows[0]) if rows else 0
    totals = [sum(column) for column in zip(*rows, strict=True)]
    by_row = [sum(row) for row in rows]
    below = sum(total * (columns - total) for total in by_row)
    if columns < 2 or below == 0:  # noqa: PLR2004 - one configuration is compared with nothing
        return Undefined("no case differs between configurations")
    whole = sum(totals)
    value = Fraction((columns - 1) * (columns * sum(total * total for total in totals) - whole * whole), below)
    return value, chi_squared_tail(float(value), columns - 1)


def pass_at_k(trials: int, passes: int, k: int) -> Fraction | Undefined:
    """Return the probability that at least one of ``k`` trials, drawn from those that were made, passes."""
    if trials < k:
        return Undefined(f"fewer than {k} trials")
    return 1 - Fraction(math.comb(trials - passes, k), math.comb(trials, k))


def pass_hat_k(trials: int, passes: int, k: int) -> Fraction | Undefined:
    """Return the probability that all of ``k`` trials, drawn from those that were made, pass (pass^k)."""
    if trials < k:
        return Undefined(f"fewer than {k} trials")
    return Fraction(math.comb(passes, k), math.comb(trials, k))


def mean_over(values: Sequence[Fraction | Undefined]) -> Fraction | Undefined:
    """Return the mean over cases; undefined if one of them is, since leaving it out would change the question."""
    defined = [value for value in values if not isinstance(value, Undefined)]
    if not values:
        return Undefined("no case")
    if len(defined) != len(values):
        return Undefined(f"{len(values) - len(defined)} of {len(values)} cases have no value")
    return sum(defined, Fraction(0)) / len(defined)
