# SPDX-License-Identifier: Apache-2.0
"""The log's side of anchoring: asking a witness, and keeping what others said as new files.

Nothing is kept that a verification would not accept, and nothing that is kept is ever replaced.
"""

from collections.abc import Iterable
from pathlib import Path

from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.anchors import (
    ANCHORS,
    MAX_ANCHOR_BYTES,
    RULE,
    content_digest,
    cosig_bytes,
    cosig_name,
    note_text,
    open_tag,
    tag_bytes,
)
from evalsite.ledger.assess import own_keys
from evalsite.ledger.authentic import refuse
from evalsite.ledger.cosignature import Cosignature, WitnessKey, open_cosignature, parse_signature_lines
from evalsite.ledger.layout import log_folder
from evalsite.ledger.ledgercheck import LedgerFacts, check_ledger
from evalsite.ledger.merkle import consistency_proof
from evalsite.ledger.note import NoteSignature
from evalsite.ledger.timestamps import Timestamp, open_timestamp, order_chain
from evalsite.ledger.witness import AddCheckpoint
from evalsite.storage import create, ensure_folder


class AnchoredLog:
    """A ledger's log whose integrity holds, to be anchored.

    Args:
        project: The project's root folder.
        ledger: Name of the ledger.
        pin: The root fingerprint that the caller trusts, if any.

    Raises:
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Something can't be read.
    """

    def __init__(self, project: Path, ledger: str, pin: str | None) -> None:
        checked = check_ledger(project, ledger, pin)
        if checked.facts is None:
            refuse(checked.report.checks, at=log_folder(ledger))
            raise TypeError(ledger)  # pragma: no cover - a finding says why
        self.ledger = ledger
        self.facts: LedgerFacts = checked.facts
        self._project = project

    @property
    def size(self) -> int:
        """Return the size of the newest checkpoint."""
        return self.facts.notes.newest

    @property
    def note(self) -> bytes:
        """Return the newest checkpoint's note."""
        return self.facts.notes.raw[self.size]

    def cosigned_size(self, key: WitnessKey) -> int:
        """Return the greatest size that a witness cosigned, as far as the anchors tell; 0 if none."""
        sizes = [size for size, item in self.facts.anchors.cosignatures if item.key == key]
        return max(sizes, default=0)

    def request(self, old_size: int) -> AddCheckpoint:
        """Return the request to cosign the newest checkpoint.

        Args:
            old_size: The size that the witness cosigned last; 0 for a witness that never did.

        Raises:
            IntegrityError: The witness has cosigned more entries than the log holds.
        """
        if old_size > self.size:
            raise IntegrityError(
                f"expected the witness to have seen at most {self.size} entries, it cosigned {old_size}: "
                "this log was rolled back, or this is an older copy",
                at=log_folder(self.ledger),
                rule=RULE,
            )
        proof = consistency_proof(self.facts.leaves[: self.size], old_size) if old_size else ()
        return AddCheckpoint(old_size, proof, self.note)

    def keep_cosignatures(self, lines: bytes, keys: Iterable[WitnessKey]) -> list[tuple[str, Cosignature]]:
        """Keep the cosignatures of known witnesses, each over whichever checkpoint of this log it fits.

        Args:
            lines: Signature lines, as a witness answers; lines of unknown keys are ignored.
            keys: The witnesses that the caller knows.

        Returns:
            File name (below the log's folder) and cosignature, for each that is new.

        Raises:
            InputError: Not signature lines, or none of a known witness.
            IntegrityError: A known witness's line fits no checkpoint, or its key is one of the ledger's.
        """
        signatures = parse_signature_lines(lines)
        found = [
            (key, line)
            for key in dict.fromkeys(keys)
            for line in signatures
            if (line.name, line.key_hash) == (key.name, key.key_hash)
        ]
        if not found:
            raise InputError(
                f"expected a cosignature of a known witness, found {shorten([line.name for line in signatures])}",
                rule=RULE,
                advice="Name the witness with --vkey, or add its verifier key to your keystore's `witnesses` file.",
            )
        fitting = [(key, line, *self._fit(key, line)) for key, line in found]
        kept: list[tuple[str, Cosignature]] = []
        for key, line, size, cosignature in fitting:
            name = cosig_name(size, key)
            if name not in (item for item, _ in kept) and not self._path(name).exists():
                self._keep(name, cosig_bytes(key, line))
                kept.append((name, cosignature))
        return kept

    def keep_tag(self, object_id: str, raw: bytes) -> str:
        """Keep a git tag object whose message is the newest checkpoint; return the file's name.

        Raises:
            IntegrityError: The message is another, or the id is not the object's.
            InputError: It is kept already.
        """
        data = tag_bytes(object_id, raw)
        open_tag(data, self.note)
        return self._keep(f"{ANCHORS}/{self.size}.{content_digest(data)}.git-tag", data)

    def note_of(self, size: int) -> bytes:
        """Return the note of one checkpoint.

        Raises:
            InputError: The log has none of this size.
        """
        note = self.facts.notes.raw.get(size)
        if note is None:
            raise InputError(f"expected a size that the log has a checkpoint of, found {size}", at="--size", rule=RULE)
        return note

    def keep_timestamp(self, response: bytes, chain: bytes, size: int) -> tuple[str, Timestamp]:
        """Keep a time stamp over the note of one checkpoint, with its chain; return its file's name, and it.

        Raises:
            UndecidedError: The optional package is not installed.
            InputError: Not a response, not a chain, or kept already.
            IntegrityError: It does not check out.
        """
        ordered = order_chain(chain)
        stamp = open_timestamp(response, ordered, self.note_of(size))
        name = f"{ANCHORS}/{size}.{content_digest(response, ordered)}.tsr"
        self._keep(f"{name}.chain.pem", ordered)  # first: a chain without its time stamp is found, the reverse too
        return self._keep(name, response), stamp

    def _fit(self, key: WitnessKey, line: NoteSignature) -> tuple[int, Cosignature]:
        if key.public_key in own_keys(self.facts):
            raise IntegrityError(f"expected a witness with a key of its own, {key.name} has one of the ledger's")
        for size in sorted(self.facts.notes.raw, reverse=True):
            try:
                return size, open_cosignature(note_text(self.facts.notes.raw[size]), line, key)
            except IntegrityError:
                continue
        raise IntegrityError(f"expected {key.name} to have cosigned a checkpoint of this log", rule=RULE)

    def _keep(self, name: str, data: bytes) -> str:
        if len(data) > MAX_ANCHOR_BYTES:
            raise InputError(f"expected at most {MAX_ANCHOR_BYTES} bytes, found {len(data)}", at=name, rule=RULE)
        ensure_folder(self._path(ANCHORS))
        create(self._path(name), data)
        return name

    def _path(self, name: str) -> Path:
        return self._project / log_folder(self.ledger) / name
