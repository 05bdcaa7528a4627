# SPDX-License-Identifier: Apache-2.0
"""Two runs side by side, by case and repetition (R93-R96, R98, T7). Pure.

A pair is one trial that both runs planned. Its values are compared only where both are there: what is
unavailable is set apart with whose failure it was, and never counts as a failure of the candidate. A case
got worse when fewer of its compared repetitions passed, whatever the overall proportion did. Cases are the
units of the exact test, since repetitions of one case are not independent of each other.

Protocols without a candidate have a judge's scores only. These go up or down, and nothing regresses.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evalsite.judging.comparability import Difference, SeriesBreak, Variable
from evalsite.judging.gates import Decision, GateState
from evalsite.schema.outcome import Mode, Result, Trial
from evalsite.schema.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a comparison reads of one sealed, verified run.

    ``results`` are the case trials that ended. ``answers`` holds a digest of the exact content of each answer
    that a candidate gave.
    """

    run: str
    plan: Plan
    opened_at: str
    results: Mapping[Trial, Result]
    answers: Mapping[Trial, str]
    decision: Decision

    @property
    def answers_of(self) -> str | None:
        """Return the run whose answers were judged again; null where a candidate was asked."""
        return self.plan.answers.run if self.plan.answers else None


class Change(StrEnum):
    """What happened to a pair, or to a case."""

    SAME = "same"
    DOWN = "down"
    UP = "up"
    EXCLUDED = "excluded"  # unavailable in at least one run
    BREAK = "series break"  # another construct: the values are of two series (R98)


