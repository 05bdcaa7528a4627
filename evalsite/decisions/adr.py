# SPDX-License-Identifier: Apache-2.0
"""Reading decision records: MADR 2 to 4, Nygard's form and their wild relatives (R108).

`parse_decision` never raises on what a record says, only on bytes that are no text or too many:
whatever is odd becomes a finding with file and line. Links are never followed, nothing is written.
"""

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG

from evalsite.canonical.digest import digest_bytes
from evalsite.decisions import relations
from evalsite.decisions import status as statuses
from evalsite.decisions.fields import dates_in, number_of_name, references_in, split_title, title_of_name
from evalsite.decisions.frontmatter import Field, read_block, read_fields
from evalsite.decisions.metadata import Meta, from_fields, from_preamble, people
from evalsite.decisions.record import DecisionDate, DecisionRecord, FileState, Section, Status, StatusNorm
from evalsite.decisions.source import MAX_RECORD_BYTES, Heading, Source, cut, decode, split, visible
from evalsite.decisions.vocabulary import section_of
from evalsite.errors import InputError
from evalsite.schema.base import Finding, Severity

MAX_FILES = 10_000  # files in one decision folder
_INDEX_NAMES = ("readme", "index")
_SUFFIXES = (".md", ".markdown", ".rst")


class _Findings(list[Finding]):
    """The findings of one file."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def add(self, code: str, message: str, *, line: int | None = None, severity: Severity = Severity.WARNING) -> None:
        at = f"{self.name}:{line}" if line is not None else self.name
        self.append(Finding(code=code, severity=severity, at=at, message=message))


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """One file, taken apart but not yet understood."""

    path: PurePosixPath
    source: Source
    heading: Heading | None
    front: Meta
    near: Meta
    parts: tuple[Section, ...]
    status_lines: list[tuple[int, str]]


def parse_decision(data: bytes, *, name: str) -> DecisionRecord:
    """Read one decision record.

    Args:
        data: The file's bytes; UTF-8, with or without a byte order mark, any line ends.
        name: The file's path as findings shall show it; its last part gives number and fall-back title.

    Raises:
        InputError: The bytes are no UTF-8 text, or more than `MAX_RECORD_BYTES`.
    """
    path = PurePosixPath(name)
    findings = _Findings(name)
    source = split(decode(data, name=name), rst=path.suffix == ".rst")
    fields, odd = read_fields(source.front or (), first_line=source.front_line)
    _note_form(source, fields, odd, findings)
    block, problems = read_block(source.front or (), first_line=source.front_line, name=name)
    findings.extend(problems)
    file = _take_apart(path, source, from_fields(fields))
    number, record_id = _identity(file, findings, scope="DR" if block is not None or problems else "ADR")
    title, title_source = _title(file, findings)
    status = _status(file, findings)
    state = _state(file, status, findings)
    dates = _dates(file, findings)
    if state in (FileState.INDEX, FileState.TEMPLATE):
        findings.clear()  # it is not meant to be a record
    return DecisionRecord(
        path=name,
        slug=path.stem,
        state=state,
        number=number,
        id=record_id,
        title=title,
        title_source=title_source,
        status=status,
        dates=dates,
        people=people(file.front, file.near),
        supersedes=relations.supersedes(
            file.front, file.near, status, status_lines=file.status_lines, view=source.view
        ),
        superseded_by=relations.superseded_by(file.front, file.near, status),
        parts=file.parts,
        lang=_language(file),
        format=_format(file),
        qualification=block,
        digest=digest_bytes(data),
        findings=tuple(findings),
    )


def _note_form(source: Source, fields: list[Field], odd: list[int], findings: _Findings) -> None:
    for code, line in source.problems:
        findings.add(code, f"{code.replace('-', ' ')}; the rest was read as well as possible", line=line)
    for line in odd:
        findings.add("front-matter-line", "this line of the front matter is no key with a value", line=line)
    seen: set[str] = set()
    for item in fields:
        if item.braced:
            findings.add("yaml-placeholder", f"the value of {item.key} stands in braces", line=item.line)
        if item.key in seen:
            findings.add("front-matter-duplicate", f"the key {item.key} stands twice", line=item.line)
        seen.add(item.key)


def _take_apart(path: PurePosixPath, source: Source, front: Meta) -> _File:
    heading = _title_heading(source)
    start = heading.index + heading.lines if heading is not None else 0
    later = [other.index for other in source.headings if other is not heading]
    near = from_preamble(visible(source, start, later[0] if later else len(source.view)))
    parts = cut(source, heading)
    section = next((part for part in parts if part.name == "status"), None)
    lines = [] if section is None else _lines_of(section, parts, source)
    return _File(path=path, source=source, heading=heading, front=front, near=near, parts=parts, status_lines=lines)


def _title_heading(source: Source) -> Heading | None:
    """Return the first heading, unless it is empty or names a section: it is the title."""
    first = source.headings[0] if source.headings else None
    if first is None or not first.text or section_of(split_title(first.text)[0]) is not None:
        return None
    return first


def _lines_of(section: Section, parts: tuple[Section, ...], source: Source) -> list[tuple[int, str]]:
    start = section.line - source.body_line
    skip = next((heading.lines for heading in source.headings if heading.index == start), 0)
    after = [part.line - source.body_line for part in parts if part.line > section.line]
    return visible(source, start + skip, min(after, default=len(source.view)))


def _identity(file: _File, findings: _Findings, *, scope: str) -> tuple[int | None, str]:
    """Return number and id. The file name decides; a date in front of it leaves it without a number."""
    of_name, prefix, day = number_of_name(file.path.stem)
    keyed = (number_of_name(entry.text)[0] for entry in file.front.get("number"))
    of_front = next((number for number in keyed if number is not None), None)
    of_heading = split_title(file.heading.text)[1] if file.heading is not None else None
    number = of_name
    if number is None and day is None:
        number = of_front if of_front is not None else of_heading
    for other, where in ((of_front, "front matter"), (of_heading, "title")):
        if number is not None and other is not None and other != number:
            findings.add("number-mismatch", f"the number is {number}, but the {where} says {other}")
    return number, file.path.stem if number is None else f"{(prefix or scope).upper()}-{number:04d}"


def _title(file: _File, findings: _Findings) -> tuple[str, str]:
    """Return title and source: the front matter's, unless the first heading says the same more fully."""
    given = next((split_title(entry.text)[0] for entry in file.front.get("title")), "")
    own = split_title(file.heading.text)[0] if file.heading is not None else ""
    if own and own.startswith(given):
        return own, "heading"
    if given:
        return given, "front matter"
    findings.add("title-missing", "the record has no title; its file name stands in", severity=Severity.NOTE)
    return title_of_name(file.path.stem), "file name"


