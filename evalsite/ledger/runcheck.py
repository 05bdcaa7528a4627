# SPDX-License-Identifier: Apache-2.0
"""Steps 9 to 17 of a verification: one run, against a ledger whose integrity holds."""

from dataclasses import dataclass, field
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import IntegrityError
from evalsite.ledger.authentic import AuthenticRun, RunReport, checks_hold
from evalsite.ledger.blob import blob_digest, unpack_blob
from evalsite.ledger.checkpoint import open_checkpoint
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES, parse_envelope, verify_envelope
from evalsite.ledger.layout import (
    BLOB_FILE,
    CHECKPOINT,
    EVENTS,
    NOTE_FILE,
    PROOF_CLOSED,
    PROOF_OPENED,
    QUARANTINE_FILE,
    RUN_FOLDERS,
    STATEMENT,
    blob_name,
    log_origin,
    quarantine_name,
    run_folder,
    run_origin,
)
from evalsite.ledger.ledgercheck import CheckedLedger, LedgerFacts
from evalsite.ledger.lines import digest_of_leaf, segment_files
from evalsite.ledger.merkle import verify_inclusion
from evalsite.ledger.order import RunOrder, blobs_of
from evalsite.ledger.statement import PAYLOAD_TYPE, Sealed, plan_digest, statement_payload
from evalsite.ledger.steps import (
    Folder,
    LineKind,
    LineWalk,
    Notes,
    Step,
    Walked,
    check_folders,
    check_notes,
    open_folder,
    require_notes,
)
from evalsite.ledger.tlogproof import MAX_PROOF_BYTES, parse_proof
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import EVENT, Event, RunClosed, RunOpened, RunResumed


@dataclass(slots=True)
class _Named:
    """The files that the events name."""

    blobs: set[str] = field(default_factory=set)
    quarantine: dict[str, tuple[str, int]] = field(default_factory=dict)


def check_run(project: Path, run_id: str, checked: CheckedLedger) -> RunReport:
    """Check one run against its ledger (steps 9 to 17 of `evalsite.ledger.verify`).

    Args:
        project: The project's root folder.
        run_id: Name of the run.
        checked: The ledger that the run belongs to.
    """
    ledger = checked.report.ledger
    if checked.facts is None:
        return RunReport(run_id=run_id, ledger=ledger, checks=checked.report.checks, run=None)
    return _RunCheck(project, run_id, checked, checked.facts).run()


