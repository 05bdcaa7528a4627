# SPDX-License-Identifier: Apache-2.0
"""One case over all runs: its text, and how its outcome changed."""

from collections.abc import Iterator

from evalsite.schema.corpus import BinaryCase, Case
from evalsite.schema.outcome import Protocol
from evalsite.site import parts
from evalsite.site.casetext import answer_box, cards_of, case_section
from evalsite.site.catalogue import Catalogue, CorpusView
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, table
from evalsite.site.marks import icon
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.views import RunView


def case_pages(catalogue: Catalogue, corpus: CorpusView) -> Iterator[Page]:
    """Return a page per case of a corpus, over all runs; none where even ids are withheld."""
    if not corpus.shows_cases:
        return
    for case, is_current in catalogue.cases_of(corpus).values():
        yield _case_page(catalogue, corpus, case, is_current=is_current)


def _case_page(catalogue: Catalogue, corpus: CorpusView, case: Case, *, is_current: bool) -> Page:
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
            sections=(shown, _history(catalogue, corpus, case, path), _case_caveats(corpus, case)),
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


def _history(catalogue: Catalogue, corpus: CorpusView, case: Case, page: str) -> Html:
    rows: list[tuple[Html, ...]] = []
    before: RunView | None = None
    for view in reversed(corpus.runs):  # oldest first, to tell when the text of the case changed
        if case.id not in view.planned:
            continue
        rows.append(
            (
                join(
                    (
                        link(relative(view.path, page), parts.foreign(view.run_id)),
                        parts.para(parts.when(view.run.opened_at), css="es-sub"),
                    )
                ),
                text(view.mode_words if view.plan.answers is None else "judged again"),
                join((parts.outcomes(view, case.id), parts.para(_answers(view, case.id, page), css="es-sub"))),
                _flips(catalogue, view, case.id, page),
                _text_changed(view, before, case.id),
            )
        )
        before = view
    if not rows:
        return parts.says("This case was never run.")
    head = tuple(text(name) for name in ("Run", "Mode", "Each repetition", "Flips", "Text of the case"))
    words = (
        "Newest first. Flips are told against the run that each can be compared with: where corpus, prompts and "
        "configuration differ in more than one thing, and where the text of the case changed, the series breaks. No "
        "regression never turns a refused run into a qualified one."
    )
    return join((table(head, reversed(rows), caption="History of this case"), parts.says(words, css="es-quiet")))


def _answers(view: RunView, case_id: str, page: str) -> Html:
    asked = "what was said" if view.plan.candidate is None else "the answers"
    return link(relative(view.case_path(case_id), page), text(asked))


def _text_changed(view: RunView, before: RunView | None, case_id: str) -> Html:
    if before is None:
        return parts.quiet("first run")
    if view.planned[case_id].fingerprint == before.planned[case_id].fingerprint:
        return parts.quiet("unchanged")
    return el("span", text("changed"), class_="es-tag")


def _flips(catalogue: Catalogue, view: RunView, case_id: str, page: str) -> Html:
    """Return which repetitions have another outcome than in the run that this one can be compared with."""
    previous = catalogue.previous(view)
    if previous is None:
        return parts.quiet("nothing to compare with")
    graded = view.plan.protocol is Protocol.GRADED  # grades are compared by bins, which the comparison shows
    if graded or case_id not in previous.planned or previous.plan.repetitions != view.plan.repetitions:
        return link(relative(view.comparison_path, page), text("see the comparison"))
    pairs = zip(view.trials_of(case_id), previous.trials_of(case_id), strict=True)
    marked = [(trial, previous.mark_of(old), view.mark_of(new)) for (trial, new), (_, old) in pairs]
    flipped = [(trial, old, new) for trial, old, new in marked if old is not new]
    if not flipped:
        return parts.quiet("none")
    said = join(
        el("div", icon(new), text(f" {parts.aspect(trial)}#{trial.repetition} before: {old.label}"))
        for trial, old, new in flipped
    )
    since = join((text("since "), parts.foreign(previous.run_id)))
    return join((said, link(relative(view.comparison_path, page), since)))


def _case_caveats(corpus: CorpusView, case: Case) -> Html:
    items = [
        text("What is expected here is a normative choice of the corpus's authors, not an observed output."),
        text("One case and a few repetitions show neither determinism nor statistical robustness."),
    ]
    if isinstance(case, BinaryCase) and case.caveat and corpus.shows_text:
        items.insert(0, parts.foreign(case.caveat))
    return bullets(items)
