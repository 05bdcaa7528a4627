# SPDX-License-Identifier: Apache-2.0
"""The home page: what is qualified and what is not, since when, on whose evidence."""

from collections.abc import Iterator

from evalsite.decisions.record import FileState
from evalsite.schema.outcome import Mode
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.comparisons import beside, changed_line
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, table
from evalsite.site.levels import LEVEL_WORDS
from evalsite.site.marks import badge, legend, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.page_decisions import decision_address, status_pill
from evalsite.site.page_runs import run_table
from evalsite.site.profiles import ProfileState
from evalsite.site.verdicts import gate_reasons, trust_lines, verdict_sentence
from evalsite.site.views import RunView

_PATH = Kind.HOME.address
_LATEST = 5
_SHOWN_REASONS = 4


def home_page(catalogue: Catalogue) -> Page:
    """Return the home page."""
    return Page(
        kind=Kind.HOME,
        path=_PATH,
        title="Home",
        body=lambda: _body(catalogue),
        sources=tuple(view.run_id for view in catalogue.runs),
    )


def _body(catalogue: Catalogue) -> Body:
    return Body(
        crumbs=EMPTY,
        heading=EMPTY,
        lead=EMPTY,
        sections=(_states(catalogue), _evidence(catalogue), _latest(catalogue), _open_points(catalogue)),
    )


def _states(catalogue: Catalogue) -> Html:
    if not catalogue.profiles:
        return parts.note(
            "No run is recorded yet: nothing is qualified, nothing is refused. "
            "Run a campaign, and this page shows what it decided.",
            title="Nothing recorded.",
        )
    cards = el("div", *(_card(catalogue, state) for state in catalogue.profiles), class_="es-cards")
    used = tuple(mark for mark in marks.STATES if mark in {state.mark for state in catalogue.profiles})
    return join((_counts(catalogue), cards, el("details", el("summary", text("What these words mean")), legend(used))))


def _counts(catalogue: Catalogue) -> Html:
    tally = [(mark, sum(1 for state in catalogue.profiles if state.mark is mark)) for mark in marks.STATES]
    pills = [pill(mark, f"{count} {mark.label.lower()}") for mark, count in tally if count]
    total = el("span", text(f"{parts.plural(len(catalogue.profiles), 'profile')}:"), class_="es-quiet")
    return el("div", total, *pills, class_="es-tally")


def _card(catalogue: Catalogue, state: ProfileState) -> Html:
    view = state.deciding
    when = view.run.closed_at or view.run.opened_at
    children = [
        el(
            "div",
            badge(state.mark),
            el("span", parts.foreign(state.profile), class_="es-card-name"),
            class_="es-card-head",
        ),
        parts.para(text(_sentence(state)), css="es-card-says"),
        *_why(view),
        *_newer(state),
        el(
            "dl",
            *_fact("Since", parts.when(when)),
            *_fact("Corpus", parts.foreign(f"{view.plan.corpus.name} · {view.plan.corpus.version}")),
            *_fact("Judge", join(trust_lines(view, _PATH))),
            *_changed(catalogue, view),
            *_fact("Evidence", text(f"{view.run.level.value}: {LEVEL_WORDS[view.run.level].short}")),
            *_fact("Runs", text(str(state.runs))),
            *_fact("Decision", _decided(catalogue, view)),
            class_="es-card-facts",
        ),
        parts.para(link(view.path, text("See the run and every reason"), css="es-more")),
    ]
    return el("section", *children, class_=f"es-card {state.mark.tone.value}", aria_label=f"Profile {state.profile}")


def _changed(catalogue: Catalogue, view: RunView) -> Iterator[Html]:
    """Yield what changed since the run before, where there is one to compare with."""
    found = beside(catalogue, view)
    if found is not None:
        yield from _fact("What changed", changed_line(found, _PATH))


def _newer(state: ProfileState) -> Iterator[Html]:
    """Tell of a newer run that isn't closed: it decides nothing yet, and the older verdict stands."""
    if state.newer_open is not None:
        more = link(state.newer_open.path, parts.foreign(state.newer_open.run_id))
        yield parts.para(text("A newer run is open and decides nothing yet: "), more, text("."), css="es-quiet")


def _decided(catalogue: Catalogue, view: RunView) -> Html:
    """Return the decision records about a run: a gate is no approval, and an approval is no gate."""
    found = [
        record
        for record in catalogue.given.decisions
        if record.qualification is not None and record.qualification.run == view.run_id
    ]
    if not found:
        return parts.quiet("none recorded")
    as_of = catalogue.given.as_of
    return join(
        el("div", link(decision_address(record), parts.foreign(record.id)), text(" "), status_pill(record, as_of))
        for record in found
    )


