# SPDX-License-Identifier: Apache-2.0
"""Steps 1 to 8 of a verification: one ledger's keys and log."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.anchors import Anchors, check_anchors, is_anchor
from evalsite.ledger.authentic import LedgerReport
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES
from evalsite.ledger.evidence import Evidence
from evalsite.ledger.labelbook import LabelBook
from evalsite.ledger.labelsteps import check_labels
from evalsite.ledger.layout import (
    CHECKPOINT,
    ENTRIES,
    KEYRING_FILE,
    LABEL_FILE,
    LOG_FOLDERS,
    NOTE_FILE,
    TRUST_FOLDERS,
    keyring_name,
    log_folder,
    log_origin,
    note_name,
    trust_folder,
)
from evalsite.ledger.lines import segment_files
from evalsite.ledger.linewalk import LineWalk, Walked
from evalsite.ledger.scan import LineKind
from evalsite.ledger.steps import (
    Folder,
    Notes,
    Step,
    check_folders,
    check_notes,
    open_folder,
    require_notes,
    unread,
)
from evalsite.ledger.trust import KeyHistory, KeySet, derived_files, open_keyring
from evalsite.schema.bounds import MAX_LOG_ENTRY_BYTES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import (
    LOG_ENTRY,
    KeysPublished,
    KeysRevoked,
    LedgerOpened,
    LogEntry,
    RunClosedLogged,
    RunOpenedLogged,
)

FOUNDING_ENTRIES = 2  # ledger.opened and keys.published; the log is signed after them and after every later entry
_MAX_DERIVED_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFacts:
    """What the runs of a ledger are checked against. Made for a ledger whose integrity holds only."""

    keys: KeySet
    history: KeyHistory
    evidence: Evidence
    entries: tuple[LogEntry, ...]
    leaves: tuple[bytes, ...]
    notes: Notes
    opened: dict[str, RunOpenedLogged]
    closed: dict[str, RunClosedLogged]
    labels: LabelBook
    anchors: Anchors = field(default_factory=Anchors)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLedger:
    """A ledger's report, and its facts when its integrity holds."""

    report: LedgerReport
    facts: LedgerFacts | None


def check_ledger(project: Path, ledger: str, pin: str | None) -> CheckedLedger:
    """Check one ledger (steps 1 to 8, 24 and 26 to 28 of `evalsite.ledger.verify`).

    Args:
        project: The project's root folder.
        ledger: Name of the ledger.
        pin: The root fingerprint that the verifier trusts for this ledger, if any.
    """
    check = _LedgerCheck(project, ledger, pin)
    try:
        return check.run()
    except UndecidedError as exc:
        return check.undecided(exc)


