# SPDX-License-Identifier: Apache-2.0
"""Writing: one locked ledger, its log, and the runs that are recorded in it.

Order of writing, so that a crash at any point leaves a record that can be finished:

* begin: blobs, first event, run checkpoint, log entry ``run.opened``, log checkpoint, proof;
* each event: its blobs, its line, fdatasync (for several lines at once if `RunWriter.group_commits` was
  asked for); every `runwriter.CHECKPOINT_EVERY` lines a run checkpoint;
* seal: run checkpoint, statement, log entry ``run.closed``, log checkpoint, proof.

Nothing is signed before it was hashed from disk again.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError
from evalsite.ledger.authentic import read_blob, refuse
from evalsite.ledger.blob import SALT_BYTES
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.keys import check_settled, load_key, load_second, usable_ledgers
from evalsite.ledger.labelwriter import LabelWriter
from evalsite.ledger.layout import (
    CHECKPOINT,
    ENTRIES,
    PROOF_CLOSED,
    STATEMENT,
    WORK,
    check_name,
    lock_file,
    log_folder,
    note_name,
    run_folder,
    segment_name,
    trust_folder,
)
from evalsite.ledger.ledgercheck import LedgerFacts, check_ledger
from evalsite.ledger.lines import cut_tail, digest_of_leaf, read_segments, tail_of
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.merkle import leaf_hash, tree_root
from evalsite.ledger.recovery import Found, Recovery, claimed_ledger, find_run, set_aside, set_aside_blobs
from evalsite.ledger.runwriter import Desk, RunWriter
from evalsite.ledger.steps import Step, check_places
from evalsite.schema.bounds import MAX_NOTE_BYTES, SEGMENT_LINES
from evalsite.schema.entries import Event
from evalsite.storage import create_same, ensure_folder, lock, move, read_regular, replace, sweep

__all__ = ["LedgerWriter", "Recovery", "RunWriter", "found_ledger", "open_ledger", "usable_ledgers"]


def _random_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


@contextmanager
def open_ledger(
    project: Path, keystore: Path, ledger: str, *, salts: Callable[[], bytes] = _random_salt
) -> Iterator["LedgerWriter"]:
    """Open a ledger for writing, alone, after verifying its keys and its log.

    What a crash left behind the log's newest checkpoint is set aside under ``.evalsite``: entries
    that were not signed are written again by whatever run they belong to.

    Args:
        project: The project's root folder.
        keystore: The folder of private keys.
        ledger: Name of the ledger.
        salts: Makes the salt of each blob; random unless a worked example asks for fixed ones.

    Raises:
        InputError: No such ledger, or another process writes to it.
        UndecidedError: Its private keys are not in the keystore.
        RefusedError: The private keys are not those of the keyring, or others may read them.
        IntegrityError: Keys or log do not verify; nothing was changed.
    """
    check_name(ledger, "ledger")
    if not (project / trust_folder(ledger)).is_dir():
        raise InputError(f"expected a ledger {ledger} in this project, found none", at=trust_folder(ledger))
    check_settled(keystore, ledger)
    signers = {role: load_key(keystore, ledger, role) for role in ("runner", "log")}
    with lock(project / lock_file(ledger)):
        facts = verified_ledger(project, ledger)
        _check_signers(facts, signers)
        key = facts.keys.log_key.second
        second = None if key is None else load_second(keystore, ledger, key)
        repair_log(project, ledger, facts)
        log = LogWriter(project, ledger, signers["log"], second)
        log.load(facts, log_lines(project, ledger, len(facts.entries)))
        desk = Desk(
            project=project,
            ledger=ledger,
            log=log,
            log_signer=signers["log"],
            log_second=second,
            runner_signer=signers["runner"],
            salts=salts,
        )
        writer = LedgerWriter(desk, facts)
        try:
            yield writer
        finally:
            writer.close()


class LedgerWriter:
    """One ledger, open for writing. Made by `open_ledger`."""

    def __init__(self, desk: Desk, facts: LedgerFacts) -> None:
        self._desk = desk
        self._facts = facts
        self._runs: list[RunWriter] = []
        self.labels = LabelWriter(desk, facts.labels)

    @property
    def ledger(self) -> str:
        """Return the ledger's name."""
        return self._desk.ledger

    def create_run(self, run_id: str) -> RunWriter:
        """Return a writer for a new run; its folder appears with `RunWriter.begin`.

        A folder of this name that holds no whole event never was a run; it is moved under ``.evalsite``.

        Raises:
            InputError: The name is taken or is none.
        """
        check_name(run_id, "run")
        folder = self._desk.project / run_folder(run_id)
        if run_id in self._desk.log.opened or (folder.exists() and self._begun(run_id)):
            raise InputError(
                f"expected no run {run_id} yet", at=run_folder(run_id), advice="choose another name, or resume the run"
            )
        if folder.exists():
            self._abandon(folder, run_id)
        return self._writer(run_id)

    def peek_run(self, run_id: str) -> list[Event]:
        """Return the events that a resumed run would keep, without changing anything.

        Raises:
            InputError: No such run, or it never began.
            IntegrityError: A checkpoint or a line under one is not what was signed.
        """
        return self._find(run_id).events

    def peek_blob(self, run_id: str, digest: str) -> bytes:
        """Return the raw bytes of a run's blob, compared with its digest.

        Raises:
            UndecidedError: The file is not there.
            IntegrityError: It holds other bytes.
        """
        return read_blob(self._desk.project, check_name(run_id, "run"), digest)

    def is_sealed(self, run_id: str) -> bool:
        """Return whether a run is closed, stated, and logged as closed with its proof."""
        folder = self._desk.project / run_folder(check_name(run_id, "run"))
        return run_id in self._desk.log.closed and (folder / STATEMENT).is_file() and (folder / PROOF_CLOSED).is_file()

    def resume_run(self, run_id: str, *, now: str) -> tuple[RunWriter, list[Event], Recovery]:
        """Go on with a run that stopped, finishing whatever its begin left undone.

        Unless the run is closed, the caller appends ``run.resumed`` next, with the fields of the
        recovery. A closed run needs `RunWriter.seal` only.

        Args:
            run_id: Name of the run.
            now: UTC time, for the log entry if it was not written yet.

        Returns:
            The writer, the events that were kept, and what was set aside.

        Raises:
            InputError: No such run, or it never began.
            IntegrityError: A checkpoint or a line under one is not what was signed; nothing was changed.
        """
        found = self._find(run_id)
        folder = self._desk.project / run_folder(run_id)
        kept = len(found.lines)
        closed = found.order.closed is not None
        if closed and tail_of(folder, "events", kept)[0]:
            raise IntegrityError("expected nothing behind run.closed", at=run_folder(run_id), rule="run-record §4")
        sweep(folder)
        recovery = Recovery(kept, 0, None) if closed else set_aside(self._desk.project, run_id, kept)
        set_aside_blobs(self._desk.project, run_id, found.events)
        if found.signed:
            _copy_newest(folder, found.signed)
        writer = self._writer(run_id)
        writer.load(found, must_resume=not closed)
        writer.finish_begin(now=now)
        return writer, list(found.events), recovery

    def close(self) -> None:
        """Close all files."""
        for run in self._runs:
            run.close()
        self._desk.log.close()

    def _writer(self, run_id: str) -> RunWriter:
        writer = RunWriter(self._desk, run_id)
        self._runs.append(writer)
        return writer

    def _find(self, run_id: str) -> Found:
        claimed = claimed_ledger(self._desk.project, check_name(run_id, "run"))
        if claimed not in {"", self.ledger}:
            raise InputError(
                f"expected a run of the ledger {self.ledger}, {run_id} names {claimed}",
                at=run_folder(run_id),
                advice=f"open the ledger {claimed}",
            )
        found = find_run(self._desk.project, run_id, self._desk.ledger, self._facts.history.log_keys)
        self._check_logged(run_id, found)
        if not found.events:
            raise InputError(
                f"expected a run that began, {run_id} holds no whole event",
                at=run_folder(run_id),
                advice=f"start it anew under the same name: --run-id {run_id}",
            )
        return found

    def _check_logged(self, run_id: str, found: Found) -> None:
        """Refuse what the log contradicts, so that no note is ever signed over it (the notes may be gone)."""
        opened, closed = self._desk.log.opened.get(run_id), self._desk.log.closed.get(run_id)
        leaves = [leaf_hash(line) for line in found.lines]
        if opened is not None and (not found.signed or digest_of_leaf(leaves[0]) != opened.opened_leaf):
            message = "expected the first event that the log holds, under a checkpoint of the run"
        elif closed is not None and (closed.size != len(leaves) or closed.root != digest_of_leaf(tree_root(leaves))):
            message = f"expected the {closed.size} events that the log closed"
        else:
            return
        raise IntegrityError(message, at=run_folder(run_id), rule="run-record §8", advice="nothing was changed")

    def _begun(self, run_id: str) -> bool:
        found = find_run(self._desk.project, run_id, self._desk.ledger, self._facts.history.log_keys)
        return bool(found.signed or found.events)

    def _abandon(self, folder: Path, run_id: str) -> None:
        target = self._desk.project / WORK / "abandoned"
        number = 1
        while (target / f"{run_id}-{number}").exists():
            number += 1
        move(folder, target / f"{run_id}-{number}")


