# SPDX-License-Identifier: Apache-2.0
"""What a run holds that can be gone on with, after a crash as after a plain stop.

The rule: every checkpoint must be authentic and every line under the newest must be the one that
was signed, else nothing is touched. Behind it, lines are kept as long as they are whole, canonical,
linked and in order; the rest was in flight and is set aside, never deleted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import EvalsiteError, InputError, IntegrityError, UndecidedError
from evalsite.ledger.layout import (
    CHECKPOINT,
    EVENTS,
    WORK,
    blob_name,
    quarantine_name,
    run_folder,
    run_origin,
    segment_name,
)
from evalsite.ledger.lines import cut_tail, digest_of_leaf, parse_line, read_segments, segment_files, tail_of
from evalsite.ledger.linewalk import LineWalk
from evalsite.ledger.merkle import leaf_hash
from evalsite.ledger.note import NoteKey
from evalsite.ledger.order import RunOrder, blobs_of
from evalsite.ledger.scan import RUN_LINES
from evalsite.ledger.steps import Folder, Step, check_notes, open_folder
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, MAX_RECORD_FILE_BYTES
from evalsite.schema.entries import EVENT, Event
from evalsite.storage import create_same, ensure_folder, list_tree, read_regular, remove, replace


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a resumed run kept: the fields of its ``run.resumed`` event."""

    kept: int
    dropped_bytes: int
    quarantine: str | None

    def plain(self) -> dict[str, Any]:
        """Return the JSON value of these fields."""
        return {"kept": self.kept, "dropped_bytes": self.dropped_bytes, "quarantine": self.quarantine}


@dataclass(slots=True)
class Found:
    """The whole lines of a run and what they say. The first ``signed`` are covered by a checkpoint."""

    signed: int
    lines: list[bytes] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    order: RunOrder = field(default_factory=RunOrder)


def find_run(project: Path, run_id: str, ledger: str, keys: Sequence[NoteKey]) -> Found:
    """Read what a run holds, without changing anything.

    Raises:
        InputError: There is no such run.
        IntegrityError: A checkpoint or a line under one is not what was signed; the file is named.
        UndecidedError: The operating system refused to read it.
    """
    step = Step(0, "resume")
    folder = open_folder(project, run_folder(run_id), step)
    if folder is None:
        raise InputError(f"expected a run {run_id}, found none", at=run_folder(run_id))
    found = Found(signed=_check_signed(folder, step, run_id, ledger, keys))
    names, _ = segment_files(EVENTS, folder.tree.files)
    for segment in read_segments(project / folder.name, names):
        for line in segment.lines:
            if not _take(found, line):
                if len(found.lines) < found.signed:
                    at = folder.at(segment.name)
                    raise IntegrityError("expected signed events in their order", at=at, rule="run-record §4")
                return found
    return found


def claimed_ledger(project: Path, run_id: str) -> str:
    """Return the ledger that a run's first event names, unverified; empty if there is no such event.

    The line need not be in order: which ledger it is held against decides what is said of it.

    Raises:
        UndecidedError: The operating system refused to read it.
    """
    try:
        data = read_regular(project / run_folder(run_id) / segment_name(EVENTS, 0), MAX_RECORD_FILE_BYTES)
        event = parse_json(data.split(b"\n", 1)[0], max_bytes=MAX_EVENT_BYTES)
    except UndecidedError as exc:
        exc.at = f"{run_folder(run_id)}/{segment_name(EVENTS, 0)}"
        raise
    except EvalsiteError:
        return ""
    named = event.get("ledger") if isinstance(event, dict) and event.get("type") == "run.opened" else None
    return named if isinstance(named, str) else ""


def set_aside(project: Path, run_id: str, kept: int) -> Recovery:
    """Move all bytes behind the first ``kept`` lines to the quarantine file of the coming event.

    Can be cut short and called again: bytes are stored first, then dropped from the segment.
    """
    folder = project / run_folder(run_id)
    rest, _ = tail_of(folder, EVENTS, kept)
    path = folder / quarantine_name(kept)
    stored = read_regular(path, MAX_RECORD_FILE_BYTES) if path.exists() else b""
    if rest and not stored.endswith(rest):
        ensure_folder(path.parent)
        stored += rest
        if path.exists():
            replace(path, stored)
        else:
            create_same(path, stored)
    cut_tail(folder, EVENTS, kept)
    return Recovery(kept, len(stored), digest_bytes(stored) if stored else None)


def set_aside_blobs(project: Path, run_id: str, events: Iterable[Event]) -> None:
    """Move blobs that no kept event names out of the run: their event was never written whole.

    A blob is stored before the event that names it, so that a crash or a cancellation between the two
    leaves it behind. A record names every byte that it holds, so it cannot stay; it is kept under
    ``.evalsite``, where nothing counts as evidence.
    """
    named = {blob_name(digest) for event in events for digest in blobs_of(event)}
    folder = project / run_folder(run_id)
    aside = project / WORK / "quarantine"
    for name in list_tree(folder).files:
        if name.startswith("blobs/") and name not in named:
            ensure_folder(aside)
            create_same(aside / f"{run_id}-{name[-64:]}", read_regular(folder / name, MAX_BLOB_OF_CORPUS_BYTES))
            remove(folder / name)


def _check_signed(folder: Folder, step: Step, run_id: str, ledger: str, keys: Sequence[NoteKey]) -> int:
    if not any(name.startswith(CHECKPOINT) for name in folder.tree.files):
        return 0
    notes = check_notes(step, folder, origin=run_origin(ledger, run_id), keys=keys)
    if CHECKPOINT not in folder.tree.files and list(notes.roots) == [1]:
        # The very first checkpoint: its note came, its copy did not.
        step.findings = [finding for finding in step.findings if finding.code != "checkpoint.newest"]
    LineWalk(step, folder, RUN_LINES, notes.roots).run()
    if step.findings:
        first = step.findings[0]
        raise IntegrityError(first.message, at=first.at, rule=first.rule, advice="nothing was changed")
    return notes.newest


def _take(found: Found, line: bytes) -> bool:
    """Take one line if it is whole, canonical, linked and in order."""
    prev = digest_of_leaf(leaf_hash(found.lines[-1])) if found.lines else None
    try:
        event = parse_line(line, EVENT, MAX_EVENT_BYTES)
        if (event.seq, event.prev) != (len(found.lines), prev):
            return False
        if len(found.lines) >= found.signed and canonical_bytes(event.plain()) != line:
            return False
        found.order.take(event)
    except EvalsiteError:
        return False
    found.lines.append(line)
    found.events.append(event)
    return True
