# SPDX-License-Identifier: Apache-2.0
"""The tables of a calibration, as they are published: integers first, then what follows from them (R69-R74).

Table numbers are those of docs/reference/calibration.md. Every rate stands beside its counts; every number
that is undefined is null and says why. Rates are decimal text, rounded for display; decisions are made from
the counts. Nothing here is signed: the signed counts are `evalsite.schema.calibration.CalibrationSeal`.
"""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import model_validator

from evalsite.schema.base import Count, StrictModel
from evalsite.schema.calibration import Criterion, GateOutcome, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.outcome import Mode, Protocol


class Unavailable(StrEnum):
    """Why a labelled item has no usable verdict: a closed list, none of which is ever a score (R61, R62, R71)."""

    NULL = "null_not_decidable"  # a valid verdict: not enough basis to judge
    PARSE = "parse_failure"  # the reply is not the one JSON object that was asked for
    REFUSAL = "refusal"  # the judge refused to judge
    TRUNCATED = "truncated"  # reply or text was cut: a part of what was judged or said is missing
    TRANSPORT = "timeout_or_transport"  # no usable reply came
    VOCABULARY = "out_of_vocabulary"  # a verdict that is none of the values of the contract
    UNKNOWN_EVIDENCE = "unknown_evidence"  # it cites evidence that does not exist
    NO_VERDICT = "no_verdict"  # no row or several, or a trial that was given up
    UNSTABLE = "unstable"  # repetitions of the same question gave different verdicts


class Figure(StrictModel):
    """A rate or coefficient with its counts and interval, or null with the reason.

    ``count`` of ``of`` is the rate; a coefficient has no counts. ``low`` and ``high`` are the ends of the
    interval that ``method`` names (one of them for a one-sided bound). ``seed`` and ``replicates`` are those
    of a bootstrap.
    """

    count: Count | None = None
    of: Count | None = None
    value: str | None
    low: str | None = None
    high: str | None = None
    method: str = ""
    seed: str | None = None
    replicates: Count | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _null_has_a_reason(self) -> "Figure":
        if (self.value is None) is (self.reason is None):
            message = "expected a value, or the reason why there is none"
            raise ValueError(message)
        return self


class OutcomeCounts(StrictModel):
    """Labels that a person could decide, against verdicts. ``judged`` and all unavailable make up ``labeled``.

    ``agreed``, ``false_pass`` and ``false_fail`` are null where no agreement may be stated: no live judge was
    asked (R73), or labels and judge measure different constructs (R81).
    """

    labeled: Count
    judged: Count
    agreed: Count | None
    false_pass: Count | None
    false_fail: Count | None
    unavailable: dict[Unavailable, Count]

    @model_validator(mode="after")
    def _adds_up(self) -> "OutcomeCounts":
        if self.judged + sum(self.unavailable.values()) != self.labeled:
            message = "expected judged and unavailable to make up labeled"
            raise ValueError(message)
        parts = (self.agreed, self.false_pass, self.false_fail)
        known = [part for part in parts if part is not None]
        if known and (len(known) != len(parts) or sum(known) != self.judged):
            message = "expected agreed, false passes and false fails to make up judged"
            raise ValueError(message)
        return self


class RepetitionCounts(StrictModel):
    """The counts of one repetition by itself (T5): the gate looks at all repetitions of an item together."""

    repetition: Count
    counts: OutcomeCounts


class Confusion(StrictModel):
    """What people said (rows) against what the judge said (columns), undecided and missing among them.

    Cells are null where no agreement may be stated.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Count, ...], ...] | None


class ColumnReport(StrictModel):
    """Whether the judge's decided verdicts are all alike (R88): null with a reason below five of them."""

    decided: Count
    constant: bool | None
    value: str | None
    longest_run: Count
    reason: str | None


class LabelsReport(StrictModel):
    """Which labels stand behind a table and how far they carry (R74, R75, T8).

    ``level`` is the lesser of what was claimed and of what the log's order proves. ``adjudicated`` tells one
    decision over several annotators from the labels of a single one. ``undecided`` counts labels that a person
    could not decide; ``boundary`` those that the authors marked as lying on the boundary.
    """

    name: str
    source: Literal["committed", "corpus"]
    annotator: str
    claimed_level: LabelLevel
    level: LabelLevel
    split: Split
    blind: bool
    adjudicated: bool
    raters: Count
    human_alpha: str | None
    human_compared: Count | None
    construct_version: str
    independently_reviewed: bool
    aligned_first: bool
    total: Count
    undecided: Count
    boundary: Count


