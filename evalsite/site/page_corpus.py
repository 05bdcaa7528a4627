# SPDX-License-Identifier: Apache-2.0
"""Corpora and their cases over all runs."""

from evalsite.schema.corpus import BinaryCase, Case, controls_of
from evalsite.schema.outcome import Polarity, Probe, Protocol
from evalsite.site import parts
from evalsite.site.casetext import card_box, cards_of, control_text
from evalsite.site.catalogue import Catalogue, CorpusView
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, num, table
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_labels import LABEL_LEVELS
from evalsite.site.page_runs import run_table

_PROTOCOLS = {
    Protocol.BINARY: "binary: two booleans per answer",
    Protocol.EVIDENCE: "evidence: 0, 1 or null with citations",
    Protocol.GRADED: "graded: 0 to 100 per dimension, or null",
    Protocol.PAIRWISE: "pairwise: the better of two answers in both orders, a tie, or null",
}


def corpora_page(catalogue: Catalogue) -> Page:
    """Return the list of corpora."""
    path = Kind.CORPORA.address

    def body() -> Body:
        rows = [_corpus_row(corpus, path) for corpus in catalogue.corpora]
        head = tuple(text(name) for name in ("Corpus", "Protocol", "Language", "Cases", "Runs", "Human validation"))
        shown = table(head, rows, caption="Corpora") if rows else parts.says("The project has no corpus.")
        reading = parts.says(
            "A corpus holds what is asked and what is expected. Its references and counter-examples are normative "
            "choices of its authors: neither observed outputs nor truth that people annotated independently. Every "
            "run keeps the corpus as it was, so that a later change of a corpus changes no earlier run."
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Corpora"),
            lead=parts.how_to_read("What was asked, in which version, and how far each corpus was reviewed."),
            sections=(shown, reading),
        )

    names = tuple(corpus.name for corpus in catalogue.corpora)
    return Page(kind=Kind.CORPORA, path=path, title="Corpora", body=body, sources=names)


def _corpus_row(corpus: CorpusView, page: str) -> tuple[Html, ...]:
    about = corpus.snapshot.corpus
    kept = EMPTY if corpus.is_current else parts.para(parts.quiet("known from runs only"), css="es-sub")
    return (
        join(
            (
                link(relative(corpus.path, page), parts.foreign(about.name)),
                parts.para(parts.foreign(about.title), css="es-sub"),
                kept,
            )
        ),
        text(about.protocol.value),
        text(about.language),
        num(parts.number(len(about.cases))),
        num(parts.number(len(corpus.runs))),
        text(about.provenance.independent_human_validation),
    )


def corpus_page(catalogue: Catalogue, corpus: CorpusView) -> Page:
    """Return the page of one corpus."""
    return Page(
        kind=Kind.CORPUS,
        path=corpus.path,
        title=f"Corpus {corpus.name}",
        body=lambda: _body(catalogue, corpus),
        sources=(corpus.fingerprint,),
    )


def _body(catalogue: Catalogue, corpus: CorpusView) -> Body:
    about = corpus.snapshot.corpus
    lead = join(
        (
            parts.para(parts.foreign(about.description), css="es-title"),
            parts.para(
                *_meta("Version", parts.foreign(about.version)),
                *_meta("Protocol", text(_PROTOCOLS[Protocol(about.protocol)])),
                *_meta("Language", text(about.language)),
                *_meta("Class", text(about.data_class.value)),
                css="es-meta",
            ),
            EMPTY
            if corpus.is_current
            else parts.note("This corpus is shown as the newest run over it kept it.", title="Not in the project now."),
        )
    )
    return Body(
        crumbs=parts.crumbs(corpus.path, (Kind.CORPORA.address, "Corpora"), (corpus.path, corpus.name)),
        heading=parts.foreign(about.title),
        lead=lead,
        sections=(
            _caveats(corpus),
            _provenance(corpus),
            _cases(catalogue, corpus),
            _controls(corpus),
            _labels(corpus),
            _instructions(corpus),
            run_table(corpus.runs, corpus.path) if corpus.runs else parts.says("No run is recorded over this corpus."),
        ),
    )


def _meta(name: str, value: Html) -> tuple[Html, ...]:
    return (el("span", el("b", text(name)), text(" "), value),)


def _caveats(corpus: CorpusView) -> Html:
    about = corpus.snapshot.corpus
    reviews = [review for review in about.provenance.reviews if review.kind != "author"]
    reviewed = (
        "; ".join(f"{review.kind} review on {review.reviewed_at} by {review.by}" for review in reviews)
        or "no review beyond the authors' own"
    )
    said = (
        f"References and counter-examples are normative choices of a {about.data_class.value} corpus ({reviewed}). "
        "They are neither observed outputs nor independent human annotation. Independent human validation is "
        f"{about.provenance.independent_human_validation}. A passed test or a correct translation lifts neither this "
        "reservation nor a refused qualification."
    )
    own = [parts.foreign(item) for item in about.caveats]
    return join((parts.note(said, title="Normative, not observed."), bullets(own) if own else EMPTY))