def _status(file: _File, findings: _Findings) -> Status:
    groups = [
        [statuses.Statement(raw=entry.text, source=entry.source, line=entry.line) for entry in meta.get("status")]
        for meta in (file.front, file.near)
    ]
    groups.append(statuses.statements_of_section(file.status_lines))
    status = statuses.decide(groups)
    named = [entry.text for meta in (file.front, file.near) for entry in meta.get("superseded by")]
    if status.norm is StatusNorm.ACCEPTED and any(references_in(text) for text in named):
        raw = f"{status.raw} / superseded by {', '.join(named)}"
        status = Status(norm=StatusNorm.CONTRADICTORY, raw=raw, source=status.source, line=status.line)
    for code, norm, message in (
        ("status-unstated", StatusNorm.UNSTATED, "the record states no status"),
        ("status-unknown", StatusNorm.UNKNOWN, "the stated status is in no vocabulary"),
        ("status-conflict", StatusNorm.CONTRADICTORY, "the record states things about its status that disagree"),
    ):
        if status.norm is norm:
            findings.add(code, message, line=status.line)
    return status


def _state(file: _File, status: Status, findings: _Findings) -> FileState:
    stem = file.path.stem.casefold()
    if stem in _INDEX_NAMES:
        return FileState.INDEX
    if "template" in stem and not number_of_name(file.path.stem)[0]:
        return FileState.TEMPLATE
    sections = {part.name for part in file.parts} - {None, "preamble"}
    if sections or status.norm is not StatusNorm.UNSTATED or file.front.get("decision-makers"):
        return FileState.RECORD
    findings.add("not-a-decision-record", "no section and no status of a decision record", severity=Severity.ERROR)
    return FileState.NOT_A_RECORD


