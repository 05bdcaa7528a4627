# SPDX-License-Identifier: Apache-2.0
"""One visual language for outcomes: a shape, a word and a colour, never a colour alone."""

from dataclasses import dataclass
from enum import Enum

from evalsite.schema.outcome import Result, Stage, Status
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join

# Shapes on a 16 x 16 grid. Filled shapes are drawn in the mark's colour, strokes in the ground's.
_DISC = '<circle class="es-fill" cx="8" cy="8" r="7"></circle>'
_SQUARE = '<rect class="es-fill" x="1.5" y="1.5" width="13" height="13" rx="2.5"></rect>'
_OCTAGON = '<polygon class="es-fill" points="5,1 11,1 15,5 15,11 11,15 5,15 1,11 1,5"></polygon>'
_TRIANGLE = '<polygon class="es-fill" points="8,1 15.5,14.5 0.5,14.5"></polygon>'
_DIAMOND = '<polygon class="es-fill" points="8,0.5 15.5,8 8,15.5 0.5,8"></polygon>'
_RING = '<circle class="es-ring" cx="8" cy="8" r="6.2"></circle>'
_DASHED = '<circle class="es-ring es-dash" cx="8" cy="8" r="6.2"></circle>'
_FRAME = '<rect class="es-ring" x="2" y="2" width="12" height="12" rx="2.5"></rect>'


def _stroke(path: str) -> str:
    return f'<path class="es-stroke" d="{path}"></path>'


def _line(path: str) -> str:
    return f'<path class="es-line" d="{path}"></path>'


_CHECK = "M4.6 8.3 L7 10.7 L11.4 5.6"
_CROSS = "M5.3 5.3 L10.7 10.7 M10.7 5.3 L5.3 10.7"
_BANG = "M8 5.5 L8 9.5 M8 11.9 L8 12.1"
_MINUS = "M4.8 8 L11.2 8"
_EQUALS = "M4.8 6.3 L11.2 6.3 M4.8 9.7 L11.2 9.7"
_DOWN = "M8 4.5 L8 11.2 M5 8.4 L8 11.4 L11 8.4"
_UP = "M8 11.5 L8 4.8 M5 7.6 L8 4.6 L11 7.6"
_ASK = "M6 6.2 C6 3.8 10 3.8 10 6.2 C10 7.8 8 7.7 8 9.4 M8 11.6 L8 11.8"


class Tone(Enum):
    """Which colour a mark has; each value is a class of the style sheet."""

    GOOD = "es-good"
    BAD = "es-bad"
    OPEN = "es-open"
    JUDGE = "es-judge"
    CALM = "es-calm"


@dataclass(frozen=True, slots=True)
class Mark:
    """How one outcome is shown: word, colour, shape, and what it means in one sentence."""

    label: str
    tone: Tone
    shape: str
    meaning: str