class _RunCheck:
    def __init__(self, project: Path, run_id: str, checked: CheckedLedger, facts: LedgerFacts) -> None:
        self._project = project
        self._run_id = run_id
        self._ledger = checked.report.ledger
        self._facts = facts
        self._checks: list[Check] = list(checked.report.checks)
        self._incomplete = Step(16, "run is closed and sealed", Area.COMPLETENESS)
        self._incomplete.checked = 1
        self._order = RunOrder()
        self._named = _Named()
        self._statement: str | None = None
        self._notes = Notes()
        self._plan_digest = ""

    def run(self) -> RunReport:
        files = Step(9, "run files")
        folder = open_folder(self._project, run_folder(self._run_id), files)
        if folder is not None:
            self._check_files(folder, files)
        self._checks.append(files.done())
        if folder is None:
            return self._report(None)
        if CHECKPOINT not in folder.tree.files and self._run_id not in self._facts.opened:
            message = "no event of this run was ever signed"
            self._incomplete.find("run.unsigned", folder.name, message, "run-record §5")
            self._checks.append(self._incomplete.done())
            return self._report(None)
        self._check_checkpoints(folder)
        walked = self._walk(folder)
        self._check_order(folder, walked.entries)
        self._check_log(folder, walked)
        self._check_statement(folder, walked)
        self._check_named(folder)
        self._check_complete(folder, walked)
        self._check_available(folder)
        return self._report(walked if walked.entries else None)

    def _check_files(self, folder: Folder, step: Step) -> None:
        segments, _ = segment_files(EVENTS, folder.tree.files)
        check_folders(step, folder, RUN_FOLDERS)
        known = {CHECKPOINT, STATEMENT, PROOF_OPENED, PROOF_CLOSED, *segments}
        for name in folder.tree.files:
            step.checked += 1
            patterns = (NOTE_FILE, BLOB_FILE, QUARANTINE_FILE)
            if name not in known and not any(pattern.fullmatch(name) for pattern in patterns):
                step.find("run.unknown", folder.at(name), "expected no other file here", "run-record §2")

    def _check_checkpoints(self, folder: Folder) -> None:
        step = Step(10, "run checkpoints")
        origin = run_origin(self._ledger, self._run_id)
        self._notes = check_notes(step, folder, origin=origin, key=self._facts.keys.log_key)
        require_notes(step, folder, self._notes, (1,))
        self._checks.append(step.done())

    def _walk(self, folder: Folder) -> Walked[Event]:
        step = Step(11, "run events: hashes, links, signed roots")
        kind = LineKind(EVENTS, EVENT, MAX_EVENT_BYTES)
        walked: Walked[Event] = LineWalk(step, folder, kind, self._notes.roots).run()
        self._checks.append(step.done())
        return walked

    def _check_order(self, folder: Folder, events: list[Event]) -> None:
        step = Step(12, "run events: order, attempts, totals")
        for event in events:
            at = folder.at(f"{EVENTS}/{event.seq // SEGMENT_LINES:03d}.jsonl")
            with step.item("run.order", at):
                if event.run != self._run_id:
                    raise IntegrityError(f"expected the run {self._run_id} in event {event.seq}", rule="run-record §4")
                if isinstance(event, RunOpened) and event.ledger != self._ledger:
                    raise IntegrityError(f"expected the ledger {self._ledger} in event 0", rule="run-record §4")
                self._order.take(event)
            if step.findings:
                break
            self._named.blobs.update(blobs_of(event))
            if isinstance(event, RunResumed) and event.quarantine is not None:
                self._named.quarantine[quarantine_name(event.seq)] = (event.quarantine, event.dropped_bytes)
        self._checks.append(step.done())

    def _check_log(self, folder: Folder, walked: Walked[Event]) -> None:
        step = Step(13, "run in the ledger's log, with proofs")
        opened = self._facts.opened.get(self._run_id)
        closed = self._facts.closed.get(self._run_id)
        first = folder.at(f"{EVENTS}/000.jsonl")
        if opened is None:
            if len(walked.entries) > 1 or walked.tail_lines:
                step.find("run.unlogged", first, "expected the log to hold the run before its first trial")
            if PROOF_OPENED in folder.tree.files:
                step.find("proof.unknown", folder.at(PROOF_OPENED), "expected no proof of what the log does not hold")
            step.checked += 1
        else:
            with step.item("run.opened-entry", first):
                event = walked.entries[0] if walked.entries else None
                if not isinstance(event, RunOpened) or digest_of_leaf(walked.leaves[0]) != opened.opened_leaf:
                    raise IntegrityError("expected the first event that the log holds", rule="run-record §8")
                self._plan_digest = plan_digest(event)
                if self._plan_digest != opened.plan_digest:
                    raise IntegrityError("expected the plan that the log holds", rule="run-record §8")
            self._check_proof(step, folder, PROOF_OPENED, opened.seq)
        if closed is not None:
            with step.item("run.closed-entry", folder.at(walked.last_name or f"{EVENTS}/000.jsonl")):
                if self._order.closed is None or closed.size != len(walked.entries):
                    raise IntegrityError(f"expected {closed.size} events, run.closed last", rule="run-record §8")
            self._check_proof(step, folder, PROOF_CLOSED, closed.seq)
        elif PROOF_CLOSED in folder.tree.files:
            step.find("proof.unknown", folder.at(PROOF_CLOSED), "expected no proof of what the log does not hold")
        self._checks.append(step.done())

    def _check_proof(self, step: Step, folder: Folder, name: str, index: int) -> None:
        if name not in folder.tree.files:
            self._incomplete.find("proof.missing", folder.at(name), "expected a proof, found none", "run-record §8")
            return
        with step.item("proof", folder.at(name)):
            data = folder.read(name, MAX_PROOF_BYTES)
            proof = parse_proof(data)
            if proof.to_bytes() != data or proof.extra is not None:
                raise IntegrityError("expected the one spelling of a proof, without extra data", rule="run-record §8")
            head = open_checkpoint(proof.note, origin=log_origin(self._ledger), key=self._facts.keys.log_key)
            if proof.note != self._facts.notes.raw.get(head.size):
                raise IntegrityError("expected a checkpoint that the log holds in the proof", rule="run-record §8")
            if proof.index != index:
                raise IntegrityError(f"expected the index {index}, found {proof.index}", rule="run-record §8")
            verify_inclusion(self._facts.leaves[index], proof.hashes, index=index, size=head.size, root=head.root)

    def _check_statement(self, folder: Folder, walked: Walked[Event]) -> None:
        logged = self._facts.closed.get(self._run_id)
        if logged is None and STATEMENT not in folder.tree.files:
            return  # nothing to check yet; step 16 tells
        step = Step(14, "statement follows from the record and is signed")
        with step.item("statement", folder.at(STATEMENT)):
            envelope = parse_envelope(folder.read(STATEMENT, MAX_ENVELOPE_BYTES))
            verify_envelope(envelope, payload_type=PAYLOAD_TYPE, keys=self._facts.keys.runner_keys)
            opened = walked.entries[0] if walked.entries else None
            if not isinstance(opened, RunOpened) or self._order.closed is None:
                raise IntegrityError("expected a statement over a closed run only", rule="run-record §7")
            size, root = self._notes.newest, self._notes.roots[self._notes.newest]
            sealed = Sealed(
                plan_digest=self._plan_digest, size=size, root=root, sha256=walked.sha256, sha512=walked.sha512
            )
            if envelope.payload != statement_payload(opened, self._order.closed, sealed):
                raise IntegrityError("expected the statement that follows from the record", rule="run-record §7")
            self._statement = digest_bytes(envelope.payload)
            if logged is not None and (logged.root, logged.statement) != (f"sha256:{root.hex()}", self._statement):
                raise IntegrityError("expected the root and the statement that the log holds", rule="run-record §8")
        self._checks.append(step.done())

    def _check_named(self, folder: Folder) -> None:
        step = Step(15, "blobs and quarantined bytes are the ones that events name")
        names = {blob_name(digest): digest for digest in self._named.blobs}
        for name in folder.tree.files:
            at = folder.at(name)
            if BLOB_FILE.fullmatch(name):
                with step.item("blob", at):
                    container = folder.read(name, MAX_BLOB_OF_CORPUS_BYTES)
                    if f"sha256:{name[-64:]}" != blob_digest(container):
                        raise IntegrityError("expected content with the digest of its name", rule="run-record §6")
                    unpack_blob(container)
                    if name not in names and self._order.closed is not None:
                        raise IntegrityError("expected an event that names this blob", rule="run-record §6")
            elif QUARANTINE_FILE.fullmatch(name):
                with step.item("quarantine", at):
                    self._check_quarantine(folder, name)
        for name in self._named.quarantine.keys() - folder.tree.files.keys():
            step.find("quarantine.missing", folder.at(name), "expected the bytes that were set aside")
        step.checked += len(names.keys() - folder.tree.files.keys())  # told by step 17
        self._checks.append(step.done())

    def _check_quarantine(self, folder: Folder, name: str) -> None:
        data = folder.read(name, MAX_RECORD_FILE_BYTES)
        if name not in self._named.quarantine:
            if self._order.closed is not None or name != quarantine_name(self._order.count):
                raise IntegrityError("expected a run.resumed event that names these bytes", rule="run-record §6")
        elif self._named.quarantine[name] != (digest_bytes(data), len(data)):
            raise IntegrityError("expected the bytes that run.resumed names", rule="run-record §6")

    def _check_complete(self, folder: Folder, walked: Walked[Event]) -> None:
        step = self._incomplete
        if self._order.closed is None:
            step.find("run.open", folder.name, "the run was not closed", "run-record §4")
        elif not self._order.closed.complete:
            step.find("run.incomplete", folder.name, "the run was closed before every planned trial ended")
        if self._run_id not in self._facts.opened:
            step.find("run.unlogged", folder.name, "the log does not hold the run yet", "run-record §8")
        if self._order.closed is not None and (
            self._run_id not in self._facts.closed or STATEMENT not in folder.tree.files
        ):
            step.find("run.unsealed", folder.name, "the run was closed, but not stated and logged", "run-record §7")
        if walked.behind():
            self._find_tail(folder, walked)
        if self._notes.lagging:
            step.find("checkpoint.lagging", folder.at(CHECKPOINT), "expected the newest note", "run-record §5")
        for name in folder.tree.leftovers:
            step.find("tree.leftover", folder.at(name), "a write was interrupted here", "run-record §2")
        self._checks.append(step.done())

    def _find_tail(self, folder: Folder, walked: Walked[Event]) -> None:
        message = walked.behind()
        at = folder.at(walked.last_name)
        if self._order.closed is None:
            self._incomplete.find("run.tail", at, message, "run-record §5")
            return
        step = Step(11, "nothing stands behind run.closed")
        step.checked = 1
        step.find("run.tail", at, message, "run-record §5")
        self._checks.append(step.done())

    def _check_available(self, folder: Folder) -> None:
        step = Step(17, "everything that events name is there", Area.AVAILABILITY)
        for digest in sorted(self._named.blobs):
            step.checked += 1
            if blob_name(digest) not in folder.tree.files:
                step.find("blob.missing", folder.at(blob_name(digest)), "expected a blob, found none", "run-record §6")
        self._checks.append(step.done())

    def _report(self, walked: Walked[Event] | None) -> RunReport:
        checks = tuple(sorted(self._checks, key=lambda check: check.step))
        run = None
        opened = self._facts.opened.get(self._run_id)
        if walked is not None and opened is not None and checks_hold(checks, Area.INTEGRITY):
            run = self._authentic(walked, checks, opened.seq)
        return RunReport(run_id=self._run_id, ledger=self._ledger, checks=checks, run=run)

    def _authentic(self, walked: Walked[Event], checks: tuple[Check, ...], opened_index: int) -> AuthenticRun:
        closed = self._facts.closed.get(self._run_id)
        unsealed = {"proof.missing", "run.open", "run.unsealed", "run.unlogged"}
        last = walked.entries[-1]
        return AuthenticRun(
            project=self._project,
            run_id=self._run_id,
            ledger=self._ledger,
            root_fingerprint=self._facts.keys.root_fingerprint,
            events=tuple(walked.entries),
            leaves=tuple(walked.leaves),
            size=len(walked.entries),
            root=f"sha256:{self._notes.roots[self._notes.newest].hex()}",
            opened_index=opened_index,
            closed_index=None if closed is None else closed.seq,
            statement_digest=self._statement,
            sealed=isinstance(last, RunClosed) and not unsealed & {item.code for item in self._incomplete.findings},
            level=self._facts.level,
            minimum_level=Level(self._facts.keys.keyring.minimum_level),
            checks=checks,
        )
