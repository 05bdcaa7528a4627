# SPDX-License-Identifier: Apache-2.0
"""What a plan says of labels before its first control: constants, commitments, gates (R64, R78)."""

from dataclasses import dataclass

from evalsite.errors import InputError
from evalsite.judging.constructs import construct_version, protocol_of, rubric_digest
from evalsite.ledger.labelbook import LabelBook, ProvenLabels
from evalsite.schema.calibration import CalibrationPlan, CalibrationSpec, CommitmentRef, DesignLock, Split
from evalsite.schema.corpus import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a run will judge: a corpus as it is now, or (``answers_of``) the frozen answers of a sealed run."""

    corpus: Corpus
    fingerprint: str
    answers_of: str | None = None


def planned_calibration(spec: CalibrationSpec, book: LabelBook, judged: Judged) -> CalibrationPlan:
    """Return the calibration part of a plan.

    Args:
        spec: What the campaign asks for.
        book: The labels of the ledger that the run will be logged in.
        judged: What the run will judge.

    Raises:
        InputError: Constants that are not frozen; labels that are not committed, were made for something else
            or under other constants, or are known already although they should be sealed.
    """
    corpus = judged.corpus.name
    lock = book.locks.get(corpus)
    if lock is None:
        raise InputError(
            f"expected frozen constants of {corpus} in the log of {book.ledger}, found none",
            at="calibration",
            rule="R64",
            advice=f"Freeze them first: evalsite label freeze --corpus {corpus}",
        )
    refs = []
    for name, split in spec.commitments.items():
        proven = book.labels.get(name)
        if proven is None:
            raise InputError(
                f"expected labels {name} that are committed in {book.ledger}, found none",
                at=f"calibration.commitments.{name}",
                rule="R78",
                advice="Labels are committed before the judge runs: evalsite label commit SHEET",
            )
        _check(proven, split, judged, lock)
        refs.append(CommitmentRef(name=name, root=proven.commitment.root, split=split))
    return CalibrationPlan(design_lock=lock, commitments=tuple(refs), gates=spec.gates)


def _check(proven: ProvenLabels, split: Split, judged: Judged, lock: DesignLock) -> None:
    subject, name = proven.commitment.subject, proven.commitment.name
    criterion, corpus = subject.criterion, judged.corpus
    if (subject.corpus, subject.corpus_fingerprint, subject.run) != (
        corpus.name,
        judged.fingerprint,
        judged.answers_of,
    ):
        message, rule = f"the labels {name} are about other texts than this run judges", "cards"
    elif protocol_of(criterion) is not corpus.protocol:
        message, rule = f"the labels {name} are of the criterion {criterion.value}", "T1"
    elif subject.construct_version != construct_version(criterion):
        message, rule = f"the labels {name} are of construct version {subject.construct_version}", "R80"
    elif subject.rubric_digest != rubric_digest(corpus, criterion):
        message, rule = f"the labels {name} were made under another rubric than the judge is given now", "R79"
    elif proven.lock != lock:
        message, rule = f"the labels {name} were made under other constants than are frozen now", "R64"
    elif split is Split.SEALED and proven.positions.known is not None:
        message = f"the labels {name}, or others of the same texts, are revealed: the judge's side can know them"
        rule = "R78"
    else:
        return
    advice = "Label what is judged now, blind, and commit that."
    raise InputError(message, at=f"calibration.commitments.{name}", rule=rule, advice=advice)
