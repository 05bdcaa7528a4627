# SPDX-License-Identifier: Apache-2.0
"""Which labels stand beside a run: those that its plan committed to, and those of its corpus (R74, R75, T8)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from evalsite.campaign.trusted import TrustedRun
from evalsite.judging.calibrating_gate import Grounds
from evalsite.judging.calibrating_tables import Source
from evalsite.judging.constructs import constructs_of, criteria_of, rubric_digest
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger.labelbook import LabelBook, ProvenLabels, Use
from evalsite.ledger.labelseal import dimension_of
from evalsite.schema.calibration import Criterion, DesignLock, Split
from evalsite.schema.corpus import LabelLevel, LabelSet
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.tables import LabelsReport, OrderRow

_LEVELS = tuple(LabelLevel)  # least first


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Labels of one criterion beside a run: what they are, how far they carry, and the constants for them.

    ``mismatch`` says how labels and judge differ in what they measure; null where they do not.
    """

    criterion: Criterion
    lock: DesignLock
    grounds: Grounds
    source: Source
    attempt: int
    mismatch: str | None


def labels_beside(run: TrustedRun, book: LabelBook | None) -> Iterator[Beside]:
    """Yield the labels that a run can be compared with, committed ones first.

    Committed labels that are not revealed yet are passed over: nobody but their annotator knows them.

    Args:
        run: A trusted run.
        book: The labels of its ledger; null where the run names none.

    Raises:
        UndecidedError: An attempt can't be counted, since a plan of the ledger could not be read.
    """
    committed = () if book is None else book.in_force(run.run_id)
    for use, proven in committed:
        if proven.labels is not None and book is not None:
            attempt = book.attempt(use.commitment, run.run_id) or 1
            yield beside_committed(run, use, proven, attempt, book)
    for labels in run.snapshot.label_sets:
        for criterion in criteria_of(run.plan.protocol):
            beside = _beside_corpus(run, labels, criterion)
            if beside.source.given:
                yield beside


def unrevealed(run: TrustedRun, book: LabelBook) -> tuple[str, ...]:
    """Return the labels that a run names and that are not there to compare with yet."""
    return tuple(use.commitment for use, proven in book.in_force(run.run_id) if proven.labels is None)


def beside_committed(
    run: TrustedRun, use: Use, proven: ProvenLabels, attempt: int, book: LabelBook | None = None
) -> Beside:
    """Return committed labels beside a run that names them."""
    commitment, criterion = proven.commitment, proven.commitment.subject.criterion
    level = proven.level_for(run.head.opened_index, run.head.closed_index)
    alignment = proven.alignment
    raters = 1 if alignment is None else len(alignment.commitments)
    alpha = None if alignment is None else alignment.alpha
    given = proven.labels or {}
    report = LabelsReport(
        name=commitment.name,
        source="committed",
        annotator=commitment.annotator,
        claimed_level=commitment.claimed_level,
        level=level,
        split=use.split,
        blind=commitment.blind,
        adjudicated=commitment.kind == "adjudication",
        raters=raters,
        human_alpha=_text(alpha),
        human_compared=None if alignment is None else alignment.compared,
        construct_version=commitment.subject.construct_version,
        independently_reviewed=level is LabelLevel.HUMAN_BLIND_ANCHORED,
        aligned_first=alignment is not None,
        total=len(given),
        undecided=sum(label.value is None for label in given.values()),
        boundary=0,
    )
    return Beside(
        criterion=criterion,
        lock=proven.lock,
        grounds=Grounds(
            name=commitment.name,
            level=level,
            split=use.split,
            raters=raters,
            adjudicated=report.adjudicated,
            aligned=alignment is not None and alignment.position < run.head.opened_index,
            alpha=alpha,
        ),
        source=Source(
            report=report,
            given=given,
            annotators=_annotators(proven, book),
            alpha=alpha,
            order=_order(run, proven, book),
        ),
        attempt=attempt,
        mismatch=_mismatch(run, criterion, commitment.subject.construct_version, commitment.subject.rubric_digest),
    )


