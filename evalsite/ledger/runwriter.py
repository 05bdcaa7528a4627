# SPDX-License-Identifier: Apache-2.0
"""The writer's end of one run."""

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.blob import blob_digest, pack_blob
from evalsite.ledger.dsse import sign_envelope
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.layout import (
    EVENTS,
    PROOF_CLOSED,
    PROOF_OPENED,
    STATEMENT,
    blob_name,
    log_origin,
    run_folder,
    run_origin,
    segment_name,
)
from evalsite.ledger.lines import digest_of_leaf, parse_line, read_segments
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.order import RunOrder
from evalsite.ledger.recovery import Found, set_aside_blobs
from evalsite.ledger.signedtree import SignedTree
from evalsite.ledger.statement import PAYLOAD_TYPE, Sealed, plan_digest, statement_payload
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, SEGMENT_LINES
from evalsite.schema.entries import EVENT, Event, RunClosed, RunInterrupted, RunOpened
from evalsite.schema.plan import Plan
from evalsite.storage import create_same, ensure_folder, remove_tree, sweep

CHECKPOINT_EVERY = 32  # lines that may stand unsigned behind a checkpoint
GROUP_RECORDS = 32  # lines that may wait for the disk together, if commits are grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the runs of one open ledger write with."""

    project: Path
    ledger: str
    log: LogWriter
    log_signer: Signer
    log_second: SecondSigner | None
    runner_signer: Signer
    salts: Callable[[], bytes]


