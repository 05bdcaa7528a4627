# SPDX-License-Identifier: Apache-2.0
"""Corpora and their cases over all runs."""

from collections.abc import Iterator

from evalsite.schema.corpus import BinaryCase, Case, DataClass
from evalsite.schema.outcome import Protocol
from evalsite.site import parts
from evalsite.site.casetext import answer_box, card_box, cards_of, case_section
from evalsite.site.catalogue import Catalogue, CorpusView
from evalsite.site.escape import Html, raw_block, text
from evalsite.site.html import EMPTY, bullets, el, join, link, num, table
from evalsite.site.marks import icon
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_calibration import _LEVELS
from evalsite.site.page_runs import run_table
from evalsite.site.views import RunView

_PROTOCOLS = {
    Protocol.BINARY: "binary: two booleans per answer",
    Protocol.EVIDENCE: "evidence: 0, 1 or null with citations",
    Protocol.GRADED: "graded: 0 to 100 per dimension, or null",
}


def corpora_page(catalogue: Catalogue) -> Page:
    """Return the list of corpora."""
    path = Kind.CORPORA.address

    def body() -> Body:
        rows = [_corpus_row(corpus, path) for corpus in catalogue.corpora]
        head = tuple(text(name) for name in ("Corpus", "Protocol", "Language", "Cases", "Runs", "Human validation"))
        shown = table(head, rows, caption="Corpora") if rows else parts.says("The project has no corpus.")
        reading = parts.says(
            "A corpus holds what is asked and what is expected. Its references and counter-examples are normative choices "
            "of its authors: neither observed outputs nor truth that people annotated independently. Every run keeps the "
            "corpus as it was, so that a later change of a corpus changes no earlier run."
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
        join((link(relative(corpus.path, page), parts.foreign(about.name)), parts.para(parts.foreign(about.title), css="es-sub"), kept)),
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
            EMPTY if corpus.is_current else parts.note("This corpus is shown as the newest run over it kept it.", title="Not in the project now."),
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
    reviewed = "; ".join(f"{review.kind} review on {review.reviewed_at} by {review.by}" for review in reviews) or "no review beyond the authors' own"
    said = (
        f"References and counter-examples are normative choices of a {about.data_class.value} corpus ({reviewed}). They are "
        "neither observed outputs nor independent human annotation. "
        f"Independent human validation is {about.provenance.independent_human_validation}. "
        "A passed test or a correct translation lifts neither this reservation nor a refused qualification."
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
        return parts.note(f"{count}. {withheld(corpus.snapshot.corpus.data_class)}", title="Withheld.")
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
    head = tuple(text(name) for name in ("Case", "Title", "Tags", "Newest run"))
    return table(head, rows, caption="Cases")


def withheld(data_class: DataClass) -> str:
    """Return why texts of a corpus aren't published."""
    return parts.withheld_words(data_class)


def _latest(corpus: CorpusView, case: Case) -> Html:
    view = next((view for view in corpus.runs if case.id in view.planned), None)
    return _outcomes(view, case.id) if view else parts.quiet("never run")


def _outcomes(view: RunView, case_id: str) -> Html:
    cells = []
    for trial, record in view.trials_of(case_id):
        mark = view.mark_of(record)
        dimension = f"{trial.dimension.value} " if trial.dimension else ""
        cells.append(el("span", icon(mark), text(f"{dimension}#{trial.repetition} {mark.label}"), class_="es-cell"))
    return join(cells)


def _labels(corpus: CorpusView) -> Html:
    sets = corpus.snapshot.label_sets
    if not sets:
        words = "The controls of each case stand on its page." if corpus.snapshot.corpus.protocol is Protocol.BINARY else "None."
        return parts.says(words)
    rows = [
        (
            parts.foreign(labels.name),
            parts.foreign(f"{labels.construct_name} {labels.construct_version}"),
            text(_LEVELS[labels.level]),
            parts.foreign(labels.annotator),
            num(parts.number(len(labels.labels))),
            text("yes" if labels.independently_reviewed_by_humans else "no"),
        )
        for labels in sets
    ]
    head = tuple(text(name) for name in ("Label set", "Construct", "Level", "Annotator", "Labels", "Independent human review"))
    return table(head, rows, caption="Label sets")


def _instructions(corpus: CorpusView) -> Html:
    if not corpus.shows_text:
        return parts.note(withheld(corpus.snapshot.corpus.data_class), title="Withheld.")
    given = corpus.snapshot.corpus.instructions
    pieces = [raw_block(given.judge, label="Judge’s instructions, as the corpus states them")]
    if given.candidate is not None:
        pieces.insert(0, raw_block(given.candidate, label="Candidate’s instructions, as the corpus states them"))
    pieces.extend(card_box(card) for card in cards_of(corpus))
    return join(pieces)


def case_pages(catalogue: Catalogue, corpus: CorpusView) -> Iterator[Page]:
    """Return a page per case of a corpus, over all runs; none where even ids are withheld."""
    if not corpus.shows_cases:
        return
    for case, is_current in catalogue.cases_of(corpus).values():
        yield _case_page(corpus, case, is_current=is_current)


def _case_page(corpus: CorpusView, case: Case, *, is_current: bool) -> Page:
    path = corpus.case_path(case.id)

    def body() -> Body:
        title = parts.foreign(case.title) if corpus.shows_text else parts.quiet("title withheld")
        gone = EMPTY if is_current else parts.note("It is shown as the newest run over it kept it.", title="No longer part of the corpus.")
        lead = join(
            (
                parts.para(title, css="es-title"),
                gone,
                parts.how_to_read("One case over all runs: read the history from below to see when an outcome changed."),
            )
        )
        shown = _case_text(corpus, case) if corpus.shows_text else parts.note(withheld(corpus.snapshot.corpus.data_class), title="Withheld.")
        return Body(
            crumbs=parts.crumbs(path, (Kind.CORPORA.address, "Corpora"), (corpus.path, corpus.name), (path, case.id)),
            heading=parts.foreign(case.id),
            lead=lead,
            sections=(shown, _history(corpus, case, path), _case_caveats(corpus, case)),
        )

    runs = tuple(view.run_id for view in corpus.runs if case.id in view.planned)
    return Page(kind=Kind.CASE, path=path, title=f"Case {case.id}", body=body, sources=runs)


def _case_text(corpus: CorpusView, case: Case) -> Html:
    shown = case_section(case, cards_of(corpus))
    if not isinstance(case, BinaryCase):
        return shown
    controls = el(
        "div",
        answer_box("Positive reference, by the authors", case.positive_reference, "es-required"),
        answer_box("Negative counter-example, by the authors", case.negative_counterexample, "es-forbidden"),
        class_="es-two",
    )
    return join((shown, controls))


def _history(corpus: CorpusView, case: Case, page: str) -> Html:
    rows, before = [], ""
    for view in reversed(corpus.runs):  # oldest first, to tell when the text of the case changed
        if case.id not in view.planned:
            continue
        fingerprint = view.planned[case.id].fingerprint
        changed = bool(before) and fingerprint != before
        before = fingerprint
        rows.append(
            (
                join((link(relative(view.path, page), parts.foreign(view.run_id)), parts.para(parts.when(view.run.opened_at), css="es-sub"))),
                text(view.mode_words),
                join((link(relative(view.case_path(case.id), page), text("answers")), text(" "))),
                _outcomes(view, case.id),
                el("span", text("text changed"), class_="es-tag") if changed else EMPTY,
            )
        )
    if not rows:
        return parts.says("This case was never run.")
    head = tuple(text(name) for name in ("Run", "Mode", "Detail", "Each repetition", "Case"))
    words = (
        "Newest first. Outcomes are comparable only where corpus, prompts and configuration are the same; where the text of "
        "the case changed, the series breaks. No regression never turns a refused run into a qualified one."
    )
    return join((table(head, reversed(rows), caption="History of this case"), parts.says(words, css="es-quiet")))


def _case_caveats(corpus: CorpusView, case: Case) -> Html:
    items = [
        text("What is expected here is a normative choice of the corpus's authors, not an observed output."),
        text("One case and a few repetitions show neither determinism nor statistical robustness."),
    ]
    if isinstance(case, BinaryCase) and case.caveat and corpus.shows_text:
        items.insert(0, parts.foreign(case.caveat))
    return bullets(items)
