# SPDX-License-Identifier: Apache-2.0
"""What a verification hands out: authentic runs, and reports of counted checks.

Only `evalsite.ledger.verify` makes an `AuthenticRun`: bytes that are the ones that were signed.
Whether the facts in them follow from the raw replies is for a higher floor.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.blob import unpack_blob
from evalsite.ledger.layout import EVENTS, blob_name, run_folder, segment_name
from evalsite.ledger.merkle import leaf_hash
from evalsite.schema.base import Finding
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import Event
from evalsite.storage import read_regular


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticRun:
    """A run whose files are whole and signed.

    ``events`` are the signed ones: lines of an open run that no checkpoint covers yet are left out.
    ``sealed`` says that the run was closed, stated, and logged as closed. ``level`` is A1 when the
    root key was pinned by the verifier, else A0; ``minimum_level`` is what the keyring asks for.
    ``leaves`` are the RFC 6962 leaf hashes of the events.
    """

    project: Path
    run_id: str
    ledger: str
    root_fingerprint: str
    events: tuple[Event, ...]
    leaves: tuple[bytes, ...]
    size: int
    root: str
    opened_index: int
    closed_index: int | None
    statement_digest: str | None
    sealed: bool
    level: Level
    minimum_level: Level
    checks: tuple[Check, ...]

    def path_of_event(self, seq: int) -> str:
        """Return ``file:line`` of an event, relative to the project."""
        name = segment_name(EVENTS, seq // SEGMENT_LINES)
        return f"{run_folder(self.run_id)}/{name}:{seq % SEGMENT_LINES + 1}"

    def line(self, seq: int) -> bytes:
        """Return the exact bytes of an event's line, without its newline, hashed again.

        Raises:
            IntegrityError: The file changed since the verification.
            ValueError: There is no such event (a bug in the caller).
        """
        if not 0 <= seq < self.size:
            raise ValueError(seq)
        name = segment_name(EVENTS, seq // SEGMENT_LINES)
        path = self.project / run_folder(self.run_id) / name
        lines = read_regular(path, MAX_RECORD_FILE_BYTES).split(b"\n")
        index = seq % SEGMENT_LINES
        if index >= len(lines) or leaf_hash(lines[index]) != self.leaves[seq]:
            raise IntegrityError("expected the line that was verified", at=self.path_of_event(seq), rule="RFC 6962")
        return lines[index]

    def blob(self, digest: str) -> bytes:
        """Return the raw bytes behind a digest of the record, hashed again on every read.

        Raises:
            UndecidedError: The file is not there.
            IntegrityError: It holds other bytes.
        """
        return read_blob(self.project, self.run_id, digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The checks of one run, its ledger's included. ``run`` is null unless its integrity holds."""

    run_id: str
    ledger: str | None
    checks: tuple[Check, ...]
    run: AuthenticRun | None

    def holds(self, area: Area) -> bool:
        """Return whether every check of an area holds, and there was one."""
        return checks_hold(self.checks, area)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport:
    """The checks of one ledger: its keys and its log. The fingerprint is null if the keyring is broken."""

    ledger: str
    root_fingerprint: str | None
    level: Level
    minimum_level: Level | None
    size: int
    checks: tuple[Check, ...]

    def holds(self, area: Area) -> bool:
        """Return whether every check of an area holds, and there was one."""
        return checks_hold(self.checks, area)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectReport:
    """The checks of a whole project. ``checks`` are those that belong to no single ledger or run."""

    ledgers: tuple[LedgerReport, ...]
    runs: tuple[RunReport, ...]
    checks: tuple[Check, ...]

    def holds(self, area: Area) -> bool:
        """Return whether every check of an area holds, of every ledger and run, and there was one."""
        return checks_hold(self.all_checks(), area)

    def all_checks(self) -> Iterator[Check]:
        """Yield the checks of the project, of every ledger, then of every run (its ledger's again)."""
        yield from self.checks
        for ledger in self.ledgers:
            yield from ledger.checks
        for run in self.runs:
            yield from run.checks

    def findings(self) -> Iterator[Finding]:
        """Yield every finding once."""
        seen = set()
        for check in self.all_checks():
            for finding in check.findings:
                key = (finding.code, finding.at, finding.message)
                if key not in seen:
                    seen.add(key)
                    yield finding

    def authentic(self) -> dict[str, AuthenticRun]:
        """Return the runs whose integrity holds, by name."""
        return {report.run_id: report.run for report in self.runs if report.run is not None}


def checks_hold(checks: Iterable[Check], area: Area) -> bool:
    """Return whether every check of ``area`` holds; false if there is none."""
    found = [check for check in checks if check.area is area]
    return bool(found) and all(check.holds for check in found)


def read_blob(project: Path, run_id: str, digest: str) -> bytes:
    """Return the raw bytes of a run's blob, compared with its digest.

    Raises:
        UndecidedError: The file is not there.
        IntegrityError: It holds other bytes.
    """
    name = blob_name(digest)
    at = f"{run_folder(run_id)}/{name}"
    path = project / at
    if not path.is_file():
        raise UndecidedError("expected a blob that the record names, found none", at=at, rule="availability")
    container = read_regular(path, MAX_BLOB_OF_CORPUS_BYTES)
    if "sha256:" + hashlib.sha256(container).hexdigest() != digest:
        raise IntegrityError("expected a blob with its name's digest, found other bytes", at=at, rule="run-record §6")
    try:
        return unpack_blob(container)
    except InputError as exc:
        raise IntegrityError(exc.message, at=at, rule=exc.rule) from exc
