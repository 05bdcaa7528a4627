# SPDX-License-Identifier: Apache-2.0
"""Calibration of one run: the judge against controls, or against reference labels."""

from evalsite.schema.outcome import Protocol
from evalsite.schema.tables import NamedFinding
from evalsite.site import parts
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link
from evalsite.site.marks import pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_calibration_controls import control_sections
from evalsite.site.page_calibration_labels import (
    against_labels,
    annotators,
    disagreements,
    gate_block,
    sentence,
)
from evalsite.site.page_calibration_tables import order_of, rates_and_bins, repetition_and_position
from evalsite.site.page_labels import label_tables
from evalsite.site.replies import seqs_of
from evalsite.site.views import RunView


def calibration_page(view: RunView) -> Page:
    """Return the calibration page of one run."""
    lines = tuple(f"{view.run_id}#{seq}" for record in view.run.controls for seq in seqs_of(record))
    return Page(
        kind=Kind.CALIBRATION,
        path=view.calibration_path,
        title=f"Calibration of {view.run_id}",
        body=lambda: _body(view),
        sources=lines or (view.run_id,),
    )


def _body(view: RunView) -> Body:
    page = view.calibration_path
    counts, controls, raw = control_sections(view)
    sections = (
        _summary(view, counts),
        controls,
        against_labels(view),
        disagreements(view),
        annotators(view),
        repetition_and_position(view),
        rates_and_bins(view),
        order_of(view),
        label_tables(view),
        raw,
    )
    lead = join(
        (
            parts.para(
                el("span", text("Run "), link(relative(view.path, page), parts.foreign(view.run_id))),
                pill(view.state),
                css="es-meta",
            ),
            parts.how_to_read(
                "Before a judge's verdicts count for anything, the judge itself is tried on examples whose answer is "
                "known. False pass and false fail are never merged: letting a bad answer through and rejecting a "
                "good one are different errors."
            ),
        )
    )
    return Body(
        crumbs=parts.crumbs(page, (Kind.RUNS.address, "Runs"), (view.path, view.run_id), (page, "Calibration")),
        heading=text("Calibration"),
        lead=lead,
        sections=(*sections, _shows(view)),
    )


def _summary(view: RunView, counts: Html) -> Html:
    """Return how far the judge can be trusted: findings first, then gates, then the counts of controls."""
    report = view.calibration
    pieces = []
    if report.findings:
        items = [
            join(
                (
                    el("strong", text(sentence(found.message))),
                    parts.quiet(f" {found.code}, {found.rule}"),
                    _concerns(found),
                )
            )
            for found in report.findings
        ]
        pieces.append(
            el("div", el("p", el("strong", text("What was found about this judge"))), bullets(items), class_="es-note")
        )
    if report.unrevealed:
        names = parts.listed(parts.foreign(name) for name in report.unrevealed)
        said = text("Labels were committed for this run and are not revealed yet: ")
        pieces.append(el("div", el("p", said, names), class_="es-note"))
    declared = {(gate.criterion, gate.run, gate.labels): gate for gate in view.qualification.gates}
    codes = frozenset(found.code for found in report.findings)
    pieces.extend(gate_block(gate, codes if gate.run == view.run_id else frozenset()) for gate in declared.values())
    told = {(gate.criterion, gate.labels) for gate in declared.values() if gate.run == view.run_id}
    others = (one.gate for one in report.criteria if (one.gate.criterion, one.gate.labels) not in told)
    pieces.extend(gate_block(gate, codes) for gate in others)
    return join((*pieces, counts))


def _concerns(found: NamedFinding) -> Html:
    if not found.items:
        return EMPTY
    return join((text(" "), parts.listed(parts.foreign(item) for item in found.items)))


def _shows(view: RunView) -> Html:
    items = [
        "Passing on known examples doesn't guarantee reliability on other requests.",
        "A valid structure doesn't show that the judge's reason supports its score.",
        "Delimiters and instructions in a prompt don't prove resistance to injection.",
        view.independence,
    ]
    if view.plan.protocol is Protocol.EVIDENCE:
        items.insert(1, "A few preset labels demonstrate a method; they don't establish that the judge is reliable.")
    if view.plan.protocol is Protocol.GRADED:
        items.insert(1, "A change in agreement is a consequence of aligning what both sides measure, never a target.")
    return bullets(text(item) for item in items)