class _LedgerCheck:
    def __init__(self, project: Path, ledger: str, pin: str | None) -> None:
        self._project = project
        self._ledger = ledger
        self._pin = pin
        self._checks: list[Check] = []
        self._keyrings: list[str] = []  # digests of the keyring files, by version
        self._versions: list[KeySet] = []
        self._fingerprints: list[str] = []

    def run(self) -> CheckedLedger:
        files = Step(1, "public key files")
        trust = open_folder(self._project, trust_folder(self._ledger), files)
        self._checks.append(files.done())
        keys = None if trust is None else self._check_keyring(trust)
        if keys is None or trust is None:
            return self._done(None, None, 0)
        self._check_derived(trust, keys)
        log_files = Step(4, "log files")
        log = open_folder(self._project, log_folder(self._ledger), log_files)
        if log is not None:
            self._check_log_files(log, log_files)
        self._checks.append(log_files.done())
        return self._done(keys, None, 0) if log is None else self._check_log(log, trust, keys)

    def undecided(self, error: UndecidedError) -> CheckedLedger:
        """Report what was found before the operating system refused to read."""
        self._checks.extend(unread(error))
        return self._done(None, None, 0)

    def _check_keyring(self, trust: Folder) -> KeySet | None:
        step = Step(2, "keyring, and pin if there is one")
        keys: KeySet | None = None
        versions = sorted(
            (name for name in trust.tree.files if KEYRING_FILE.fullmatch(name)), key=lambda name: (len(name), name)
        )
        for number, name in enumerate(versions or [keyring_name(1)], start=1):
            with step.item("keyring", trust.at(name)):
                if name != keyring_name(number):
                    raise IntegrityError(f"expected version {number}", rule="run-record §3")
                data = trust.read(name, MAX_ENVELOPE_BYTES)
                keys = open_keyring(data, ledger=self._ledger, previous=keys)
                self._versions.append(keys)
                self._keyrings.append(digest_bytes(data))
                self._fingerprints.append(keys.root_fingerprint)
        if keys is not None and self._pin is not None:
            step.checked += 1
            if self._pin not in self._fingerprints:
                message = f"expected the pinned root key {self._pin}, found {keys.root_fingerprint}"
                step.find("keyring.pin", trust.at(keyring_name(1)), message, "run-record §3")
        self._checks.append(step.done())
        return None if step.findings else keys

    def _check_derived(self, trust: Folder, keys: KeySet) -> None:
        step = Step(3, "key files for other tools follow from the keyring")
        expected = derived_files(keys)
        for name, data in expected.items():
            with step.item("keys.derived", trust.at(name)):
                if trust.read(name, _MAX_DERIVED_BYTES) != data:
                    raise IntegrityError("expected what follows from the keyring", rule="run-record §3")
        check_folders(step, trust, TRUST_FOLDERS)
        for name in trust.tree.files:
            if name not in expected and not KEYRING_FILE.fullmatch(name):
                step.find("keys.unknown", trust.at(name), "expected no other file here", "run-record §2")
        self._checks.append(step.done())

    def _check_log_files(self, log: Folder, step: Step) -> None:
        segments, _ = segment_files(ENTRIES, log.tree.files)
        check_folders(step, log, LOG_FOLDERS)
        known = {CHECKPOINT, *segments}
        for name in log.tree.files:
            step.checked += 1
            shaped = NOTE_FILE.fullmatch(name) or LABEL_FILE.fullmatch(name) or is_anchor(name)
            if name not in known and not shaped:
                step.find("log.unknown", log.at(name), "expected no other file here", "run-record §2")

    def _check_log(self, log: Folder, trust: Folder, keys: KeySet) -> CheckedLedger:
        step = Step(5, "log checkpoints")
        log_keys = KeyHistory(tuple(self._versions)).log_keys
        notes = check_notes(step, log, origin=log_origin(self._ledger), keys=log_keys)
        require_notes(step, log, notes, range(FOUNDING_ENTRIES, notes.newest))
        self._checks.append(step.done())
        step = Step(6, "log entries: hashes, links, signed roots")
        kind = LineKind(ENTRIES, LOG_ENTRY, MAX_LOG_ENTRY_BYTES)
        walked: Walked[LogEntry] = LineWalk(step, log, kind, notes.roots).run()
        self._checks.append(step.done())
        step = Step(7, "log entries: what they say of keys and runs")
        reader = _LogReader(step, log.at(walked.last_name or f"{ENTRIES}/000.jsonl"), self._ledger)
        reader.read(walked.entries, self._keyrings, self._fingerprints)
        history = KeyHistory(tuple(self._versions), tuple(reader.published))
        if not step.findings:
            _check_signers(step, log, notes, history)
            reader.check_revoked(walked.entries, history)
        self._checks.append(step.done())
        step = Step(8, "log is signed to its end", Area.COMPLETENESS)
        step.checked = 1
        if walked.behind():
            step.find("log.tail", log.at(walked.last_name), walked.behind(), "run-record §5")
        if notes.lagging:
            step.find("checkpoint.lagging", log.at(CHECKPOINT), "expected the newest note", "run-record §5")
        for folder in (log, trust):
            for name in folder.tree.leftovers:
                step.find("tree.leftover", folder.at(name), "a write was interrupted here", "run-record §2")
        self._checks.append(step.done())
        anchored, anchors = check_anchors(log, notes)
        if anchored is not None:
            self._checks.append(anchored.done())
        label_checks, labels = check_labels(log, self._ledger, walked.entries)
        self._checks.extend(label_checks)
        facts = LedgerFacts(
            keys=keys,
            history=history,
            evidence=Evidence(pinned=self._level(keys) is Level.A1),
            anchors=anchors,
            entries=tuple(walked.entries),
            leaves=tuple(walked.leaves),
            notes=notes,
            opened=reader.opened,
            closed=reader.closed,
            labels=labels,
        )
        return self._done(keys, facts, len(walked.entries))

    def _level(self, keys: KeySet | None) -> Level:
        pinned = keys is not None and self._pin is not None and self._pin in self._fingerprints
        return Level.A1 if pinned else Level.A0

    def _done(self, keys: KeySet | None, facts: LedgerFacts | None, size: int) -> CheckedLedger:
        report = LedgerReport(
            ledger=self._ledger,
            root_fingerprint=None if keys is None else keys.root_fingerprint,
            level=self._level(keys),
            minimum_level=None if keys is None else Level(keys.keyring.minimum_level),
            size=size,
            checks=tuple(self._checks),
        )
        if facts is None or not report.holds(Area.INTEGRITY):
            return CheckedLedger(report=report, facts=None)
        return CheckedLedger(report=replace(report, labels=facts.labels), facts=facts)


