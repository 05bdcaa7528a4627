# SPDX-License-Identifier: Apache-2.0
"""Heads of logs that a verifier holds: given by hand, or remembered from an earlier verification.

A head is a size and a root. A log that is honest extends every head that it ever showed, so a log
that is smaller was rolled back, and one with another root at that size was forked. Remembered heads
stand outside of every project, in ``<keystore>/.heads/<ledger>.<16 digits of its first root key>.note``,
as the signed note that was seen: two notes that contradict each other prove it to everybody.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import EvalsiteError, InputError, IntegrityError, UndecidedError
from evalsite.ledger.checkpoint import Checkpoint, parse_checkpoint
from evalsite.ledger.layout import WORK, log_origin
from evalsite.ledger.merkle import tree_root
from evalsite.ledger.note import NoteKey, parse_note, verify_note
from evalsite.ledger.steps import Step
from evalsite.ledger.witness import store_fork
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.storage import PRIVATE_FILE, PRIVATE_FOLDER, ensure_folder, read_regular, replace

RULE = "run-record §11"
STEP = 25
HEADS = ".heads"
_EXPECTED = re.compile(
    r"(?:(?P<ledger>[a-z0-9][a-z0-9._-]{0,63})=)?sha256:(?P<root>[0-9a-f]{64})@(?P<size>[1-9][0-9]{0,18})"
)
_LOG_SUFFIX = "/log"


@dataclass(frozen=True, slots=True)
class HeldHead:
    """A head that the verifier holds, and from where. ``ledger`` is null if the verifier did not say which.

    ``note`` is the signed checkpoint, if there is one.
    """

    source: str
    ledger: str | None
    size: int
    root: bytes
    note: bytes | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a log shows now: leaf hashes of its entries, its notes by size, and the keys that may sign them."""

    ledger: str
    leaves: Sequence[bytes]
    notes: dict[int, bytes]
    keys: tuple[NoteKey, ...]


def parse_known(note: bytes, source: str) -> HeldHead:
    """Return the head in a log's checkpoint that the verifier kept.

    Raises:
        InputError: No checkpoint of a ledger's log, or an empty one, which is no head.
    """
    checkpoint = parse_checkpoint(parse_note(note).text)
    ledger = checkpoint.origin.removesuffix(_LOG_SUFFIX)
    if checkpoint.origin != log_origin(ledger) or "/" in ledger:
        raise InputError(f"expected a checkpoint of a ledger's log, found {checkpoint.origin!a}", at=source, rule=RULE)
    if not checkpoint.size:
        raise InputError("expected a checkpoint of at least one entry", at=source, rule=RULE)
    return HeldHead(source, ledger, checkpoint.size, checkpoint.root, note)


def parse_expected(text: str) -> HeldHead:
    """Return the head in ``[LEDGER=]sha256:<64 hex>@SIZE``.

    Raises:
        InputError: Another form.
    """
    found = _EXPECTED.fullmatch(text)
    if found is None:
        raise InputError(
            "expected [LEDGER=]sha256:<64 hexadecimal digits>@SIZE",
            at="--expect-head",
            advice="`evalsite anchor list` prints a log's head in this form.",
        )
    return HeldHead("--expect-head", found["ledger"], int(found["size"]), bytes.fromhex(found["root"]))


def head_words(size: int, root: bytes) -> str:
    """Return a head as ``sha256:<hex>@SIZE``."""
    return f"sha256:{root.hex()}@{size}"


def check_heads(project: Path, shown: Shown, heads: Iterable[HeldHead]) -> tuple[Step | None, bool]:
    """Check that a log extends every head that the verifier holds (step 25).

    Args:
        project: The project; two notes that contradict each other are kept in its ``.evalsite`` folder.
        shown: What the log shows.
        heads: The heads that are held of this ledger.

    Returns:
        The step, if there was a head to check, and whether all of them are extended.
    """
    step = Step(STEP, "log extends the heads that this verifier holds")
    for head in heads:
        with step.item("head", f"runs/log/{shown.ledger}"):
            if head.note is not None:
                verify_note(parse_note(head.note), shown.keys)
            _compare(project, shown, head)
    return (step, not step.findings) if step.checked else (None, False)


def _compare(project: Path, shown: Shown, head: HeldHead) -> None:
    held, size = head_words(head.size, head.root), len(shown.leaves)
    if size < head.size:
        raise IntegrityError(
            f"expected the log to extend {held} ({head.source}), found {head_words(size, tree_root(shown.leaves))}: "
            "it was rolled back, or this is an older copy",
            rule=RULE,
        )
    root = tree_root(shown.leaves[: head.size])
    if root == head.root:
        return
    message = f"expected the log to extend {held} ({head.source}), found {head_words(head.size, root)}: it was forked"
    other = shown.notes.get(head.size)
    if head.note is not None and other is not None:
        try:
            path = store_fork(project / WORK, head.note, other)
        except EvalsiteError:
            message += "; both checkpoints could not be kept here"
        else:
            message += f"; both signed checkpoints are kept in {WORK}/{path.name}"
    raise IntegrityError(message, rule=RULE)


def remembered_head(keystore: Path, ledger: str, root_fingerprint: str) -> HeldHead | None:
    """Return the newest head of a ledger that an earlier verification saw.

    Args:
        keystore: The verifier's own folder.
        ledger: Name of the ledger.
        root_fingerprint: Fingerprint of the root key that the ledger was founded with.

    Raises:
        IntegrityError: The memory holds something else.
    """
    path = _head_path(keystore, ledger, root_fingerprint)
    if not path.exists() and not path.is_symlink():
        return None
    try:
        head = parse_known(read_regular(path, MAX_NOTE_BYTES), "remembered")
    except InputError as exc:
        raise IntegrityError(f"expected a remembered head: {exc.message}", at=path.name, rule=RULE) from exc
    if head.ledger != ledger:
        raise IntegrityError("expected the remembered head of this ledger", at=path.name, rule=RULE)
    return head


def knows_another(keystore: Path, ledger: str, root_fingerprint: str) -> bool:
    """Return whether a ledger of this name is remembered, but only as founded with other root keys.

    It may be another project's. It may also be this one's, thrown away and begun anew.
    """
    name = re.compile(re.escape(ledger) + r"\.[0-9a-f]{16}\.note")
    folder = keystore / HEADS
    names = [path.name for path in folder.iterdir() if name.fullmatch(path.name)] if folder.is_dir() else []
    return bool(names) and _head_path(keystore, ledger, root_fingerprint).name not in names


def remember_head(keystore: Path, ledger: str, root_fingerprint: str, note: bytes) -> bool:
    """Remember the head in a log's verified note; return whether that could be done.

    A head that is remembered already is never replaced by a smaller one.
    """
    path = _head_path(keystore, ledger, root_fingerprint)
    try:
        old = remembered_head(keystore, ledger, root_fingerprint)
        if old is None or old.size < _size_of(note):
            ensure_folder(path.parent, mode=PRIVATE_FOLDER)
            replace(path, note, mode=PRIVATE_FILE)
    except UndecidedError:
        return False
    return True


def _size_of(note: bytes) -> int:
    checkpoint: Checkpoint = parse_checkpoint(parse_note(note).text)
    return checkpoint.size


def _head_path(keystore: Path, ledger: str, root_fingerprint: str) -> Path:
    return keystore / HEADS / f"{ledger}.{root_fingerprint.removeprefix('sha256:')[:16]}.note"