def verified_ledger(project: Path, ledger: str) -> LedgerFacts:
    """Return the facts of a ledger before something is written to it.

    Raises:
        IntegrityError: Keys or log do not verify, or their folder is a link.
        UndecidedError: The operating system refused to read them.
    """
    places = Step(18, "folders of records")
    check_places(places, project)
    checked = check_ledger(project, ledger, None)
    checks = () if checked.facts is not None else checked.report.checks  # labels that are gone stop no writer
    refuse((places.done(), *checks), at=trust_folder(ledger), advice="nothing was changed; compare with a copy")
    if checked.facts is None:  # pragma: no cover - one of the findings says why
        raise TypeError(ledger)
    return checked.facts


def _check_signers(facts: LedgerFacts, signers: dict[str, Signer]) -> None:
    if signers["log"].public_key != facts.keys.log_key.public_key:
        raise RefusedError("expected the keyring's log key in the keystore, found another", rule="run-record §3")
    if signers["runner"].key_id not in facts.keys.runner_keys:
        raise RefusedError("expected the keyring's runner key in the keystore, found another", rule="run-record §3")


def repair_log(project: Path, ledger: str, facts: LedgerFacts) -> None:
    """Set aside what a crash left behind the newest checkpoint of the log."""
    folder = project / log_folder(ledger)
    sweep(folder)
    sweep(project / trust_folder(ledger))
    kept = len(facts.entries)
    rest, _ = tail_of(folder, ENTRIES, kept)
    if rest:
        aside = project / WORK / "quarantine"
        ensure_folder(aside)
        create_same(aside / f"{ledger}-{kept}-{digest_bytes(rest)[7:23]}.bin", rest)
    cut_tail(folder, ENTRIES, kept)
    if facts.notes.lagging:
        _copy_newest(folder, kept)


def _copy_newest(folder: Path, size: int) -> None:
    """Make ``checkpoint`` repeat the newest note, which a crash may have kept it from."""
    note = read_regular(folder / note_name(size), MAX_NOTE_BYTES)
    if not (folder / CHECKPOINT).exists() or read_regular(folder / CHECKPOINT, MAX_NOTE_BYTES) != note:
        replace(folder / CHECKPOINT, note)


def log_lines(project: Path, ledger: str, size: int) -> list[bytes]:
    """Return the first lines of a log that was verified under the same lock."""
    names = [segment_name(ENTRIES, number) for number in range(-(-size // SEGMENT_LINES))]
    lines = [line for segment in read_segments(project / log_folder(ledger), names) for line in segment.lines]
    if len(lines) != size:  # pragma: no cover - verified under the same lock
        raise UndecidedError("expected the log as it was verified")
    return lines
