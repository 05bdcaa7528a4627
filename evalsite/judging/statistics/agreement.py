# SPDX-License-Identifier: Apache-2.0
"""Agreement between two raters, from their table of counts: observed, and corrected for chance.

Every coefficient is an exact fraction, or undefined where its correction divides by zero. Sources:
Cohen 1960 and 1968 (kappa, weights); Fleiss, Cohen and Everitt 1969 (standard error); Scott 1955
(pi); Gwet 2008 (AC1); Bennett, Alpert and Goldstein 1954 (S, for two categories PABAK).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from evalsite.judging.statistics.undefined import Undefined

#: ``table[i][j]``: how often the first rater said category i and the second category j.
Table: TypeAlias = Sequence[Sequence[int]]

_ONE_CLASS = Undefined("both say one and the same category throughout: chance explains everything")
_EMPTY = Undefined("nothing was rated by both")


def table_of(pairs: Sequence[tuple[int, int]], categories: int) -> list[list[int]]:
    """Return the table of pairs of category numbers below ``categories``."""
    table = [[0] * categories for _ in range(categories)]
    for first, second in pairs:
        table[first][second] += 1
    return table


def observed(table: Table) -> Fraction | Undefined:
    """Return the share of equal ratings."""
    total = _total(table)
    return Fraction(sum(table[i][i] for i in range(len(table))), total) if total else _EMPTY


def linear(first: int, second: int, categories: int) -> Fraction:
    """Return the weight of a pair of categories: 1 if equal, falling with their distance."""
    return 1 - Fraction(abs(first - second), categories - 1)


def squared(first: int, second: int, categories: int) -> Fraction:
    """Return the weight of a pair of categories: 1 if equal, falling with the square of their distance."""
    return 1 - Fraction((first - second) ** 2, (categories - 1) ** 2)


def cohen_kappa(table: Table, weight: Callable[[int, int, int], Fraction] | None = None) -> Fraction | Undefined:
    """Return Cohen's kappa, weighted if ``weight`` says so.

    Args:
        table: Counts; a category that nobody used is part of it if it has a row and a column.
        weight: Of two categories and their number; by default 1 for equal ones and 0 for others.
    """
    rows, columns, total = _margins(table)
    if not total:
        return _EMPTY
    size = range(len(table))
    if weight is None:  # the usual case stays in whole numbers: a bootstrap asks thousands of times
        by_chance = sum(rows[i] * columns[i] for i in size)
        alike = total * sum(table[i][i] for i in size)
        return _ONE_CLASS if by_chance == total**2 else Fraction(alike - by_chance, total**2 - by_chance)
    weights = [[weight(i, j, len(table)) if len(table) > 1 else Fraction(1) for j in size] for i in size]
    seen = sum((weights[i][j] * table[i][j] for i in size for j in size), Fraction(0)) / total
    chance = sum((weights[i][j] * rows[i] * columns[j] for i in size for j in size), Fraction(0)) / total**2
    return _ONE_CLASS if chance == 1 else (seen - chance) / (1 - chance)


def kappa_error(table: Table) -> float | Undefined:
    """Return the large-sample standard error of Cohen's kappa; it is 0 at perfect agreement, at any size."""
    kappa = cohen_kappa(table)
    if isinstance(kappa, Undefined):
        return kappa
    rows, columns, total = _margins(table)
    size = range(len(table))
    chance = sum((Fraction(rows[i] * columns[i], total**2) for i in size), Fraction(0))
    left = 1 - kappa
    agree = sum(
        (Fraction(table[i][i], total) * (1 - Fraction(rows[i] + columns[i], total) * left) ** 2 for i in size),
        Fraction(0),
    )
    differ = sum(
        (
            Fraction(table[i][j], total) * Fraction(columns[i] + rows[j], total) ** 2
            for i in size
            for j in size
            if i != j
        ),
        Fraction(0),
    )
    variance = agree + left**2 * differ - (kappa - chance * left) ** 2
    return math.sqrt(variance / total) / float(1 - chance)


def scott_pi(table: Table) -> Fraction | Undefined:
    """Return Scott's pi: chance from the categories' share over both raters."""
    return _corrected(table, lambda shares: sum((share**2 for share in shares), Fraction(0)))


def gwet_ac1(table: Table) -> Fraction | Undefined:
    """Return Gwet's AC1: it stays high when one category prevails, and is undefined when no other was used."""
    rows, columns, _ = _margins(table)
    if sum(row + column > 0 for row, column in zip(rows, columns, strict=True)) == 1:
        return _ONE_CLASS  # the formula would give 1
    return _corrected(
        table, lambda shares: sum((share * (1 - share) for share in shares), Fraction(0)) / (len(shares) - 1)
    )


def brennan_prediger(table: Table) -> Fraction | Undefined:
    """Return agreement beyond that of raters who choose evenly; for two categories it is PABAK."""
    if len(table) < 2:  # noqa: PLR2004 - one category is no rating
        return Undefined("one category only")
    return _corrected(table, lambda shares: Fraction(1, len(shares)))


def _corrected(table: Table, chance_of: Callable[[list[Fraction]], Fraction]) -> Fraction | Undefined:
    rows, columns, total = _margins(table)
    seen = observed(table)
    if isinstance(seen, Undefined):
        return seen
    chance = chance_of([Fraction(row + column, 2 * total) for row, column in zip(rows, columns, strict=True)])
    return _ONE_CLASS if chance == 1 else (seen - chance) / (1 - chance)


def _margins(table: Table) -> tuple[list[int], list[int], int]:
    rows = [sum(row) for row in table]
    return rows, [sum(column) for column in zip(*table, strict=True)], sum(rows)


def _total(table: Table) -> int:
    return sum(sum(row) for row in table)
