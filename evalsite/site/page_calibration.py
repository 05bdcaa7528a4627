# SPDX-License-Identifier: Apache-2.0
"""Calibration of one run: the judge against controls, or against reference labels."""

from collections.abc import Iterator

from evalsite.campaign.trusted import TrialRecord
from evalsite.schema.corpus import BinaryCase
from evalsite.schema.outcome import Polarity, Protocol, Status
from evalsite.site import marks, parts
from evalsite.site.casetext import answer_box
from evalsite.site.escape import Html, text
from evalsite.site.html import bullets, el, join, link, num, table
from evalsite.site.marks import of_control, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_labels import label_sections
from evalsite.site.replies import seqs_of, verdict_part
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
    sections = _controls(view) if view.is_binary else label_sections(view)
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


def _controls(view: RunView) -> tuple[Html, Html, Html]:
    planned = view.plan.control_trials()
    if not planned:
        words = (
            "No control was shown to the judge. In fixture mode the judge's stand-in reads the expected "
            "classification from the corpus, so that showing it controls would prove nothing. Calibration is neither "
            "passed nor failed."
        )
        return parts.note(words, title="Not calibrated."), parts.says("No control was shown."), parts.says("None.")
    shown = {record.trial: record for record in view.run.controls}
    right = sum(1 for record in view.run.controls if of_control(record.result) is marks.CONTROL_RIGHT)
    wrong = {polarity: _wrong(view, polarity) for polarity in Polarity}
    unavailable = len(shown) - right - sum(wrong.values())
    rows = [
        (text(name), num(parts.number(value)), text(words))
        for name, value, words in (
            ("Planned controls", len(planned), "one positive reference and one negative counter-example per case"),
            ("As expected", right, "classified as the corpus's authors meant it"),
            ("False pass", wrong[Polarity.NEGATIVE], "a negative counter-example was accepted"),
            ("False fail", wrong[Polarity.POSITIVE], "a positive reference was rejected"),
            ("Judge unavailable", unavailable, "no valid verdict came: neither right nor wrong"),
            ("Not shown", len(planned) - len(shown), "planned, and no result"),
        )
    ]
    passed = view.run.decision.calibration_passed
    words = {
        True: "Calibration passed: every control was classified as expected.",
        False: "Calibration did not pass. That refuses the model gate, whatever the candidate did.",
        None: "Calibration is neither passed nor failed: controls decide in a live run only.",
    }[passed]
    summary = join(
        (
            el("p", el("strong", text(words))),
            table((text("Controls"), text("Count"), text("Meaning")), rows, caption="Counts"),
        )
    )
    table_rows = [_control_row(view, record) for record in view.run.controls]
    head = tuple(text(name) for name in ("Case", "Control", "Expected", "Observed", "Result"))
    return summary, table(head, table_rows, caption="Controls"), join(_raw_controls(view))


def _wrong(view: RunView, polarity: Polarity) -> int:
    return sum(
        1
        for record in view.run.controls
        if record.trial.polarity is polarity and record.result.status is Status.CALIBRATION_FAILURE
    )


def _control_row(view: RunView, record: TrialRecord) -> tuple[Html, ...]:
    case_id = record.trial.case_id
    positive = record.trial.polarity is Polarity.POSITIVE
    verdict = record.result.verdict
    if verdict is None:
        observed = parts.quiet("no verdict")
    else:
        compliant = bool(verdict.required_behavior_met) and bool(verdict.forbidden_behavior_absent)
        observed = text("compliant" if compliant else "not compliant")
    name = parts.foreign(view.case_name(case_id))
    shown = link(relative(view.case_path(case_id), view.calibration_path), name) if view.shows_cases else name
    kind = "positive reference" if positive else "negative counter-example"
    return (
        shown,
        text(kind),
        text("compliant" if positive else "not compliant"),
        observed,
        pill(of_control(record.result)),
    )


def _raw_controls(view: RunView) -> Iterator[Html]:
    if not view.shows_text:
        yield parts.withheld(view)
        return
    for record in view.run.controls:
        case = view.cases.get(record.trial.case_id)
        mark = of_control(record.result)
        pieces = [el("summary", parts.foreign(view.trial_name(record.trial)), pill(mark))]
        if isinstance(case, BinaryCase):
            positive = record.trial.polarity is Polarity.POSITIVE
            answer = case.positive_reference if positive else case.negative_counterexample
            pieces.append(answer_box("What the judge was shown, written by the corpus's authors", answer))
        pieces.append(verdict_part(view, record, view.calibration_path))
        opened = {} if mark is marks.CONTROL_RIGHT else {"open_": "open"}
        yield el("details", *pieces, class_=f"es-details es-control {mark.tone.value}", **opened)
