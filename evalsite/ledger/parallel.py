# SPDX-License-Identifier: Apache-2.0
"""Long runs verified by several processes: segments and notes need no neighbour to be looked at.

Links between segments, signed roots and the order of events stay with the process that asked. What a
process cannot vouch for it leaves out: it is then looked at, and told, where it would be anyway.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, NamedTuple

from evalsite.errors import EvalsiteError
from evalsite.ledger.light import AnyEvent, LightAttempt, Packer, load_events
from evalsite.ledger.lines import read_segments
from evalsite.ledger.note import NoteKey
from evalsite.ledger.scan import RUN_LINES, Scan, scan_fast, scan_lines
from evalsite.ledger.steps import OpenedNote, open_note
from evalsite.schema.bounds import SEGMENT_LINES

_AHEAD = 4  # segments in flight for each process, which bounds the memory of results that wait
_NOTES = 256  # notes that are opened in one go


class Found(NamedTuple):
    """What was found in one whole segment, and how many events it handed on."""

    scan: Scan
    events: int


class _Parcel(NamedTuple):
    scan: Scan
    events: bytes


class Workers:
    """Processes that look at parts of one run.

    Args:
        executor: The processes.
        count: How many they are.
    """

    def __init__(self, executor: ProcessPoolExecutor, count: int) -> None:
        self.executor = executor
        self.count = count

    def open_notes(
        self, folder: Path, sizes: Sequence[int], *, origin: str, keys: Sequence[NoteKey]
    ) -> Mapping[int, OpenedNote]:
        """Open notes as `evalsite.ledger.steps.open_note` does; those that it refuses are left out."""
        parts = [sizes[at : at + _NOTES] for at in range(0, len(sizes), _NOTES)]
        jobs = [self.executor.submit(_open_notes, folder, part, origin, tuple(keys)) for part in parts]
        return {size: note for job in jobs for size, note in job.result().items()}


@contextmanager
def processes(
    count: int, begin: Callable[..., None] | None = None, shared: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor | None]:
    """Give ``count`` processes, or none where one is asked for.

    Args:
        count: How many.
        begin: Called in each of them first.
        shared: What it is called with.
    """
    if count < 2:  # noqa: PLR2004 - one process is this one
        yield None
        return
    executor = ProcessPoolExecutor(count, mp_context=_context(), initializer=begin, initargs=shared)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)


def _context() -> BaseContext:
    # A fork starts at once, but takes no thread with it, only the locks that threads may hold.
    alone = threading.active_count() == 1
    try:
        return get_context("fork" if alone else "spawn")
    except ValueError:  # pragma: no cover - a system without fork
        return get_context("spawn")


class SegmentPool:
    """Whole segments of a run scanned in their order, some of them ahead.

    The first and the last segment are never among them: their lines are wanted in full.

    Args:
        workers: The processes.
        folder: The run's folder.
        names: Its segment files, in order.
        take: Gets every event in its order and returns how many it got; none for a fast scan.
        roots_only: Hash only, and keep no leaves: no root is signed within a segment but the last.
    """

    def __init__(
        self,
        workers: Workers,
        folder: Path,
        names: Sequence[str],
        *,
        take: Callable[[AnyEvent | LightAttempt], int] | None,
        roots_only: bool = False,
    ) -> None:
        self._executor = workers.executor
        self._take = take
        self._jobs = deque(
            (folder, name, number * SEGMENT_LINES, take is None, roots_only)
            for number, name in enumerate(names)
            if 0 < number < len(names) - 1
        )
        self._ahead = _AHEAD * workers.count
        self._waiting: deque[tuple[str, int, Future[_Parcel | None]]] = deque()
        self._submit()

    def found(self, name: str, first: int) -> Found | None:
        """Return what was found in the segment ``name``; null if it does not begin at line ``first``, or was left."""
        if not self._waiting or self._waiting[0][0] != name:
            return None
        _, begun_at, future = self._waiting.popleft()
        self._submit()
        parcel = future.result()
        if parcel is None or begun_at != first:
            return None
        handed = 0 if self._take is None else sum(map(self._take, load_events(parcel.events)))
        return Found(parcel.scan, handed)

    def _submit(self) -> None:
        while self._jobs and len(self._waiting) < self._ahead:
            job = self._jobs.popleft()
            self._waiting.append((job[1], job[2], self._executor.submit(_scan_file, *job)))


def _scan_file(folder: Path, name: str, first: int, fast: bool, roots_only: bool) -> _Parcel | None:  # noqa: FBT001 - a job
    """Scan one segment in a process of its own; null leaves it, and what is wrong with it, to the asker."""
    try:
        segment = next(read_segments(folder, [name]))
    except EvalsiteError:
        return None
    if len(segment.lines) != SEGMENT_LINES or segment.rest:
        return None
    packer = Packer()
    scan = scan_fast(segment.lines, first) if fast else scan_lines(segment.lines, first, RUN_LINES, packer.take)
    return _Parcel(scan.folded() if roots_only else scan, packer.done())


def _open_notes(folder: Path, sizes: Sequence[int], origin: str, keys: Sequence[NoteKey]) -> dict[int, OpenedNote]:
    opened: dict[int, OpenedNote] = {}
    for size in sizes:
        try:
            opened[size] = open_note(folder, size, origin=origin, keys=keys)
        except EvalsiteError:
            continue
    return opened
