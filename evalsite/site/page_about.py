# SPDX-License-Identifier: Apache-2.0
"""Caveats and glossary: what this site claims, what it doesn't, and what its words mean."""

from evalsite.schema.checks import Level
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import bullets, el, join, table
from evalsite.site.levels import LEVEL_WORDS
from evalsite.site.marks import legend
from evalsite.site.model import Body, Kind, Page

_CORPORA = (
    (
        "References and counter-examples are normative choices of a corpus's authors. They are neither observed "
        "outputs nor truth that independent people annotated. Each corpus's page says when and how it was really "
        "reviewed."
    ),
    "The shipped corpora are synthetic. What holds on them says little about other requests.",
    "A case with supplied context tests that context; it doesn't test the retrieval that would supply it.",
    (
        "Passed on a dangerous request means that the answer refused correctly. It doesn't mean that the request is "
        "permitted."
    ),
    (
        "Passing tests of this software, or a correct translation, lift neither a refused qualification nor the "
        "reservation that independent human validation is open."
    ),
)
_JUDGES = (
    (
        "A judge's verdict is one more output to be verified, never an objective fact. Host code compares actions "
        "and flags, and host code decides."
    ),
    (
        "Judge and candidate can share a model or an endpoint; each run says what is known from digests and hosts. "
        "Even where they differ, that establishes neither independence nor quality of the judge."
    ),
    "Passing a calibration on known examples doesn't guarantee reliability on other requests.",
    "Two preset labels demonstrate a method. They don't establish that a judge is reliable.",
    "A valid structure doesn't show that a reason supports its score.",
    (
        "Delimiters and instructions in a prompt don't prove resistance to injection. Texts shown to a judge stay "
        "untrusted."
    ),
    (
        "A low score, “cannot judge” and a failure to score are three different outcomes, and none of the last two "
        "is a zero."
    ),
    "A change in agreement is a consequence of aligning what both sides measure, never a target.",
)
_STATISTICS = (
    (
        "Temperature 0, a small known corpus and repetitions guarantee neither determinism, nor statistical "
        "robustness, nor resistance to injection."
    ),
    "No gate uses an average or a scale from one to five. Counts stand beside the cases that they count.",
    "Zero critical failures never suffice: every planned trial must pass, and every control.",
    "No regression never turns a refused run into a qualified one.",
    "A figure that an endpoint didn't tell is shown as not told, never as zero.",
)
_RECORDS = (
    (
        "Records are tamper-evident under the keys and at the level that each run names. They aren't proof against "
        "someone who holds all keys and all copies."
    ),
    "A fixture run exercises code and contracts and says nothing about a model.",
    "Results from elsewhere, and earlier runs, are dated and named as what they are: no new campaign.",
    "The evaluation protocols are this project's own. They don't pose as a stable public programming interface.",
    "That a record is intact doesn't show that the endpoint is what it says it is.",
)
_WORDS = (
    (
        "Qualified: every planned trial of a sealed live run passed, and every control was classified as expected. "
        "It is no approval of a release: that is a decision, by people, in a decision record."
    ),
    (
        "Calibrated is said only of labels that people made blind to the judge and committed before its verdicts. "
        "Controls written by authors are a known-example check."
    ),
)
_GLOSSARY = (
    ("Answer", "What a candidate replied: an action, a response, a refused flag."),
    ("Calibration", "Trying the judge on examples whose answer is known, before its verdicts count."),
    ("Campaign", "What a run is asked to do: corpus, roles, repetitions, purpose."),
    ("Candidate", "The role whose answers are qualified."),
    ("Case", "One public input with what is required and forbidden. Called a sample elsewhere."),
    ("Checkpoint", "A signed statement of how many lines a record has and which root their tree has."),
    ("Comparison", "A run beside an earlier one, case by case, in which one variable at most is another."),
    ("Contract", "The exact form that a reply must have. What breaks it is recorded as it came."),
    ("Control", "A reference or counter-example written by authors, shown to the judge to try it."),
    ("Corpus", "Cases with instructions and, for some protocols, cards and labels."),
    ("Decision record", "A text by people that decides something, with its reasons. The gate is no substitute."),
    ("Endpoint", "Where replies come from: a server, the fixture, or a recording."),
    ("Fixture", "A deterministic stand-in that answers from the corpus."),
    ("Flip", "The same trial with another outcome in a later run: from the answer, the judge, or the case."),
    ("Gate", "The conjunction that host code computes over all trials. There is one for fixtures and one for models."),
    ("Judge", "The role that reads an answer against what is required and forbidden. It doesn't decide."),
    ("Ledger", "A log with its own keys, in which runs are opened and closed."),
    ("Profile", "What a campaign qualifies: a named candidate in a named configuration."),
    ("Regression", "A case of which fewer compared repetitions passed than before, whatever the others did."),
    ("Repetition", "One of several observations of the same case. Called an epoch elsewhere."),
    ("Run", "One execution of a campaign, sealed by a signed statement when it is closed."),
    ("Series break", "Scores of another construct: they stand beside the earlier ones and are not compared."),
    ("Stale", "A calibration of another judge than the one that a run relies on: it decides nothing."),
    ("Trial", "One planned observation: a case in one repetition, or a control."),
    ("Verdict", "What a judge replied: two booleans, a score with citations, or points."),
)


def caveats_page(catalogue: Catalogue) -> Page:
    """Return the page of caveats."""
    path = Kind.CAVEATS.address

    def body() -> Body:
        pairs = [join((parts.foreign(view.run_id), text(f": {view.independence}"))) for view in catalogue.runs][:20]
        judges = join(
            (
                bullets(text(item) for item in _JUDGES),
                el(
                    "details",
                    el("summary", text("Judge and candidate in each run")),
                    bullets(pairs),
                    class_="es-details",
                )
                if pairs
                else text(""),
            )
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Caveats"),
            lead=parts.how_to_read("What nothing on this site shows. Read it before you rely on anything here."),
            sections=(
                bullets(text(item) for item in _CORPORA),
                judges,
                bullets(text(item) for item in _STATISTICS),
                bullets(text(item) for item in _RECORDS),
                bullets(text(item) for item in _WORDS),
            ),
        )

    return Page(kind=Kind.CAVEATS, path=path, title="Caveats", body=body)


def glossary_page() -> Page:
    """Return the glossary."""
    path = Kind.GLOSSARY.address

    def body() -> Body:
        words = el(
            "dl",
            *(el("div", el("dt", text(name)), el("dd", text(meaning))) for name, meaning in _GLOSSARY),
            class_="es-glossary",
        )
        statuses = legend(
            (
                *marks.RUN_STATES,
                *marks.OUTCOMES,
                marks.FITS,
                marks.BEYOND,
                marks.GRADED,
                marks.COMPARED,
                marks.CONTROL_RIGHT,
                marks.CONTROL_WRONG,
                *marks.COMPARISONS,
                *marks.CHANGES,
            )
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Glossary"),
            lead=parts.how_to_read("The words and shapes of this site, each with one meaning."),
            sections=(words, statuses, levels_table()),
        )

    return Page(kind=Kind.GLOSSARY, path=path, title="Glossary", body=body)


def levels_table() -> Html:
    """Return the evidence levels, weakest first."""
    rows = [(text(level.value), text(LEVEL_WORDS[level].long), text(LEVEL_WORDS[level].leaves_open)) for level in Level]
    return table((text("Level"), text("What it shows"), text("What it leaves open")), rows, caption="Evidence levels")
