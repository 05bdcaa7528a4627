# SPDX-License-Identifier: Apache-2.0
"""One case over all runs: its text, and how its outcome changed."""

from collections.abc import Iterator

from evalsite.schema.corpus import BinaryCase, Case
from evalsite.site import parts
from evalsite.site.casetext import answer_box, cards_of, case_section
from evalsite.site.catalogue import Catalogue, CorpusView
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, table
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative


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
        gone = (
            EMPTY
            if is_current
            else parts.note("It is shown as the newest run over it kept it.", title="No longer part of the corpus.")
        )
        lead = join(
            (
                parts.para(title, css="es-title"),
                gone,
                parts.how_to_read(
                    "One case over all runs: read the history from below to see when an outcome changed."
                ),
            )
        )
        shown = (
            _case_text(corpus, case)
            if corpus.shows_text
            else parts.note(parts.withheld_words(corpus.snapshot.corpus.data_class), title="Withheld.")
        )
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
        if not before:
            said = parts.quiet("first run")
        else:
            said = parts.quiet("unchanged") if fingerprint == before else el("span", text("changed"), class_="es-tag")
        before = fingerprint
        rows.append(
            (
                join(
                    (
                        link(relative(view.path, page), parts.foreign(view.run_id)),
                        parts.para(parts.when(view.run.opened_at), css="es-sub"),
                    )
                ),
                text(view.mode_words),
                link(relative(view.case_path(case.id), page), text("answers")),
                parts.outcomes(view, case.id),
                said,
            )
        )
    if not rows:
        return parts.says("This case was never run.")
    head = tuple(text(name) for name in ("Run", "Mode", "Detail", "Each repetition", "Text of the case"))
    words = (
        "Newest first. Outcomes are comparable only where corpus, prompts and configuration are the same; where the "
        "text of the case changed, the series breaks. No regression never turns a refused run into a qualified one."
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
