# SPDX-License-Identifier: Apache-2.0
"""Pairs that a judge saw in both orders (T4): consistent, flipped, or not judged at all.

An answer wins only if both orders say so. Orders that contradict each other are inconsistent, which
is no tie; an order without a verdict makes the pair unavailable. Source: Zheng et al. 2023, arXiv
2306.05685, table 2.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evalsite.judging.statistics.binomial import sign_test
from evalsite.judging.statistics.undefined import Undefined


class Choice(StrEnum):
    """What a judge preferred, named by the answer and not by the place where it stood."""

    A = "a"
    B = "b"
    TIE = "tie"


class PairOutcome(StrEnum):
    """What both orders of one pair say together."""

    A = "a"
    B = "b"
    TIE = "tie"
    TO_FIRST = "to the first place"  # each order prefers what stood first
    TO_SECOND = "to the second place"
    HALF_TIE = "tie in one order"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionCounts:
    """Counts over pairs; they add up to ``pairs``."""

    pairs: int
    unavailable: int
    wins_a: int
    wins_b: int
    ties: int
    flips_to_first: int
    flips_to_second: int
    half_ties: int

    @property
    def decided(self) -> int:
        """Return how many pairs have a verdict in both orders."""
        return self.pairs - self.unavailable

    @property
    def consistent(self) -> int:
        """Return how many pairs have the same verdict in both orders."""
        return self.wins_a + self.wins_b + self.ties

    @property
    def bias_p(self) -> Fraction | Undefined:
        """Return the exact probability of so uneven a split of flips between the two places."""
        if self.flips_to_first + self.flips_to_second == 0:
            return Undefined("no pair flipped")
        return sign_test(self.flips_to_first, self.flips_to_second)


def pair_outcome(a_first: Choice | None, b_first: Choice | None) -> PairOutcome:
    """Return what two orders say together.

    Args:
        a_first: The choice when answer A stood first; null without a verdict.
        b_first: The choice when answer B stood first.
    """
    if a_first is None or b_first is None:
        return PairOutcome.UNAVAILABLE
    if a_first is b_first:
        return PairOutcome(a_first.value)
    if Choice.TIE in {a_first, b_first}:
        return PairOutcome.HALF_TIE
    return PairOutcome.TO_FIRST if a_first is Choice.A else PairOutcome.TO_SECOND


def count_positions(pairs: Iterable[tuple[Choice | None, Choice | None]]) -> PositionCounts:
    """Return the counts over pairs of choices: A first, then B first."""
    outcomes = Counter(pair_outcome(a_first, b_first) for a_first, b_first in pairs)
    return PositionCounts(
        pairs=outcomes.total(),
        unavailable=outcomes[PairOutcome.UNAVAILABLE],
        wins_a=outcomes[PairOutcome.A],
        wins_b=outcomes[PairOutcome.B],
        ties=outcomes[PairOutcome.TIE],
        flips_to_first=outcomes[PairOutcome.TO_FIRST],
        flips_to_second=outcomes[PairOutcome.TO_SECOND],
        half_ties=outcomes[PairOutcome.HALF_TIE],
    )
