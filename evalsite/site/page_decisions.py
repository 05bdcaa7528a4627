# SPDX-License-Identifier: Apache-2.0
"""Decision records: the register, and one page per file of the decision folder.

A status that is absent, unknown or contradictory is shown as such and never as accepted; "accepted"
in a text is that text's claim until it is signed.
"""

from evalsite.decisions.links import check_decisions
from evalsite.decisions.qualification import Condition, Reservation
from evalsite.decisions.record import DecisionRecord, FileState, StatusNorm, effective_status
from evalsite.schema.base import Finding
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, table
from evalsite.site.marks import Mark, Tone, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import file_slug, relative

_TONES = {
    StatusNorm.ACCEPTED: marks.HOLDS,
    StatusNorm.CONDITIONAL: marks.UNDECIDED,
    StatusNorm.PROPOSED: marks.UNDECIDED,
    StatusNorm.DRAFT: marks.UNDECIDED,
    StatusNorm.REJECTED: marks.REFUSED,
    StatusNorm.CONTRADICTORY: marks.REFUSED,
    StatusNorm.EXPIRED: marks.REFUSED,
}
# "Accepted in text" carries no green: nobody signed it.
_ACCEPTED_IN_TEXT = Mark("Accepted in text", Tone.CALM, marks.NO_GATE.shape, "A claim of the text; nobody signed it.")


def decision_address(record: DecisionRecord) -> str:
    """Return the address of the page of a decision record."""
    return f"decisions/{file_slug(record.path.rsplit('/', 1)[-1])}.html"


def status_pill(record: DecisionRecord, as_of: str) -> Html:
    """Return the status of a record on a day."""
    norm = effective_status(record, as_of=as_of[:10])
    if norm is StatusNorm.ACCEPTED:
        return pill(_ACCEPTED_IN_TEXT, record.status_label)
    label = record.status_label if norm is record.status.norm else norm.value
    return pill(_TONES.get(norm, marks.NO_GATE), label)


def decisions_page(catalogue: Catalogue) -> Page:
    """Return the register of decisions."""
    path = Kind.DECISIONS.address
    records = catalogue.given.decisions

    def body() -> Body:
        as_of = catalogue.given.as_of
        lead = join(
            (
                parts.how_to_read(
                    "Who decided what, on which evidence, under which conditions. “Accepted” in a text is a claim of "
                    "that text: an approval is a signature over its bytes."
                ),
                parts.para(
                    text("Statuses as of "), parts.day(as_of), text(". After that day, look again."), css="es-quiet"
                ),
            )
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Decisions"),
            lead=lead,
            sections=(_register(records, as_of, path), _open_items(catalogue, path), _reading()),
        )

    return Page(
        kind=Kind.DECISIONS, path=path, title="Decisions", body=body, sources=tuple(item.path for item in records)
    )


def _register(records: tuple[DecisionRecord, ...], as_of: str, page: str) -> Html:
    if not records:
        return parts.says("No decision is recorded in docs/decisions.")
    rows = []
    for record in records:
        name = parts.code(record.id)
        about = link(relative(decision_address(record), page), parts.foreign(record.title))
        if record.state is not FileState.RECORD:
            rows.append((name, about, parts.quiet(record.state.value), EMPTY, EMPTY, _count(record.findings)))
            continue
        block = record.qualification
        outcome = parts.code(block.outcome.value) if block else parts.quiet("no qualification")
        rows.append(
            (
                name,
                about,
                status_pill(record, as_of),
                parts.day(record.date) if record.date else parts.quiet("no clear date"),
                outcome,
                _count(record.findings),
            )
        )
    head = tuple(text(name) for name in ("Id", "Title", "Status", "Date", "Qualification", "Findings"))
    return table(head, rows, caption="Decision records")


def _count(findings: tuple[Finding, ...]) -> Html:
    return text(str(len(findings))) if findings else parts.quiet("none")


def _open_items(catalogue: Catalogue, page: str) -> Html:
    items: list[Html] = []
    for record in catalogue.given.decisions:
        block = record.qualification
        if block is None:
            continue
        at = relative(decision_address(record), page)
        items.extend(_reservation(item, at, record) for item in block.reservations if item.state == "open")
        as_of = catalogue.given.as_of[:10]
        items.extend(_condition(item, at, record, as_of) for item in block.conditions if item.state == "open")
    findings = check_decisions(catalogue.given.decisions)
    items.extend(
        join((text("Finding: "), parts.foreign(item.message), text(" at "), parts.code(item.at))) for item in findings
    )
    return bullets(items) if items else parts.says("No open condition, reservation or finding.")


def _reservation(item: Reservation, at: str, record: DecisionRecord) -> Html:
    head = (text("Reservation "), parts.code(item.id), text(": "), parts.foreign(item.text))
    return join((*head, text(" \u00b7 "), link(at, parts.foreign(record.id))))


def _condition(item: Condition, at: str, record: DecisionRecord, as_of: str) -> Html:
    late = join((text(" "), el("span", text("overdue"), class_="es-tag es-critical"))) if item.due < as_of else EMPTY
    head = (text("Condition "), parts.code(item.id), text(": "), parts.foreign(item.text), text(" \u00b7 due "))
    tail = (parts.day(item.due), late, text(", "), parts.foreign(item.owner), text(" \u00b7 "))
    return join((*head, *tail, link(at, parts.foreign(record.id))))


def _reading() -> Html:
    return parts.says(
        "Every file of the folder is listed, also one that is no decision record. A status that is absent, unknown or "
        "contradictory is shown as that. A later record supersedes an earlier one; the earlier one stays as it was."
    )