class RunWriter:
    """Records one run. Made by `LedgerWriter.create_run` and `LedgerWriter.resume_run`."""

    def __init__(self, desk: Desk, run_id: str) -> None:
        self.run_id = run_id
        self._desk = desk
        self._folder = desk.project / run_folder(run_id)
        self._tree = SignedTree(
            self._folder,
            EVENTS,
            origin=run_origin(desk.ledger, run_id),
            key_name=log_origin(desk.ledger),
            signers=(desk.log_signer, desk.log_second),
        )
        self._order = RunOrder()
        self._events: list[Event] = []
        self._pending: dict[str, bytes] = {}
        self._must_resume = False
        self._broken = False
        self._grouped = False
        self._waiting = 0

    @property
    def closed(self) -> bool:
        """Return whether ``run.closed`` was written; only `seal` may follow."""
        return self._order.closed is not None

    def events(self) -> tuple[Event, ...]:
        """Return the events so far."""
        return tuple(self._events)

    def put_blob(self, raw: bytes) -> str:
        """Store raw bytes in a salted container and return the digest that an event names them by.

        Before `begin` the container waits in memory, so that a refused run leaves no folder.

        Raises:
            InputError: Too long.
            UndecidedError: The operating system refused.
        """
        container = pack_blob(raw, self._desk.salts())
        if len(container) > MAX_BLOB_OF_CORPUS_BYTES:
            raise InputError(f"expected at most {MAX_BLOB_OF_CORPUS_BYTES} bytes, got {len(container)}", rule="bounds")
        digest = blob_digest(container)
        if self._events:
            self._store(digest, container)
        else:
            self._pending[digest] = container
        return digest

    def begin(self, plan: Plan, *, now: str) -> None:
        """Record and log the plan; no trial may start before.

        What fails before the first event is on the disk leaves no folder; behind it the run can be resumed.

        Raises:
            InputError: The plan does not fit into one line.
            UndecidedError: The operating system refused.
        """
        if self._events:
            message = "a run begins once"
            raise ValueError(message)
        event = self._frame("run.opened", {"ledger": self._desk.ledger, "plan": plan.plain()}, now)
        try:
            ensure_folder(self._folder)
            for digest, container in self._pending.items():
                self._store(digest, container)
            self._write(event)
        except BaseException:
            self._take_back()
            raise
        self._pending.clear()
        self.finish_begin(now=now)

    def finish_begin(self, *, now: str) -> None:
        """Sign and log the first event, as far as that has not happened."""
        opened = self._opened()
        if not self._tree.signed:
            self._tree.sign()
        logged = self._desk.log.opened.get(self.run_id)
        if logged is None:
            leaf = digest_of_leaf(self._tree.lines.leaves[0])
            body = {"run": self.run_id, "opened_leaf": leaf, "plan_digest": plan_digest(opened)}
            self._desk.log.append("run.opened", body, now=now)
            self._desk.log.sign()
        self._prove(PROOF_OPENED, self._desk.log.opened[self.run_id].seq)

    def append(self, event_type: str, body: Mapping[str, Any], *, now: str) -> int:
        """Record one event and wait until the disk has it; see `group_commits`.

        Args:
            event_type: The event's ``type``.
            body: Its own fields as a JSON value; the frame is added here.
            now: UTC time.

        Returns:
            The event's ``seq``.

        Raises:
            InputError: ``body`` does not fit the type, or the line is too long; nothing was written.
            UndecidedError: The operating system refused; resume the run.
            ValueError: The event may not stand here (a bug in the caller); nothing was written.
        """
        if not self._events or (self._must_resume and event_type != "run.resumed"):
            message = "expected begin, or run.resumed after a resume, before any other event"
            raise ValueError(message)
        event = self._frame(event_type, body, now)
        self._write(event)
        self._must_resume = False
        if (
            isinstance(event, RunClosed | RunInterrupted)
            or self._tree.lines.size - self._tree.signed >= CHECKPOINT_EVERY
        ):
            self.checkpoint()
        return event.seq

    def group_commits(self) -> None:
        """Let events wait for the disk together, at most `GROUP_RECORDS` of them.

        Whoever asks for this calls `sync` at least once a second, since a ledger has no clock. A blob is
        on the disk before its event is written, all the same, and every event before it is signed.
        """
        self._grouped = True

    def sync(self) -> None:
        """Wait until the disk has every event.

        Raises:
            UndecidedError: The operating system refused; resume the run.
        """
        try:
            self._tree.sync()
        except BaseException:
            self._broken = True
            raise
        self._waiting = 0

    def checkpoint(self) -> None:
        """Sign the root over all events so far.

        Raises:
            IntegrityError: The disk holds other lines than were written; nothing was signed.
        """
        if self._tree.signed != self._tree.lines.size:
            self._tree.sign()

    def seal(self, *, now: str) -> None:
        """Sign the last checkpoint and the statement and log the run as closed.

        Whatever of it was done before a crash is kept; calling again finishes the rest.

        Raises:
            IntegrityError: The disk holds other bytes than were written; nothing was signed.
            ValueError: The last event is not ``run.closed`` (a bug in the caller).
        """
        closed = self._order.closed
        if closed is None:
            message = "expected run.closed before the seal"
            raise ValueError(message)
        sweep(self._folder)
        self._desk.log.tidy()
        set_aside_blobs(self._desk.project, self.run_id, self._events)
        self._tree.sign(whole=True)
        sealed = self._sealed()
        payload = statement_payload(self._opened(), closed, sealed)
        envelope = sign_envelope(PAYLOAD_TYPE, payload, self._desk.runner_signer)
        create_same(self._folder / STATEMENT, envelope.to_bytes())
        body = {
            "run": self.run_id,
            "size": sealed.size,
            "root": f"sha256:{sealed.root.hex()}",
            "statement": digest_bytes(payload),
        }
        logged = self._desk.log.closed.get(self.run_id)
        if logged is None:
            self._desk.log.append("run.closed", body, now=now)
            self._desk.log.sign()
        elif any(getattr(logged, name) != value for name, value in body.items()):
            raise IntegrityError("expected the log to hold what this run says", at=run_folder(self.run_id))
        self._prove(PROOF_CLOSED, self._desk.log.closed[self.run_id].seq)

    def load(self, found: Found, *, must_resume: bool) -> None:
        """Take over what a run holds (for `LedgerWriter.resume_run`)."""
        self._tree.load(found.lines, found.signed)
        self._order = found.order
        self._events = list(found.events)
        self._must_resume = must_resume

    def close(self) -> None:
        """Close the file."""
        self._tree.close()

    def _frame(self, event_type: str, body: Mapping[str, Any], now: str) -> Event:
        frame = {
            "format": "evalsite/event/v1",
            "run": self.run_id,
            "seq": self._tree.lines.size,
            "prev": self._tree.lines.prev,
            "recorded_at": now,
            "type": event_type,
        }
        return parse_line(canonical_bytes({**body, **frame}), EVENT, MAX_EVENT_BYTES)

    def _write(self, event: Event) -> None:
        if self._broken:
            raise UndecidedError("expected a usable run, an earlier write failed", advice="resume the run")
        line = canonical_bytes(event.plain())
        if len(line) > MAX_EVENT_BYTES:
            raise InputError(f"expected an event of at most {MAX_EVENT_BYTES} bytes, got {len(line)}", rule="bounds")
        try:
            self._order.take(event)
        except IntegrityError as exc:
            raise ValueError(str(exc)) from exc
        try:
            self._tree.append(line, wait=not self._grouped)
        except BaseException:
            self._broken = True  # the order has gone on, the file has not
            raise
        self._events.append(event)
        self._waiting += 1
        if self._grouped and self._waiting >= GROUP_RECORDS:
            self.sync()

    def _take_back(self) -> None:
        """Remove what was stored of a run that did not begin: nothing of it was signed or logged, and nobody was asked.

        If that fails too, a folder is left of which a verification says that the run never began, and which a run
        of the same name replaces.
        """
        with contextlib.suppress(UndecidedError):
            self._tree.close()
            if not self._tree.lines.size and self._folder.is_dir():
                remove_tree(self._folder)

    def _opened(self) -> RunOpened:
        opened = self._events[0]
        if not isinstance(opened, RunOpened):  # pragma: no cover - the order makes sure
            raise TypeError(type(opened).__name__)
        return opened

    def _sealed(self) -> Sealed:
        short, long = hashlib.sha256(), hashlib.sha512()
        count = -(-self._tree.lines.size // SEGMENT_LINES)
        for segment in read_segments(self._folder, [segment_name(EVENTS, number) for number in range(count)]):
            for line in segment.lines:
                short.update(line + b"\n")
                long.update(line + b"\n")
        root = self._tree.lines.frontier.root()
        return Sealed(
            plan_digest=plan_digest(self._opened()),
            size=self._tree.lines.size,
            root=root,
            sha256=short.hexdigest(),
            sha512=long.hexdigest(),
        )

    def _store(self, digest: str, container: bytes) -> None:
        path = self._folder / blob_name(digest)
        ensure_folder(path.parent)
        create_same(path, container)

    def _prove(self, name: str, index: int) -> None:
        path = self._folder / name
        if not path.exists():
            ensure_folder(path.parent)
            create_same(path, self._desk.log.proof(index))
