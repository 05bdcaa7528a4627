# SPDX-License-Identifier: Apache-2.0
"""What a ledger's log says of labels, in its order: constants, cards, commitments, reveals (R77, R78, T8). Pure.

Positions in the log prove the order, times never. `LabelReader` refuses the first entry that may not
stand where it stands:

1. ``cards.frozen`` comes after the ``constants.frozen`` of its corpus, and about answers of a run after
   that run was closed.
2. ``labels.committed`` has a new name and comes after the ``cards.frozen`` of its subject, with no other
   constants of the corpus in between. An adjudication names two annotators or more, of the same subject
   and aligned before; what it supersedes has the same criterion.
3. ``annotators.aligned`` names annotators of one subject, none of them revealed, each with a sheet of an own
   seed: two commitments of one seed and subject are one sheet, which agrees with itself.
4. ``labels.revealed`` is the first of its commitment.
5. ``calibration.recorded`` is about a closed run that names the commitment, whose labels are revealed; it
   states the constants in force for them, and how many runs had named them, or others of their subject,
   by then.

Whether a run may name a commitment is for `check_plan`: of the very texts that it judges, committed before
the run was opened, and, if the labels are sealed ones, no labels of the same texts revealed before it was closed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from evalsite.canonical.digest import digest_value
from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.labelseal import RULE
from evalsite.schema.calibration import DesignLock, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.entries import (
    AnnotatorsAligned,
    CalibrationRecorded,
    CardsFrozen,
    ConstantsFrozen,
    LabelsCommitted,
    LabelsRevealed,
    LogEntry,
    RunClosedLogged,
    RunOpenedLogged,
)
from evalsite.schema.labels import GivenLabel, LabelCommitment, LabelItem, LabelSubject, SealedLabels
from evalsite.schema.plan import Plan, ReplayEndpointSpec

_LEVELS = tuple(LabelLevel)  # least first
_Cards = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """Where the entries about a commitment stand in the log; null where there is none.

    ``known`` is the first reveal of any labels of the same texts, under whatever name and by whomever: from
    then on it is public what people say of them.
    """

    constants: int
    cards: int
    committed: int
    aligned: int | None = None
    revealed: int | None = None
    known: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """How far annotators agreed: Krippendorff's alpha over ``compared`` items, null where it is undefined."""

    commitments: tuple[str, ...]
    compared: int
    alpha: Fraction | None
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One run whose plan names a commitment; ``opened`` and ``closed`` are its positions in the log."""

    run: str
    commitment: str
    split: Split
    opened: int
    closed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenLabels:
    """A commitment with all that the log proves of it. Made by a verification of the ledger only.

    ``lock`` holds the constants in force when the labels were committed. ``labels`` is null until they
    are revealed, and if the revealed file is not there (``positions.revealed`` tells which).
    """

    ledger: str
    commitment: LabelCommitment
    lock: DesignLock
    positions: Positions
    alignment: Alignment | None
    labels: Mapping[LabelItem, GivenLabel] | None

    def told_before(self, position: int | None = None) -> bool:
        """Return whether these labels were revealed before a position of the log; null asks whether they ever were."""
        revealed = self.positions.revealed
        return revealed is not None and (position is None or revealed < position)

    def level_for(self, opened: int, closed: int | None) -> LabelLevel:
        """Return what these labels count for beside a run: the lesser of the claim and of what the order shows (T8).

        Args:
            opened: The run's ``run.opened`` in the log.
            closed: Its ``run.closed``; null if it is open.
        """
        known = self.positions.known
        hidden = known is None or (closed is not None and closed < known)
        anchored = self.commitment.blind and self.positions.committed < opened and hidden
        shown = LabelLevel.HUMAN_BLIND_ANCHORED if anchored else LabelLevel.HUMAN_REVIEWED
        return min(self.commitment.claimed_level, shown, key=_LEVELS.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelBook:
    """All commitments of a ledger in the order of its log, the runs that name them, and recorded calibrations.

    ``unread`` names runs whose plan could not be read, with their positions: no attempt after them can be counted.
    """

    ledger: str
    labels: Mapping[str, ProvenLabels] = field(default_factory=dict)
    uses: tuple[Use, ...] = ()
    calibrations: tuple[CalibrationRecorded, ...] = ()
    locks: Mapping[str, DesignLock] = field(default_factory=dict)
    cards: frozenset[_Cards] = frozenset()
    unread: Mapping[str, int] = field(default_factory=dict)

    def attempt(self, commitment: str, run: str) -> int | None:
        """Return the how manieth attempt at these labels a run was, from 1; null if it does not name them.

        Every run before it counts that named labels of the same texts (`alike`): committed anew under another
        name they are still the same, and whoever tries again will pass some day.

        Raises:
            UndecidedError: The plan of an earlier run, or of this one, could not be read.
        """
        found = next((use for use in self.uses if (use.run, use.commitment) == (run, commitment)), None)
        if run in self.unread or (found is not None and any(at < found.opened for at in self.unread.values())):
            message = f"expected the plan of every run up to {run}, to count its attempt"
            raise UndecidedError(message, at=f"runs/{min(self.unread, key=self.unread.__getitem__)}", rule=RULE)
        if found is None or commitment not in self.labels:
            return None
        same = self.alike(commitment)
        return len({use.run for use in self.uses if use.commitment in same and use.opened <= found.opened})

    def in_force(self, run: str) -> tuple[tuple[Use, ProvenLabels], ...]:
        """Return the labels that a run names, in the order of the log."""
        return tuple((use, self.labels[use.commitment]) for use in self.uses if use.run == run)

    def alike(self, name: str) -> frozenset[str]:
        """Return all commitments about the texts of one, itself included: whoever reveals one tells what they say."""
        texts = None if name not in self.labels else _texts_of(self.labels[name].commitment.subject)
        return frozenset(
            {name, *(one for one, proven in self.labels.items() if _texts_of(proven.commitment.subject) == texts)}
        )

    def frozen(self, subject: LabelSubject) -> bool:
        """Return whether constants and cards of a subject are frozen, in this order, the newest ones of both."""
        return _cards_of(subject) in self.cards


def _texts_of(subject: LabelSubject) -> LabelSubject:
    """Return what two subjects have in common if labels of one tell those of the other.

    The fingerprint of a corpus is no part of it: its title changes that, and no text. Nor is the rubric: one word
    more in it makes no public label unknown again, as long as it measures the same construct. Texts that do
    change get a corpus of another name.
    """
    return subject.model_copy(update={"corpus_fingerprint": "", "rubric_digest": ""})


def _cards_of(subject: LabelSubject) -> _Cards:
    return (subject.corpus, subject.corpus_fingerprint, subject.run)


class LabelReader:
    """Takes a log's entries in order and refuses the first about labels that may not stand where it stands."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger
        self._constants: dict[str, ConstantsFrozen] = {}  # the newest of each corpus
        self._cards: dict[_Cards, int] = {}  # those after the newest constants of their corpus
        self._labels: dict[str, ProvenLabels] = {}
        self._closed: dict[str, str] = {}  # roots of closed runs
        self._calibrations: list[CalibrationRecorded] = []
        self.reveals: dict[str, LabelsRevealed] = {}
        self.opened: list[RunOpenedLogged] = []  # runs that can name a commitment
        self.closed_at: dict[str, int] = {}

    def take(self, entry: LogEntry) -> None:
        """Take one more entry.

        Raises:
            IntegrityError: It may not stand here; nothing was taken.
        """
        match entry:
            case RunOpenedLogged() if self._labels:
                self.opened.append(entry)
            case RunClosedLogged():
                self._closed[entry.run], self.closed_at[entry.run] = entry.root, entry.seq
            case ConstantsFrozen():
                self._constants[entry.corpus] = entry
                self._cards = {cards: at for cards, at in self._cards.items() if cards[0] != entry.corpus}
            case CardsFrozen():
                self._take_cards(entry)
            case LabelsCommitted():
                self._take_commitment(entry)
            case AnnotatorsAligned():
                self._take_alignment(entry)
            case LabelsRevealed():
                self._take_reveal(entry)
            case CalibrationRecorded():
                self._take_calibration(entry)
            case _:
                pass

    @property
    def empty(self) -> bool:
        """Return whether no entry was about labels."""
        return not self._constants

    def book(
        self,
        revealed: Mapping[str, SealedLabels] | None = None,
        uses: tuple[Use, ...] = (),
        unread: Mapping[str, int] | None = None,
    ) -> LabelBook:
        """Return what was read, with revealed labels and the runs that name commitments."""
        labels, known = {}, dict[LabelSubject, int]()
        for name, entry in self.reveals.items():  # in the order of the log: the first one of each stays
            known.setdefault(_texts_of(self._labels[name].commitment.subject), entry.seq)
        for name, proven in self._labels.items():
            sealed = (revealed or {}).get(name)
            labels[name] = replace(
                proven,
                positions=replace(proven.positions, known=known.get(_texts_of(proven.commitment.subject))),
                labels=None if sealed is None else {label.item: label for label in sealed.labels},
            )
        return LabelBook(
            ledger=self._ledger,
            labels=labels,
            uses=uses,
            calibrations=tuple(self._calibrations),
            locks={corpus: entry.lock for corpus, entry in self._constants.items()},
            cards=frozenset(self._cards),
            unread=unread or {},
        )

    def commitment(self, name: str) -> LabelCommitment:
        """Return a commitment that was taken.

        Raises:
            IntegrityError: There is none of this name.
        """
        if name not in self._labels:
            raise IntegrityError(f"expected a commitment {name} in the log, found none", rule=RULE)
        return self._labels[name].commitment

    def _take_cards(self, entry: CardsFrozen) -> None:
        if entry.corpus not in self._constants:
            raise IntegrityError(f"expected constants of {entry.corpus} before its cards", rule=RULE)
        if entry.run is not None and entry.run not in self._closed:
            raise IntegrityError(f"expected the run {entry.run} to be closed before its cards", rule=RULE)
        self._cards[entry.corpus, entry.fingerprint, entry.run] = entry.seq

    def _take_commitment(self, entry: LabelsCommitted) -> None:
        commitment, subject = entry.commitment, entry.commitment.subject
        if commitment.name in self._labels:
            raise IntegrityError(f"expected one commitment named {commitment.name}", rule=RULE)
        cards = self._cards.get(_cards_of(subject))
        if cards is None:
            message = f"expected constants and cards of {subject.corpus} before labels, in this order"
            raise IntegrityError(message, rule=RULE)
        if (subject.run is None) is not (subject.run_root is None) or (
            subject.run is not None and self._closed[subject.run] != subject.run_root
        ):
            raise IntegrityError("expected the root that the labelled run was closed with", rule=RULE)
        old = commitment.supersedes
        if old is not None and (
            old not in self._labels or self._labels[old].commitment.subject.criterion != subject.criterion
        ):
            raise IntegrityError(f"expected an earlier commitment {old} of this criterion", rule=RULE)
        alignment = self._adjudicated(commitment)
        constants = self._constants[subject.corpus]
        self._labels[commitment.name] = ProvenLabels(
            ledger=self._ledger,
            commitment=commitment,
            lock=constants.lock,
            positions=Positions(
                constants=constants.seq,
                cards=cards,
                committed=entry.seq,
                aligned=None if alignment is None else alignment.position,
            ),
            alignment=alignment,
            labels=None,
        )

    def _adjudicated(self, commitment: LabelCommitment) -> Alignment | None:
        if (commitment.kind == "annotator") is not (not commitment.of):
            raise IntegrityError("expected an adjudication to name what it is of, and nothing else", rule=RULE)
        if not commitment.of:
            return None
        self._annotators(commitment.of, commitment.subject)
        alignment = self._labels[commitment.of[0]].alignment
        if alignment is None or alignment.commitments != commitment.of:
            raise IntegrityError("expected annotators that were aligned before", rule=RULE)
        return alignment

    def _annotators(self, names: tuple[str, ...], subject: LabelSubject | None = None) -> None:
        """Refuse what are not two annotators or more of one subject, each with a sheet of their own."""
        sheets: dict[str, str] = {}
        if len(names) < 2 or len(set(names)) != len(names):  # noqa: PLR2004 - two can agree
            raise IntegrityError("expected two annotators or more, each once", rule=RULE)
        for name in names:
            proven = self._labels.get(name)
            if proven is None or proven.commitment.kind != "annotator":
                raise IntegrityError(f"expected an annotator's commitment {name}", rule=RULE)
            subject = subject or proven.commitment.subject
            if proven.commitment.subject != subject:
                raise IntegrityError("expected annotators of one subject", at=name, rule=RULE)
            first = sheets.setdefault(proven.commitment.seed, name)
            if first != name:
                raise IntegrityError(same_sheet(first, name), at=name, rule=RULE)

    def _take_alignment(self, entry: AnnotatorsAligned) -> None:
        self._annotators(entry.commitments)
        proven = [self._labels[name] for name in entry.commitments]
        if any(one.positions.revealed is not None for one in proven):
            raise IntegrityError("expected annotators to be aligned before labels are revealed", rule=RULE)
        if entry.compared > min(one.commitment.count for one in proven):
            raise IntegrityError("expected no more items than each annotator labelled", rule=RULE)
        alignment = Alignment(
            commitments=entry.commitments,
            compared=entry.compared,
            alpha=None if entry.alpha is None else Fraction(*entry.alpha),
            position=entry.seq,
        )
        for name, one in zip(entry.commitments, proven, strict=True):
            positions = replace(one.positions, aligned=entry.seq)
            self._labels[name] = replace(one, alignment=alignment, positions=positions)

    def _take_reveal(self, entry: LabelsRevealed) -> None:
        proven = self._labels.get(entry.commitment)
        if proven is None or proven.positions.revealed is not None:
            raise IntegrityError(f"expected labels {entry.commitment} that are committed and not revealed", rule=RULE)
        positions = replace(proven.positions, revealed=entry.seq)
        self._labels[entry.commitment] = replace(proven, positions=positions)
        self.reveals[entry.commitment] = entry

    def _take_calibration(self, entry: CalibrationRecorded) -> None:
        proven = self._labels.get(entry.commitment)
        if proven is None or proven.positions.revealed is None:
            raise IntegrityError(f"expected a calibration with labels that are revealed, not {entry.commitment}")
        if entry.run not in self._closed or entry.run not in {opened.run for opened in self.opened}:
            raise IntegrityError(f"expected a closed run that was opened after the labels, not {entry.run}", rule=RULE)
        opened = next(opened.seq for opened in self.opened if opened.run == entry.run)
        if opened < proven.positions.committed:
            message = f"expected the labels {entry.commitment} before the judge's run {entry.run}"
            raise IntegrityError(message, rule=RULE)
        if entry.lock != lock_digest(proven.lock):
            raise IntegrityError("expected the constants that the labels were committed under", rule=RULE)
        if entry.seal.criterion is not proven.commitment.subject.criterion:
            raise IntegrityError("expected the criterion of the labels", rule=RULE)
        self._calibrations.append(entry)


