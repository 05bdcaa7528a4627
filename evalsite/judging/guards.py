# SPDX-License-Identifier: Apache-2.0
"""Guards over a whole column of verdicts: what no single verdict can show (R88, R129). Pure.

A judge that is shown the heads of cards only finds no contradiction anywhere, and every single verdict looks
fine. A guard speaks only where the corpus is known to hold good and bad examples: then a column that is all
alike cannot be right.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import DesignLock
from evalsite.schema.outcome import Dimension, Result, Trial

#: Below so many verdicts nothing is said: among five, chance alone makes a column uniform now and then.
MIN_VERDICTS = 5
#: A judge that never cites anything behind this part of its evidence may have been shown no more than that.
REACH = Fraction(1, 2)

Column = Literal["high", "low", "middle"]
_BINS: tuple[Column, ...] = ("low", "middle", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What guards may know of a corpus.

    ``both_poles`` are the dimensions (null: the evidence protocol) whose labels or controls hold both poles;
    ``evidence`` counts the items of each case.
    """

    both_poles: frozenset[Dimension | None] = frozenset()
    evidence: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """One guard that fired: its code, what it saw, the rule, and the trials it looked at."""

    code: str
    message: str
    rule: str
    trials: tuple[str, ...]


def uniform(classes: Sequence[Column]) -> Column | None:
    """Return what a column of verdicts consists of if it is all alike; null if it is not, or too short to tell."""
    return classes[0] if len(classes) >= MIN_VERDICTS and len(set(classes)) == 1 else None


def reach(cited: Sequence[tuple[int, int]]) -> Fraction | None:
    """Return how far into the evidence a judge ever cited, from 0 (first item) to 1 (last); null: too few to tell.

    Args:
        cited: The greatest cited index and the last index, of each verdict over at least two items.
    """
    parts = [Fraction(index, last) for index, last in cited if last > 0]
    return max(parts) if len(parts) >= MIN_VERDICTS else None


def guard(
    surface: Surface, results: Sequence[tuple[Trial, Result]], *, lock: DesignLock = DEFAULT_LOCK
) -> tuple[Guarded, ...]:
    """Return every guard that fires over a run's scored cases, in a fixed order.

    Args:
        surface: What is known of the corpus.
        results: The results of its cases.
        lock: The constants whose bins say what is high and low.
    """
    return (*_columns(surface, results, lock), *_heads(surface, results))


def _columns(surface: Surface, results: Sequence[tuple[Trial, Result]], lock: DesignLock) -> Iterator[Guarded]:
    for dimension in (None, *Dimension):
        if dimension not in surface.both_poles:
            continue
        scored = [
            (trial, result.verdict.score)
            for trial, result in results
            if trial.dimension is dimension and result.verdict is not None and result.verdict.score is not None
        ]
        alike = uniform([_class_of(score, dimension, lock) for _, score in scored])
        if alike is None:
            continue
        name = "" if dimension is None else f"{dimension.value}: "
        yield Guarded(
            code=f"uniform-{alike}",
            message=f"{name}all {len(scored)} verdicts are {alike}, over a corpus that holds good and bad examples",
            rule="R88",
            trials=tuple(trial.label() for trial, _ in scored),
        )


def _class_of(score: int, dimension: Dimension | None, lock: DesignLock) -> Column:
    if dimension is None:
        return "high" if score else "low"
    return _BINS[lock.bin_of(score)]


def _heads(surface: Surface, results: Sequence[tuple[Trial, Result]]) -> Iterator[Guarded]:
    cited = [
        (trial, max(result.verdict.evidence), surface.evidence[trial.case_id] - 1)
        for trial, result in results
        if surface.evidence.get(trial.case_id, 0) > 1 and result.verdict is not None and result.verdict.evidence
    ]
    furthest = reach([(index, last) for _, index, last in cited])
    if furthest is not None and furthest < REACH:
        yield Guarded(
            code="head-only",
            message=f"no verdict of {len(cited)} cites anything in the second half of its evidence",
            rule="calibration, findings",
            trials=tuple(trial.label() for trial, _, _ in cited),
        )
