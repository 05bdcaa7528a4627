# SPDX-License-Identifier: Apache-2.0
"""What is known of one decision record, as data.

The one rule above all: a status that is absent, unknown or contradictory is its own visible state.
Nothing here ever defaults to ``accepted``, and ``accepted`` in a text is a claim of that text, not
an approval: an approval is a signature over the bytes.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from evalsite.decisions.qualification import Outcome, QualificationBlock
from evalsite.schema.base import Finding

#: Records are not signed yet; a page must say so wherever a text says "accepted".
NOT_SIGNED = "not signed"


class StatusNorm(StrEnum):
    """The normalised status of a decision record."""

    DRAFT = "draft"
    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    CONDITIONAL = "conditional"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    DEPRECATED = "deprecated"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    UNSTATED = "unstated"  # the record says nothing
    UNKNOWN = "unknown"  # the record says something that is in no vocabulary
    CONTRADICTORY = "contradictory"  # front matter and text disagree


class FileState(StrEnum):
    """What a file of a decision folder turned out to be; every file is listed."""

    RECORD = "record"
    INDEX = "index"
    TEMPLATE = "template"
    NOT_A_RECORD = "not a decision record"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to another record as written; it is never followed, only resolved in the same folder."""

    raw: str
    number: int | None
    slug: str | None
    partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A status: normalised, as written, and where it stood.

    ``partial`` marks a partial supersession, ``provisional_until`` the last day of a stated window.
    """

    norm: StatusNorm
    raw: str
    source: str
    line: int | None
    partial: bool = False
    provisional_until: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDate:
    """A date: ``value`` is ``YYYY-MM-DD``, or null when the text can be read in two ways."""

    value: str | None
    raw: str
    role: str
    remark: str = ""
    ambiguous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section in file order: its heading as written and its source text.

    ``name`` is the canonical name (``context``, ``outcome``, ...) or null for any other heading.
    """

    name: str | None
    heading: str
    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """One file of a decision folder.

    ``number`` is null when the file carries none; ``id`` is then the file's stem. ``supersedes``
    and ``superseded_by`` are what this file declares; the reverse edges of a folder are computed
    by `evalsite.decisions.links`.
    """

    path: str
    slug: str
    state: FileState
    number: int | None
    id: str
    title: str
    title_source: str
    status: Status
    dates: tuple[DecisionDate, ...] = ()
    people: dict[str, tuple[str, ...]] = field(default_factory=dict)
    supersedes: tuple[Reference, ...] = ()
    superseded_by: tuple[Reference, ...] = ()
    parts: tuple[Section, ...] = ()
    lang: str | None = None
    format: str = "unknown"
    qualification: QualificationBlock | None = None
    digest: str | None = None
    findings: tuple[Finding, ...] = ()
    signature_state: str = NOT_SIGNED

    @property
    def sections(self) -> dict[str, str]:
        """Return the source text of every canonical section, the first of each name."""
        found: dict[str, str] = {}
        for part in self.parts:
            if part.name is not None:
                found.setdefault(part.name, part.text)
        return found

    @property
    def date(self) -> str | None:
        """Return the first unambiguous date of the record."""
        return next((date.value for date in self.dates if date.value is not None), None)

    @property
    def status_label(self) -> str:
        """Return the words for a page; an acceptance that nobody signed says so."""
        norm = self.status.norm
        if norm is StatusNorm.ACCEPTED:
            return f"accepted in text, {self.signature_state}"
        if norm is StatusNorm.SUPERSEDED and self.status.partial:
            return "partially superseded"
        return norm.value


def effective_status(record: DecisionRecord, *, as_of: str) -> StatusNorm:
    """Return the status on a day: a provisional window or an expiry that lies before it has ended.

    A rejection, withdrawal or supersession does not expire, and neither does a status that is not known.

    Args:
        record: The record.
        as_of: The day to judge by, ``YYYY-MM-DD`` in UTC. The last day itself still counts.
    """
    norm = record.status.norm
    if norm not in (StatusNorm.ACCEPTED, StatusNorm.CONDITIONAL):
        return norm
    block = record.qualification
    may_expire = block is not None and block.outcome in (Outcome.APPROVED, Outcome.APPROVED_WITH_CONDITIONS)
    ends = [record.status.provisional_until, block.expires if block is not None and may_expire else None]
    return StatusNorm.EXPIRED if any(end is not None and end < as_of for end in ends) else norm
