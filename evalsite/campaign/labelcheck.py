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

from evalsite.campaign.labelagree import check_adjudication, check_alignment, hidden_annotators, unknown_items
from evalsite.campaign.labelsource import run_source
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import EvalsiteError, IntegrityError
from evalsite.ledger.labelbook import Alignment, LabelBook, ProvenLabels
from evalsite.ledger.labelseal import RULE
from evalsite.ledger.layout import label_name, log_folder
from evalsite.ledger.steps import Step
from evalsite.schema.calibration import CalibrationSeal
from evalsite.schema.checks import Check
from evalsite.schema.entries import CalibrationRecorded

#: Derives the counts of a recorded calibration again.
Recompute = Callable[[TrustedRun, LabelBook, CalibrationRecorded], CalibrationSeal]


def runs_to_derive(book: LabelBook | None) -> frozenset[str]:
    """Return the runs whose facts `check_book` needs: calibrated ones, and one with the texts of each label set."""
    if book is None:
        return frozenset()
    revealed = (proven.commitment for proven in book.labels.values() if proven.labels is not None)
    shown = (one.subject.run or _judged(book, one.name) for one in revealed)
    return frozenset(chain((entry.run for entry in book.calibrations), (run for run in shown if run is not None)))


def _judged(book: LabelBook, name: str) -> str | None:
    """Return a run that holds the corpus whose texts were labelled: the first one that names the labels."""
    return next((use.run for use in book.uses if use.commitment == name), None)


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
            check_alignment(book, alignment)
    for name, proven in book.labels.items():
        if proven.labels is not None:
            with step.item("labels.items", f"{log_folder(book.ledger)}/{label_name(name)}"):
                check_adjudication(book, proven)
                _check_items(proven, runs)
    for entry in book.calibrations:
        run = runs.get(entry.run)
        if run is not None and _derivable(book, entry):
            with step.item("labels.calibration", log_folder(book.ledger)):
                _check_calibration(run, book, entry, recompute)
    return step.done() if step.checked else None


def _derivable(book: LabelBook, entry: CalibrationRecorded) -> bool:
    """Return whether all labels are there that a recorded calibration could rest on: what was revealed by then."""
    proven = book.labels[entry.commitment]
    names = () if proven.alignment is None else proven.alignment.commitments
    told = [one for one in (proven, *(book.labels[name] for name in names)) if one.told_before(entry.seq)]
    return proven in told and all(one.labels is not None for one in told)


def _alignments(book: LabelBook) -> Iterator[Alignment]:
    """Yield each alignment whose annotators are all revealed."""
    seen = {proven.alignment.position: proven.alignment for proven in book.labels.values() if proven.alignment}
    for alignment in seen.values():
        if not hidden_annotators(book, alignment):
            yield alignment


def _check_items(proven: ProvenLabels, runs: Mapping[str, TrustedRun]) -> None:
    subject = proven.commitment.subject
    for run in runs.values():
        if subject.run == run.run_id:
            known = set(run_source(run).texts)
        elif subject.run is None and subject.corpus_fingerprint == run.plan.corpus.fingerprint:
            known = set(proven.labels or ()) - set(unknown_items(run, proven.labels or ()))
        else:
            continue
        unknown = [item.label() for item in proven.labels or () if item not in known]
        if unknown:
            raise IntegrityError(f"expected items that {run.run_id} has, not {unknown[0]}", rule="labels: items")


def _check_calibration(run: TrustedRun, book: LabelBook, entry: CalibrationRecorded, recompute: Recompute) -> None:
    try:
        found = recompute(run, book, entry)
    except EvalsiteError as exc:
        raise IntegrityError(f"the calibration of {entry.run} can't be derived: {exc.message}", rule=RULE) from exc
    if found != entry.seal:
        differing = [name for name in CalibrationSeal.model_fields if getattr(found, name) != getattr(entry.seal, name)]
        message = f"the calibration of {entry.run} says other {', '.join(differing)} than its verdicts and labels give"
        raise IntegrityError(message, rule="labels: calibration")