def _annotators(proven: ProvenLabels, book: LabelBook | None) -> dict[str, Mapping[LabelItem, GivenLabel]]:
    """Return the labels of each annotator that is revealed, by the name of the commitment."""
    if book is None:
        return {}
    names = proven.commitment.of or (proven.commitment.name,)
    found = {name: book.labels[name].labels for name in names if name in book.labels}
    return {name: labels for name, labels in found.items() if labels is not None}


def _order(run: TrustedRun, proven: ProvenLabels, book: LabelBook | None) -> tuple[OrderRow, ...]:
    """Return T10: the steps by their position in the log, and by their event in the run."""
    at = proven.positions
    first = [record.judge_seq for record in run.controls if record.judge_seq is not None]
    judged = [record.judge_seq for record in run.cases if record.judge_seq is not None]
    named = (run.run_id, proven.commitment.name)
    entries = () if book is None else book.calibrations
    recorded = [entry.seq for entry in entries if (entry.run, entry.commitment) == named]
    rows = (
        ("constants.frozen", at.constants, None, "constants of the gate"),
        ("cards.frozen", at.cards, None, "texts that are labelled and judged"),
        ("labels.committed", at.committed, None, "salted root of the labels"),
        ("annotators.aligned", at.aligned, None, "agreement of the annotators"),
        ("run.opened", run.head.opened_index, None, "plan of the judge's run"),
        ("first control", None, min(first, default=None), "first example of known classification"),
        ("first verdict", None, min(judged, default=None), "first labelled item before the judge"),
        ("run.closed", run.head.closed_index, None, "the judge's verdicts are sealed"),
        ("labels.revealed", at.revealed, None, "labels and nonces are public"),
        ("calibration.recorded", min(recorded, default=None), None, "counts and outcome, derived again ever since"),
    )
    return tuple(
        OrderRow(step=step, position=position, event=event, words=words) for step, position, event, words in rows
    )


def _beside_corpus(run: TrustedRun, labels: LabelSet, criterion: Criterion) -> Beside:
    """Return a label set of the corpus beside a run: nothing proves when it was made, so that it stays below blind."""
    dimension = dimension_of(criterion)
    planned = {case.case_id for case in run.plan.cases}
    chosen = [label for label in labels.labels if label.dimension is dimension and label.case_id in planned]
    given = {}
    for label in chosen:
        item = LabelItem(case_id=label.case_id, repetition=None, dimension=dimension)
        given[item] = GivenLabel(item=item, value=label.value, note=label.note)
    level = min(labels.level, LabelLevel.HUMAN_REVIEWED, key=_LEVELS.index)
    report = LabelsReport(
        name=labels.name,
        source="corpus",
        annotator=labels.annotator,
        claimed_level=labels.level,
        level=level,
        split=Split.DEV,
        blind=False,
        adjudicated=False,
        raters=1,
        human_alpha=None,
        human_compared=None,
        construct_version=labels.construct_version,
        independently_reviewed=labels.independently_reviewed_by_humans,
        aligned_first=labels.aligned_on_standard_first,
        total=len(given),
        undecided=0,
        boundary=sum(label.boundary for label in chosen),
    )
    calibration = run.plan.calibration
    return Beside(
        criterion=criterion,
        lock=DEFAULT_LOCK if calibration is None else calibration.design_lock,
        grounds=Grounds(
            name=labels.name, level=level, split=Split.DEV, raters=1, adjudicated=False, aligned=False, alpha=None
        ),
        source=Source(report=report, given=given, annotators={}, alpha=None, order=()),
        attempt=1,
        mismatch=_mismatch(run, criterion, labels.construct_version, None),
    )


def _mismatch(run: TrustedRun, criterion: Criterion, version: str, rubric: str | None) -> str | None:
    """Return how labels and judge differ in what they measure; null where they do not (R80, R81)."""
    scorer = constructs_of(run.plan).get(criterion)
    if scorer is None:
        return f"labels are of {criterion.value}, which the judge was not asked about"
    if version != scorer:
        return f"labels are of construct version {version}, the judge is asked about version {scorer}"
    if rubric is not None and rubric != rubric_digest(run.snapshot.corpus, criterion):
        return "labels were made under another rubric than the judge's corpus holds"
    return None


def _text(alpha: Fraction | None) -> str | None:
    return None if alpha is None else f"{float(alpha):.4f}"