#: What a condition that does not hold makes of a gate.
Effect: TypeAlias = Literal[GateOutcome.FAIL, GateOutcome.INSUFFICIENT]


class GateReason(StrictModel):
    """One condition of a calibration gate that does not hold.

    ``effect`` is what it makes of the gate. ``more_labels`` is the least number of further labels, all judged
    rightly, that could turn it into a pass; null where labels would not help.
    """

    code: str
    effect: Effect
    message: str
    rule: str
    items: tuple[str, ...] = ()
    more_labels: Count | None = None


class Standing(StrEnum):
    """In which sense a gate's outcome stands."""

    DECIDED = "decided"
    INVALID = "invalid"  # labels and judge measure different constructs (R80)
    STALE = "stale"  # the judge that is relied on is not the judge that was calibrated
    NOT_VALIDATED = "not independently validated"  # preset or synthetic labels: a demonstration (T8)
    NOT_MEASURED = "not measured"  # no live judge was asked (R73)


class GateResult(StrictModel):
    """A calibration gate: PASS only if every condition holds.

    ``alpha`` is the level of this attempt: the lock's for the first run against the same labels, half of it
    for the second, and so on. Both are null where there are no labels: nothing was tried, nothing tested.
    ``words`` says the result in one sentence that claims no more than was shown.
    """

    criterion: Criterion
    run: str
    labels: str
    outcome: GateOutcome
    standing: Standing
    attempt: Count | None
    alpha: str | None
    constants: str
    words: str
    reasons: tuple[GateReason, ...]


class Disagreement(StrictModel):
    """One item on which judge and people differ (T2). Texts of the judge are untrusted."""

    item: str
    case_id: str
    repetition: Count | None
    dimension: str | None
    human: Count
    judge: Count
    kind: Literal["false pass", "false fail"]
    reason: str | None
    evidence: tuple[Count, ...]
    evidence_supplied: Count
    label_note: str | None
    annotators: dict[str, Count | None]


class PairAgreement(StrictModel):
    """How often two annotators agree on what both decided."""

    first: str
    second: str
    agreement: Figure


class AnnotatorsTable(StrictModel):
    """Annotators among themselves (T3): what people reach is the ceiling for a judge.

    ``ceiling`` counts all pairs of ratings of one item. A label that a person could not decide is a missing
    rating. ``alpha`` is null with a reason while fewer than two annotators are known.
    """

    names: tuple[str, ...]
    undecided: dict[str, Count]
    items: Count
    ceiling: Figure
    alpha: Figure
    pairs: tuple[PairAgreement, ...]
    adjudicated: Count


class CaseRepetitions(StrictModel):
    """One case over the repetitions of a run: how many ended, and how many of these were right."""

    case_id: str
    dimension: str | None
    trials: Count
    passes: Count
    unavailable: Count


class PassPower(StrictModel):
    """k repetitions drawn from those of a case, averaged over cases: do all of them pass (pass^k), or any (pass@k)."""

    k: Count
    all_pass: Figure
    any_pass: Figure


class RepetitionTable(StrictModel):
    """Repetitions (T5). ``retested`` counts identical questions that the judge answered twice or more.

    ``passes`` means: the candidate's case passed (binary), or the verdict is the human's (other protocols).
    """

    about: str
    cases: tuple[CaseRepetitions, ...]
    pass_power: tuple[PassPower, ...]
    flaky: tuple[str, ...]
    retested: Count
    unanimous: Figure


class CorrectedRate(StrictModel):
    """The judge's pass rate, corrected by its measured errors (T6); null where nothing can be corrected."""

    judged_rate: Figure
    sensitivity: Figure
    specificity: Figure
    corrected: Figure
    labels_only: Figure


class BinRow(StrictModel):
    """One frozen bin of the judge's scores (T8): what people said of the items in it."""

    bin: str
    judged: Count
    human: dict[str, Count] | None
    same: Figure


