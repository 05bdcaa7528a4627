# SPDX-License-Identifier: Apache-2.0
"""Which labels stand beside a run: those that its plan committed to, and those of its corpus (R74, R75, T8)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from evalsite.campaign.labelagree import check_adjudication, check_alignment, hidden_annotators, unknown_items
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import UndecidedError
from evalsite.judging.aligning import Aligned
from evalsite.judging.calibrating_gate import Grounds
from evalsite.judging.calibrating_tables import Source
from evalsite.judging.constructs import constructs_of, criteria_of, rubric_digest
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger.labelbook import LabelBook, ProvenLabels, Use, other_texts
from evalsite.ledger.labelseal import dimension_of
from evalsite.schema.calibration import Criterion, DesignLock, Split
from evalsite.schema.corpus import LabelLevel, LabelSet
from evalsite.schema.labels import GivenLabel, LabelItem, LabelSubject
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
    """Return the labels that a run names and that are not there to compare with yet.

    Raises:
        UndecidedError: Labels were revealed, and their file is gone: a report without them would hide what they say.
    """
    closed = [(use.commitment, proven) for use, proven in book.in_force(run.run_id) if proven.labels is None]
    for name, proven in closed:
        if proven.positions.revealed is not None:
            raise UndecidedError(
                f"expected the labels {name} that entry {proven.positions.revealed} of the log reveals, found no file",
                at=f"runs/log/{run.ledger}/labels/{name}.json",
                rule="availability",
                advice="Restore the file; its digest stands in the log.",
            )
    return tuple(name for name, _ in closed)


def beside_committed(
    run: TrustedRun, use: Use, proven: ProvenLabels, attempt: int, book: LabelBook, *, before: int | None = None
) -> Beside:
    """Return committed labels beside a run that names them.

    Args:
        run: A trusted run.
        use: How its plan names them.
        proven: The labels, revealed.
        attempt: Number of the run's attempt at them.
        book: The labels of the ledger.
        before: A position of the log: the annotators' alpha is derived from what was revealed before it. Null
            takes everything.

    Raises:
        IntegrityError: The annotators, all revealed, do not say what the log says of them.
    """
    commitment, criterion = proven.commitment, proven.commitment.subject.criterion
    alignment, given = proven.alignment, proven.labels or {}
    derived, hidden = _derived(proven, book, before)
    alpha = None if derived is None else derived.alpha
    report = _committed_report(run, use, proven, derived)
    return Beside(
        criterion=criterion,
        lock=proven.lock,
        grounds=Grounds(
            name=commitment.name,
            level=report.level,
            split=use.split,
            raters=report.raters,
            adjudicated=report.adjudicated,
            aligned=alignment is not None and alignment.position < run.head.opened_index,
            alpha=alpha,
            hidden=hidden,
        ),
        source=Source(
            report=report,
            given=given,
            annotators=_annotators(proven, book),
            alpha=alpha,
            hidden=hidden,
            order=_order(run, proven, book),
        ),
        attempt=attempt,
        mismatch=_mismatch(run, criterion, commitment.subject.construct_version, commitment.subject.rubric_digest)
        or _elsewhere(run, commitment.subject)
        or _nowhere(run, given),
    )


def _committed_report(run: TrustedRun, use: Use, proven: ProvenLabels, derived: Aligned | None) -> LabelsReport:
    commitment, alignment, given = proven.commitment, proven.alignment, proven.labels or {}
    level = proven.level_for(run.head.opened_index, run.head.closed_index)
    raters = 1 if alignment is None else len(alignment.commitments)
    return LabelsReport(
        name=commitment.name,
        source="committed",
        annotator=commitment.annotator,
        claimed_level=commitment.claimed_level,
        level=level,
        split=use.split,
        blind=commitment.blind,
        adjudicated=commitment.kind == "adjudication",
        raters=raters,
        human_alpha=None if derived is None else _text(derived.alpha),
        human_compared=None if derived is None else derived.compared,
        construct_version=commitment.subject.construct_version,
        independently_reviewed=level is LabelLevel.HUMAN_BLIND_ANCHORED and raters > 1,  # one person reviews nobody
        aligned_first=alignment is not None,
        total=len(given),
        undecided=sum(label.value is None for label in given.values()),
        boundary=0,
    )


def _derived(proven: ProvenLabels, book: LabelBook, before: int | None) -> tuple[Aligned | None, tuple[str, ...]]:
    """Return the annotators' agreement as their labels give it, or who of them would have to be revealed for that."""
    if proven.alignment is None:
        return None, ()
    hidden = hidden_annotators(book, proven.alignment, before)
    if hidden:
        return None, hidden
    check_adjudication(book, proven)
    return check_alignment(book, proven.alignment), ()


def _elsewhere(run: TrustedRun, subject: LabelSubject) -> str | None:
    """Return which other texts were labelled than the judge read; null where they are the same."""
    other = other_texts(subject, run.plan)
    return None if other is None else f"labels are about other texts than the judge read: {other}"


def _nowhere(run: TrustedRun, given: Mapping[LabelItem, GivenLabel]) -> str | None:
    """Return which label is about nothing that a judge could be asked; null where there is none."""
    unknown = unknown_items(run, given)
    return f"labels are about {unknown[0].label()}, which {run.plan.corpus.name} does not have" if unknown else None


def _annotators(proven: ProvenLabels, book: LabelBook) -> dict[str, Mapping[LabelItem, GivenLabel]]:
    """Return the labels of each annotator that is revealed, by the name of the commitment."""
    names = proven.commitment.of or (proven.commitment.name,)
    found = {name: book.labels[name].labels for name in names if name in book.labels}
    return {name: labels for name, labels in found.items() if labels is not None}


def _order(run: TrustedRun, proven: ProvenLabels, book: LabelBook) -> tuple[OrderRow, ...]:
    """Return T10: the steps by their position in the log, and by their event in the run."""
    at = proven.positions
    first = [record.judge_seq for record in run.controls if record.judge_seq is not None]
    judged = [record.judge_seq for record in run.cases if record.judge_seq is not None]
    named = (run.run_id, proven.commitment.name)
    recorded = [entry.seq for entry in book.calibrations if (entry.run, entry.commitment) == named]
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