def _dates(file: _File, findings: _Findings) -> tuple[DecisionDate, ...]:
    entries = [(entry.text, entry.source) for meta in (file.front, file.near) for entry in meta.get("date")]
    entries.extend((part.text, "section") for part in file.parts if part.name == "date")
    found = [day for text, role in entries for day in dates_in(text, role=role)]
    named = number_of_name(file.path.stem)[2]
    if named is not None:
        found.append(DecisionDate(value=named, raw=named, role="file name"))
    for day in found:
        if day.ambiguous:
            findings.add("date-ambiguous", f"{day.raw} can be read in two ways")
    return tuple(found)


def _language(file: _File) -> str | None:
    """Return the language that most headings and keys are written in, or what the front matter says."""
    stated = file.front.get("lang")
    if stated:
        return stated[0].text
    found = [known[1] for part in file.parts if (known := section_of(part.heading))]
    counted = Counter([*found, *file.near.langs])
    return counted.most_common(1)[0][0] if counted else None


def _format(file: _File) -> str:
    """Return which template the record follows, by the sections and keys that tell templates apart."""
    if file.path.suffix == ".rst":
        return "rst"
    names = {part.name for part in file.parts}
    keys = {name for name in ("status", "decision-makers") if file.front.get(name)}
    nygard = {part.heading.casefold() for part in file.parts} >= {"context", "decision"}
    if nygard:
        return "nygard"
    if "outcome" in names and ("confirmation" in names or keys):
        return "madr-4" if "positive consequences" not in names else "madr-3"
    return "madr-2" if {"context", "outcome"} <= names else "unknown"


def load_decisions(folder: Path, *, name: str = "docs/decisions") -> list[DecisionRecord]:
    """Return what every file of a folder turned out to be, in the order of file names.

    Nothing is dropped: an index, a template, an unreadable file and a file that is no record are
    listed as such, with a finding. Symbolic links are not followed. An absent folder is empty.

    Args:
        folder: The folder; its subfolders are not read.
        name: How findings shall name it; never a machine's path.

    Raises:
        InputError: ``folder`` is no folder, or holds more than `MAX_FILES` files.
    """
    try:
        mode = folder.lstat().st_mode
    except FileNotFoundError:
        return []
    if not S_ISDIR(mode):
        raise InputError("expected a folder of decision records, got something else", at=name, rule="lstat")
    names = sorted(entry.name for entry in os.scandir(folder) if Path(entry.name).suffix.casefold() in _SUFFIXES)
    if len(names) > MAX_FILES:
        raise InputError(f"expected at most {MAX_FILES} decision records, got {len(names)}", at=name, rule="size limit")
    return [_load(folder / file, name=f"{name}/{file}") for file in names]


def _load(path: Path, *, name: str) -> DecisionRecord:
    try:
        return parse_decision(_read(path, name), name=name)
    except (InputError, OSError) as exc:
        message = exc.message if isinstance(exc, InputError) else f"the file cannot be read: {type(exc).__name__}"
        at = exc.at if isinstance(exc, InputError) else name
        finding = Finding(code="unreadable", severity=Severity.ERROR, at=at, message=message)
        return _unreadable(path, name=name, finding=finding)


def _read(path: Path, name: str) -> bytes:
    found = path.lstat()
    if not S_ISREG(found.st_mode):
        raise InputError("expected a regular file, got a link or something else", at=name, rule="lstat")
    if found.st_size > MAX_RECORD_BYTES:
        message = f"expected at most {MAX_RECORD_BYTES} bytes, got {found.st_size}"
        raise InputError(message, at=name, rule="size limit")
    return path.read_bytes()


def _unreadable(path: Path, *, name: str, finding: Finding) -> DecisionRecord:
    number, scope, _ = number_of_name(path.stem)
    return DecisionRecord(
        path=name,
        slug=path.stem,
        state=FileState.UNREADABLE,
        number=number,
        id=path.stem if number is None else f"{(scope or 'ADR').upper()}-{number:04d}",
        title=title_of_name(path.stem),
        title_source="file name",
        status=Status(norm=StatusNorm.UNSTATED, raw="", source="absent", line=None),
        findings=(finding,),
    )
