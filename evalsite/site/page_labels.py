# SPDX-License-Identifier: Apache-2.0
"""Calibration against reference labels: counts that stay apart, and every label with its verdicts."""

from evalsite.campaign.trusted import TrialRecord
from evalsite.judging.calibration import LabelCounts, calibrate
from evalsite.schema.corpus import LabelLevel, LabelSet
from evalsite.schema.outcome import Dimension, Mode, Protocol, Status
from evalsite.site import marks, parts
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, join, link, num, table
from evalsite.site.marks import pill
from evalsite.site.names import relative
from evalsite.site.views import RunView

#: What a label set of each level can carry, in words (T8).
LABEL_LEVELS = {
    LabelLevel.PRESET: "preset by the corpus's authors: a known-example check, no calibration against people",
    LabelLevel.AI_REVIEWED: "re-read by an AI assistant for consistency: a known-example check",
    LabelLevel.HUMAN_REVIEWED: "reviewed by people, not blind to the judge: no calibration in the strict sense",
    LabelLevel.HUMAN_BLIND_ANCHORED: "made by people blind to the judge and committed before its verdicts",
}


def label_sections(view: RunView) -> tuple[Html, Html, Html]:
    """Return counts per label set, the labels one by one, and where the raw verdicts stand (R69-R76)."""
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
        boundary = text("boundary sample") if label.boundary else EMPTY
        row = [shown, dimension, num(parts.number(label.value)), verdicts]
        if _shows_agreement(view):
            row.append(parts.listed(text(_against(label.value, record)) for _, record in found))
        rows.append((*row, boundary))
    names = ["Case", "Dimension", "Label", "Verdict per repetition"]
    names += ["Against the label", "Note"] if _shows_agreement(view) else ["Note"]
    head = tuple(text(name) for name in names)
    return join((el("h3", parts.foreign(labels.name)), table(head, rows, caption=f"Labels of {labels.name}")))


def _against(label: int, record: TrialRecord | None) -> str:
    """Return how one verdict stands to its label; what has no score stands to nothing (R71, R72)."""
    outcome = _outcome(record) if record is not None else None
    if not isinstance(outcome, int):
        return "unavailable"
    if outcome == label:
        return "agrees"
    return "false pass" if outcome > label else "false fail"


def _score(view: RunView, record: TrialRecord | None) -> str:
    mark = view.mark_of(record)
    if mark is marks.GRADED and record is not None and record.result.verdict is not None:
        return f"{record.result.verdict.score} of 100"
    return mark.label
