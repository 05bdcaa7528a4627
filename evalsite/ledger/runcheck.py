# SPDX-License-Identifier: Apache-2.0
"""Steps 9 to 17 of a verification: one run, against a ledger whose integrity holds.

A fast check hashes the lines and reads only the first and the last: steps 12 and 17 are left out,
and steps 10, 11, 14 and 15 look at less. It never makes an authentic run.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import EvalsiteError, IntegrityError, UndecidedError
from evalsite.ledger.authentic import AuthenticRun, RunReport, StoredEvents, checks_hold
from evalsite.ledger.blob import blob_digest, unpack_blob
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES, parse_envelope, verify_envelope
from evalsite.ledger.labelbook import check_plan
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
    note_name,
    quarantine_name,
    run_folder,
    run_origin,
    segment_name,
)
from evalsite.ledger.ledgercheck import CheckedLedger, LedgerFacts
from evalsite.ledger.light import AnyEvent, LightAttempt, LightEvent
from evalsite.ledger.lines import digest_of_leaf, parse_line, segment_files
from evalsite.ledger.linewalk import LineWalk, Walked
from evalsite.ledger.merkle import leaf_hash, verify_inclusion
from evalsite.ledger.order import RunOrder, blobs_of
from evalsite.ledger.parallel import SegmentPool, Workers, processes
from evalsite.ledger.scan import RUN_LINES
from evalsite.ledger.statement import PAYLOAD_TYPE, Sealed, plan_digest, stated_digests, statement_payload
from evalsite.ledger.steps import (
    Folder,
    Notes,
    OpenedNote,
    Step,
    check_folders,
    check_notes,
    open_folder,
    open_signed,
    require_notes,
    unread,
)
from evalsite.ledger.tlogproof import MAX_PROOF_BYTES, parse_proof
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import EVENT, Event, RunClosed, RunClosedLogged, RunOpened

KEPT_EVENTS = 4 * SEGMENT_LINES  # events of a longer run are read again from disk when they are asked for
_STATED_STEP = "statement follows from the record and is signed"
_NAMED_STEP = "blobs and quarantined bytes are the ones that events name"


@dataclass(frozen=True, slots=True)
class How:
    """How a run is checked: fast, without reading its lines; with how many processes."""

    fast: bool = False
    workers: int = 1


FULL = How()


@dataclass(slots=True)
class _Named:
    """The files that the events name."""

    blobs: set[str] = field(default_factory=set)
    quarantine: dict[str, tuple[str, int]] = field(default_factory=dict)


def check_run(project: Path, run_id: str, checked: CheckedLedger, how: How = FULL) -> RunReport:
    """Check one run against its ledger (steps 9 to 17 of `evalsite.ledger.verify`).

    Args:
        project: The project's root folder.
        run_id: Name of the run.
        checked: The ledger that the run belongs to.
        how: In full or fast, and with how many processes.
    """
    ledger = checked.report.ledger
    if checked.facts is None:
        return RunReport(run_id=run_id, ledger=ledger, checks=checked.report.checks, run=None)
    check = _RunCheck(project, run_id, checked, checked.facts, how)
    try:
        return check.run()
    except UndecidedError as exc:
        return check.undecided(exc)


class _RunCheck:
    def __init__(self, project: Path, run_id: str, checked: CheckedLedger, facts: LedgerFacts, how: How) -> None:
        self._project = project
        self._run_id = run_id
        self._ledger = checked.report.ledger
        self._facts = facts
        self._checks: list[Check] = list(checked.report.checks)
        self._incomplete = Step(16, "run is closed and sealed", Area.COMPLETENESS)
        self._incomplete.checked = 1
        self._how = how
        self._order = RunOrder()
        self._opened: RunOpened | None = None
        self._closed: RunClosed | None = None
        self._last: AnyEvent | None = None
        self._kept: list[Event] = []
        self._named = _Named()
        self._statement: str | None = None
        self._notes = Notes()
        self._plan_digest = ""

    def run(self) -> RunReport:
        later = segment_name(EVENTS, KEPT_EVENTS // SEGMENT_LINES)  # a short run is done before processes would help
        long = os.access(self._project / run_folder(self._run_id) / later, os.R_OK)
        with processes(self._how.workers if long else 1) as executor:
            return self._run(None if executor is None else Workers(executor, self._how.workers))

    def undecided(self, error: UndecidedError) -> RunReport:
        """Report what was found before the operating system refused to read."""
        checks = (*self._checks, *unread(error))
        return RunReport(run_id=self._run_id, ledger=self._ledger, checks=checks, run=None)

    def _run(self, workers: Workers | None) -> RunReport:
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
        self._check_checkpoints(folder, workers)
        walked = self._walk_fast(folder, workers) if self._how.fast else self._walk(folder, workers)
        self._check_log(folder, walked)
        self._check_statement(folder, walked)
        self._check_named(folder)
        self._check_complete(folder, walked)
        if not self._how.fast:
            self._check_available(folder)
        return self._report(walked if walked.count else None)

    def _check_files(self, folder: Folder, step: Step) -> None:
        segments, _ = segment_files(EVENTS, folder.tree.files)
        check_folders(step, folder, RUN_FOLDERS)
        known = {CHECKPOINT, STATEMENT, PROOF_OPENED, PROOF_CLOSED, *segments}
        for name in folder.tree.files:
            step.checked += 1
            patterns = (NOTE_FILE, BLOB_FILE, QUARANTINE_FILE)
            if name not in known and not any(pattern.fullmatch(name) for pattern in patterns):
                step.find("run.unknown", folder.at(name), "expected no other file here", "run-record §2")

    def _check_checkpoints(self, folder: Folder, workers: Workers | None) -> None:
        fast = self._how.fast
        step = Step(10, "newest run checkpoint" if fast else "run checkpoints")
        origin, keys = run_origin(self._ledger, self._run_id), self._facts.history.log_keys

        def open_many(sizes: Sequence[int]) -> Mapping[int, OpenedNote]:
            where = self._project / folder.name
            return {} if workers is None else workers.open_notes(where, sizes, origin=origin, keys=keys)

        self._notes = check_notes(step, folder, origin=origin, keys=keys, newest_only=fast, open_many=open_many)
        self._check_signers(step, folder)
        require_notes(step, folder, self._notes, (1,))
        self._checks.append(step.done())

    def _check_signers(self, step: Step, folder: Folder) -> None:
        """Find run notes by another log key than those in force while the run was open, or out of their order."""
        opened, closed = (of.get(self._run_id) for of in (self._facts.opened, self._facts.closed))
        history = self._facts.history
        first = 0 if opened is None else opened.seq
        span = history.span(first, None if closed is None else closed.seq)
        latest, newest = 0, self._notes.newest
        for size, key in sorted(self._notes.keys.items()):
            if size == 1 and key in history.span(0, first):
                continue  # signed before the log held the run; the log names the line itself
            place = span.index(key) if key in span else -1
            last = closed is not None and size == newest
            if place < latest or (last and place != len(span) - 1):
                message = "expected the log key in force when the run was recorded"
                step.find("checkpoint.key", folder.at(note_name(size)), message, "run-record §3")
            latest = max(latest, place)

    def _walk(self, folder: Folder, workers: Workers | None) -> Walked[Event]:
        lines = Step(11, "run events: hashes, links, signed roots")
        order = Step(12, "run events: order, attempts, totals")

        def take(event: AnyEvent) -> None:
            self._take(event, order, folder)

        def take_any(item: AnyEvent | LightAttempt) -> int:
            if isinstance(item, LightAttempt):
                return self._take_attempt(item, order, folder)
            self._take(item, order, folder)
            return 1

        pool = self._pool(folder, workers, take_any)
        walked = LineWalk(lines, folder, RUN_LINES, self._notes.roots, take=take, pool=pool).run()
        self._checks.extend((lines.done(), order.done()))
        self._closed = self._order.closed
        return walked

    def _pool(
        self, folder: Folder, workers: Workers | None, take: Callable[[AnyEvent | LightAttempt], int] | None
    ) -> SegmentPool | None:
        if workers is None:
            return None
        names, _ = segment_files(EVENTS, folder.tree.files)
        # Leaves are needed where a root was signed in the middle of a segment; a fast check has the newest only.
        roots_only = take is None and len(self._notes.roots) == 1
        return SegmentPool(workers, self._project / folder.name, names, take=take, roots_only=roots_only)

    def _take(self, event: AnyEvent, step: Step, folder: Folder) -> None:
        """Take one event in its order; after the first that may not stand where it stands none is looked at."""
        if self._last is None and isinstance(event, RunOpened):
            self._opened = event
        self._last = event
        if len(self._kept) < KEPT_EVENTS and not isinstance(event, LightEvent):
            self._kept.append(event)
        if step.findings:
            return
        step.checked += 1
        try:
            if event.run != self._run_id:
                raise IntegrityError(f"expected the run {self._run_id} in event {event.seq}", rule="run-record §4")
            if event.type == "run.opened" and event.ledger != self._ledger:
                raise IntegrityError(f"expected the ledger {self._ledger} in event 0", rule="run-record §4")
            self._order.take(event)
        except EvalsiteError as exc:
            step.blame("run.order", folder.at(f"{EVENTS}/{event.seq // SEGMENT_LINES:03d}.jsonl"), exc)
            return
        if event.type in ("call.recorded", "run.opened"):
            self._named.blobs.update(blobs_of(event))
        elif event.type == "run.resumed" and event.quarantine is not None:
            self._named.quarantine[quarantine_name(event.seq)] = (event.quarantine, event.dropped_bytes)

    def _take_attempt(self, whole: LightAttempt, step: Step, folder: Folder) -> int:
        """Take a whole attempt, at once if it is in order; return how many events it had."""
        size = len(whole.calls) + 2
        if step.findings or whole.run != self._run_id or not self._order.take_attempt(whole):
            for event in whole.events():
                self._take(event, step, folder)
            return size
        step.checked += size
        for _, request, reply in whole.calls:
            self._named.blobs.add(request)
            if reply is not None:
                self._named.blobs.add(reply)
        return size

    def _walk_fast(self, folder: Folder, workers: Workers | None) -> Walked[Event]:
        step = Step(11, "run events, not read: hashes, links, newest signed root")
        pool = self._pool(folder, workers, None)
        walked = LineWalk(step, folder, RUN_LINES, self._notes.roots, fast=True, pool=pool).run()
        for line in (walked.first_line, walked.last_line) if walked.count else ():
            with step.item("lines.entry", folder.at(walked.last_name)):
                event = parse_line(line, EVENT, MAX_EVENT_BYTES)
                if event.run != self._run_id:
                    raise IntegrityError(f"expected the run {self._run_id} in event {event.seq}", rule="run-record §4")
                if isinstance(event, RunOpened) and event.ledger == self._ledger:
                    self._opened = event
                if isinstance(event, RunClosed):
                    self._closed = event
        self._checks.append(step.done())
        return walked

    def _check_log(self, folder: Folder, walked: Walked[Event]) -> None:
        step = Step(13, "run in the ledger's log, with proofs")
        opened = self._facts.opened.get(self._run_id)
        closed = self._facts.closed.get(self._run_id)
        first = folder.at(f"{EVENTS}/000.jsonl")
        if opened is None:
            if walked.count > 1 or walked.tail_lines:
                step.find("run.unlogged", first, "expected the log to hold the run before its first trial")
            if PROOF_OPENED in folder.tree.files:
                step.find("proof.unknown", folder.at(PROOF_OPENED), "expected no proof of what the log does not hold")
            step.checked += 1
        else:
            with step.item("run.opened-entry", first):
                event = self._opened
                if event is None or digest_of_leaf(leaf_hash(walked.first_line)) != opened.opened_leaf:
                    raise IntegrityError("expected the first event that the log holds", rule="run-record §8")
                self._plan_digest = plan_digest(event)
                if self._plan_digest != opened.plan_digest:
                    raise IntegrityError("expected the plan that the log holds", rule="run-record §8")
                check_plan(self._facts.labels, event.plan, opened.seq, None if closed is None else closed.seq)
            self._check_proof(step, folder, PROOF_OPENED, opened.seq)
        if closed is not None:
            with step.item("run.closed-entry", folder.at(walked.last_name or f"{EVENTS}/000.jsonl")):
                if self._closed is None or closed.size != walked.count:
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
            head, _ = open_signed(proof.note, origin=log_origin(self._ledger), keys=self._facts.history.log_keys)
            if proof.note != self._facts.notes.raw.get(head.size):
                raise IntegrityError("expected a checkpoint that the log holds in the proof", rule="run-record §8")
            if proof.index != index:
                raise IntegrityError(f"expected the index {index}, found {proof.index}", rule="run-record §8")
            verify_inclusion(self._facts.leaves[index], proof.hashes, index=index, size=head.size, root=head.root)

    def _check_statement(self, folder: Folder, walked: Walked[Event]) -> None:
        logged = self._facts.closed.get(self._run_id)
        if logged is None and STATEMENT not in folder.tree.files:
            return  # nothing to check yet; step 16 tells
        runner_keys = self._runner_keys(logged)
        revoked = logged is not None and any(self._facts.keys.revoked(key) for key in runner_keys)
        step = Step(14, _STATED_STEP + (", by a key that was revoked later" if revoked else ""))
        with step.item("statement", folder.at(STATEMENT)):
            envelope = parse_envelope(folder.read(STATEMENT, MAX_ENVELOPE_BYTES))
            verify_envelope(envelope, payload_type=PAYLOAD_TYPE, keys=runner_keys)
            opened = self._opened
            if opened is None or self._closed is None:
                raise IntegrityError("expected a statement over a closed run only", rule="run-record §7")
            size, root = self._notes.newest, self._notes.roots[self._notes.newest]
            digests = (walked.sha256, walked.sha512)
            if self._how.fast:  # the lines stand under the root; two more digests of them are not made again
                digests = stated_digests(envelope.payload)
            sealed = Sealed(plan_digest=self._plan_digest, size=size, root=root, sha256=digests[0], sha512=digests[1])
            if envelope.payload != statement_payload(opened, self._closed, sealed):
                raise IntegrityError("expected the statement that follows from the record", rule="run-record §7")
            self._statement = digest_bytes(envelope.payload)
            if logged is not None and (logged.root, logged.statement) != (f"sha256:{root.hex()}", self._statement):
                raise IntegrityError("expected the root and the statement that the log holds", rule="run-record §8")
        self._checks.append(step.done())

    def _runner_keys(self, logged: RunClosedLogged | None) -> dict[str, bytes]:
        """Return the runner key in force when the run was logged as closed; before that any since it was opened."""
        history, opened = self._facts.history, self._facts.opened.get(self._run_id)
        if logged is not None:
            return dict(history.at(logged.seq).runner_keys)
        first = history.at(1 if opened is None else opened.seq).keyring.version
        return {key: raw for version in history.versions[first - 1 :] for key, raw in version.runner_keys.items()}

    def _check_named(self, folder: Folder) -> None:
        fast = self._how.fast
        step = Step(15, "blobs are what their names say" if fast else _NAMED_STEP)
        names = {blob_name(digest): digest for digest in self._named.blobs}
        for name in folder.tree.files:
            at = folder.at(name)
            if BLOB_FILE.fullmatch(name):
                with step.item("blob", at):
                    container = folder.read(name, MAX_BLOB_OF_CORPUS_BYTES)
                    if f"sha256:{name[-64:]}" != blob_digest(container):
                        raise IntegrityError("expected content with the digest of its name", rule="run-record §6")
                    unpack_blob(container)
                    if name not in names and self._closed is not None and not fast:
                        raise IntegrityError("expected an event that names this blob", rule="run-record §6")
            elif QUARANTINE_FILE.fullmatch(name) and not fast:
                with step.item("quarantine", at):
                    self._check_quarantine(folder, name)
        for name in self._named.quarantine.keys() - folder.tree.files.keys():
            step.find("quarantine.missing", folder.at(name), "expected the bytes that were set aside")
        step.checked += len(names.keys() - folder.tree.files.keys())  # told by step 17
        self._checks.append(step.done())

    def _check_quarantine(self, folder: Folder, name: str) -> None:
        data = folder.read(name, MAX_RECORD_FILE_BYTES)
        if name not in self._named.quarantine:
            if self._closed is not None or name != quarantine_name(self._order.count):
                raise IntegrityError("expected a run.resumed event that names these bytes", rule="run-record §6")
        elif self._named.quarantine[name] != (digest_bytes(data), len(data)):
            raise IntegrityError("expected the bytes that run.resumed names", rule="run-record §6")

    def _check_complete(self, folder: Folder, walked: Walked[Event]) -> None:
        step = self._incomplete
        if self._closed is None:
            step.find("run.open", folder.name, "the run was not closed", "run-record §4")
        elif not self._closed.complete:
            step.find("run.incomplete", folder.name, "the run was closed before every planned trial ended")
        if self._run_id not in self._facts.opened:
            step.find("run.unlogged", folder.name, "the log does not hold the run yet", "run-record §8")
        if self._closed is not None and (self._run_id not in self._facts.closed or STATEMENT not in folder.tree.files):
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
        if self._closed is None:
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
        run, reached = None, None
        opened, closed = self._facts.opened.get(self._run_id), self._facts.closed.get(self._run_id)
        if walked is not None and opened is not None and checks_hold(checks, Area.INTEGRITY):
            run = None if self._how.fast else self._authentic(walked, checks, opened.seq)
            level = self._facts.evidence.level_of(None if closed is None else closed.seq)
            reached = (level, Level(self._facts.keys.keyring.minimum_level))
        return RunReport(run_id=self._run_id, ledger=self._ledger, checks=checks, run=run, reached=reached)

    def _authentic(self, walked: Walked[Event], checks: tuple[Check, ...], opened_index: int) -> AuthenticRun:
        closed = self._facts.closed.get(self._run_id)
        unsealed = {"proof.missing", "run.open", "run.unsealed", "run.unlogged"}
        open_ends = unsealed & {item.code for item in self._incomplete.findings}
        stored = StoredEvents(self._project, self._run_id, walked.leaves)
        return AuthenticRun(
            project=self._project,
            run_id=self._run_id,
            ledger=self._ledger,
            root_fingerprint=self._facts.keys.root_fingerprint,
            events=tuple(self._kept) if walked.count <= KEPT_EVENTS else stored,
            leaves=walked.leaves,
            size=walked.count,
            root=f"sha256:{self._notes.roots[self._notes.newest].hex()}",
            opened_index=opened_index,
            closed_index=None if closed is None else closed.seq,
            statement_digest=self._statement,
            sealed=isinstance(self._last, RunClosed) and not open_ends,
            level=self._facts.evidence.level_of(None if closed is None else closed.seq),
            minimum_level=Level(self._facts.keys.keyring.minimum_level),
            checks=checks,
            vouched=self._facts.evidence.vouched(None if closed is None else closed.seq),
        )
