# SPDX-License-Identifier: Apache-2.0
"""What the steps of a verification share: counting, reading by relative path, notes, lines."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.checkpoint import open_checkpoint
from evalsite.ledger.layout import CHECKPOINT, NOTE_FILE, note_name
from evalsite.ledger.lines import Segment, digest_of_leaf, parse_line, read_segments, segment_files
from evalsite.ledger.merkle import Frontier, leaf_hash
from evalsite.ledger.note import NoteKey
from evalsite.schema.base import Finding, Severity
from evalsite.schema.bounds import MAX_NOTE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check
from evalsite.storage import Tree, list_tree, read_regular


class Framed(Protocol):
    """What entries of runs and logs have in common."""

    @property
    def seq(self) -> int:
        """The line's index."""
        ...

    @property
    def prev(self) -> str | None:
        """The leaf hash of the line before."""
        ...


_T = TypeVar("_T", bound=Framed)


class Step:
    """Collects one numbered step: how many items were looked at, and what was wrong."""

    def __init__(self, number: int, name: str, area: Area = Area.INTEGRITY) -> None:
        self.number = number
        self.name = name
        self.area = area
        self.checked = 0
        self.findings: list[Finding] = []

    def find(self, code: str, at: str, message: str, rule: str = "") -> None:
        """Note that something is wrong at a path relative to the project."""
        self.findings.append(Finding(code=code, severity=Severity.ERROR, at=at, message=message, rule=rule))

    @contextmanager
    def item(self, code: str, at: str) -> Iterator[None]:
        """Count one item; what it raises becomes a finding at ``at``."""
        self.checked += 1
        try:
            yield
        except EvalsiteError as exc:
            place = f" ({exc.at})" if exc.at else ""
            self.find(code, at, f"{exc.message}{place}", exc.rule)

    def done(self) -> Check:
        """Return the step as a check."""
        return Check(
            step=self.number, name=self.name, area=self.area, checked=self.checked, findings=tuple(self.findings)
        )


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder under test: read by names below it, told by paths below the project."""

    project: Path
    name: str
    tree: Tree

    def at(self, name: str) -> str:
        """Return a file's path below the project."""
        return f"{self.name}/{name}"

    def read(self, name: str, max_bytes: int) -> bytes:
        """Return a file's bytes.

        Raises:
            InputError: Missing or too long.
            IntegrityError: No plain file.
        """
        return read_regular(self.project / self.name / name, max_bytes)


def open_folder(project: Path, name: str, step: Step) -> Folder | None:
    """List a folder below the project; links, pipes, twins and odd names become findings."""
    step.checked += 1
    try:
        tree = list_tree(project / name)
    except InputError as exc:
        step.find("tree.missing", name, exc.message, exc.rule)
        return None
    for oddity in tree.oddities:
        step.find(oddity.code, f"{name}/{oddity.path}", oddity.message, "run-record §2")
    return Folder(project, name, tree)


def check_folders(step: Step, folder: Folder, known: re.Pattern[str]) -> None:
    """Find every folder that has no business here, empty or not."""
    for name in folder.tree.folders:
        if not known.fullmatch(name):
            step.find("tree.folder", folder.at(name), "expected no folder of this name here", "run-record §2")


@dataclass(slots=True)
class Notes:
    """The checkpoints of one tree that are authentic: roots and note bytes by size.

    ``lagging`` says that ``checkpoint`` repeats an older note than the newest: a write was interrupted.
    """

    roots: dict[int, bytes] = field(default_factory=dict)
    raw: dict[int, bytes] = field(default_factory=dict)
    lagging: bool = False

    @property
    def newest(self) -> int:
        """Return the greatest signed size; 0 without any."""
        return max(self.roots, default=0)


def check_notes(step: Step, folder: Folder, *, origin: str, key: NoteKey) -> Notes:
    """Check every ``checkpoints/<size>.note`` and that ``checkpoint`` repeats the newest one."""
    notes = Notes()
    sizes = []
    for name in folder.tree.files:
        found = NOTE_FILE.fullmatch(name)
        if found is None:
            continue
        sizes.append(int(found.group(1)))
        with step.item("checkpoint.note", folder.at(name)):
            raw = folder.read(name, MAX_NOTE_BYTES)
            checkpoint = open_checkpoint(raw, origin=origin, key=key)
            if checkpoint.size != sizes[-1] or not checkpoint.size:
                raise IntegrityError(f"expected the size {sizes[-1]}, found {checkpoint.size}", rule="run-record §5")
            notes.roots[checkpoint.size] = checkpoint.root
            notes.raw[checkpoint.size] = raw
    with step.item("checkpoint.newest", folder.at(CHECKPOINT)):
        raw = folder.read(CHECKPOINT, MAX_NOTE_BYTES)
        newest = notes.raw.get(max(sizes, default=0))
        notes.lagging = raw != newest and raw in notes.raw.values()
        if raw != newest and not notes.lagging:
            raise IntegrityError("expected the bytes of the newest note in checkpoints/", rule="run-record §5")
    return notes