def _fact(name: str, value: Html) -> tuple[Html, Html]:
    return el("dt", text(name)), el("dd", value)


def _sentence(state: ProfileState) -> str:
    view = state.deciding
    if state.mark is marks.FIXTURE_ONLY:
        return (
            "Only a deterministic stand-in answered: code and contracts were exercised. "
            "This says nothing about a model."
        )
    if state.mark is marks.NO_GATE:
        return "A run of this kind qualifies nothing: it observes the judge, or reads recorded replies again."
    if state.mark is marks.REFUSED and view.counts.passed < view.counts.planned:
        return (
            f"{view.counts.passed} of {view.counts.planned} trials passed. Every trial must pass, and every control: "
            "there is no threshold."
        )
    return verdict_sentence(view)


def _why(view: RunView) -> Iterator[Html]:
    found = [
        join((text(f"{_SIDES.get(reason.side, reason.side)}: {reason.message}"), _concerned(len(reason.trials))))
        for reason in view.run.decision.reasons
    ]
    found += gate_reasons(view)
    if not found:
        return
    items = found[:_SHOWN_REASONS]
    if len(found) > _SHOWN_REASONS:
        items.append(parts.quiet(f"and {len(found) - _SHOWN_REASONS} more reasons"))
    yield bullets(items, css="es-reasons-short")


_SIDES = {"candidate": "Candidate", "judge": "Judge", "campaign": "Campaign", "host": "Host"}


def _concerned(count: int) -> Html:
    return el("span", text(f" {parts.plural(count, 'trial')}"), class_="es-quiet") if count else EMPTY


def _evidence(catalogue: Catalogue) -> Html:
    if not catalogue.ledgers:
        return parts.says("There is no ledger yet.")
    rows = []
    for ledger in catalogue.ledgers:
        sealed = sum(1 for view in ledger.runs if view.run.sealed)
        broken = [view for view in ledger.runs if any(check.findings for check in view.run.checks)]
        rows.append(
            (
                parts.foreign(ledger.name),
                pill(marks.BROKEN) if broken else pill(marks.HOLDS, "Every check holds"),
                join((el("strong", text(ledger.level.value)), text(f" {LEVEL_WORDS[ledger.level].long}"))),
                text(f"{sealed} sealed, {len(ledger.runs) - sealed} open"),
                parts.digest(ledger.root_fingerprint),
            )
        )
    head = tuple(text(name) for name in ("Ledger", "State", "How strong the evidence is", "Runs", "Root key"))
    return join(
        (
            table(head, rows, caption="Ledgers and their evidence"),
            parts.para(
                text(
                    "Each record is tamper-evident under the key of its ledger, at the level told here, and no more. "
                    "Compare the root key with what its owner told you by another way. "
                ),
                link(Kind.VERIFY.address, text("Verify it yourself"), css="es-more"),
            ),
        )
    )


def _latest(catalogue: Catalogue) -> Html:
    if not catalogue.runs:
        return parts.says("No run is recorded yet.")
    more = parts.para(link(Kind.RUNS.address, text(f"All {parts.plural(len(catalogue.runs), 'run')}"), css="es-more"))
    return join((run_table(catalogue.runs[:_LATEST], _PATH), more))


def _open_points(catalogue: Catalogue) -> Html:
    """Return what a reader must know before relying on anything: reservations stay until they are closed."""
    items = []
    unvalidated = [
        link(corpus.path, parts.foreign(corpus.name))
        for corpus in catalogue.corpora
        if corpus.snapshot.corpus.provenance.independent_human_validation == "open"
    ]
    if unvalidated:
        words = "Independent human validation is open: nobody outside the authors confirmed what these corpora expect. "
        items.append(join((text(words), parts.listed(unvalidated))))
    for record in catalogue.given.decisions:
        open_items = record.qualification.open_items() if record.qualification else ()
        if record.state is FileState.RECORD and open_items:
            count = parts.plural(len(open_items), "open condition or reservation", "open conditions or reservations")
            items.append(
                join((text(f"{count} in "), link(decision_address(record), parts.foreign(record.title)), text(".")))
            )
    if any(view.plan.mode is Mode.LIVE and view.state is marks.QUALIFIED for view in catalogue.runs):
        items.append(
            text("A passed gate is no approval: who approved what, and on which conditions, stands in the decisions.")
        )
    if not items:
        return parts.says("No open point is recorded.")
    return bullets(items)
