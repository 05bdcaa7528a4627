# SPDX-License-Identifier: Apache-2.0
"""Segments scanned by several processes: hashing, strict parsing and schema need no neighbour.

Links between segments, signed roots and the order of events stay with the process that asked.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from evalsite.errors import EvalsiteError
from evalsite.ledger.light import AnyEvent, dump_events, load_events, pack_event
from evalsite.ledger.lines import read_segments
from evalsite.ledger.scan import RUN_LINES, Scan, scan_fast, scan_lines
from evalsite.schema.bounds import SEGMENT_LINES
from evalsite.schema.entries import Event

_AHEAD = 4  # segments in flight for each process, which bounds the memory of results that wait


class Found(NamedTuple):
    """What was found in one segment, and how many events it handed on."""

    scan: Scan
    events: int


class _Parcel(NamedTuple):
    scan: Scan
    events: bytes


class SegmentPool:
    """Processes that scan the segments of a run, in their order and some segments ahead.

    Args:
        folder: The run's folder.
        names: Its segment files, in order.
        signed: How many lines are signed.
        take: Gets every event in its order; none of a fast scan.
        fast: Hash only.
        workers: How many processes.
    """

    def __init__(
        self,
        folder: Path,
        names: list[str],
        *,
        signed: int,
        take: Callable[[AnyEvent], None],
        fast: bool,
        workers: int,
    ) -> None:
        self._take = take
        self._jobs = deque(
            (folder, name, number * SEGMENT_LINES, min(SEGMENT_LINES, signed - number * SEGMENT_LINES), fast)
            for number, name in enumerate(names)
            if number * SEGMENT_LINES < signed
        )
        self._ahead = _AHEAD * workers
        self._waiting: deque[tuple[int, Future[_Parcel | None]]] = deque()
        # Spawned, not forked: whoever verifies may have threads and locks of its own.
        self._pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        self._submit()

    def scan(self, first: int, count: int) -> Found | None:
        """Return what was found in ``count`` lines from line ``first``; null if nobody scanned just these."""
        while self._waiting and self._waiting[0][0] < first:
            self._waiting.popleft()
        if not self._waiting or self._waiting[0][0] != first:
            return None
        _, future = self._waiting.popleft()
        self._submit()
        parcel = future.result()
        if parcel is None or len(parcel.scan.leaves) != count:
            return None
        handed = 0
        for event in load_events(parcel.events):
            self._take(event)
            handed += 1
        return Found(parcel.scan, handed)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(cancel_futures=True)

    def _submit(self) -> None:
        while self._jobs and len(self._waiting) < self._ahead:
            job = self._jobs.popleft()
            self._waiting.append((job[2], self._pool.submit(_scan_file, *job)))


def _scan_file(folder: Path, name: str, first: int, count: int, fast: bool) -> _Parcel | None:  # noqa: FBT001 - a job
    """Scan one segment in a process of its own; null leaves it, and what is wrong with it, to the asker."""
    try:
        lines = next(read_segments(folder, [name])).lines[:count]
    except EvalsiteError:
        return None
    packed: list[tuple[Any, ...] | bytes] = []

    def take(event: Event) -> None:
        packed.append(pack_event(event))

    scan = scan_fast(lines, first) if fast else scan_lines(lines, first, RUN_LINES, take)
    return _Parcel(scan, dump_events(packed))
