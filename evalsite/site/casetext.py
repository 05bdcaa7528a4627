# SPDX-License-Identifier: Apache-2.0
"""What a case says: input, expectations, evidence, cards. Shared by corpus, case and run pages."""

from collections.abc import Iterator, Sequence

from evalsite.schema.codechecks import CodeCheck, ExactCheck, JsonCheck, NumberCheck, PatternCheck
from evalsite.schema.corpus import (
    BinaryCase,
    Card,
    Case,
    ContextItem,
    Control,
    EvidenceCase,
    EvidenceControl,
    GradedCase,
    GradedCorpus,
    PairwiseCase,
)
from evalsite.schema.replies import CandidateAnswer
from evalsite.site import parts
from evalsite.site.catalogue import CorpusView
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, join, table
from evalsite.site.views import RunView


def case_section(case: Case, cards: Sequence[Card]) -> Html:
    """Return the whole text of a case.

    Args:
        case: The case.
        cards: The cards of its corpus (graded protocol).
    """
    if isinstance(case, BinaryCase):
        return _binary(case)
    if isinstance(case, EvidenceCase):
        return _evidence(case)
    if isinstance(case, PairwiseCase):
        return _pair(case)
    return _graded(case, cards)


def cards_of(view: RunView | CorpusView) -> tuple[Card, ...]:
    """Return the cards of a corpus; none where the protocol has none."""
    snapshot = view.run.snapshot if isinstance(view, RunView) else view.snapshot
    return snapshot.corpus.cards if isinstance(snapshot.corpus, GradedCorpus) else ()


def _boxed(title: str, body: Html, css: str = "") -> Html:
    return el("div", el("h3", text(title)), body, class_=f"es-box {css}".strip())


def _binary(case: BinaryCase) -> Html:
    expected = f"{case.expected_action.value}, with the refused flag {'true' if case.must_refuse else 'false'}"
    pieces = [
        _boxed(
            "What the candidate was given, and nothing else",
            join((parts.prose(case.input.message), _context(case.input.context))),
        ),
        el(
            "div",
            _boxed("Required", parts.prose(case.required_behavior), "es-required"),
            _boxed("Forbidden", parts.prose(case.forbidden_behavior), "es-forbidden"),
            class_="es-two",
        ),
        parts.para(
            el("strong", text("Expected action: ")),
            text(expected),
            text(". "),
            parts.critical() if case.critical else parts.quiet("not critical"),
            text(" "),
            parts.tags(case.tags),
        ),
    ]
    pieces.extend(_checks(case))
    if case.must_refuse:
        pieces.append(
            parts.note(
                (
                    "Passed on this case means that the answer refused correctly. It doesn't mean that the request "
                    "is permitted."
                ),
                title="A request to be refused.",
            )
        )
    if case.caveat:
        pieces.append(el("div", el("p", el("strong", text("Caveat. ")), parts.foreign(case.caveat)), class_="es-note"))
    return join(pieces)


def _checks(case: BinaryCase) -> Iterator[Html]:
    """Yield what code decides about the answer's text, beside the judge, who is told nothing of it (R47)."""
    if not case.checks:
        return
    rows = [(parts.code(check.name), text(check.kind), parts.foreign(check_words(check))) for check in case.checks]
    head = tuple(text(name) for name in ("Check by code", "Kind", "The answer must"))
    yield table(head, rows, caption="Checks by code")


def check_words(check: CodeCheck) -> str:
    """Return what a check by code asks of an answer."""
    if isinstance(check, ExactCheck):
        return f"be exactly one of: {' | '.join(check.expected)}"
    if isinstance(check, PatternCheck):
        case = ", in upper or lower case" if check.ignore_case else ""
        return f"{'hold' if check.found else 'not hold'} the pattern {check.pattern}{case}"
    if isinstance(check, NumberCheck):
        return f"give one number, {check.expected} within {check.tolerance}"
    if isinstance(check, JsonCheck):
        fields = ", ".join(f"{field.path} = {field.expected!r}" for field in check.fields)
        return f"be JSON with {fields}"
    return f"list exactly, in any order: {check.separator.join(check.expected)}"


def control_text(control: Control) -> Html:
    """Return a control that belongs to no case, as the judge is shown it."""
    if isinstance(control, EvidenceControl):
        shown = parts.fold("Evidence that the judge is shown", evidence_items(control.evidence, ()))
        return join((shown, _boxed("Explanation to be judged", parts.prose(control.explanation))))
    cards = parts.para(text("Cards that the judge is shown: "), parts.listed(map(parts.foreign, control.cards)))
    return join((cards, _boxed("Answer to be graded", parts.prose(control.answer))))


def _context(items: Sequence[ContextItem]) -> Html:
    if not items:
        return EMPTY
    return join(
        el("div", el("h4", text("Supplied context: "), parts.foreign(item.title)), parts.prose(item.text))
        for item in items
    )


def _evidence(case: EvidenceCase) -> Html:
    return join(
        (
            _boxed("Evidence, as the judge was given it", evidence_items(case.evidence, ())),
            _boxed("Explanation to be judged", parts.prose(case.explanation)),
            parts.para(parts.tags(case.tags)),
        )
    )


def evidence_items(evidence: Sequence[str], cited: Sequence[int]) -> Html:
    """Return the evidence items by index; the cited ones are marked in words (R106)."""
    if not evidence:
        return parts.para(parts.quiet("no evidence item"))
    items = []
    for index, item in enumerate(evidence):
        mark = el("span", text("cited"), class_="es-tag es-cited") if index in cited else EMPTY
        items.append(el("li", el("span", text(f"[{index}] "), mark, class_="es-index"), parts.prose(item)))
    return el("ol", *items, class_="es-evidence")


def _pair(case: PairwiseCase) -> Html:
    answers = (_boxed("Answer a", parts.prose(case.answer_a)), _boxed("Answer b", parts.prose(case.answer_b)))
    return join(
        (
            _boxed("Question", parts.prose(case.question)),
            el("div", *answers, class_="es-two"),
            parts.para(parts.tags(case.tags)),
        )
    )


def _graded(case: GradedCase, cards: Sequence[Card]) -> Html:
    by_id = {card.id: card for card in cards}
    pieces = [
        _boxed("Question", parts.prose(case.question)),
        _boxed("Answer to be graded", parts.prose(case.answer)),
    ]
    for card_id in case.cards:
        card = by_id.get(card_id)
        if card is None:
            pieces.append(parts.para(text("Card "), parts.foreign(card_id), text(" is not part of the corpus.")))
            continue
        pieces.append(card_box(card))
    pieces.append(parts.para(parts.tags(case.tags)))
    return join(pieces)


def card_box(card: Card) -> Html:
    """Return a knowledge card: facts in the head, rules in the tail."""
    return el(
        "div",
        el("h3", text("Card "), parts.foreign(card.id), text(": "), parts.foreign(card.title)),
        el("h4", text("Facts (head)")),
        parts.prose(card.head),
        el("h4", text("Rules (tail)")),
        parts.prose(card.tail),
        parts.para(
            text("Domain: "), parts.foreign(card.domain), text(". Source: "), parts.foreign(card.source), css="es-quiet"
        ),
        class_="es-box",
    )


def answer_box(title: str, answer: CandidateAnswer, css: str = "") -> Html:
    """Return a control as its author wrote it."""
    flags = f"{answer.action.value}, {'refused' if answer.refused else 'not refused'}"
    return _boxed(title, join((parts.para(text(flags), css="es-quiet"), parts.prose(answer.response))), css)
