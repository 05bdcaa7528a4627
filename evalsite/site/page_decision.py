# SPDX-License-Identifier: Apache-2.0
"""One decision record: what machines read of it, its text as written, what is odd about it."""

from collections.abc import Iterator

from evalsite.decisions.links import computed_superseded_by
from evalsite.decisions.markdown import to_html
from evalsite.decisions.record import DecisionRecord
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, join, link, table
from evalsite.site.marks import pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_decisions import decision_address, status_pill


def decision_pages(catalogue: Catalogue) -> Iterator[Page]:
    """Return a page per file of the decision folder."""
    superseders = computed_superseded_by(catalogue.given.decisions)
    by_slug = {record.slug: record for record in catalogue.given.decisions}
    by_name = {record.path.rsplit("/", 1)[-1]: record for record in catalogue.given.decisions}
    for record in catalogue.given.decisions:
        later = [by_slug[slug] for slug in superseders.get(record.slug, ()) if slug in by_slug]
        yield _page(catalogue, record, later, by_name)


def _page(
    catalogue: Catalogue, record: DecisionRecord, later: list[DecisionRecord], by_name: dict[str, DecisionRecord]
) -> Page:
    path = decision_address(record)

    def resolve(href: str) -> str | None:
        if href.startswith(("http://", "https://")):
            return href
        name, _, _ = href.partition("#")
        target = by_name.get(name.removeprefix("./"))
        return relative(decision_address(target), path) if target else None

    def body() -> Body:
        as_of = catalogue.given.as_of
        lead = join(
            (
                parts.para(status_pill(record, as_of), text(" "), parts.code(record.id), css="es-meta"),
                parts.how_to_read(
                    "What machines read of this record first, then its text as it was written, then what is odd "
                    "about it."
                ),
            )
        )
        pieces = []
        for part in record.parts:
            if part.heading:
                pieces.append(el(f"h{min(max(part.level + 1, 3), 6)}", text(part.heading)))
            # The record's own reader escapes first and adds markup alone: see `evalsite.decisions.markdown`.
            pieces.append(Html(to_html(part.text, resolve=resolve)))
        return Body(
            crumbs=parts.crumbs(path, (Kind.DECISIONS.address, "Decisions"), (path, record.id)),
            heading=parts.foreign(record.title),
            lead=lead,
            sections=(
                _facts(catalogue, record, later, path),
                el("div", *pieces, class_="es-record-text"),
                _findings(record),
            ),
        )

    return Page(kind=Kind.DECISION, path=path, title=record.title, body=body, sources=(record.digest or record.path,))


def _facts(catalogue: Catalogue, record: DecisionRecord, later: list[DecisionRecord], page: str) -> Html:
    status = record.status
    stated = parts.foreign(status.raw) if status.raw else parts.quiet("nothing")
    facts = [
        ("File", parts.code(record.path)),
        ("What it is", text(record.state.value)),
        ("Status as written", join((stated, text(f" (in {status.source})" if status.source else "")))),
        ("Signature", text(record.signature_state)),
        (
            "Dates",
            parts.listed(
                join(
                    (
                        text(f"{item.role}: "),
                        parts.foreign(item.value or item.raw),
                        text(" ambiguous" if item.ambiguous else ""),
                    )
                )
                for item in record.dates
            )
            if record.dates
            else parts.quiet("none"),
        ),
        (
            "Superseded by",
            parts.listed(link(relative(decision_address(item), page), parts.foreign(item.id)) for item in later)
            if later
            else parts.quiet("no accepted record"),
        ),
        ("Digest of the file", parts.full_digest(record.digest)),
    ]
    facts.extend(
        (role.capitalize(), parts.listed(parts.foreign(name) for name in names))
        for role, names in record.people.items()
    )
    return join((parts.fact_list(facts), _qualification(catalogue, record, page)))


def _qualification(catalogue: Catalogue, record: DecisionRecord, page: str) -> Html:
    block = record.qualification
    if block is None:
        if any(finding.code == "qualification-block" for finding in record.findings):
            return parts.note(
                "It has an evalsite block that can't be read: nothing is known of a qualification. See the findings.",
                title="Not readable.",
            )
        return parts.says("This record decides no qualification.")
    view = next((view for view in catalogue.runs if view.run_id == block.run), None)
    run = (
        join((link(relative(view.path, page), parts.foreign(block.run)), text(" "), pill(view.state)))
        if view
        else join((parts.foreign(block.run), text(" "), parts.quiet("not among the verified runs")))
    )
    facts = [
        ("Outcome as written", parts.code(block.outcome.value)),
        ("Run", run),
        ("Profile", parts.foreign(block.profile)),
        ("Review by", parts.day(block.review_by) if block.review_by else parts.quiet("not stated")),
        ("Expires", parts.day(block.expires) if block.expires else parts.quiet("not stated")),
    ]
    pieces = [el("h3", text("Qualification")), parts.fact_list(facts)]
    if view is not None and block.outcome.value.startswith("approved") and view.state is not marks.QUALIFIED:
        pieces.append(
            parts.note(
                f"The record approves a run whose verdict is: {view.state.label.lower()}.", title="Contradiction."
            )
        )
    rows = [
        (parts.code(item.id), text("reservation"), text(item.state), parts.foreign(item.text), EMPTY)
        for item in block.reservations
    ]
    rows += [
        (
            parts.code(item.id),
            text("condition"),
            text(item.state),
            parts.foreign(item.text),
            join((parts.foreign(item.owner), text(", due "), parts.day(item.due))),
        )
        for item in block.conditions
    ]
    if rows:
        head = tuple(text(name) for name in ("Id", "Kind", "State", "Text", "Owner, due"))
        pieces.append(table(head, rows, caption="Conditions and reservations"))
    return join(pieces)


def _findings(record: DecisionRecord) -> Html:
    if not record.findings:
        return parts.says("Nothing odd was found in this file.")
    rows = [
        (parts.code(item.at), text(item.severity.value), parts.code(item.code), parts.foreign(item.message))
        for item in record.findings
    ]
    head = tuple(text(name) for name in ("Place", "Severity", "Code", "Finding"))
    return table(head, rows, caption="Findings")
