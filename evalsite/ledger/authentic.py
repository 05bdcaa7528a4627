# SPDX-License-Identifier: Apache-2.0
"""What a verification hands out: authentic runs, and reports of counted checks.

Only `evalsite.ledger.verify` makes an `AuthenticRun`: bytes that are the ones that were signed.
Whether the facts in them follow from the raw replies is for a higher floor.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import overload

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.blob import unpack_blob
from evalsite.ledger.evidence import NOBODY, Vouched
from evalsite.ledger.labelbook import LabelBook
from evalsite.ledger.layout import EVENTS, blob_name, run_folder, segment_name
from evalsite.ledger.lines import parse_line
from evalsite.ledger.merkle import leaf_hash, leaf_hashes
from evalsite.schema.base import Finding
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import EVENT, Event
from evalsite.storage import read_regular


@dataclass(frozen=True, slots=True)
class Head:
    """Where a verified log stands: its newest signed note, and the root key that it was founded under."""

    note: bytes
    founding_root: str


class StoredEvents(Sequence[Event]):
    """The events of a long run, read from disk again when they are asked for, one segment at a time.

    Every line is compared with the leaf hash that was verified, so that nothing else is ever handed out.
    """

    def __init__(self, project: Path, run_id: str, leaves: Sequence[bytes]) -> None:
        self._project = project
        self._run_id = run_id
        self._leaves = leaves
        self._held: tuple[int, list[Event]] = (-1, [])

    def __len__(self) -> int:
        """Return how many events there are."""
        return len(self._leaves)

    @overload
    def __getitem__(self, index: int) -> Event: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Event, ...]: ...

    def __getitem__(self, index: int | slice) -> Event | tuple[Event, ...]:
        """Return one event, or some.

        Raises:
            IntegrityError: The file changed since the verification.
        """
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        seq = range(len(self))[index]
        return self._load(seq // SEGMENT_LINES)[seq % SEGMENT_LINES]

    def _load(self, number: int) -> list[Event]:
        if self._held[0] != number:
            first = number * SEGMENT_LINES
            count = min(SEGMENT_LINES, len(self) - first)
            lines = _segment(self._project, self._run_id, number)[:count]
            if leaf_hashes(lines) != list(self._leaves[first : first + count]):
                at = f"{run_folder(self._run_id)}/{segment_name(EVENTS, number)}"
                raise IntegrityError("expected the lines that were verified", at=at, rule="RFC 6962")
            self._held = (number, [parse_line(line, EVENT, MAX_EVENT_BYTES) for line in lines])
        return self._held[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticRun:
    """A run whose files are whole and signed.

    ``events`` are the signed ones: lines of an open run that no checkpoint covers yet are left out.
    ``sealed`` says that the run was closed, stated, and logged as closed. ``level`` is what
    `evalsite.ledger.evidence` finds for its closing entry; ``minimum_level`` is what the keyring asks for.
    Those of a long run are read again from disk when asked for.
    ``leaves`` are the RFC 6962 leaf hashes of the events; ``vouched`` is who vouches for its closing
    from outside, as far as this verifier trusts them.
    """

    project: Path
    run_id: str
    ledger: str
    root_fingerprint: str
    events: Sequence[Event]
    leaves: Sequence[bytes]
    size: int
    root: str
    opened_index: int
    closed_index: int | None
    statement_digest: str | None
    sealed: bool
    level: Level
    minimum_level: Level
    checks: tuple[Check, ...]
    vouched: Vouched = NOBODY

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
        index = seq % SEGMENT_LINES
        lines = _segment(self.project, self.run_id, seq // SEGMENT_LINES)
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
    """The checks of one run, its ledger's included. ``run`` is null unless its integrity holds.

    ``reached`` is the level of a run whose integrity holds, and the level that its keyring asks for; a
    fast check tells it too.
    """

    run_id: str
    ledger: str | None
    checks: tuple[Check, ...]
    run: AuthenticRun | None
    reached: tuple[Level, Level] | None = None

    def holds(self, area: Area) -> bool:
        """Return whether every check of an area holds, and there was one."""
        return checks_hold(self.checks, area)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReport:
    """The checks of one ledger: its keys and its log. The fingerprint is null if the keyring is broken.

    ``level`` and ``vouched`` are about the log's newest entry; ``head`` and ``labels`` are null unless
    integrity holds.
    """

    ledger: str
    root_fingerprint: str | None
    level: Level
    minimum_level: Level | None
    size: int
    checks: tuple[Check, ...]
    vouched: Vouched = NOBODY
    head: Head | None = None
    labels: LabelBook | None = None

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


def refuse(
    checks: Iterable[Check], *, at: str, advice: str = "`evalsite verify` lists every step and finding."
) -> None:
    """Raise the first finding that keeps something from being handed out: of integrity, else of availability.

    Args:
        checks: What was checked.
        at: The place, for a finding that has none.
        advice: What the reader can do.

    Raises:
        IntegrityError: Something does not check out.
        UndecidedError: Something is not there, or can't be read.
    """
    held = list(checks)
    for area, error in ((Area.INTEGRITY, IntegrityError), (Area.AVAILABILITY, UndecidedError)):
        findings = [finding for check in held if check.area is area for finding in check.findings]
        if findings:
            first, more = findings[0], f" ({len(findings) - 1} more findings)" if len(findings) > 1 else ""
            raise error(f"{first.message}{more}", at=first.at or at, rule=first.rule or first.code, advice=advice)


def _segment(project: Path, run_id: str, number: int) -> list[bytes]:
    """Return the lines of a segment; the last one read is kept as long as its file looks the same."""
    path = project / run_folder(run_id) / segment_name(EVENTS, number)
    try:
        status = path.lstat()
    except OSError as exc:
        raise IntegrityError("expected a segment that was verified, found none", at=path.name, rule="RFC 6962") from exc
    return _read_segment(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@lru_cache(maxsize=1)
def _read_segment(path: Path, seen: tuple[int, ...]) -> list[bytes]:
    del seen  # a key of the cache: another file is read again
    return read_regular(path, MAX_RECORD_FILE_BYTES).split(b"\n")


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
