# SPDX-License-Identifier: Apache-2.0
"""Calibration against reference labels: counts that stay apart, and every label with its verdicts."""

from evalsite.campaign.trusted import TrialRecord
from evalsite.schema.corpus import LabelLevel, LabelSet
from evalsite.schema.outcome import Mode, Protocol, Status
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


def label_tables(view: RunView) -> Html:
    """Return the label sets of a corpus, one by one, with every verdict beside its label (R74-R76)."""
    sets = view.run.snapshot.label_sets
    if not sets:
        return parts.says("The corpus has no label set of its own.")
    return join(_label_table(view, labels) for labels in sets)


def _shows_agreement(view: RunView) -> bool:
    return view.plan.mode is Mode.LIVE and view.plan.protocol is Protocol.EVIDENCE


def _outcome(record: TrialRecord) -> int | str | None:
    if record.result.status is Status.JUDGED and record.result.verdict is not None:
        return record.result.verdict.score
    if record.result.status is Status.CANNOT_JUDGE:
        return None
    return record.result.error_type or record.result.status.value


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
        dimension = text(label.dimension.value if label.dimension else view.plan.protocol.value)
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