def require_notes(step: Step, folder: Folder, notes: Notes, sizes: Iterable[int]) -> None:
    """Find a note missing for each of ``sizes`` that has no file."""
    for size in sizes:
        if note_name(size) not in folder.tree.files and notes.newest:
            step.find("checkpoint.missing", folder.at(note_name(size)), "expected a note, found none", "run-record §5")


@dataclass(slots=True)
class Walked(Generic[_T]):
    """The signed lines of one tree, and how much stands behind them."""

    entries: list[_T] = field(default_factory=list)
    leaves: list[bytes] = field(default_factory=list)
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


@dataclass(frozen=True, slots=True)
class LineKind(Generic[_T]):
    """Which lines are walked: their folder, their schema and their greatest length."""

    kind: str
    adapter: TypeAdapter[_T]
    max_bytes: int


class LineWalk(Generic[_T]):
    """Walks all lines of one tree once: hashes, links, schema, and the root at every signed size."""

    def __init__(self, step: Step, folder: Folder, what: LineKind[_T], roots: Mapping[int, bytes]) -> None:
        self._step = step
        self._folder = folder
        self._what = what
        self._roots = roots
        self._signed = max(roots, default=0)
        self._frontier = Frontier()
        self._matched = 0  # the greatest size whose root was found right
        self._root_wrong = False
        self._short, self._long = hashlib.sha256(), hashlib.sha512()
        self.walked: Walked[_T] = Walked()

    def run(self) -> Walked[_T]:
        """Walk; what is wrong becomes a finding that names the segment file."""
        names, stray = segment_files(self._what.kind, self._folder.tree.files)
        for name in stray:
            self._step.find("lines.segment", self._folder.at(name), "expected segments without a gap")
        try:
            for segment in read_segments(self._folder.project / self._folder.name, names):
                self._take_segment(segment, last=segment.name == names[-1])
        except EvalsiteError as exc:
            self._step.find("lines.file", self._folder.at(f"{self._what.kind}/{exc.at}"), exc.message, exc.rule)
        if self._frontier.size < self._signed:
            at = self._folder.at(self.walked.last_name or f"{self._what.kind}/000.jsonl")
            message = f"expected {self._signed} signed lines, found {self._frontier.size}"
            self._step.find("lines.short", at, message, "run-record §5")
        self.walked.sha256, self.walked.sha512 = self._short.hexdigest(), self._long.hexdigest()
        return self.walked

    def _take_segment(self, segment: Segment, *, last: bool) -> None:
        self.walked.last_name = segment.name
        self.walked.empty_segment = not segment.lines and not segment.rest
        at = self._folder.at(segment.name)
        whole = len(segment.lines) == SEGMENT_LINES and not segment.rest
        if not whole and (not last or len(segment.lines) > SEGMENT_LINES):
            self._step.find("lines.segment", at, f"expected {SEGMENT_LINES} lines, found {len(segment.lines)}")
        signed = max(0, min(len(segment.lines), self._signed - self._frontier.size))
        for line in segment.lines[:signed]:
            self._take_line(line, segment.name)
        content = b"".join(line + b"\n" for line in segment.lines[:signed])
        self._short.update(content)
        self._long.update(content)
        tail = segment.lines[signed:]
        self.walked.tail_lines += len(tail)
        self.walked.tail_bytes += sum(len(line) + 1 for line in tail) + len(segment.rest)

    def _take_line(self, line: bytes, name: str) -> None:
        seq = self._frontier.size
        before = self.walked.leaves[-1] if self.walked.leaves else None
        leaf = leaf_hash(line)
        self._step.checked += 1
        try:
            entry = parse_line(line, self._what.adapter, self._what.max_bytes)
        except InputError as exc:
            self._blame(name, "lines.entry", f"line {seq + 1}: {exc.message} ({exc.at})", exc.rule)
        else:
            if entry.seq != seq:
                self._blame(name, "lines.seq", f"line {seq + 1}: expected seq {seq}, found {entry.seq}")
            if entry.prev != (None if before is None else digest_of_leaf(before)):
                message = f"line {seq + 1}: prev is not the hash of the line before"
                self._blame(name, "lines.prev", message)
                if seq % SEGMENT_LINES == 0 and seq:
                    self._blame(self._segment_of(seq - 1), "lines.prev", message)
            self.walked.entries.append(entry)
        self.walked.leaves.append(leaf)
        self._frontier.append(leaf)
        self._check_root()

    def _check_root(self) -> None:
        size = self._frontier.size
        root = self._roots.get(size)
        if root is None or self._root_wrong:
            return
        self._step.checked += 1
        if self._frontier.root() == root:
            self._matched = size
            return
        self._root_wrong = True
        names = {self._segment_of(seq) for seq in range(self._matched, size, SEGMENT_LINES)} | {
            self._segment_of(size - 1)
        }
        message = f"lines {self._matched + 1} to {size} are not the ones that were signed at size {size}"
        for name in sorted(names):
            self._blame(name, "lines.root", message, "RFC 6962 §2.1")

    def _blame(self, name: str, code: str, message: str, rule: str = "run-record §4") -> None:
        self._step.find(code, self._folder.at(name), message, rule)

    def _segment_of(self, seq: int) -> str:
        return f"{self._what.kind}/{seq // SEGMENT_LINES:03d}.jsonl"
