# SPDX-License-Identifier: Apache-2.0
"""Numbers of a calibration as pages show them: never a rate without its counts, never a zero for a null."""

from fractions import Fraction

from evalsite.schema.calibration import GateOutcome
from evalsite.schema.tables import CriterionTables, Figure, GateResult, Standing
from evalsite.site import parts
from evalsite.site.charts import Rate, percent
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join
from evalsite.site.marks import CALIBRATION_FAILED, CALIBRATION_OPEN, CALIBRATION_PASSED, Mark, pill


def shown(figure: Figure, *, rate: bool = True) -> Html:
    """Return a figure with its counts and its interval, or the reason why there is none."""
    if figure.value is None:
        return join((parts.quiet("none: "), parts.foreign(figure.reason or "")))
    value = percent(Fraction(figure.value)) if rate else figure.value
    pieces = [el("strong", text(value))]
    if figure.count is not None and figure.of is not None:
        pieces.append(text(f" ({figure.count} of {figure.of})"))
    spread = interval(figure, rate=rate)
    if spread:
        pieces.append(el("span", text(f" {spread}"), class_="es-quiet"))
    return join(pieces)


def interval(figure: Figure, *, rate: bool = True) -> str:
    """Return an interval in words with its method; a one-sided bound is said to be one."""
    low, high = (None if end is None else percent(Fraction(end)) if rate else end for end in (figure.low, figure.high))
    if low is None and high is None:
        return ""
    if low is None:
        words = f"at most {high}"
    elif high is None:
        words = f"at least {low}"
    else:
        words = f"{low} to {high}"
    seed = f", seed {figure.seed}, {figure.replicates} resamples" if figure.seed else ""
    return f"[{words}; {figure.method}{seed}]" if figure.method else f"[{words}]"


def rate_of(label: str, figure: Figure, *, limit: Fraction | None = None) -> Rate:
    """Return a figure as a row of a chart."""
    said = "" if figure.count is None else f"{figure.count} of {figure.of}"
    ends = (None if end is None else Fraction(end) for end in (figure.low, figure.high))
    low, high = ends
    value = None if figure.value is None else Fraction(figure.value)
    return Rate(label=label, value=value, low=low, high=high, limit=limit, said=said, reason=figure.reason or "")


def mark_of(gate: GateResult) -> Mark:
    """Return the mark of a gate's outcome."""
    marks = {
        GateOutcome.PASS: CALIBRATION_PASSED,
        GateOutcome.FAIL: CALIBRATION_FAILED,
        GateOutcome.INSUFFICIENT: CALIBRATION_OPEN,
    }
    return marks[gate.outcome]


_STANDINGS = {
    Standing.DECIDED: "",
    Standing.INVALID: "invalid",
    Standing.STALE: "stale",
    Standing.NOT_VALIDATED: "known-example check",
    Standing.NOT_MEASURED: "not measured",
}


def gate_pill(gate: GateResult) -> Html:
    """Return a gate's outcome with the sense in which it stands."""
    standing = _STANDINGS[gate.standing]
    return pill(mark_of(gate), f"{gate.outcome.value}{': ' + standing if standing else ''}")


def name_of(one: CriterionTables) -> str:
    """Return what one block of tables is about."""
    return f"{one.criterion.value} against {one.labels.name}"