PASSED = Mark(
    "Passed",
    Tone.GOOD,
    _DISC + _stroke(_CHECK),
    "Action, refusal flag, both verdict booleans and every check by code are as required.",
)
VIOLATION = Mark(
    "Violation",
    Tone.BAD,
    _OCTAGON + _stroke(_CROSS),
    "A valid answer and a valid verdict, and at least one condition does not hold.",
)
CONTRACT = Mark(
    "Contract error",
    Tone.BAD,
    _SQUARE + _stroke(_BANG),
    "The candidate's reply breaks its contract. It is kept as it came, never repaired, never asked for again.",
)
NO_ANSWER = Mark("No answer", Tone.BAD, _FRAME + _line(_MINUS), "The candidate's endpoint delivered no content.")
JUDGE_FAILED = Mark(
    "Judge unavailable",
    Tone.JUDGE,
    _DIAMOND + _stroke(_BANG),
    "The judge delivered no valid verdict. This is no failure of the candidate, and no pass.",
)
CANNOT_JUDGE = Mark(
    "Cannot judge",
    Tone.JUDGE,
    _RING + _line(_ASK),
    "The judge said that it had not enough basis. This is neither a low score nor a failure to score.",
)
ERROR = Mark(
    "Error",
    Tone.OPEN,
    _TRIANGLE + _stroke("M8 6 L8 10 M8 12.2 L8 12.4"),
    "No usable reply came, or the host failed: timeout, connection, cancelled call, unexpected exception.",
)
MISSING = Mark("No result", Tone.OPEN, _DASHED, "This trial was planned and has no result.")
FITS = Mark("Score 1", Tone.GOOD, _DISC + _stroke(_CHECK), "The judge scored 1: within what the evidence shows.")
BEYOND = Mark(
    "Score 0", Tone.BAD, _OCTAGON + _stroke(_MINUS), "The judge scored 0: beyond what the evidence shows. A low score."
)
GRADED = Mark("Scored", Tone.CALM, _FRAME + _line(_CHECK), "The judge gave whole points from 0 to 100.")
COMPARED = Mark(
    "Compared",
    Tone.CALM,
    _FRAME + _line(_EQUALS),
    "The judge said which of two answers is better, by the place where it stood, or that neither is.",
)
CONTROL_RIGHT = Mark(
    "As expected", Tone.GOOD, _DISC + _stroke(_CHECK), "The judge classified this control as its author meant it."
)
CONTROL_WRONG = Mark(
    "Calibration failure",
    Tone.JUDGE,
    _DIAMOND + _stroke(_CROSS),
    "The judge classified this control wrongly. Whatever it says of the candidate can't be relied on.",
)
CALIBRATION_PASSED = Mark(
    "Calibrated",
    Tone.GOOD,
    _DIAMOND + _stroke(_CHECK),
    "Every condition of this gate holds, on labels that may decide.",
)
CALIBRATION_FAILED = Mark(
    "Not to be relied on",
    Tone.JUDGE,
    _DIAMOND + _stroke(_CROSS),
    "The judge was shown to be wrong too often or at all.",
)
CALIBRATION_OPEN = Mark(
    "Not decided",
    Tone.OPEN,
    _RING + _line(_ASK),
    "The evidence is too thin or of the wrong kind: neither a pass nor a failure.",
)
QUALIFIED = Mark(
    "Qualified",
    Tone.GOOD,
    _DISC + _stroke(_CHECK),
    "Every planned case passed, every control was classified as expected, and every calibration gate that the plan "
    "declares passed, in a sealed live run.",
)
REFUSED = Mark(
    "Refused", Tone.BAD, _OCTAGON + _stroke(_CROSS), "Decided completely, and the answer is no: each reason is named."
)
UNDECIDED = Mark(
    "Not decided",
    Tone.OPEN,
    _RING + _line(_ASK),
    "The record is not complete, its evidence is weaker than the ledger's policy asks for, or a calibration gate that "
    "the plan declares is not decided.",
)
FIXTURE_ONLY = Mark(
    "Fixture only",
    Tone.CALM,
    _FRAME + _line(_MINUS),
    "Only code and contracts were exercised. A fixture run says nothing about a model.",
)
FIXTURE_PASSED = Mark(
    "Fixture gate passed",
    Tone.CALM,
    _FRAME + _line(_CHECK),
    "Code and contracts were exercised and held. A fixture run says nothing about a model.",
)
FIXTURE_REFUSED = Mark(
    "Fixture gate refused",
    Tone.BAD,
    _FRAME + _line(_CROSS),
    "Code and contracts were exercised and at least one expectation did not hold.",
)
NO_GATE = Mark(
    "No gate",
    Tone.CALM,
    _DASHED + _line(_MINUS),
    "This kind of run qualifies nothing: it observes the judge, or reads recorded replies again.",
)
REGRESSED = Mark(
    "Regression",
    Tone.BAD,
    _OCTAGON + _stroke(_DOWN),
    "At least one case got worse than in the earlier run, whatever the others did.",
)
NOT_REGRESSED = Mark(
    "No regression",
    Tone.CALM,
    _FRAME + _line(_EQUALS),
    "Every pair could be compared and no case got worse. That qualifies nothing: the run's own gate decides.",
)
REGRESSION_OPEN = Mark(
    "Not decided",
    Tone.OPEN,
    _RING + _line(_ASK),
    "No case is seen to have got worse, but not everything could be compared.",
)
JUDGE_MOVED = Mark(
    "Judge only",
    Tone.JUDGE,
    _FRAME + _line(_MINUS),
    "No candidate was asked in both runs, so that none got worse: what changed is the judge's.",
)
WORSE = Mark("Worse", Tone.BAD, _OCTAGON + _stroke(_DOWN), "Fewer of the compared repetitions passed than before.")
BETTER = Mark("Better", Tone.GOOD, _DISC + _stroke(_UP), "More of the compared repetitions passed than before.")
LOWER = Mark("Down", Tone.JUDGE, _FRAME + _line(_DOWN), "The judge scored lower than before. No candidate was asked.")
HIGHER = Mark("Up", Tone.JUDGE, _FRAME + _line(_UP), "The judge scored higher than before. No candidate was asked.")
SAME = Mark("Same", Tone.CALM, _FRAME + _line(_EQUALS), "As many of the compared repetitions passed as before.")
EXCLUDED = Mark(
    "Not compared", Tone.OPEN, _DASHED, "Unavailable in at least one of the two runs: no value, never a failure."
)
SERIES_BREAK = Mark(
    "Series break",
    Tone.CALM,
    _DASHED + _line(_MINUS),
    "Another construct was measured: the values are of two series, and their difference is expected.",
)
HOLDS = Mark("Holds", Tone.GOOD, _DISC + _stroke(_CHECK), "At least one item was looked at, and none was wanting.")
BROKEN = Mark("Does not hold", Tone.BAD, _OCTAGON + _stroke(_CROSS), "Something was found wanting.")
NOTHING_CHECKED = Mark("Nothing to check", Tone.CALM, _DASHED, "No item of this kind is there: this shows nothing.")

