# SPDX-License-Identifier: Apache-2.0
"""Controls on a calibration page: the judge on examples whose classification is known (R41, R66-R68)."""

from collections.abc import Iterator

from evalsite.campaign.trusted import TrialRecord
from evalsite.schema.corpus import BinaryCase, controls_of
from evalsite.schema.outcome import Mode, Polarity, Status, Trial
from evalsite.schema.plan import PlannedControl
from evalsite.site import marks, parts
from evalsite.site.casetext import answer_box, control_text
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join, link, num, table
from evalsite.site.marks import of_control, pill
from evalsite.site.names import relative
from evalsite.site.replies import verdict_part
from evalsite.site.views import RunView


def control_sections(view: RunView) -> tuple[Html, Html, Html]:
    """Return counts of controls, one row for each, and what the judge said of it."""
    planned = view.plan.control_trials()
    if not planned:
        words = (
            "No control was shown to the judge: this corpus has none for it. The check is neither passed nor failed."
        )
        if view.plan.mode is Mode.FIXTURE:
            words = (
                "No control was shown to the judge. In fixture mode the judge's stand-in reads the expected "
                "classification from the corpus, so that showing it controls would prove nothing. The check is "
                "neither passed nor failed."
            )
        note = parts.note(words, title="No known-example check.")
        return note, parts.says("No control was shown."), parts.says("None.")
    shown = {record.trial: record for record in view.run.controls}
    right = sum(1 for record in view.run.controls if of_control(record.result) is marks.CONTROL_RIGHT)
    wrong = {polarity: _wrong(view, polarity) for polarity in Polarity}
    unavailable = len(shown) - right - sum(wrong.values())
    rows = [
        (text(name), num(parts.number(value)), text(words))
        for name, value, words in (
            ("Planned controls", len(planned), "examples whose classification is known"),
            ("As expected", right, "classified as the corpus's authors meant it"),
            ("False pass", wrong[Polarity.NEGATIVE], "a negative counter-example was accepted"),
            ("False fail", wrong[Polarity.POSITIVE], "a positive reference was rejected"),
            ("Judge unavailable", unavailable, "no valid verdict came: neither right nor wrong"),
            ("Not shown", len(planned) - len(shown), "planned, and no result"),
        )
    ]
    passed = view.run.decision.calibration_passed
    words = {
        True: "Known-example check passed: every control was classified as its author expected.",
        False: "Known-example check failed. That refuses the model gate, whatever the candidate did.",
        None: "The known-example check is neither passed nor failed: controls decide in a live run only.",
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
    trial, planned = record.trial, _planned(view).get(record.trial)
    positive = trial.polarity is Polarity.POSITIVE
    name = parts.foreign(view.case_name(trial.case_id) if planned is None else trial.case_id)
    if planned is None and view.shows_cases:
        name = link(relative(view.case_path(trial.case_id), view.calibration_path), name)
    elif planned is not None and not view.shows_cases:
        name = parts.quiet("withheld")
    if planned is None:
        kind = "positive reference" if positive else "negative counter-example"
        expected = "compliant" if positive else "not compliant"
    else:
        words = (planned.probe, planned.place, planned.dimension, planned.polarity)
        kind = " ".join(word.value for word in words if word is not None)
        span = planned.lowest != planned.highest
        expected = f"{planned.lowest} to {planned.highest}" if span else str(planned.lowest)
    return name, text(kind), text(expected), _observed(record), pill(of_control(record.result))


def _planned(view: RunView) -> dict[Trial, PlannedControl]:
    return {control.trial: control for control in view.plan.controls or ()}


def _observed(record: TrialRecord) -> Html:
    verdict = record.result.verdict
    if verdict is None:
        return parts.quiet("no verdict")
    if verdict.scored is not None:
        return parts.quiet("null: cannot judge") if verdict.score is None else text(str(verdict.score))
    compliant = bool(verdict.required_behavior_met) and bool(verdict.forbidden_behavior_absent)
    return text("compliant" if compliant else "not compliant")


def _raw_controls(view: RunView) -> Iterator[Html]:
    if not view.shows_text:
        yield parts.withheld(view)
        return
    controls = {control.id: control for control in controls_of(view.run.snapshot.corpus)}
    for record in view.run.controls:
        case = view.cases.get(record.trial.case_id)
        mark = of_control(record.result)
        pieces = [el("summary", parts.foreign(view.trial_name(record.trial)), pill(mark))]
        if isinstance(case, BinaryCase):
            positive = record.trial.polarity is Polarity.POSITIVE
            answer = case.positive_reference if positive else case.negative_counterexample
            pieces.append(answer_box("What the judge was shown, written by the corpus's authors", answer))
        control = controls.get(record.trial.case_id)
        if control is not None:
            pieces.append(control_text(control))
        pieces.append(verdict_part(view, record, view.calibration_path))
        opened = {} if mark is marks.CONTROL_RIGHT else {"open_": "open"}
        yield el("details", *pieces, class_=f"es-details es-control {mark.tone.value}", **opened)