class LengthRow(StrictModel):
    """One tercile of the judged texts by their length in characters (T9).

    ``human_top`` and ``judge_top`` are the rates of the best value: 1, or the high bin.
    """

    tercile: Literal["short", "middle", "long"]
    least_chars: Count
    most_chars: Count
    counts: OutcomeCounts
    human_top: Figure
    judge_top: Figure


class OrderRow(StrictModel):
    """One step of the provable order (T10). ``position`` counts entries of the log, ``event`` those of the run."""

    step: str
    position: Count | None
    event: Count | None
    words: str


class PositionTable(StrictModel):
    """Both orders of pairwise judging (T4). An inconsistent pair is no tie, and an errored order is unavailable.

    ``wins_a`` and ``wins_b`` count what both orders prefer, ``half_ties`` what is a tie in one of them only.
    """

    pairs: Count
    both_decided: Count
    unavailable: Count
    wins_a: Count
    wins_b: Count
    ties: Count
    half_ties: Count
    consistent: Figure
    flips_first: Count
    flips_second: Count
    first_slot: Figure
    exact_p: Figure


class JudgeRates(StrictModel):
    """The counts of a judge against labels, and the rates that follow from them (T1).

    ``human_fail`` and ``human_pass`` are the judged labels on which a false pass, or a false fail, was possible.
    """

    counts: OutcomeCounts
    human_fail: Count
    human_pass: Count
    agreement: Figure
    agreement_worst: Figure
    false_pass: Figure
    false_fail: Figure
    prevalence: Figure
    judge_rate: Figure
    baseline: Figure
    kappa: Figure
    ac1: Figure
    column: ColumnReport


class CriterionTables(JudgeRates):
    """Everything about one criterion and one set of labels: T1 with its gate, T2, T3, T6, T8, T9, T10.

    ``measured`` is false where no agreement may be stated; ``not_measured`` says why.
    """

    criterion: Criterion
    labels: LabelsReport
    measured: bool
    not_measured: str | None
    repetitions: tuple[RepetitionCounts, ...]
    confusion: Confusion
    gate: GateResult
    disagreements: tuple[Disagreement, ...]
    annotators: AnnotatorsTable
    corrected: CorrectedRate
    bins: tuple[BinRow, ...]
    lengths: tuple[LengthRow, ...]
    order: tuple[OrderRow, ...]


class ControlsTable(StrictModel):
    """Controls of a run: examples whose classification is known, shown before anything is judged (R41, R67).

    ``by_kind`` counts (right, shown) of each kind of control, such as ``negative`` or ``tail``.
    ``passed`` is null where the run shows none.
    """

    planned: Count
    right: Count
    unavailable: Count
    passed: bool | None
    by_kind: dict[str, tuple[Count, Count]]


class NamedFinding(StrictModel):
    """A named weakness of the judge, with the items or trials that show it, and what it makes of a gate.

    ``criterion`` is null where it concerns every criterion.
    """

    code: str
    criterion: Criterion | None
    effect: Effect
    message: str
    rule: str
    items: tuple[str, ...]


class JudgeReport(StrictModel):
    """Which judge: what a calibration is bound to (T18). ``same_model`` is null where that is not known."""

    model_name: str | None
    model_digest: str | None
    endpoint: str
    instructions: str
    prompt_version: str
    contract: str
    sampling: dict[str, str]
    same_model_as_candidate: bool | None


class CalibrationReport(StrictModel):
    """``evalsite calibrate RUN --json``: every table of one run's judge.

    ``unrevealed`` names labels that the run's plan committed to and that nobody but their annotator knows yet.
    """

    run: str
    ledger: str
    profile: str
    mode: Mode
    protocol: Protocol
    corpus: str
    judge: JudgeReport
    controls: ControlsTable
    findings: tuple[NamedFinding, ...]
    criteria: tuple[CriterionTables, ...]
    unrevealed: tuple[str, ...]
    repetition: RepetitionTable
    position: PositionTable | None
    caveats: tuple[str, ...]


class ImportedTable(JudgeRates):
    """One judge's table of an import: the counts and rates of T1, and T4 where both orders are there."""

    group: dict[str, str]
    position: PositionTable | None


class ImportReport(StrictModel):
    """``evalsite calibrate import --json``: tables from labels and verdicts of others. They open no gate."""

    title: str
    source: str
    mapping: str
    standing: Literal["imported: recorded by others, opens no gate"]
    tables: tuple[ImportedTable, ...]
