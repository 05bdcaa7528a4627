# SPDX-License-Identifier: Apache-2.0
"""Charts of a calibration as inline SVG: rates with bounds, a confusion matrix, an order of steps.

Nothing is drawn that does not also stand in a table of its page. A value that does not exist is a
row with its reason in words, never a dot at zero. Shapes and words carry the meaning, colour helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evalsite.site.escape import Html, attr, title

_ROW = 30
_LABEL = 190
_PLOT = 300
_SAID = 150
_TOP = 26
_MAX_LABEL = 30
_CELL_W, _CELL_H = 92, 44


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One row: a rate between 0 and 1 with its interval, or the reason why there is none.

    ``limit`` is a tolerance that the interval is held against; ``said`` is what stands behind the row,
    usually the counts.
    """

    label: str
    value: Fraction | None
    low: Fraction | None = None
    high: Fraction | None = None
    limit: Fraction | None = None
    said: str = ""
    reason: str = ""


def rates(rows: Sequence[Rate], *, name: str) -> Html:
    """Return rates on one axis from 0 to 100 %: a dot, its interval, and its tolerance as a dashed mark.

    Args:
        rows: The rates, from top to bottom.
        name: What the chart shows, for screen readers.
    """
    if not rows:
        return Html("")
    bottom = _TOP + len(rows) * _ROW
    parts = list(_axis(bottom))
    for index, row in enumerate(rows):
        parts.extend(_rate(row, _TOP + index * _ROW + _ROW / 2))
    return _svg(_LABEL + _PLOT + _SAID, bottom + 6, name, parts)


def _axis(bottom: float) -> Iterator[str]:
    for percent in (0, 25, 50, 75, 100):
        x = _x(Fraction(percent, 100))
        yield f'<line class="es-grid" x1="{x}" y1="{_TOP - 4}" x2="{x}" y2="{bottom}"></line>'
        yield f'<text class="es-axis" x="{x}" y="12" text-anchor="middle">{percent}\u2009%</text>'


def _rate(row: Rate, y: float) -> Iterator[str]:
    yield f'<text class="es-label" x="0" y="{y + 4:g}">{title(_short(row.label))}</text>'
    if row.value is None:
        words = f"none: {row.reason}" if row.reason else "none"
        yield f'<text class="es-absent" x="{_LABEL}" y="{y + 4:g}">{title(words)}</text>'
        return
    low, high = row.low, row.high
    spread = "" if low is None and high is None else f", from {percent(low or Fraction(0))} to {percent(high or 1)}"
    limit = "" if row.limit is None else f", limit {percent(row.limit)}"
    yield f'<g class="{_tone(row)}"><title>{title(f"{row.label}: {percent(row.value)}{spread}{limit}")}</title>'
    if spread:
        x1, x2 = _x(low or Fraction(0)), _x(high if high is not None else Fraction(1))
        yield f'<line class="es-line" x1="{x1}" y1="{y:g}" x2="{x2}" y2="{y:g}"></line>'
        for x, end in ((x1, low), (x2, high)):
            if end is not None:
                yield f'<line class="es-line" x1="{x}" y1="{y - 4:g}" x2="{x}" y2="{y + 4:g}"></line>'
    if row.limit is not None:
        x = _x(row.limit)
        yield f'<line class="es-line es-dash" x1="{x}" y1="{y - 11:g}" x2="{x}" y2="{y + 11:g}"></line>'
    yield f'<circle class="es-fill" cx="{_x(row.value)}" cy="{y:g}" r="4.5"></circle></g>'
    if row.said:
        yield f'<text class="es-axis" x="{_LABEL + _PLOT + 14}" y="{y + 4:g}">{title(row.said)}</text>'


def _tone(row: Rate) -> str:
    if row.limit is None:
        return "es-calm"
    reached = row.high if row.high is not None else row.value
    if reached is not None and reached <= row.limit:
        return "es-good"
    return "es-bad" if row.value is not None and row.value > row.limit else "es-open"


class Agreement(StrEnum):
    """What a cell of a confusion matrix stands for."""

    AGREE = "agree"
    FALSE_PASS = "false pass"  # noqa: S105 - a verdict, not a password
    FALSE_FAIL = "false fail"
    NO_VERDICT = "no verdict"


