# SPDX-License-Identifier: Apache-2.0
"""Step 29 of a verification: what a log says of labels follows from the labels themselves.

The ledger proves the order and that revealed labels are those that were committed. This module derives
again what was computed from them:

* an alignment's count and alpha, once all its annotators are revealed;
* that an adjudication keeps what its annotators agree on, and decides nothing but what they labelled;
* that labels are about cases of the corpus, and about answers that the labelled run has;
* the counts and the outcome of every recorded calibration.

What is not revealed yet can't be derived yet; it is not counted.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from evalsite.campaign.labelsource import run_source
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import EvalsiteError, IntegrityError
from evalsite.judging.aligning import align_annotators
from evalsite.ledger.labelbook import Alignment, LabelBook, ProvenLabels
from evalsite.ledger.labelseal import RULE
from evalsite.ledger.layout import label_name, log_folder
from evalsite.ledger.steps import Step
from evalsite.schema.calibration import CalibrationSeal
from evalsite.schema.checks import Check
from evalsite.schema.entries import CalibrationRecorded

#: Derives the counts of a recorded calibration again.
Recompute = Callable[[TrustedRun, ProvenLabels, CalibrationRecorded], CalibrationSeal]


def runs_to_derive(book: LabelBook | None) -> frozenset[str]:
    """Return the runs whose facts `check_book` needs: those with a recorded calibration, and labelled ones."""
    if book is None:
        return frozenset()
    labelled = (proven.commitment.subject.run for proven in book.labels.values() if proven.labels is not None)
    return frozenset(chain((entry.run for entry in book.calibrations), (run for run in labelled if run is not None)))


def check_book(book: LabelBook, runs: Mapping[str, TrustedRun], recompute: Recompute) -> Check | None:
    """Derive again what a log says of labels.

    Args:
        book: The labels of a ledger whose integrity holds.
        runs: The trusted runs of `runs_to_derive`; one that is not there has findings of its own.
        recompute: Derives the counts of a calibration.

    Returns:
        The check; null when there is nothing to derive.
    """
    step = Step(29, "labels: alignments, adjudications and calibrations follow from revealed labels")
    for alignment in _alignments(book):
        with step.item("labels.alignment", log_folder(book.ledger)):
            _check_alignment(book, alignment)
    for name, proven in book.labels.items():
        if proven.labels is not None:
            with step.item("labels.items", f"{log_folder(book.ledger)}/{label_name(name)}"):
                _check_adjudication(book, proven)
                _check_items(proven, runs)
    for entry in book.calibrations:
        run, proven = runs.get(entry.run), book.labels[entry.commitment]
        if run is not None and proven.labels is not None:
            with step.item("labels.calibration", log_folder(book.ledger)):
                _check_calibration(run, proven, entry, recompute)
    return step.done() if step.checked else None


def _alignments(book: LabelBook) -> Iterator[Alignment]:
    """Yield each alignment whose annotators are all revealed."""
    seen = {proven.alignment.position: proven.alignment for proven in book.labels.values() if proven.alignment}
    for alignment in seen.values():
        if all(book.labels[name].labels is not None for name in alignment.commitments):
            yield alignment


def _check_alignment(book: LabelBook, alignment: Alignment) -> None:
    annotators = [book.labels[name] for name in alignment.commitments]
    labels = [proven.labels for proven in annotators if proven.labels is not None]
    if any(set(found) != set(labels[0]) for found in labels):
        raise IntegrityError("expected annotators that labelled the same items", rule=RULE)
    first = annotators[0]
    found = align_annotators(labels, first.commitment.subject.criterion, first.lock)
    if (found.compared, found.alpha) != (alignment.compared, alignment.alpha):
        said, given = (f"{side.compared} items, alpha {side.alpha}" for side in (alignment, found))
        raise IntegrityError(f"the log says {said}, the labels give {given}", rule="labels: alignment")


def _check_adjudication(book: LabelBook, proven: ProvenLabels) -> None:
    of = [book.labels[name].labels for name in proven.commitment.of]
    labels = [found for found in of if found is not None]
    if proven.labels is None or not labels or len(labels) != len(of):
        return
    if set(proven.labels) != set(labels[0]):
        raise IntegrityError("expected an adjudication of the items that were labelled", rule=RULE)
    aligned = align_annotators(labels, proven.commitment.subject.criterion, proven.lock)
    for label in aligned.agreed:
        if proven.labels[label.item].value != label.value:
            message = f"expected {label.item.label()} as all annotators labelled it"
            raise IntegrityError(message, rule="labels: adjudication")


def _check_items(proven: ProvenLabels, runs: Mapping[str, TrustedRun]) -> None:
    subject = proven.commitment.subject
    for run in runs.values():
        if subject.run == run.run_id:
            known = set(run_source(run).texts)
        elif subject.run is None and subject.corpus_fingerprint == run.plan.corpus.fingerprint:
            cases = {case.id for case in run.snapshot.corpus.cases}
            known = {item for item in proven.labels or () if item.case_id in cases}
        else:
            continue
        unknown = [item.label() for item in proven.labels or () if item not in known]
        if unknown:
            raise IntegrityError(f"expected items that {run.run_id} has, not {unknown[0]}", rule="labels: items")


def _check_calibration(run: TrustedRun, proven: ProvenLabels, entry: CalibrationRecorded, recompute: Recompute) -> None:
    try:
        found = recompute(run, proven, entry)
    except EvalsiteError as exc:
        raise IntegrityError(f"the calibration of {entry.run} can't be derived: {exc.message}", rule=RULE) from exc
    if found != entry.seal:
        differing = [name for name in CalibrationSeal.model_fields if getattr(found, name) != getattr(entry.seal, name)]
        message = f"the calibration of {entry.run} says other {', '.join(differing)} than its verdicts and labels give"
        raise IntegrityError(message, rule="labels: calibration")
