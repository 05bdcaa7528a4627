# SPDX-License-Identifier: Apache-2.0
"""Labels in a provable order: freeze, commit, align, reveal (R77, R78, R79).

Every step is one entry of the ledger's log, and the log's order is the proof:

    constants.frozen < cards.frozen < labels.committed < annotators.aligned < run.opened < run.closed
    < labels.revealed < calibration.recorded

What no log can prove is that the judge was not run in private before; see docs/how-to/label-a-corpus.md.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import InputError, IntegrityError, UndecidedError, shorten
from evalsite.judging.aligning import Aligned
from evalsite.ledger import labelstore
from evalsite.ledger.authentic import refuse
from evalsite.ledger.evidence import NO_POLICY, Policy
from evalsite.ledger.labelbook import LabelBook
from evalsite.ledger.labelseal import NONCE_BYTES, labels_root, salt_labels
from evalsite.ledger.labelwriter import LabelWriter
from evalsite.ledger.layout import check_name
from evalsite.ledger.verify import check_ledgers
from evalsite.schema.calibration import DesignLock, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.labels import GivenLabel, LabelCommitment, LabelSubject, SealedLabels


def load_labels(project: Path, ledger: str, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> LabelBook:
    """Return the labels of a verified ledger.

    Labels that are revealed and whose file is not there are null in it; their position says so.

    Raises:
        InputError: There is no such ledger.
        IntegrityError: Keys, log or revealed labels do not verify.
    """
    checked = check_ledgers(project, pins=pins, policy=policy).get(ledger)
    if checked is None:
        raise InputError(f"expected a ledger {ledger} in this project, found none", at="runs/trust")
    if checked.facts is None:
        refuse(checked.report.checks, at=f"runs/log/{ledger}")
        raise IntegrityError("expected a ledger that verifies", at=f"runs/log/{ledger}")
    return checked.facts.labels


def freeze(labels: LabelWriter, subject: LabelSubject, lock: DesignLock, *, now: str) -> tuple[str, ...]:
    """Log the constants and cards of a subject, unless they are frozen already; return what was logged.

    Args:
        labels: The open ledger's labels.
        subject: What will be labelled.
        lock: The constants of its corpus.
        now: UTC time.
    """
    logged = []
    if labels.book.locks.get(subject.corpus) != lock:
        labels.append("constants.frozen", {"corpus": subject.corpus, "lock": lock.plain()}, now=now)
        logged.append("constants.frozen")
    if logged or not labels.book.frozen(subject):
        body = {"corpus": subject.corpus, "fingerprint": subject.corpus_fingerprint, "run": subject.run}
        labels.append("cards.frozen", body, now=now)
        logged.append("cards.frozen")
    return tuple(logged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an annotator says of labels when they are committed."""

    name: str
    annotator: str
    level: LabelLevel
    blind: bool
    seed: str
    supersedes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Finished labels of a subject; ``of`` names the commitments that they adjudicate, if they do."""

    subject: LabelSubject
    labels: Sequence[GivenLabel]
    of: tuple[str, ...] = ()


def commit(labels: LabelWriter, keystore: Path, labelled: Labelled, claim: Claim, *, now: str) -> LabelCommitment:
    """Commit labels: keep them in private, and log their root.

    The private file is written first: labels without a log entry are nobody's statement, a log entry
    whose labels are lost could never be revealed.

    Args:
        labels: The open ledger's labels.
        keystore: Where private labels are kept.
        labelled: The labels; an adjudication's with those that the annotators agree on.
        claim: What the annotator says of them.
        now: UTC time.

    Raises:
        InputError: The claim contradicts itself, the name is taken, or nothing is frozen; nothing was logged.
    """
    if claim.level is LabelLevel.HUMAN_BLIND_ANCHORED and not claim.blind:
        raise InputError("expected labels of that level to be blind", at="--level", rule="T8")
    check_name(claim.name, "commitment")
    if claim.name in labels.book.labels:
        raise InputError(f"expected a new name, {claim.name} is committed already", at="--name")
    if claim.supersedes is not None and claim.supersedes not in labels.book.labels:
        raise InputError(f"expected committed labels, got {shorten(claim.supersedes)}", at="--supersedes")
    sealed = _kept(keystore, labels.ledger, claim.name, labelled.labels)
    commitment = LabelCommitment(
        name=claim.name,
        kind="adjudication" if labelled.of else "annotator",
        of=labelled.of,
        supersedes=claim.supersedes,
        subject=labelled.subject,
        annotator=claim.annotator,
        claimed_level=claim.level,
        blind=claim.blind,
        seed=claim.seed,
        count=len(sealed.labels),
        root=labels_root(sealed.labels),
    )
    labels.append("labels.committed", {"commitment": commitment.plain()}, now=now)
    return commitment


def _kept(keystore: Path, ledger: str, name: str, given: Sequence[GivenLabel]) -> SealedLabels:
    """Return the private labels; those of a commit that stopped before its log entry are taken up again."""
    fresh = SealedLabels(
        format="evalsite/labels-sealed/v1",
        ledger=ledger,
        commitment=name,
        labels=salt_labels(given, lambda: secrets.token_bytes(NONCE_BYTES)),
    )
    path = labelstore.label_file(keystore, ledger, name)
    if not path.exists():
        labelstore.store_labels(keystore, fresh)
        return fresh
    found = labelstore.load_labels(keystore, ledger, name)
    if [_bare(label) for label in found.labels] != [_bare(label) for label in fresh.labels]:
        raise InputError(
            f"expected no private labels {name} yet, others than these are in the keystore",
            at="--name",
            advice="Choose another name, or remove the file if no log names it.",
        )
    return found


def _bare(label: GivenLabel) -> tuple[object, ...]:
    return (label.item, label.value, label.note)


def align(labels: LabelWriter, names: tuple[str, ...], aligned: Aligned, *, now: str) -> None:
    """Log how far annotators agree."""
    alpha = None if aligned.alpha is None else [aligned.alpha.numerator, aligned.alpha.denominator]
    body = {"commitments": list(names), "compared": aligned.compared, "alpha": alpha}
    labels.append("annotators.aligned", body, now=now)


def reveal(labels: LabelWriter, sealed: SealedLabels, *, now: str, unused: bool = False) -> None:
    """Publish labels and nonces, once every run that must not know them is closed.

    Args:
        labels: The open ledger's labels.
        sealed: The private labels.
        now: UTC time.
        unused: Reveal labels of texts that no run ever named: no run can name any as sealed ones any more.

    Raises:
        InputError: No such commitment, or other labels than were committed.
        UndecidedError: A run that names labels of these texts as sealed is open, or none ever named any.
    """
    name = sealed.commitment
    named = [use for use in labels.book.uses if use.commitment in labels.book.alike(name)]
    waiting = [use.run for use in named if use.split is Split.SEALED and use.closed is None]
    if waiting:
        raise UndecidedError(
            f"expected every run to be closed that names the labels {name} or others of the same texts, "
            f"{', '.join(waiting)} is open",
            at=name,
            rule="R78",
            advice="Finish the run first (`evalsite run CAMPAIGN --resume RUN`).",
        )
    if not named and not unused:
        raise UndecidedError(
            f"expected a run that names the labels {name} or others of the same texts, none does",
            at=name,
            rule="R78",
            advice="Run the judge first. With --unused they are revealed all the same, and no gate can rest on them.",
        )
    labels.reveal(sealed, now=now)