OUTCOMES = (PASSED, VIOLATION, CONTRACT, NO_ANSWER, JUDGE_FAILED, CANNOT_JUDGE, ERROR, MISSING)
SCORES = (FITS, BEYOND, GRADED, COMPARED, CANNOT_JUDGE, JUDGE_FAILED, ERROR, MISSING)
STATES = (QUALIFIED, REFUSED, UNDECIDED, CALIBRATION_PASSED, CALIBRATION_FAILED, FIXTURE_ONLY, NO_GATE)
RUN_STATES = (*STATES[:5], FIXTURE_PASSED, FIXTURE_REFUSED, NO_GATE)
COMPARISONS = (REGRESSED, NOT_REGRESSED, REGRESSION_OPEN, JUDGE_MOVED)
CHANGES = (WORSE, BETTER, LOWER, HIGHER, SAME, EXCLUDED, SERIES_BREAK)


def icon(mark: Mark) -> Html:
    """Return the shape alone; a word must stand beside it."""
    return Html(
        f'<svg class="es-icon {mark.tone.value}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">'
        f"{mark.shape}</svg>"
    )


def pill(mark: Mark, label: str = "") -> Html:
    """Return shape and word in a box; ``label`` replaces the mark's own word."""
    return el("span", icon(mark), el("span", text(label or mark.label)), class_=f"es-pill {mark.tone.value}")


def badge(mark: Mark) -> Html:
    """Return a large pill for the verdict of a page."""
    return el("span", icon(mark), el("span", text(mark.label)), class_=f"es-pill es-badge {mark.tone.value}")


def legend(marks: tuple[Mark, ...]) -> Html:
    """Return a list that explains marks."""
    rows = (el("div", el("dt", pill(mark)), el("dd", text(mark.meaning))) for mark in marks)
    return el("dl", join(rows), class_="es-legend")


def of_control(result: Result) -> Mark:
    """Return the mark of a control."""
    if result.status is Status.PASSED:
        return CONTROL_RIGHT
    return CONTROL_WRONG if result.status is Status.CALIBRATION_FAILURE else _of_failure(result, Stage.JUDGE)


def of_case(result: Result) -> Mark:
    """Return the mark of a case trial of any protocol."""
    if result.status is Status.PASSED:
        return PASSED
    if result.status is Status.VIOLATION:
        return VIOLATION
    if result.status is Status.JUDGED:
        if result.verdict is not None and result.verdict.winner is not None:
            return COMPARED
        if result.verdict is None or result.verdict.evidence is None:
            return GRADED
        return FITS if result.verdict.score else BEYOND
    return _of_failure(result, result.stage)


def _of_failure(result: Result, stage: Stage | None) -> Mark:
    if result.status is Status.CANNOT_JUDGE:
        return CANNOT_JUDGE
    if result.status in (Status.CONTRACT_ERROR, Status.MISSING_ANSWER):
        if stage is not Stage.CANDIDATE:
            return JUDGE_FAILED
        return CONTRACT if result.status is Status.CONTRACT_ERROR else NO_ANSWER
    # A judge that could not be reached is the judge's absence; only the host's own faults are not.
    if result.status is Status.TRANSPORT_ERROR and stage is not Stage.CANDIDATE:
        return JUDGE_FAILED
    return ERROR
