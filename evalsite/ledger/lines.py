# SPDX-License-Identifier: Apache-2.0
"""Lines of canonical JSON in segment files: how runs and logs are stored, read and appended to.

A segment file holds `SEGMENT_LINES` lines; only the last may hold fewer. Every line ends in one
newline. `prev` of a line is the RFC 6962 leaf hash of the line before, so that chain and tree share
one hash for each line.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from evalsite.canonical.jcs import is_canonical
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.layout import segment_name
from evalsite.ledger.merkle import Frontier, leaf_hash
from evalsite.schema.base import first_error
from evalsite.schema.bounds import MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.storage import Appender, read_regular, remove

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Segment:
    """One segment file: its bytes, its whole lines without newlines, and what follows the last newline."""

    name: str
    first: int
    lines: list[bytes]
    rest: bytes
    data: bytes


def digest_of_leaf(leaf: bytes) -> str:
    """Return a leaf hash as text."""
    return f"sha256:{leaf.hex()}"


def segment_files(kind: str, files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the segment files of ``kind`` in order, and those that are out of sequence.

    Args:
        kind: ``events`` or ``entries``.
        files: Paths below the run's or log's folder.
    """
    pattern = re.compile(rf"{kind}/[0-9]{{3,}}\.jsonl")
    found = {name for name in files if pattern.fullmatch(name)}
    ordered: list[str] = []
    while segment_name(kind, len(ordered)) in found:
        ordered.append(segment_name(kind, len(ordered)))
    return ordered, sorted(found - set(ordered))


def read_segments(folder: Path, names: Iterable[str]) -> Iterator[Segment]:
    """Yield segment after segment.

    Raises:
        InputError: A file is missing or too long.
        IntegrityError: A file is not a plain one.
    """
    for number, name in enumerate(names):
        data = read_regular(folder / name, MAX_RECORD_FILE_BYTES)
        lines = data.split(b"\n")
        rest = lines.pop()
        yield Segment(name, number * SEGMENT_LINES, lines, rest, data)


def parse_line(line: bytes, adapter: TypeAdapter[_T], max_bytes: int) -> _T:
    """Return the entry in one line.

    Raises:
        InputError: Not strict JSON, too long, not its canonical spelling, or not of the adapter's shape.
    """
    value = parse_json(line, max_bytes=max_bytes)  # refuses what pydantic's own JSON reader lets through
    if not is_canonical(line, value):
        raise InputError("expected canonical JSON, found another spelling of the same value", rule="RFC 8785")
    try:
        return adapter.validate_json(line)
    except ValidationError as exc:
        raise first_error(exc) from exc


def tail_of(folder: Path, kind: str, kept: int) -> tuple[bytes, int]:
    """Return all bytes behind the first ``kept`` lines, and where they begin in the segment of line ``kept``."""
    first = kept // SEGMENT_LINES
    names = [segment_name(kind, first)]
    while (folder / segment_name(kind, first + len(names))).exists():
        names.append(segment_name(kind, first + len(names)))
    if not (folder / names[0]).exists():
        return b"", 0
    segments = list(read_segments(folder, names))
    offset = sum(len(line) + 1 for line in segments[0].lines[: kept % SEGMENT_LINES])
    data = b"".join(b"".join(line + b"\n" for line in segment.lines) + segment.rest for segment in segments)
    return data[offset:], offset


def cut_tail(folder: Path, kind: str, kept: int) -> None:
    """Drop all bytes behind the first ``kept`` lines; the caller has set them aside."""
    _, offset = tail_of(folder, kind, kept)
    first = kept // SEGMENT_LINES
    last = first
    while (folder / segment_name(kind, last + 1)).exists():
        last += 1
    for number in range(last, first if offset else first - 1, -1):
        if (folder / segment_name(kind, number)).exists():
            remove(folder / segment_name(kind, number))
    if offset:
        appender = Appender(folder / segment_name(kind, first), new=False)
        try:
            appender.truncate(offset)
        finally:
            appender.close()


class LineLog:
    """The writer's end of a run's or log's lines.

    Keeps the tree's frontier, and the frontier at the start of the last segment, so that the last
    segment can be hashed from disk again before a root is signed.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = folder
        self._kind = kind
        self._appender: Appender | None = None
        self.frontier = Frontier()
        self.leaves: list[bytes] = []
        self._segment_start = Frontier()

    @property
    def size(self) -> int:
        """Return the number of lines."""
        return self.frontier.size

    @property
    def prev(self) -> str | None:
        """Return what the next line must name as the line before."""
        return digest_of_leaf(self.leaves[-1]) if self.leaves else None

    def load(self, lines: Iterable[bytes]) -> None:
        """Take over lines that are on disk already and were verified."""
        for line in lines:
            self._count(line)

    def append(self, line: bytes, *, wait: bool = True) -> None:
        """Write one line, wait for the disk, and count it.

        Args:
            line: The line without its newline.
            wait: False leaves the waiting to `sync`; several lines then wait together.

        Raises:
            UndecidedError: The operating system refused; the file is as before.
            IntegrityError: Somebody else wrote to the file.
        """
        if self._appender is None or self.size % SEGMENT_LINES == 0:
            self._open_segment()
        if self._appender is None:  # pragma: no cover - just opened
            raise TypeError
        self._appender.append(line + b"\n", wait=wait)
        self._count(line)

    def sync(self) -> None:
        """Wait until the disk has every line.

        Raises:
            UndecidedError: The operating system refused; nothing more can be written.
        """
        if self._appender is not None:
            self._appender.sync()

    def check_disk(self, *, whole: bool) -> None:
        """Hash lines from disk again and compare with the frontier: no root is signed from memory alone.

        Args:
            whole: All segments; otherwise the last one only, which bounds the work for each checkpoint.

        Raises:
            IntegrityError: The disk holds other lines than were written (bit rot, another writer).
        """
        last = max(self.size - 1, 0) // SEGMENT_LINES
        frontier = Frontier() if whole else self._segment_start.copy()
        names = [segment_name(self._kind, number) for number in range(0 if whole else last, last + 1)]
        for segment in read_segments(self._folder, names):
            for line in segment.lines:
                frontier.append(leaf_hash(line))
            if segment.rest:
                raise IntegrityError("expected whole lines only", at=segment.name, rule="bit rot")
        if frontier.size != self.size or frontier.root() != self.frontier.root():
            raise IntegrityError(
                "expected the lines that were written, the disk holds others", at=names[-1], rule="bit rot"
            )

    def close(self) -> None:
        """Wait for the disk, unless it refused already, and close the file."""
        if self._appender is not None:
            try:
                if self._appender.usable:
                    self._appender.sync()
            finally:
                self._appender.close()
                self._appender = None

    def _count(self, line: bytes) -> None:
        if self.size % SEGMENT_LINES == 0:
            self._segment_start = self.frontier.copy()
        leaf = leaf_hash(line)
        self.frontier.append(leaf)
        self.leaves.append(leaf)

    def _open_segment(self) -> None:
        self.close()
        path = self._folder / segment_name(self._kind, self.size // SEGMENT_LINES)
        new = not path.exists()
        if not new and self.size % SEGMENT_LINES == 0 and path.stat().st_size:
            raise InputError("expected no lines beyond the last known one", at=path.name, rule="one writer")
        self._appender = Appender(path, new=new)