def _check_signers(step: Step, log: Folder, notes: Notes, history: KeyHistory) -> None:
    """Find every checkpoint that another log key signed than the one in force at its size."""
    for size, key in notes.keys.items():
        if key != history.at(size).log_key:
            message = "expected the log key in force at this size, found one that was replaced or came later"
            step.find("checkpoint.key", log.at(note_name(size)), message, "run-record §3")


class _LogReader:
    """Reads what the entries say, in order."""

    def __init__(self, step: Step, at: str, ledger: str) -> None:
        self._step = step
        self._at = at
        self._ledger = ledger
        self.opened: dict[str, RunOpenedLogged] = {}
        self.closed: dict[str, RunClosedLogged] = {}
        self.published: list[int] = []

    def read(self, entries: list[LogEntry], keyrings: list[str], fingerprints: list[str]) -> None:
        for index, entry in enumerate(entries):
            with self._step.item("log.entry", self._at):
                if entry.ledger != self._ledger:
                    raise IntegrityError(f"expected the ledger {self._ledger} in entry {index}", rule="run-record §8")
                if isinstance(entry, LedgerOpened) != (index == 0):
                    raise IntegrityError("expected ledger.opened first, and once", rule="run-record §8")
                self._read(entry, keyrings, fingerprints)
        if len(self.published) != len(keyrings):
            message = f"expected {len(keyrings)} published keyrings, found {len(self.published)}"
            self._step.find("log.keys", self._at, message, "run-record §8")

    def check_revoked(self, entries: list[LogEntry], history: KeyHistory) -> None:
        """Find every revocation in the log that the keyring in force there does not know."""
        for entry in entries:
            if isinstance(entry, KeysRevoked) and not history.at(entry.seq).revoked(entry.key_id):
                message = "expected a key that the keyring in force says is revoked"
                self._step.find("log.revoked", self._at, message, "run-record §8")

    def _read(self, entry: LogEntry, keyrings: list[str], fingerprints: list[str]) -> None:
        if isinstance(entry, LedgerOpened):
            if entry.root_fingerprint != fingerprints[0]:
                raise IntegrityError("expected the root key of the first keyring", rule="run-record §8")
        elif isinstance(entry, KeysPublished):
            self.published.append(entry.seq)
            version = len(self.published)
            if entry.version != version or [entry.envelope] != keyrings[version - 1 : version]:
                raise IntegrityError(f"expected keyring version {version} as it stands", rule="run-record §8")
        elif isinstance(entry, RunOpenedLogged):
            if entry.run in self.opened:
                raise IntegrityError(f"expected the run {entry.run} to be opened once", rule="run-record §8")
            self.opened[entry.run] = entry
        elif isinstance(entry, RunClosedLogged):
            if entry.run not in self.opened or entry.run in self.closed:
                raise IntegrityError(f"expected the run {entry.run} to be open", rule="run-record §8")
            self.closed[entry.run] = entry
