# SPDX-License-Identifier: Apache-2.0
"""The writer's end of labels: entries of the log, and the file of a reveal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.labelbook import LabelBook, LabelReader
from evalsite.ledger.labelseal import RULE, check_reveal
from evalsite.ledger.layout import label_name, log_folder
from evalsite.schema.entries import LogEntry
from evalsite.schema.labels import SealedLabels
from evalsite.storage import create_same, ensure_folder

if TYPE_CHECKING:
    from evalsite.ledger.runwriter import Desk


class LabelWriter:
    """Labels of one open ledger. Made by `evalsite.ledger.writer.LedgerWriter`.

    Args:
        desk: What the ledger is written with.
        book: The labels as they were verified when the ledger was opened.
    """

    def __init__(self, desk: "Desk", book: LabelBook) -> None:
        self._desk = desk
        self.book = book

    @property
    def ledger(self) -> str:
        """Return the ledger's name."""
        return self._desk.ledger

    def append(self, entry_type: str, body: Mapping[str, Any], *, now: str) -> LogEntry:
        """Write and sign one entry about labels, unless a verification would refuse it.

        Raises:
            InputError: ``body`` does not fit the type, or the entry may not stand here; nothing was written.
        """
        reader = self._reader()

        def check(entry: LogEntry) -> None:
            try:
                reader.take(entry)
            except IntegrityError as exc:
                raise InputError(exc.message, at=exc.at or entry.type, rule=exc.rule) from exc

        entry = self._desk.log.append(entry_type, body, now=now, check=check)
        self._desk.log.sign()
        return entry

    def reveal(self, sealed: SealedLabels, *, now: str) -> None:
        """Log a reveal and write its file; one that was cut short behind its entry gets its file.

        Raises:
            InputError: No such commitment, or not its labels; nothing was written.
        """
        reader, data = self._reader(), sealed.to_bytes()
        try:
            check_reveal(self.ledger, reader.commitment(sealed.commitment), sealed)
        except IntegrityError as exc:
            raise InputError(exc.message, at=sealed.commitment, rule=RULE) from exc
        if sealed.commitment not in reader.reveals:
            body = {"commitment": sealed.commitment, "file": digest_bytes(data)}
            self.append("labels.revealed", body, now=now)
        path = self._desk.project / log_folder(self.ledger) / label_name(sealed.commitment)
        ensure_folder(path.parent)
        create_same(path, data)

    def _reader(self) -> LabelReader:
        reader = LabelReader(self.ledger)
        for entry in self._desk.log.entries:
            reader.take(entry)
        return reader
