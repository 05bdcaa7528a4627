# SPDX-License-Identifier: Apache-2.0
"""What the steps of a verification share: counting, reading by relative path, notes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from evalsite.errors import EvalsiteError, InputError, IntegrityError, UndecidedError
from evalsite.ledger.checkpoint import Checkpoint, open_checkpoint
from evalsite.ledger.layout import CHECKPOINT, LOG, NOTE_FILE, RUNS, TRUST, note_name
from evalsite.ledger.note import NoteKey, parse_note
from evalsite.schema.base import Finding, Severity
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.schema.checks import Area, Check
from evalsite.storage import UNREADABLE, Tree, is_folder, list_tree, read_regular, shown

MISPLACED = "project.folder"


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
        self.findings.append(Finding(code=code, severity=Severity.ERROR, at=shown(at), message=message, rule=rule))

    @contextmanager
    def item(self, code: str, at: str) -> Iterator[None]:
        """Count one item; what it raises becomes a finding at ``at``.

        Raises:
            UndecidedError: The operating system refused to read it, so that nothing can be said of it.
        """
        self.checked += 1
        try:
            yield
        except UndecidedError as exc:
            exc.at = at
            raise
        except EvalsiteError as exc:
            self.blame(code, at, exc)

    def blame(self, code: str, at: str, error: EvalsiteError) -> None:
        """Make an error a finding at ``at``."""
        place = f" ({error.at})" if error.at else ""
        self.find(code, at, f"{error.message}{place}", error.rule)

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
    """List a folder below the project; links, pipes, twins and odd names become findings.

    Raises:
        UndecidedError: The operating system refused to tell what stands in it.
    """
    step.checked += 1
    try:
        tree = list_tree(project / name)
    except InputError as exc:
        step.find("tree.missing", name, exc.message, exc.rule)
        return None
    except UndecidedError as exc:
        exc.at = name
        raise
    for oddity in tree.oddities:
        if oddity.code == UNREADABLE:
            raise UndecidedError(oddity.message, at=shown(f"{name}/{oddity.path}"))
        step.find(oddity.code, f"{name}/{oddity.path}", oddity.message, "run-record §2")
    return Folder(project, name, tree)


def check_folders(step: Step, folder: Folder, known: re.Pattern[str]) -> None:
    """Find every folder that has no business here, empty or not."""
    for name in folder.tree.folders:
        if not known.fullmatch(name):
            step.find("tree.folder", folder.at(name), "expected no folder of this name here", "run-record §2")


@dataclass(slots=True)
class Notes:
    """The checkpoints of one tree that are authentic: roots, note bytes and signing keys by size.

    ``lagging`` says that ``checkpoint`` repeats an older note than the newest: a write was interrupted.
    """

    roots: dict[int, bytes] = field(default_factory=dict)
    raw: dict[int, bytes] = field(default_factory=dict)
    keys: dict[int, NoteKey] = field(default_factory=dict)
    lagging: bool = False

    @property
    def newest(self) -> int:
        """Return the greatest signed size; 0 without any."""
        return max(self.roots, default=0)


class OpenedNote(NamedTuple):
    """An authentic checkpoint: the bytes of its note, its root, and which of the keys signed it."""

    raw: bytes
    root: bytes
    key: int


def open_note(folder: Path, size: int, *, origin: str, keys: Sequence[NoteKey]) -> OpenedNote:
    """Return the checkpoint of one size below a run's or log's folder.

    Raises:
        InputError: There is no such note, or it is none.
        IntegrityError: Not signed by one of ``keys``, of another origin or size.
    """
    raw = read_regular(folder / note_name(size), MAX_NOTE_BYTES)
    checkpoint, key = open_signed(raw, origin=origin, keys=keys)
    if checkpoint.size != size or not checkpoint.size:
        raise IntegrityError(f"expected the size {size}, found {checkpoint.size}", rule="run-record §5")
    return OpenedNote(raw, checkpoint.root, keys.index(key))


#: Opens many notes at once, by size; one that it leaves out is opened, and told, one by one.
OpenNotes: TypeAlias = Callable[[Sequence[int]], Mapping[int, OpenedNote]]


def check_notes(
    step: Step,
    folder: Folder,
    *,
    origin: str,
    keys: Sequence[NoteKey],
    newest_only: bool = False,
    open_many: OpenNotes = lambda _: {},
) -> Notes:
    """Check every ``checkpoints/<size>.note`` and that ``checkpoint`` repeats the newest one.

    Args:
        step: Takes the findings.
        folder: The run's or log's folder.
        origin: The checkpoints' origin.
        keys: The log keys, of which one signs; which one may is for the caller.
        newest_only: Check no other signature than the newest, unless ``checkpoint`` repeats another note.
        open_many: Opens notes beforehand.
    """
    notes = Notes()
    sizes = [int(found.group(1)) for name in folder.tree.files if (found := NOTE_FILE.fullmatch(name))]
    if newest_only and sizes and _repeats(folder, max(sizes)):
        sizes = [max(sizes)]
    opened = open_many(sizes)
    for size in sizes:
        with step.item("checkpoint.note", folder.at(note_name(size))):
            note = opened.get(size) or open_note(folder.project / folder.name, size, origin=origin, keys=keys)
            notes.roots[size] = note.root
            notes.raw[size] = note.raw
            notes.keys[size] = keys[note.key]
    with step.item("checkpoint.newest", folder.at(CHECKPOINT)):
        raw = folder.read(CHECKPOINT, MAX_NOTE_BYTES)
        newest = notes.raw.get(max(sizes, default=0))
        notes.lagging = raw != newest and raw in notes.raw.values()
        if raw != newest and not notes.lagging:
            raise IntegrityError("expected the bytes of the newest note in checkpoints/", rule="run-record §5")
    return notes


def open_signed(raw: bytes, *, origin: str, keys: Sequence[NoteKey]) -> tuple[Checkpoint, NoteKey]:
    """Return the checkpoint in a note of a record, and the one of ``keys`` that signed it.

    Raises:
        InputError: Not a note, or not a checkpoint.
        IntegrityError: No key or a wrong one signed, another origin, further signatures or lines.
    """
    hashes = {item.key_hash for item in parse_note(raw).signatures}
    fitting = [key for key in keys if key.fits(hashes)]
    # A key with a second one comes first: a note that lost its second line is then that of an earlier keyring.
    key = next((key for key in fitting if key.second is not None), (*fitting, keys[0])[0])
    return open_checkpoint(raw, origin=origin, key=key), key


def _repeats(folder: Folder, newest: int) -> bool:
    try:
        return folder.read(CHECKPOINT, MAX_NOTE_BYTES) == folder.read(note_name(newest), MAX_NOTE_BYTES)
    except EvalsiteError:
        return False  # told by the whole check


def require_notes(step: Step, folder: Folder, notes: Notes, sizes: Iterable[int]) -> None:
    """Find a note missing for each of ``sizes`` that has no file."""
    signed = notes.newest
    for size in sizes:
        if note_name(size) not in folder.tree.files and signed:
            step.find("checkpoint.missing", folder.at(note_name(size)), "expected a note, found none", "run-record §5")


def check_places(step: Step, project: Path) -> None:
    """Find every folder of records that is none, or a link to one: what it leads to is not the project's.

    Raises:
        UndecidedError: The operating system refused to tell.
    """
    for name in (RUNS, TRUST, LOG):
        step.checked += 1
        if not is_folder(project / name):
            linked = (project / name).is_symlink()
            found = "a link, and what it leads to is not the project's" if linked else "none"
            step.find(MISPLACED, name, f"expected a folder, found {found}", "run-record §2")


def unread(error: UndecidedError) -> tuple[Check, Check]:
    """Return what is said where the operating system refused to read: nothing was decided, and something is missing."""
    undecided = Step(0, "all of it was looked at")
    missing = Step(0, "every file and folder can be read", Area.AVAILABILITY)
    missing.checked = 1
    missing.find(UNREADABLE, error.at, error.message, "run-record §10")
    return undecided.done(), missing.done()
