# SPDX-License-Identifier: Apache-2.0
"""What a site is made of, free of any generator: input, kinds of pages, pages, files.

A page of a kind has fixed sections. The theme renders each kind once, around a stub; a page is that
shell with its own text in it. So the engine never sees a record.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from evalsite.campaign.trusted import TrustedRun
from evalsite.decisions.record import DecisionRecord
from evalsite.ledger.labelbook import LabelBook
from evalsite.retention.policy import LoadedPolicy
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.site.escape import Html


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """The retention policy of one corpus."""

    corpus: str
    loaded: LoadedPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteInput:
    """Everything that a site says, already verified.

    Attributes:
        runs: Verified runs, in any order.
        corpora: The project's corpora as they are now; corpora known from runs only are added.
        decisions: Decision records, in the order of their folder.
        policies: Retention policies, one per corpus.
        labels: Verified labels of each ledger, by its name.
        record: Public files of the record by their path in the project (``runs/...``), for download.
        as_of: The day by which expiries are judged, UTC ``YYYY-MM-DDTHH:MM:SSZ``.
        generator: Name and version of this program.
    """

    runs: tuple[TrustedRun, ...]
    corpora: tuple[CorpusSnapshot, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    policies: tuple[PolicyInForce, ...] = ()
    labels: Mapping[str, LabelBook] = field(default_factory=dict)
    record: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)
    as_of: str = "1970-01-01T00:00:00Z"
    generator: str = "evalsite"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading that every page of a kind has."""

    id: str
    title: str


def _sections(*titles: str) -> tuple[Section, ...]:
    return tuple(Section(title.lower().replace(" ", "-").replace(",", ""), title) for title in titles)


class Kind(Enum):
    """The kinds of pages: name, address of the only page of its kind (or depth), sections, tab."""

    HOME = ("home", "index.html", _sections("State of each profile", "Evidence", "Latest runs", "Open points"))
    RUNS = ("runs", "runs/index.html", _sections("All runs", "How to read this page"))
    RUN = (
        "run",
        "runs/*/index.html",
        _sections(
            "Counts",
            "Candidate failures",
            "Judge and calibration failures",
            "Campaign and host",
            "Results",
            "What this run shows",
            "Consumption",
            "Plan",
            "Provenance",
            "Interruptions",
            "Record",
        ),
    )
    TRIAL = ("trial", "runs/*/cases/*.html", _sections("Case", "Repetitions", "Controls", "Record"))
    CALIBRATION = (
        "calibration",
        "runs/*/calibration.html",
        _sections(
            "Summary",
            "Controls",
            "Labels against verdicts",
            "Disagreements",
            "Annotators",
            "Repetition and position",
            "Corrected rate, bins and lengths",
            "Order",
            "Labels one by one",
            "Raw verdicts of controls",
            "What calibration shows",
        ),
    )
    COMPARISON = (
        "comparison",
        "runs/*/comparison.html",
        _sections("Cases", "What was compared", "Where changes come from", "What the numbers show", "What it decides"),
    )
    CORPORA = ("corpora", "corpora/index.html", _sections("All corpora", "How to read this page"))
    CORPUS = (
        "corpus",
        "corpora/*/index.html",
        _sections("Caveats", "Provenance", "Cases", "Controls", "Labels", "Instructions", "Runs"),
    )
    CASE = ("case", "corpora/*/cases/*.html", _sections("Case", "History", "Caveats"))
    DECISIONS = ("decisions", "decisions/index.html", _sections("Register", "Open items", "How to read this page"))
    DECISION = ("decision", "decisions/*.html", _sections("Decision", "Text", "Findings"))
    RETENTION = (
        "retention",
        "retention/index.html",
        _sections("What is kept", "Rules", "Holds and disposals", "How to read this page"),
    )
    CAVEATS = ("caveats", "caveats.html", _sections("Corpora", "Judges", "Statistics", "Records", "Words"))
    VERIFY = (
        "verify",
        "verify.html",
        _sections("What you need", "With evalsite", "Without evalsite", "What verification shows"),
    )
    GLOSSARY = ("glossary", "glossary.html", _sections("Words", "Statuses", "Evidence levels"))

    def __init__(self, slug: str, address: str, sections: tuple[Section, ...]) -> None:
        self.slug = slug
        self.address = address
        self.sections = sections

    @property
    def is_single(self) -> bool:
        """Return whether there is exactly one page of this kind."""
        return "*" not in self.address

    @property
    def depth(self) -> int:
        """Return how many folders lie between the site's root and a page of this kind."""
        return self.address.count("/")

    @property
    def tab(self) -> str:
        """Return the address of the list that a page of this kind belongs to."""
        top = self.address.split("/", 1)[0]
        return self.address if self.is_single else f"{top}/index.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What one page says: above its first section, and in each section, in the kind's order."""

    crumbs: Html
    heading: Html
    lead: Html
    sections: tuple[Html, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page. ``title`` is foreign text; ``body`` makes the HTML when it is needed.

    ``sources`` names what the page renders (run ids and record digests), for the manifest.
    """

    kind: Kind
    path: str
    title: str
    body: Callable[[], Body]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFile:
    """A file that is published byte for byte."""

    path: str
    read: Callable[[], bytes]
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All generated pages and files, sorted by address."""

    pages: tuple[Page, ...]
    files: tuple[SiteFile, ...]