def same_sheet(first: str, second: str) -> str:
    """Return what is wrong with two annotators whose commitments state one seed."""
    return f"expected a sheet for each annotator, {first} and {second} state the seed of one sheet"


def lock_digest(lock: DesignLock) -> str:
    """Return the digest by which a recorded calibration names its constants."""
    return digest_value(lock.plain())


def check_attempts(book: LabelBook) -> Iterable[str]:
    """Yield what is wrong with the attempts of recorded calibrations: a run that does not count, another number."""
    for entry in book.calibrations:
        try:
            attempt = book.attempt(entry.commitment, entry.run)
        except UndecidedError:
            continue  # a bundle of another run
        if attempt is None:
            yield f"the run {entry.run} does not name the labels {entry.commitment} that it is calibrated with"
        elif attempt != entry.attempt:
            yield f"expected attempt {attempt} of {entry.run} at the labels {entry.commitment}, found {entry.attempt}"


def other_texts(subject: LabelSubject, plan: Plan) -> str | None:
    """Return which other texts were labelled than a plan lets judge; null where they are the same.

    A plan that replays recorded answers names their run; one that judges them again holds its root as well. A
    commitment's own root is that of the log.
    """
    if (subject.corpus, subject.corpus_fingerprint) != (plan.corpus.name, plan.corpus.fingerprint):
        return f"those of the corpus {subject.corpus} {subject.corpus_fingerprint}"
    endpoint = None if plan.candidate is None else plan.candidate.spec.endpoint
    judged = endpoint.run if isinstance(endpoint, ReplayEndpointSpec) else None
    root = subject.run_root if plan.answers is None else plan.answers.root
    if (subject.run, subject.run_root) != (judged, root):
        return "texts of the corpus" if subject.run is None else f"answers of {subject.run} {subject.run_root}"
    return None


