# SPDX-License-Identifier: Apache-2.0
"""The writer's end of a ledger's log."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evalsite.canonical.jcs import canonical_bytes
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.layout import ENTRIES, log_folder, log_origin
from evalsite.ledger.ledgercheck import LedgerFacts
from evalsite.ledger.lines import parse_line
from evalsite.ledger.merkle import inclusion_proof
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.signedtree import SignedTree
from evalsite.ledger.tlogproof import TlogProof
from evalsite.schema.bounds import MAX_LOG_ENTRY_BYTES
from evalsite.schema.entries import LOG_ENTRY, LogEntry, RunClosedLogged, RunOpenedLogged
from evalsite.storage import sweep


class LogWriter:
    """Appends entries to a ledger's log. The caller holds the ledger's lock.

    Args:
        project: The project's root folder.
        ledger: Name of the ledger.
        signer: The log key.
        second: The log's second key, if it has one.
    """

    def __init__(self, project: Path, ledger: str, signer: Signer, second: SecondSigner | None = None) -> None:
        self._ledger = ledger
        origin = log_origin(ledger)
        self._folder = project / log_folder(ledger)
        self._tree = SignedTree(self._folder, ENTRIES, origin=origin, key_name=origin, signers=(signer, second))
        self.opened: dict[str, RunOpenedLogged] = {}
        self.closed: dict[str, RunClosedLogged] = {}
        self.entries: list[LogEntry] = []

    def load(self, facts: LedgerFacts, lines: list[bytes]) -> None:
        """Take over a log that was verified; ``lines`` are its signed lines."""
        self._tree.load(lines, len(lines))
        self.opened.update(facts.opened)
        self.closed.update(facts.closed)
        self.entries.extend(facts.entries)

    def append(
        self, entry_type: str, body: Mapping[str, Any], *, now: str, check: Callable[[LogEntry], None] | None = None
    ) -> LogEntry:
        """Write one entry; it counts once `sign` has run.

        Every entry of a founded log has its own note, so that one whose signing failed is signed first.

        Args:
            entry_type: The entry's ``type``.
            body: Its own fields.
            now: UTC time.
            check: Raises for an entry that may not stand here, before it is written.

        Raises:
            InputError: ``body`` does not fit the type.
        """
        if self._tree.signed:
            self._settle()
        frame = {
            "format": "evalsite/log/v1",
            "ledger": self._ledger,
            "seq": self._tree.lines.size,
            "prev": self._tree.lines.prev,
            "recorded_at": now,
            "type": entry_type,
        }
        entry = parse_line(canonical_bytes({**body, **frame}), LOG_ENTRY, MAX_LOG_ENTRY_BYTES)
        if check is not None:
            check(entry)
        self._tree.append(canonical_bytes(entry.plain()))
        self.entries.append(entry)
        if isinstance(entry, RunOpenedLogged):
            self.opened[entry.run] = entry
        elif isinstance(entry, RunClosedLogged):
            self.closed[entry.run] = entry
        return entry

    def sign(self) -> None:
        """Sign the root over all entries.

        Raises:
            IntegrityError: The disk holds other entries than were written; nothing was signed.
        """
        self._tree.sign(whole=True)

    def proof(self, index: int) -> bytes:
        """Return the proof of an entry under the newest checkpoint, which is on disk."""
        self._settle()
        return TlogProof(index, inclusion_proof(self._tree.lines.leaves, index), self._tree.note()).to_bytes()

    def tidy(self) -> None:
        """Remove what a write that failed earlier in this process left behind."""
        sweep(self._folder)

    def close(self) -> None:
        """Close the file."""
        self._tree.close()

    def _settle(self) -> None:
        if self._tree.signed != self._tree.lines.size:
            self.sign()
