# SPDX-License-Identifier: Apache-2.0
"""Agreement between any number of raters, some of whom may not have rated everything.

A unit is what was rated: one value for each rater, null where a rating is missing. Units with fewer
than two ratings pair nothing. Sources: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability;
Fleiss 1971; Conger 1980; Gwet 2014, Handbook of Inter-Rater Reliability (missing ratings, error of AC1).
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, TypeAlias

from evalsite.judging.statistics.undefined import Undefined

Unit: TypeAlias = Sequence[Hashable | None]
#: The squared distance of two values, given how often each value occurs.
Distance: TypeAlias = Callable[[Any, Any, Mapping[Any, Fraction]], Fraction]

_ALIKE = Undefined("all ratings are alike: there is nothing to agree or differ on")
_UNPAIRED = Undefined("no unit has two ratings")


def nominal(first: Any, second: Any, _: Mapping[Any, Fraction]) -> Fraction:
    """Return 1 for values that differ."""
    return Fraction(first != second)


def ordinal(first: Any, second: Any, totals: Mapping[Any, Fraction]) -> Fraction:
    """Return the squared number of ratings between two ranks."""
    low, high = sorted((first, second))
    between = sum((count for value, count in totals.items() if low <= value <= high), Fraction(0))
    return (between - (totals[low] + totals[high]) / 2) ** 2


def interval(first: Any, second: Any, _: Mapping[Any, Fraction]) -> Fraction:
    """Return the squared difference."""
    return Fraction(first - second) ** 2


def ratio(first: Any, second: Any, _: Mapping[Any, Fraction]) -> Fraction:
    """Return the squared difference in proportion to the sum."""
    return (Fraction(first - second) / (first + second)) ** 2 if first != second else Fraction(0)


def krippendorff_alpha(units: Sequence[Unit], distance: Distance = nominal) -> Fraction | Undefined:
    """Return Krippendorff's alpha, exactly.

    Args:
        units: One list of ratings for each unit; null is a missing one.
        distance: Of two values: `nominal`, `ordinal`, `interval` or `ratio`.
    """
    counts = [Counter(value for value in unit if value is not None) for unit in units]
    paired = [unit for unit in counts if unit.total() > 1]
    if not paired:
        return _UNPAIRED
    totals = {value: Fraction(count) for value, count in sum(paired, Counter[Any]()).items()}
    whole = sum(totals.values(), Fraction(0))
    seen = Fraction(0)
    for unit in paired:
        pairs = sum(
            (a * b * distance(first, second, totals) for first, a in unit.items() for second, b in unit.items()),
            Fraction(0),
        )
        seen += pairs / (unit.total() - 1)
    expected = sum(
        (a * b * distance(first, second, totals) for first, a in totals.items() for second, b in totals.items()),
        Fraction(0),
    )
    return _ALIKE if expected == 0 else 1 - (whole - 1) * seen / expected


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterTable:
    """Units as counts by category.

    ``counts[unit][category]``; ``by_rater[rater][category]`` is empty where raters have no names.
    """

    counts: tuple[tuple[int, ...], ...]
    by_rater: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, units: Sequence[Unit], categories: Sequence[Hashable] | None = None) -> "RaterTable":
        """Return the table of units whose n-th rating is the n-th rater's; a short unit lacks the last raters'."""
        known = categories or sorted({value for unit in units for value in unit if value is not None}, key=str)
        return cls(
            counts=tuple(tuple(list(unit).count(value) for value in known) for unit in units),
            by_rater=tuple(tuple(given.count(value) for value in known) for given in zip_longest(*units)),
        )

    @property
    def categories(self) -> int:
        """Return the number of categories."""
        return len(self.counts[0]) if self.counts else 0

    def rated(self, least: int) -> list[tuple[int, ...]]:
        """Return the units with at least so many ratings."""
        return [unit for unit in self.counts if sum(unit) >= least]

    def observed(self) -> Fraction | Undefined:
        """Return the mean share of equal pairs, over units with two ratings or more."""
        units = self.rated(2)
        return sum(map(_alike, units), Fraction(0)) / len(units) if units else _UNPAIRED

    def shares(self) -> list[Fraction]:
        """Return each category's mean share, over units with a rating."""
        units = self.rated(1)
        return [
            sum((Fraction(unit[k], sum(unit)) for unit in units), Fraction(0)) / len(units)
            for k in range(self.categories)
        ]


def _alike(unit: tuple[int, ...]) -> Fraction:
    rated = sum(unit)
    return Fraction(sum(count * (count - 1) for count in unit), rated * (rated - 1))


def fleiss_kappa(table: RaterTable) -> Fraction | Undefined:
    """Return Fleiss' kappa, generalized to units that not everybody rated."""
    return _corrected(table, lambda shares: sum((share**2 for share in shares), Fraction(0)))


def gwet_ac1(table: RaterTable) -> Fraction | Undefined:
    """Return Gwet's AC1; undefined where nobody used a second category, though the formula would give 1."""
    if sum(map(any, zip(*table.counts, strict=True))) == 1:
        return _ALIKE
    return _corrected(table, _ac1_chance)


def brennan_prediger(table: RaterTable) -> Fraction | Undefined:
    """Return agreement beyond that of raters who choose evenly."""
    if table.categories < 2:  # noqa: PLR2004 - one category is no rating
        return _ALIKE
    return _corrected(table, lambda shares: Fraction(1, len(shares)))


def conger_kappa(table: RaterTable) -> Fraction | Undefined:
    """Return Conger's kappa: each rater has a share of categories of its own."""
    raters = [counts for counts in table.by_rater if sum(counts)]
    if len(raters) < 2:  # noqa: PLR2004 - one rater agrees with nobody
        return _UNPAIRED
    shares = [[Fraction(count, sum(counts)) for count in counts] for counts in raters]
    chance = Fraction(0)
    for column in zip(*shares, strict=True):
        mean = sum(column, Fraction(0)) / len(column)
        spread = sum(((share - mean) ** 2 for share in column), Fraction(0)) / (len(column) - 1)
        chance += mean**2 - spread / len(column)
    return _corrected(table, lambda _: chance)


def ac1_error(table: RaterTable) -> float | Undefined:
    """Return the standard error of AC1 over units."""
    value, units = gwet_ac1(table), table.rated(1)
    if isinstance(value, Undefined):
        return value
    if len(units) < 2:  # noqa: PLR2004 - one unit shows no spread
        return Undefined("fewer than two units")
    shares = table.shares()
    chance = _ac1_chance(shares)
    enlarged = Fraction(len(units), len(table.rated(2)))
    total = Fraction(0)
    for unit in units:
        rated = sum(unit)
        own = enlarged * (_alike(unit) - chance) / (1 - chance) if rated > 1 else Fraction(0)
        by_chance = sum(
            (Fraction(count, rated) * (1 - share) for count, share in zip(unit, shares, strict=True)), Fraction(0)
        ) / (len(shares) - 1)
        total += (own - 2 * (1 - value) * (by_chance - chance) / (1 - chance) - value) ** 2
    return math.sqrt(total / (len(units) * (len(units) - 1)))


def _ac1_chance(shares: Sequence[Fraction]) -> Fraction:
    return sum((share * (1 - share) for share in shares), Fraction(0)) / (len(shares) - 1)


def _corrected(table: RaterTable, chance_of: Callable[[list[Fraction]], Fraction]) -> Fraction | Undefined:
    seen = table.observed()
    if isinstance(seen, Undefined):
        return seen
    chance = chance_of(table.shares())
    return _ALIKE if chance == 1 else (seen - chance) / (1 - chance)