_CELLS = {
    Agreement.AGREE: ("es-good", "="),
    Agreement.FALSE_PASS: ("es-bad", "\u25b2"),
    Agreement.FALSE_FAIL: ("es-open", "\u25bc"),
    Agreement.NO_VERDICT: ("es-calm", "\u2013"),
}


def confusion(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[tuple[int, Agreement]]], *, name: str
) -> Html:
    """Return counts in a grid: what people said by rows, what the judge said by columns.

    Args:
        rows: Names of what people said.
        columns: Names of what the judge said.
        cells: A count and its meaning for each row and column; the sign says the same as the colour.
        name: What the matrix shows, for screen readers.
    """
    left, top = 150, 40
    parts = [f'<text class="es-axis" x="{left}" y="12">judge said</text>']
    for number, column in enumerate(columns):
        x = left + number * _CELL_W + _CELL_W / 2
        parts.append(f'<text class="es-label" x="{x:g}" y="30" text-anchor="middle">{title(_short(column, 13))}</text>')
    for line, row in enumerate(rows):
        y = top + line * _CELL_H
        parts.append(f'<text class="es-label" x="0" y="{y + 26:g}">{title(_short(f"people: {row}", 22))}</text>')
        for number, (count, meaning) in enumerate(cells[line]):
            x = left + number * _CELL_W
            css, sign = _CELLS[meaning]
            words = f"people said {row}, judge said {columns[number]}: {count} ({meaning.value})"
            parts.append(
                f'<g class="{css if count else "es-calm"}"><title>{title(words)}</title>'
                f'<rect class="es-cell-box" x="{x + 2}" y="{y + 2}" width="{_CELL_W - 4}" height="{_CELL_H - 4}" '
                f'rx="4"></rect><text class="es-count" x="{x + _CELL_W / 2:g}" y="{y + 28:g}" text-anchor="middle">'
                f'{count}</text><text class="es-sign" x="{x + 10}" y="{y + 17}">{sign}</text></g>'
            )
    return _svg(left + len(columns) * _CELL_W, top + len(rows) * _CELL_H + 4, name, parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One step of an order: what happened, where it stands (null: nowhere), and words beside it."""

    label: str
    place: str | None
    said: str = ""


def order(moments: Sequence[Moment], *, name: str) -> Html:
    """Return steps from top to bottom; one that stands nowhere is hollow and said to be missing."""
    if not moments:
        return Html("")
    x, parts = 96, []
    last = _ROW / 2 + (len(moments) - 1) * _ROW
    parts.append(f'<line class="es-grid" x1="{x}" y1="{_ROW / 2:g}" x2="{x}" y2="{last:g}"></line>')
    for index, moment in enumerate(moments):
        y = _ROW / 2 + index * _ROW
        there = moment.place is not None
        at = moment.place or "nowhere"
        css, ring = ("es-good", "es-fill") if there else ("es-open", "es-ring es-hollow")
        parts.append(
            f'<g class="{css}"><title>{title(f"{moment.label}: {at}")}</title>'
            f'<circle class="{ring}" cx="{x}" cy="{y:g}" r="6"></circle></g>'
            f'<text class="es-axis" x="{x - 14}" y="{y + 4:g}" text-anchor="end">'
            f"{title(moment.place or '-')}</text>"
            f'<text class="es-label" x="{x + 16}" y="{y + 4:g}">{title(_short(moment.label))}</text>'
            f'<text class="es-axis" x="{x + 16 + _LABEL + 20}" y="{y + 4:g}">{title(_short(moment.said, 46))}</text>'
        )
    return _svg(_LABEL + _PLOT + _SAID, len(moments) * _ROW, name, parts)


def _x(value: Fraction) -> str:
    inside = min(max(value, Fraction(0)), Fraction(1))
    return f"{float(_LABEL + inside * _PLOT):.1f}"


def percent(value: Fraction | int) -> str:
    """Return a rate in percent with one digit."""
    return f"{float(value) * 100:.1f}\u2009%"


def _short(words: str, most: int = _MAX_LABEL) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _svg(width: float, height: float, name: str, parts: Sequence[str]) -> Html:
    return Html(
        f'<div class="es-figure"><svg class="es-chart" role="img" aria-label="{attr(name)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">{"".join(parts)}</svg></div>'
    )