def _provenance(corpus: CorpusView) -> Html:
    about = corpus.snapshot.corpus
    origin = about.provenance
    translated = parts.foreign(about.translation_of) if about.translation_of else parts.quiet("no other corpus")
    facts = [
        ("Authors", parts.foreign(origin.authors)),
        ("Created", parts.day(origin.created_at)),
        ("Licence", parts.foreign(origin.licence)),
        ("Translated from", translated),
        ("Fingerprint", parts.full_digest(corpus.fingerprint) if corpus.shows_text else parts.quiet("withheld")),
    ]
    rows = [
        (parts.day(review.reviewed_at), text(review.kind), parts.foreign(review.by), parts.foreign(review.what))
        for review in origin.reviews
    ]
    head = tuple(text(name) for name in ("Reviewed", "Kind", "By", "What"))
    reviews = table(head, rows, caption="Reviews") if rows else parts.says("No review is recorded.")
    return join((parts.fact_list(facts), reviews))


def _cases(catalogue: Catalogue, corpus: CorpusView) -> Html:
    if not corpus.shows_cases:
        count = parts.plural(len(corpus.snapshot.corpus.cases), "case")
        return parts.note(f"{count}. {parts.withheld_words(corpus.snapshot.corpus.data_class)}", title="Withheld.")
    rows = []
    for case, is_current in catalogue.cases_of(corpus).values():
        flag = join((text(" "), parts.critical())) if isinstance(case, BinaryCase) and case.critical else EMPTY
        gone = EMPTY if is_current else parts.para(parts.quiet("no longer part of the corpus"), css="es-sub")
        title = parts.foreign(case.title) if corpus.shows_text else parts.quiet("withheld")
        rows.append(
            (
                join((link(relative(corpus.case_path(case.id), corpus.path), parts.foreign(case.id)), flag, gone)),
                title,
                parts.tags(case.tags) if corpus.shows_text else EMPTY,
                _latest(corpus, case),
            )
        )
    head = tuple(text(name) for name in ("Case", "Title", "Tags", "Newest closed run"))
    return table(head, rows, caption="Cases")


def _latest(corpus: CorpusView, case: Case) -> Html:
    found = [view for view in corpus.runs if case.id in view.planned]
    view = next((view for view in found if view.run.sealed), found[0] if found else None)
    return parts.outcomes(view, case.id) if view else parts.quiet("never run")


_PROBES = {
    Probe.KNOWN: "a plain example",
    Probe.REACH: "what decides stands in a long text, at its",
    Probe.INJECTION: "the text asks for a score",
    Probe.PHANTOM: "the text rests on evidence that is not there",
}


def _controls(corpus: CorpusView) -> Html:
    """Return the examples of known classification that the judge is tried with before the cases."""
    if corpus.snapshot.corpus.protocol is Protocol.BINARY:
        return parts.says(
            "Each case has two, its reference and its counter-example: they stand on the page of the case."
        )
    found = controls_of(corpus.snapshot.corpus)
    if not found:
        return parts.says("None: a judge over this corpus is tried by labels alone.")
    if not corpus.shows_text:
        count = parts.plural(len(found), "control")
        return parts.note(f"{count}. {parts.withheld_words(corpus.snapshot.corpus.data_class)}", title="Withheld.")
    rows = [
        (
            join((parts.foreign(control.id), parts.para(parts.foreign(control.title), css="es-sub"))),
            text("a high score" if control.polarity is Polarity.POSITIVE else "a low score"),
            text(f"{_PROBES[control.probe]} {control.place.value if control.place else ''}".rstrip()),
        )
        for control in found
    ]
    head = tuple(text(name) for name in ("Control", "Expected", "What it tries"))
    words = "Normative choices of the corpus's authors. One that the judge gets wrong is named and refuses its gates."
    shown = (join((el("h3", parts.foreign(control.id)), control_text(control))) for control in found)
    texts = parts.fold("What the judge is shown with each of them", *shown)
    return join((table(head, rows, caption="Controls"), parts.says(words, css="es-quiet"), texts))


def _labels(corpus: CorpusView) -> Html:
    sets = corpus.snapshot.label_sets
    if not sets:
        return parts.says("None came with this corpus. Labels that people committed stand on the pages of runs.")
    rows = [
        (
            parts.foreign(labels.name),
            parts.foreign(f"{labels.construct_name} {labels.construct_version}"),
            text(LABEL_LEVELS[labels.level]),
            parts.foreign(labels.annotator),
            num(parts.number(len(labels.labels))),
            text("yes" if labels.independently_reviewed_by_humans else "no"),
        )
        for labels in sets
    ]
    head = tuple(
        text(name) for name in ("Label set", "Construct", "Level", "Annotator", "Labels", "Independent human review")
    )
    return table(head, rows, caption="Label sets")


def _instructions(corpus: CorpusView) -> Html:
    if not corpus.shows_text:
        return parts.note(parts.withheld_words(corpus.snapshot.corpus.data_class), title="Withheld.")
    given = corpus.snapshot.corpus.instructions
    pieces = [parts.fold("Judge\u2019s instructions", parts.prose(given.judge))]
    if given.candidate is not None:
        pieces.insert(0, parts.fold("Candidate\u2019s instructions", parts.prose(given.candidate)))
    pieces.extend(card_box(card) for card in cards_of(corpus))
    return join(pieces)
