# SPDX-License-Identifier: Apache-2.0
"""Which public key of a bundle checks which of its signatures.

The PEM files of a ledger are those of its newest keyring. A run that was sealed before a rotation is
signed with keys of a version before: those get PEM files of their own in the bundle, under ``keys/``.
"""

from pathlib import Path

from evalsite.campaign.exportpage import Signers, SigningKey
from evalsite.errors import IntegrityError
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.bundle import put
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES, parse_envelope
from evalsite.ledger.ed25519 import key_id, parse_base64, public_pem, to_base64
from evalsite.ledger.layout import (
    CHECKPOINT,
    KEYRING_FILE,
    STATEMENT,
    log_folder,
    log_origin,
    note_name,
    run_folder,
    trust_folder,
)
from evalsite.ledger.note import NoteKey, parse_note
from evalsite.ledger.trust import MAX_KEYRING_BYTES
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.schema.entries import Keyring
from evalsite.storage import list_tree, read_regular


def signers_of(run: AuthenticRun, into: Path) -> Signers:
    """Return who signed what of a run, and write the PEM files that the bundle lacks.

    Args:
        run: The run, verified.
        into: The bundle, which holds the ledger's trust folder already.
    """
    return _Keys(run, into).signers()


class _Keys:
    def __init__(self, run: AuthenticRun, into: Path) -> None:
        self._run = run
        self._into = into
        self._trust = trust_folder(run.ledger)
        names = [name for name in list_tree(into / self._trust).files if KEYRING_FILE.fullmatch(name)]
        self._keyrings = {name: self._keyring(name) for name in sorted(names, key=lambda name: (len(name), name))}

    def signers(self) -> Signers:
        folder = self._run.project / run_folder(self._run.run_id)
        statement = folder / STATEMENT
        stated = parse_envelope(read_regular(statement, MAX_ENVELOPE_BYTES)) if statement.is_file() else None
        return Signers(
            keyrings={
                f"{self._trust}/{name}": self._file("root", parse_base64(ring.root_public_key))
                for name, ring in self._keyrings.items()
            },
            record=self._note_key(read_regular(folder / note_name(self._run.size), MAX_NOTE_BYTES)),
            log=self._note_key(self._log_note()),
            statement=None if stated is None else self._file("runner", self._raw(stated.signatures[0].key_id)),
        )

    def _log_note(self) -> bytes:
        return read_regular(self._run.project / log_folder(self._run.ledger) / CHECKPOINT, MAX_NOTE_BYTES)

    def _keyring(self, name: str) -> Keyring:
        envelope = parse_envelope(read_regular(self._into / self._trust / name, MAX_ENVELOPE_BYTES))
        return Keyring.parse(envelope.payload, max_bytes=MAX_KEYRING_BYTES)

    def _note_key(self, note: bytes) -> SigningKey:
        wanted = parse_note(note).signatures[0].key_hash
        for raw in self._raw_keys():
            if NoteKey(log_origin(self._run.ledger), raw).key_hash == wanted:
                return self._file("log", raw)
        raise IntegrityError("expected a log key of the keyring", rule="run-record §5")

    def _raw(self, wanted: str) -> bytes:
        for raw in self._raw_keys():
            if key_id(raw) == wanted:
                return raw
        raise IntegrityError("expected a key of the keyring", rule="run-record §7")

    def _raw_keys(self) -> list[bytes]:
        return [parse_base64(key.public_key) for ring in self._keyrings.values() for key in ring.keys]

    def _file(self, role: str, raw: bytes) -> SigningKey:
        pem, name = public_pem(raw), f"{self._trust}/{role}.pem"
        if read_regular(self._into / name, len(pem)) != pem:
            name = f"keys/{role}-{key_id(raw).removeprefix('sha256:')[:16]}.pem"
            if not (self._into / name).exists():
                put(self._into, name, pem)
        return SigningKey(name, key_id(raw), to_base64(raw))
