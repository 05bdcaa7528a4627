# SPDX-License-Identifier: Apache-2.0
"""Checkpoints (C2SP tlog-checkpoint): origin, size and root of a tree, as the text of a signed note."""

import re
from dataclasses import dataclass, replace

from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.ed25519 import Signer, parse_base64, to_base64
from evalsite.ledger.merkle import HASH_BYTES
from evalsite.ledger.mldsa import SecondKey, SecondSigner, verify_root
from evalsite.ledger.note import Note, NoteKey, NoteSignature, parse_note, sign_note, verify_note

RULE = "C2SP tlog-checkpoint"
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
_MAX_SIZE = 2**63 - 1
_FIXED_LINES = 3


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The head of one tree. ``extensions`` are further lines, which evalsite never writes."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the note text."""
        lines = (self.origin, str(self.size), to_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint in a note's text; it formats back to the same text.

    Raises:
        InputError: Another form.
    """
    lines = text.split("\n")
    if len(lines) < _FIXED_LINES + 1 or lines[-1] or not all(lines[:-1]):
        raise InputError("expected an origin, a size and a root, each on its line", rule=RULE)
    origin, size, root, *extensions = lines[:-1]
    if not _SIZE.fullmatch(size) or int(size) > _MAX_SIZE:
        raise InputError(f"expected a decimal size, found {shorten(size, 40)}", at="size", rule=RULE)
    digest = parse_base64(root, at="root")
    if len(digest) != HASH_BYTES:
        raise InputError(f"expected a root of 32 bytes, found {len(digest)}", at="root", rule=RULE)
    return Checkpoint(origin, int(size), digest, tuple(extensions))


def sign_checkpoint(checkpoint: Checkpoint, name: str, signer: Signer, second: SecondSigner | None = None) -> bytes:
    """Return the signed note of a checkpoint, its second signature line last if there is a second key."""
    note = sign_note(checkpoint.to_text(), name, signer)
    if second is not None:
        signature = second.sign_root(name, checkpoint.origin, checkpoint.size, checkpoint.root)
        line = NoteSignature(name, SecondKey(name, second.public_key).key_hash, signature)
        note = replace(note, signatures=(*note.signatures, line))
    return note.to_bytes()


def open_checkpoint(data: bytes, *, origin: str, key: NoteKey) -> Checkpoint:
    """Return the checkpoint in a note that stands in a record.

    A note of a record holds exactly one signature, the log key's, then one of its second key if it has
    one, and no extension lines, so that none of its bytes goes uncovered. Cosignatures of others are
    kept apart from it.

    Raises:
        InputError: Not a note, or not a checkpoint.
        IntegrityError: Another origin, a wrong or missing signature, further signatures or lines.
        UndecidedError: There is a second signature, and the installed library can't verify it.
    """
    note = parse_note(data)
    verify_note(note, (key,))
    if key.second is None and len(note.signatures) != 1:
        raise IntegrityError(f"expected the log's signature alone, found {len(note.signatures)}", rule="run-record §5")
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin != origin:
        raise IntegrityError(
            f"expected the origin {shorten(origin)}, found {shorten(checkpoint.origin)}", rule="run-record §5"
        )
    if checkpoint.extensions:
        raise IntegrityError("expected no extension lines", rule="run-record §5")
    if key.second is not None:
        _check_second(note, checkpoint, key.second)
    return checkpoint


def _check_second(note: Note, checkpoint: Checkpoint, key: SecondKey) -> None:
    """Refuse a note whose second line, and last, is not the second key's over the same head."""
    _, *others = note.signatures
    if [(line.name, line.key_hash) for line in others] != [(key.name, key.key_hash)]:
        raise IntegrityError("expected the log's two signatures, the second by ML-DSA-44", rule="run-record §5")
    if not verify_root(key, others[0].signature, checkpoint.origin, checkpoint.size, checkpoint.root):
        raise IntegrityError(f"expected a valid second signature of {shorten(key.name)}", rule="run-record §5")
