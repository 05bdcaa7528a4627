# SPDX-License-Identifier: Apache-2.0
"""Calibration of one run: the judge against controls, or against reference labels."""

from collections.abc import Iterator

from evalsite.campaign.trusted import TrialRecord
from evalsite.judging.calibration import LabelCounts, calibrate
from evalsite.schema.corpus import BinaryCase, LabelLevel, LabelSet
from evalsite.schema.outcome import Dimension, Mode, Polarity, Protocol, Status
from evalsite.site import marks, parts
from evalsite.site.casetext import answer_box
from evalsite.site.escape import Html, text
from evalsite.site.html import bullets, el, join, link, num, table
from evalsite.site.marks import of_control, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.replies import seqs_of, verdict_part
from evalsite.site.views import RunView

#: What a label set of each level can carry, in words (T8).
LABEL_LEVELS = {
    LabelLevel.PRESET: "preset by the corpus's authors: a known-example check, no calibration against people",
    LabelLevel.AI_REVIEWED: "re-read by an AI assistant for consistency: a known-example check",
    LabelLevel.HUMAN_REVIEWED: "reviewed by people, not blind to the judge: no calibration in the strict sense",
    LabelLevel.HUMAN_BLIND_ANCHORED: "made by people blind to the judge and committed before its verdicts",
}


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
    sections = _controls(view) if view.is_binary else _labels(view)
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
    words = (
        "Calibration passed: every control was classified as expected."
        if passed
        else "Calibration did not pass. That refuses the model gate, whatever the candidate did."
    )
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


def _labels(view: RunView) -> tuple[Html, Html, Html]:
    sets = view.run.snapshot.label_sets
    if not sets:
        words = "The corpus has no label set: the judge's scores can't be compared with anything."
        return parts.note(words, title="No labels."), parts.says("None."), parts.says("None.")
    summaries = [_label_summary(view, labels) for labels in sets]
    tables = [_label_table(view, labels) for labels in sets]
    raw = parts.says("The raw verdict of each case stands on the page of that case, linked from the table above.")
    return join(summaries), join(tables), raw


def _label_summary(view: RunView, labels: LabelSet) -> Html:
    about = [
        ("Label set", parts.foreign(labels.name)),
        ("Construct", parts.foreign(f"{labels.construct_name}, version {labels.construct_version}")),
        ("Level", text(LABEL_LEVELS[labels.level])),
        ("Annotator", parts.foreign(labels.annotator)),
        ("Independently reviewed by people", text("yes" if labels.independently_reviewed_by_humans else "no")),
        ("Aligned on the standard first", text("yes" if labels.aligned_on_standard_first else "no")),
    ]
    pieces = [el("h3", parts.foreign(labels.name)), parts.fact_list(about)]
    if view.plan.mode is not Mode.LIVE:
        pieces.append(
            parts.note(
                (
                    "This was no live judge run: only parsing and counting were exercised. No agreement figure is "
                    "shown, since none was measured."
                ),
                title="No agreement.",
            )
        )
    rows = [_count_row(view, labels, repetition, dimension) for repetition, dimension in _groups(view)]
    columns = ["Observation", "Labelled", "Judged", "Unavailable", "Why unavailable"]
    if _shows_agreement(view):
        columns += ["False pass", "False fail", "Agreement"]
    pieces.append(table(tuple(text(name) for name in columns), rows, caption="Labels against verdicts"))
    if view.plan.protocol is Protocol.GRADED:
        pieces.append(
            parts.says(
                "Agreement of graded scores needs bins that a decision record froze beforehand. None are applied here.",
                css="es-quiet",
            )
        )
    return join(pieces)


def _shows_agreement(view: RunView) -> bool:
    return view.plan.mode is Mode.LIVE and view.plan.protocol is Protocol.EVIDENCE


def _groups(view: RunView) -> list[tuple[int, Dimension | None]]:
    dimensions: tuple[Dimension | None, ...] = tuple(Dimension) if view.plan.protocol is Protocol.GRADED else (None,)
    return [(number, dimension) for number in range(1, view.plan.repetitions + 1) for dimension in dimensions]


def counts_of(view: RunView, labels: LabelSet, repetition: int, dimension: Dimension | None) -> LabelCounts:
    """Return the counts of one repetition and dimension: each key is observed once (T5, R69-R72)."""
    planned = {
        label.case_id: label.value
        for label in labels.labels
        if label.dimension == dimension and label.case_id in view.planned
    }
    rows: list[tuple[str, int | str | None]] = []
    for trial, record in view.by_trial.items():
        if trial.repetition != repetition or trial.dimension != dimension:
            continue
        rows.append((trial.case_id, _outcome(record)))
    return calibrate(planned, rows)


def _outcome(record: TrialRecord) -> int | str | None:
    if record.result.status is Status.JUDGED and record.result.verdict is not None:
        return record.result.verdict.score
    if record.result.status is Status.CANNOT_JUDGE:
        return None
    return record.result.error_type or record.result.status.value


def _count_row(view: RunView, labels: LabelSet, repetition: int, dimension: Dimension | None) -> tuple[Html, ...]:
    counts = counts_of(view, labels, repetition, dimension)
    name = f"#{repetition}" if dimension is None else f"{dimension.value} #{repetition}"
    reasons = counts.unavailable_by_reason.items()
    why = parts.listed(join((parts.foreign(reason), text(f": {count}"))) for reason, count in reasons)
    row = [
        text(name),
        num(parts.number(counts.labeled)),
        num(parts.number(counts.judged)),
        num(parts.number(counts.unavailable)),
        why if counts.unavailable else parts.quiet("none"),
    ]
    if _shows_agreement(view):
        agreement = counts.agreement
        row += [
            num(parts.number(counts.false_pass)),
            num(parts.number(counts.false_fail)),
            num(text(f"{agreement[0]} of {agreement[1]} judged") if agreement else parts.quiet("nothing judged")),
        ]
    return tuple(row)


def _label_table(view: RunView, labels: LabelSet) -> Html:
    rows = []
    for label in labels.labels:
        if label.case_id not in view.planned:
            continue
        found = [
            (trial, record) for trial, record in view.trials_of(label.case_id) if trial.dimension == label.dimension
        ]
        name = parts.foreign(view.case_name(label.case_id))
        shown = link(relative(view.case_path(label.case_id), view.calibration_path), name) if view.shows_cases else name
        verdicts = parts.listed(pill(view.mark_of(record), _score(view, record)) for _, record in found)
        dimension = text(label.dimension.value) if label.dimension else text("evidence")
        boundary = text("boundary sample") if label.boundary else text("")
        rows.append((shown, dimension, num(parts.number(label.value)), verdicts, boundary))
    head = tuple(text(name) for name in ("Case", "Dimension", "Label", "Verdict per repetition", "Note"))
    return join((el("h3", parts.foreign(labels.name)), table(head, rows, caption=f"Labels of {labels.name}")))


def _score(view: RunView, record: TrialRecord | None) -> str:
    mark = view.mark_of(record)
    if mark is marks.GRADED and record is not None and record.result.verdict is not None:
        return f"{record.result.verdict.score} of 100"
    return mark.label