class Cause(StrEnum):
    """Where a flip comes from, as far as bytes tell."""

    ANSWER = "answer"  # the candidate answered otherwise
    JUDGE = "judge"  # the answer is the same to the byte, the verdict is another
    CASE = "case"  # the text of the case, or what is expected, is another


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One outcome: a value (1 and 0, or the bin of a grade) or null with the status and whose failure it was."""

    value: int | None
    status: str
    side: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One trial in both runs. ``cause`` is set for a change that is down or up."""

    trial: Trial
    before: Cell
    after: Cell
    change: Change
    cause: Cause | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Repetitions of one case in one run, of the pairs that were compared. ``total`` sums their values up.

    ``every`` is pass^k for the planned k repetitions: null while one of them was not compared.
    """

    compared: int
    passed: int
    total: int
    every: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One case (and dimension) in both runs."""

    case_id: str
    dimension: str | None
    critical: bool
    pairs: tuple[Pair, ...]
    before: Tally
    after: Tally
    change: Change

    @property
    def excluded(self) -> tuple[Pair, ...]:
        """Return the pairs that were not compared."""
        return tuple(pair for pair in self.pairs if pair.change is Change.EXCLUDED)

    @property
    def flips(self) -> tuple[Pair, ...]:
        """Return the pairs whose value changed."""
        return tuple(pair for pair in self.pairs if pair.change in (Change.DOWN, Change.UP))

    @property
    def name(self) -> str:
        """Return the case with its dimension."""
        return self.case_id if self.dimension is None else f"{self.case_id} {self.dimension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """The exact test over cases, and what it would take.

    ``p`` is null where no case changed. ``needed`` is the least number of changed cases with p at most
    ``alpha``, as many of them against the trend as now. ``cases_needed`` is how many cases of this kind it
    takes to see a difference like the observed one, null where none was seen or where there is no such
    number; ``visible`` is the least one-way change that the compared cases could show, null if none.
    """

    compared: int
    down: int
    up: int
    p: Fraction | None
    alpha: Fraction
    power: Fraction
    needed: int
    cases_needed: int | None
    visible: Fraction | None

    @property
    def conclusive(self) -> bool:
        """Return whether the difference is beyond chance at ``alpha``."""
        return self.p is not None and self.p <= self.alpha


@dataclass(frozen=True, slots=True, kw_only=True)
class Retest:
    """The judge on identical questions: how many pairs, and on how many of them the verdicts are the same.

    With the same judge that is test-retest; with another one it is how two judges agree.
    """

    asked_twice: int
    said_the_same: int
    same_judge: bool


class Outcome(StrEnum):
    """What `evalsite compare --gate` says."""

    HOLDS = "no regression"
    REGRESSED = "regression"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that two runs say of each other. ``before`` and ``after`` are the runs as they were given."""

    before: RunFacts
    after: RunFacts
    variable: Variable | None
    differences: tuple[Difference, ...]
    breaks: tuple[SeriesBreak, ...]
    cases: tuple[CaseRow, ...]
    only_before: tuple[Trial, ...]
    only_after: tuple[Trial, ...]
    mcnemar: McNemar
    retest: Retest

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Return every pair, by case."""
        return tuple(pair for row in self.cases for pair in row.pairs)

    @property
    def has_candidate(self) -> bool:
        """Return whether a candidate was asked in both runs, so that it could get worse at all."""
        asked = (facts.plan.candidate is not None and facts.answers_of is None for facts in (self.before, self.after))
        return all(asked)

    @property
    def by_change(self) -> dict[Change, int]:
        """Return how many pairs there are of each change; they add up to all pairs."""
        found = Counter(pair.change for pair in self.pairs)
        return {change: found[change] for change in Change}

    @property
    def by_cause(self) -> dict[Cause, int]:
        """Return how many flips there are of each cause; they add up to all flips."""
        found = Counter(pair.cause for pair in self.pairs)
        return {cause: found[cause] for cause in Cause}

    @property
    def by_side(self) -> dict[str, int]:
        """Return whose failures excluded pairs, by pair: one that failed on two sides counts for both."""
        found = Counter(
            side
            for pair in self.pairs
            if pair.change is Change.EXCLUDED
            for side in {pair.before.side, pair.after.side}
            if side is not None
        )
        return dict(sorted(found.items()))

    @property
    def down(self) -> tuple[CaseRow, ...]:
        """Return the cases that went down."""
        return tuple(row for row in self.cases if row.change is Change.DOWN)

    @property
    def up(self) -> tuple[CaseRow, ...]:
        """Return the cases that went up."""
        return tuple(row for row in self.cases if row.change is Change.UP)

    @property
    def regressions(self) -> tuple[CaseRow, ...]:
        """Return the cases that got worse, whatever the whole did (R94); none without a candidate."""
        return self.down if self.has_candidate else ()

    @property
    def passed(self) -> tuple[int, int, int]:
        """Return how many compared pairs passed before, how many after, and how many there are."""
        rows = [row for row in self.cases if row.change is not Change.BREAK]
        return (
            sum(row.before.passed for row in rows),
            sum(row.after.passed for row in rows),
            sum(row.before.compared for row in rows),
        )

    @property
    def open_points(self) -> tuple[str, ...]:
        """Return why the absence of regressions would not be shown by this comparison."""
        return tuple(_open_points(self))

    @property
    def outcome(self) -> Outcome:
        """Return what a gate on regressions says. It qualifies nothing: the run's own gate does (R96)."""
        if self.regressions:
            return Outcome.REGRESSED
        return Outcome.UNDECIDED if self.open_points else Outcome.HOLDS


def refused(facts: RunFacts) -> bool:
    """Return whether a run's own gate refused it: no comparison changes that (R96)."""
    gate = facts.decision.fixture_gate if facts.plan.mode is Mode.FIXTURE else facts.decision.model_gate
    return gate is GateState.REFUSED


def _open_points(comparison: Comparison) -> Iterator[str]:
    if not comparison.has_candidate:
        asked = "was not asked again" if comparison.before.plan.candidate else "is not asked in this protocol"
        yield f"the candidate {asked}, what changed is the judge's"
    if comparison.breaks:
        yield "a construct changed: its scores are two series"
    excluded = comparison.by_change[Change.EXCLUDED]
    if excluded:
        sides = ", ".join(f"{side} {count}" for side, count in comparison.by_side.items())
        yield f"{excluded} of {len(comparison.pairs)} pairs are unavailable in one run at least ({sides})"
    unmatched = len(comparison.only_before) + len(comparison.only_after)
    if unmatched:
        yield f"{unmatched} trials were planned in one run only"
    if not comparison.pairs:
        yield "the runs share no trial"
    for facts in (comparison.before, comparison.after):
        if facts.decision.calibration_passed is False:
            yield f"the judge of {facts.run} did not pass its calibration"