def check_plan(book: LabelBook, plan: Plan, opened: int, closed: int | None) -> None:
    """Check that a run could name the labels that its plan names.

    Args:
        book: The labels of the run's ledger.
        plan: The run's plan.
        opened: Its ``run.opened`` in the log, or where that would stand.
        closed: Its ``run.closed``; null if it is open.

    Raises:
        IntegrityError: Labels that were not committed by then, under another root or other constants, of other
            texts than the run judges, or that were known while it judged them.
    """
    calibration = plan.calibration
    if calibration is None:
        return
    names = [ref.name for ref in calibration.commitments]
    if len(set(names)) != len(names):
        raise IntegrityError("expected each commitment once in a plan", rule=RULE)
    for ref in calibration.commitments:
        proven = book.labels.get(ref.name)
        if proven is None or proven.positions.committed > opened:
            raise IntegrityError(f"expected the labels {ref.name} to be committed before the run", rule=RULE)
        if ref.root != proven.commitment.root:
            raise IntegrityError(f"expected the root that the labels {ref.name} were committed with", rule=RULE)
        if calibration.design_lock != proven.lock:
            raise IntegrityError(f"expected the constants that the labels {ref.name} were made under", rule=RULE)
        other = other_texts(proven.commitment.subject, plan)
        if other is not None:
            raise IntegrityError(f"expected the labels {ref.name} of what the run judges, not {other}", rule=RULE)
        known = proven.positions.known
        if ref.split is Split.SEALED and known is not None and (closed is None or known < closed):
            message = (
                f"expected the labels {ref.name} to be sealed until the run is closed; "
                "they, or others of the same texts, were revealed before"
            )
            raise IntegrityError(message, rule=RULE)
