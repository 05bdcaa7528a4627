# SPDX-License-Identifier: Apache-2.0
"""A tree that is written: its lines, and the checkpoints over them."""

from pathlib import Path

from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.layout import CHECKPOINT, note_name
from evalsite.ledger.lines import LineLog
from evalsite.ledger.mldsa import SecondSigner
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.storage import create_same, ensure_folder, read_regular, replace


class SignedTree:
    """Lines of a folder with their checkpoints.

    Args:
        folder: The run's or log's folder.
        kind: ``events`` or ``entries``.
        origin: The checkpoints' origin.
        key_name: The log key's name.
        signers: The log key, and its second key if it has one.
    """

    def __init__(
        self, folder: Path, kind: str, *, origin: str, key_name: str, signers: tuple[Signer, SecondSigner | None]
    ) -> None:
        self._folder = folder
        self._origin = origin
        self._key_name = key_name
        self._signer, self._second = signers
        self._kind = kind
        self.lines = LineLog(folder, kind)
        self.signed = 0

    def load(self, lines: list[bytes], signed: int) -> None:
        """Take over lines on disk, of which the first ``signed`` are covered by a checkpoint."""
        self.lines.load(lines)
        self.signed = signed

    def append(self, line: bytes, *, wait: bool = True) -> None:
        """Write one line and wait for the disk, unless the waiting is left to `sync`."""
        if not self.lines.size:
            ensure_folder(self._folder / self._kind)
        self.lines.append(line, wait=wait)

    def sync(self) -> None:
        """Wait until the disk has every line."""
        self.lines.sync()

    def sign(self, *, whole: bool = False) -> None:
        """Sign the root over all lines, after hashing them from disk again.

        Args:
            whole: Hash all segments again, not only the last.

        Raises:
            IntegrityError: The disk holds other lines than were written; nothing was signed.
        """
        self.sync()
        self.lines.check_disk(whole=whole)
        note = self.note()
        ensure_folder(self._folder / "checkpoints")
        create_same(self._folder / note_name(self.lines.size), note)
        replace(self._folder / CHECKPOINT, note)
        self.signed = self.lines.size

    def note(self) -> bytes:
        """Return the signed note over all lines; the same lines give the same bytes.

        A second signature is another one each time, so that the note which stands on the disk is kept.
        """
        checkpoint = Checkpoint(self._origin, self.lines.size, self.lines.frontier.root())
        note = sign_checkpoint(checkpoint, self._key_name, self._signer)
        if self._second is None:
            return note
        path = self._folder / note_name(self.lines.size)
        kept = read_regular(path, MAX_NOTE_BYTES) if path.exists() else b""
        if kept.startswith(note):
            return kept
        return sign_checkpoint(checkpoint, self._key_name, self._signer, self._second)

    def close(self) -> None:
        """Close the file."""
        self.lines.close()
