# SPDX-License-Identifier: Apache-2.0
"""What is kept, by which rule, until when, and who may see it."""

from evalsite.retention.policy import FOREVER, Rule, Trigger, check_policy, due_date
from evalsite.site import parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, num, table
from evalsite.site.model import Body, Kind, Page, PolicyInForce

_UNITS = {"Y": "year", "M": "month", "W": "week", "D": "day"}


def retention_page(catalogue: Catalogue) -> Page:
    """Return the retention page."""
    path = Kind.RETENTION.address

    def body() -> Body:
        lead = join(
            (
                parts.how_to_read(
                    "What is kept, why and how long. This page states rules and what the tool did; it is no "
                    "statement of legal compliance."
                ),
                parts.para(text("As of "), parts.day(catalogue.given.as_of), text("."), css="es-quiet"),
            )
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Retention"),
            lead=lead,
            sections=(_kept(catalogue), _rules(catalogue), _holds(), _reading()),
        )

    return Page(
        kind=Kind.RETENTION,
        path=path,
        title="Retention",
        body=body,
        sources=tuple(item.loaded.digest for item in catalogue.given.policies),
    )


def _kept(catalogue: Catalogue) -> Html:
    by_corpus = {item.corpus: item.loaded for item in catalogue.given.policies}
    rows = []
    for corpus in catalogue.corpora:
        loaded = by_corpus.get(corpus.name)
        published = "texts are published" if corpus.shows_text else "texts are withheld here"
        rows.append(
            (
                parts.foreign(corpus.name),
                text(corpus.snapshot.corpus.data_class.value),
                text(loaded.policy.access.value) if loaded else parts.quiet("no policy"),
                num(parts.number(len(corpus.runs))),
                text(published),
            )
        )
    if not rows:
        return parts.says("No corpus and no run is recorded.")
    head = tuple(text(name) for name in ("Corpus", "Class of its texts", "Access", "Runs kept", "On this site"))
    return table(head, rows, caption="What is kept")


def _rules(catalogue: Catalogue) -> Html:
    if not catalogue.given.policies:
        return parts.says("No corpus states a policy. What has no rule is kept.")
    groups: dict[str, list[PolicyInForce]] = {}
    for item in catalogue.given.policies:
        groups.setdefault(item.loaded.digest, []).append(item)
    return join(_policy(catalogue, group) for group in groups.values())


def _policy(catalogue: Catalogue, group: list[PolicyInForce]) -> Html:
    """Return one policy; corpora whose files are equal byte for byte share it."""
    loaded = group[0].loaded
    policy = loaded.policy
    names = {item.corpus for item in group}
    closed = [view.run.closed_at for view in catalogue.runs if view.plan.corpus.name in names and view.run.closed_at]
    first = min(closed)[:10] if closed else None
    rows = [_rule_row(rule, first) for rule in policy.rules]
    head = tuple(
        text(name)
        for name in ("Rule", "Applies to", "Keep", "From", "Why, as its owner cites it", "Then", "First due day")
    )
    findings = check_policy(loaded)
    return join(
        (
            el("h3", parts.listed(parts.foreign(item.corpus) for item in group)),
            parts.fact_list(
                [
                    ("Owner", parts.foreign(policy.owner)),
                    ("In force since", parts.day(policy.effective)),
                    ("Files", parts.listed(parts.code(item.loaded.name) for item in group)),
                    ("Digest", parts.digest(loaded.digest)),
                ]
            ),
            table(head, rows, caption=f"Rules of {group[0].corpus}")
            if rows
            else parts.says("The policy has no rule: everything is kept."),
            bullets(parts.foreign(finding.message) for finding in findings) if findings else EMPTY,
        )
    )


def _rule_row(rule: Rule, first_finished: str | None) -> tuple[Html, ...]:
    bounds = [
        f"at least {_words(rule.floor)}" if rule.floor else "",
        f"at most {_words(rule.ceiling)}" if rule.ceiling else "",
    ]
    limits = ", ".join(item for item in bounds if item)
    started = first_finished if rule.trigger is Trigger.RUN_FINISHED else None
    due = due_date(rule, started)
    no_day = parts.quiet("never" if rule.keep == FOREVER else "not started")
    shown = parts.day(due) if due is not None else no_day
    return (
        parts.code(rule.id),
        text(", ".join(kind.value for kind in rule.applies_to)),
        join((text(_words(rule.keep)), parts.para(text(limits), css="es-sub") if limits else EMPTY)),
        text(rule.trigger.value if rule.on is None else f"{rule.trigger.value} {rule.on}"),
        join((text(f"{rule.basis.kind}: "), parts.foreign(rule.basis.cite))),
        text(rule.action),
        shown,
    )


def _words(duration: str) -> str:
    if duration == FOREVER:
        return FOREVER
    found, count = [], ""
    for mark in duration[1:]:
        if mark.isdigit():
            count += mark
        else:
            found.append(parts.plural(int(count), _UNITS[mark]))
            count = ""
    return " ".join(found)


def _holds() -> Html:
    return parts.says(
        "This version of the program places no holds and disposes of nothing: every record and every payload that was "
        "written is kept until a person removes it, and a verification would say that it is missing."
    )


def _reading() -> Html:
    return parts.says(
        "A hold stands above a floor, a floor above a ceiling, a ceiling above the period to keep. A due day ends at "
        "24:00 UTC. What no rule names is kept. Artefacts of a continuous-integration service expire by that "
        "service's rules and are no archive."
    )
