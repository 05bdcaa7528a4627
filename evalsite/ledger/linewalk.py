# SPDX-License-Identifier: Apache-2.0
"""Walking the lines of a run or log segment by segment: hashes, links, schema, signed roots.

One segment is held at a time, so that memory does not grow with the lines but for 32 bytes each.
A fast walk hashes and does not read: lines are neither parsed nor compared with their schema.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from evalsite.errors import EvalsiteError, UndecidedError
from evalsite.ledger.lines import Segment, digest_of_leaf, read_segments, segment_files
from evalsite.ledger.merkle import Frontier, Leaves
from evalsite.ledger.parallel import Found, SegmentPool
from evalsite.ledger.scan import RULE, Fault, LineKind, Scan, scan_fast, scan_lines, unlinked
from evalsite.ledger.steps import Folder, Framed, Step
from evalsite.schema.bounds import MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.storage import read_regular

_T = TypeVar("_T", bound=Framed)


@dataclass(slots=True)
class Walked(Generic[_T]):
    """The signed lines of one tree, and how much stands behind them.

    ``entries`` are all of them, or none if the walk handed them on; ``count`` is how many there were.
    A fast walk keeps no ``leaves``.
    """

    entries: list[_T] = field(default_factory=list)
    count: int = 0
    leaves: Leaves = field(default_factory=Leaves)
    first_line: bytes = b""
    last_line: bytes = b""
    sha256: str = ""
    sha512: str = ""
    tail_lines: int = 0
    tail_bytes: int = 0
    empty_segment: bool = False
    last_name: str = ""

    def behind(self) -> str:
        """Return in words what stands behind the signed lines; empty if nothing does."""
        if self.tail_bytes:
            return f"{self.tail_bytes} bytes behind the newest checkpoint are not signed"
        return "the last segment is empty" if self.empty_segment else ""


class LineWalk(Generic[_T]):
    """Walks all lines of one tree once.

    Args:
        step: Takes the findings.
        folder: The run's or log's folder.
        what: The lines' schema.
        roots: The signed roots, by size.
        take: Gets every entry in its order, instead of the list in `Walked`.
        fast: Hash and look for links only. The digests of the whole file and the entries stay unknown.
        pool: Processes that scan whole segments and hand on their events in ``take``'s place.
    """

    def __init__(  # noqa: PLR0913 - three of them choose how, not what
        self,
        step: Step,
        folder: Folder,
        what: LineKind[_T],
        roots: Mapping[int, bytes],
        *,
        take: Callable[[_T], None] | None = None,
        fast: bool = False,
        pool: SegmentPool | None = None,
    ) -> None:
        self._step = step
        self._folder = folder
        self._what = what
        self._roots = roots
        self._sizes = sorted(roots)
        self._fast = fast
        self._pool = pool
        self._signed = max(roots, default=0)
        self._frontier = Frontier()
        self._last_leaf = b""
        self._matched = 0  # the greatest size whose root was found right
        self._root_wrong = False
        self._short, self._long = hashlib.sha256(), hashlib.sha512()
        self.walked: Walked[_T] = Walked()
        self._take = take or self.walked.entries.append

    def run(self) -> Walked[_T]:
        """Walk; what is wrong becomes a finding that names the segment file."""
        names, stray = segment_files(self._what.kind, self._folder.tree.files)
        for name in stray:
            self._step.find("lines.segment", self._folder.at(name), "expected segments without a gap")
        with self._readable():
            for name in names:
                found = self._found(name)
                if found is not None:
                    self._take_found(found, name)
                    continue
                for segment in read_segments(self._root_folder, [name]):
                    self._take_segment(segment, last=name == names[-1])
        if self._fast:
            self.walked.count = self._frontier.size
        if self._frontier.size < self._signed:
            at = self._folder.at(self.walked.last_name or f"{self._what.kind}/000.jsonl")
            message = f"expected {self._signed} signed lines, found {self._frontier.size}"
            self._step.find("lines.short", at, message, "run-record §5")
        self.walked.sha256, self.walked.sha512 = self._short.hexdigest(), self._long.hexdigest()
        return self.walked

    @property
    def _root_folder(self) -> Path:
        return self._folder.project / self._folder.name

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except UndecidedError as exc:
            exc.at = self._folder.at(f"{self._what.kind}/{exc.at}")
            raise
        except EvalsiteError as exc:
            self._step.find("lines.file", self._folder.at(f"{self._what.kind}/{exc.at}"), exc.message, exc.rule)

    def _found(self, name: str) -> Found | None:
        """Return what processes found in this segment; null leaves it to this one."""
        if self._pool is None or self._frontier.size + SEGMENT_LINES > self._signed:
            return None
        return self._pool.found(name, self._frontier.size)

    def _take_found(self, found: Found, name: str) -> None:
        self.walked.last_name = name
        self.walked.count += found.events
        self._take_scan(found.scan, self._frontier.size, name)
        if not self._fast:
            data = read_regular(self._root_folder / name, MAX_RECORD_FILE_BYTES)
            self._short.update(data)
            self._long.update(data)

    def _take_segment(self, segment: Segment, *, last: bool) -> None:
        walked = self.walked
        walked.last_name = segment.name
        walked.empty_segment = not segment.lines and not segment.rest
        whole = len(segment.lines) == SEGMENT_LINES and not segment.rest
        if not whole and (not last or len(segment.lines) > SEGMENT_LINES):
            message = f"expected {SEGMENT_LINES} lines, found {len(segment.lines)}"
            self._step.find("lines.segment", self._folder.at(segment.name), message)
        first = self._frontier.size
        count = max(0, min(len(segment.lines), self._signed - first))
        lines = segment.lines[:count]
        if lines:
            walked.first_line = walked.first_line or lines[0]
            walked.last_line = lines[-1]
            self._take_scan(self._scan(lines, first), first, segment.name)
        if not self._fast:
            self._digest(segment, lines)
        tail = segment.lines[count:]
        walked.tail_lines += len(tail)
        walked.tail_bytes += sum(len(line) + 1 for line in tail) + len(segment.rest)

    def _scan(self, lines: list[bytes], first: int) -> Scan:
        return scan_fast(lines, first) if self._fast else scan_lines(lines, first, self._what, self._take_entry)

    def _take_entry(self, entry: _T) -> None:
        self.walked.count += 1
        self._take(entry)

    def _digest(self, segment: Segment, lines: list[bytes]) -> None:
        whole = len(lines) == len(segment.lines) and not segment.rest
        content = segment.data if whole else b"".join(line + b"\n" for line in lines)
        self._short.update(content)
        self._long.update(content)

    def _take_scan(self, scan: Scan, first: int, name: str) -> None:
        """Add one segment to the tree; its faults and wrong roots are told in the order of the lines."""
        faults = scan.faults
        expected = digest_of_leaf(self._last_leaf) if first else None
        unread = any(fault.seq == first and fault.code == "lines.entry" for fault in faults)
        if not unread and expected not in scan.prevs:
            faults = sorted([*faults, unlinked(first)], key=lambda fault: fault.seq)
        self._step.checked += scan.lines
        self._last_leaf = scan.last
        if not self._fast:
            self.walked.leaves.extend(scan.leaves)
        told = grown = 0
        for size in self._stops(first, scan.lines):
            while told < len(faults) and faults[told].seq < size:
                self._tell(faults[told], name)
                told += 1
            self._grow(scan, grown, size - first)
            grown = size - first
            self._check_root(size)
        self._grow(scan, grown, scan.lines)
        for fault in faults[told:]:
            self._tell(fault, name)

    def _stops(self, first: int, count: int) -> list[int]:
        """Return the signed sizes that a segment's lines reach."""
        return self._sizes[bisect_right(self._sizes, first) : bisect_right(self._sizes, first + count)]

    def _grow(self, scan: Scan, start: int, end: int) -> None:
        if scan.root is None:
            self._frontier.extend(scan.leaves[start:end])
        elif start < end:
            self._frontier.append_subtree(scan.root, scan.lines)

    def _tell(self, fault: Fault, name: str) -> None:
        self._blame(name, fault.code, fault.message, fault.rule)
        if fault.code == "lines.prev" and fault.seq % SEGMENT_LINES == 0 and fault.seq:
            self._blame(self._segment_of(fault.seq - 1), fault.code, fault.message, fault.rule)

    def _check_root(self, size: int) -> None:
        if self._root_wrong:
            return
        self._step.checked += 1
        if self._frontier.root() == self._roots[size]:
            self._matched = size
            return
        self._root_wrong = True
        names = {self._segment_of(seq) for seq in range(self._matched, size, SEGMENT_LINES)} | {
            self._segment_of(size - 1)
        }
        message = f"lines {self._matched + 1} to {size} are not the ones that were signed at size {size}"
        for name in sorted(names):
            self._blame(name, "lines.root", message, "RFC 6962 §2.1")

    def _blame(self, name: str, code: str, message: str, rule: str = RULE) -> None:
        self._step.find(code, self._folder.at(name), message, rule)

    def _segment_of(self, seq: int) -> str:
        return f"{self._what.kind}/{seq // SEGMENT_LINES:03d}.jsonl"
