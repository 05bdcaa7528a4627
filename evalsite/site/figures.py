# SPDX-License-Identifier: Apache-2.0
"""Figures as inline SVG: classes instead of styles, a title for screen readers, a table beside each.

No figure carries a fact that does not also stand in a table of its page.
"""

from collections.abc import Sequence

from evalsite.site.escape import Html, attr, title
from evalsite.site.marks import Mark

_CELL = 24
_ICON = 16
_GAP = 8
_MAX_LABELLED = 40
_COLUMNS = 40
_CHAR = 7.2
_MAX_NAME = 28
_ARROW = 44
_LEAST_BEFORE = 52


def strip(rows: Sequence[tuple[str, Sequence[tuple[str, Mark]]]], *, name: str) -> Html:
    """Return cases by repetitions: one row per case, one shape per repetition.

    Args:
        rows: Name of a case and, per repetition, the name of the trial and its mark.
        name: What the figure shows, for screen readers.

    Beyond 40 cases the names are left out and the cases follow each other in lines.
    """
    if not rows:
        return Html("")
    return _labelled(rows, name) if len(rows) <= _MAX_LABELLED else _dense(rows, name)


def _shape(mark: Mark, x: float, y: float, label: str) -> str:
    return (
        f'<g class="es-icon {mark.tone.value}" transform="translate({x:g} {y:g})">'
        f"<title>{title(f'{label}: {mark.label}')}</title>{mark.shape}</g>"
    )


def _svg(width: float, height: float, name: str, parts: list[str]) -> Html:
    return Html(
        f'<div class="es-figure"><svg class="es-strip" role="img" aria-label="{attr(name)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">{"".join(parts)}</svg></div>'
    )


def _labelled(rows: Sequence[tuple[str, Sequence[tuple[str, Mark]]]], name: str) -> Html:
    longest = min(max(len(label) for label, _ in rows), _MAX_NAME)
    left = longest * _CHAR + 12
    columns = max(len(cells) for _, cells in rows)
    parts = []
    top = 18.0
    for column in range(columns):
        x = left + column * _CELL + _ICON / 2
        parts.append(f'<text class="es-axis" x="{x:g}" y="11" text-anchor="middle">#{column + 1}</text>')
    for index, (label, cells) in enumerate(rows):
        y = top + index * _CELL
        shown = label if len(label) <= _MAX_NAME else f"{label[: _MAX_NAME - 1]}…"
        parts.append(f'<text class="es-label" x="0" y="{y + 12:g}">{title(shown)}</text>')
        parts.extend(_shape(mark, left + column * _CELL, y, trial) for column, (trial, mark) in enumerate(cells))
    return _svg(left + columns * _CELL, top + len(rows) * _CELL, name, parts)


def _dense(rows: Sequence[tuple[str, Sequence[tuple[str, Mark]]]], name: str) -> Html:
    repetitions = max(len(cells) for _, cells in rows)
    block = repetitions * (_ICON + 2) + _GAP
    parts: list[str] = []
    for index, (_, cells) in enumerate(rows):
        x = index % _COLUMNS * (_ICON + 4)
        y = index // _COLUMNS * block
        parts.extend(_shape(mark, x, y + number * (_ICON + 2), trial) for number, (trial, mark) in enumerate(cells))
    lines = (len(rows) + _COLUMNS - 1) // _COLUMNS
    return _svg(_COLUMNS * (_ICON + 4), lines * block, name, parts)


def beside(rows: Sequence[tuple[str, Sequence[tuple[str, Mark]], Sequence[tuple[str, Mark]]]], *, name: str) -> Html:
    """Return cases by repetitions in two runs: what was before, an arrow, what is after.

    Args:
        rows: Name of a case and, per repetition before and after, the name of the trial and its mark.
        name: What the figure shows, for screen readers.
    """
    if not rows:
        return Html("")
    left = min(max(len(label) for label, _, _ in rows), _MAX_NAME) * _CHAR + 12
    middle = left + max(max(len(before) for _, before, _ in rows) * _CELL, _LEAST_BEFORE)
    right = middle + _ARROW
    width = right + max(max(len(after) for _, _, after in rows) * _CELL, _LEAST_BEFORE)
    top = 22.0
    parts = [
        f'<text class="es-axis" x="{left:g}" y="11">before</text>',
        f'<text class="es-axis" x="{right:g}" y="11">after</text>',
    ]
    for index, (label, before, after) in enumerate(rows):
        y = top + index * _CELL
        shown = label if len(label) <= _MAX_NAME else f"{label[: _MAX_NAME - 1]}…"
        parts.append(f'<text class="es-label" x="0" y="{y + 12:g}">{title(shown)}</text>')
        parts.append(f'<text class="es-axis" x="{middle + _ARROW / 2 - 9:g}" y="{y + 12:g}">→</text>')
        for start, cells in ((left, before), (right, after)):
            parts.extend(_shape(mark, start + column * _CELL, y, trial) for column, (trial, mark) in enumerate(cells))
    return _svg(width, top + len(rows) * _CELL, name, parts)


def segments(parts: Sequence[tuple[str, int, str]], *, name: str) -> Html:
    """Return a bar of counts: word, count and class of each part; widths follow the counts.

    Args:
        parts: Word, count and class; parts of zero are left out.
        name: What the bar shows, for screen readers.
    """
    total = sum(count for _, count, _ in parts)
    if total == 0:
        return Html("")
    width, x, drawn = 720.0, 0.0, []
    for word, count, css in parts:
        if count == 0:
            continue
        size = width * count / total
        drawn.append(
            f'<g class="{attr(css)}"><title>{title(f"{word}: {count}")}</title>'
            f'<rect class="es-fill" x="{x:.2f}" y="0" width="{max(size - 2, 1):.2f}" height="12" rx="3"></rect></g>'
        )
        x += size
    return Html(
        f'<div class="es-figure"><svg class="es-segments" role="img" aria-label="{attr(name)}" '
        f'viewBox="0 0 720 12" width="720" height="12" preserveAspectRatio="none">{"".join(drawn)}</svg></div>'
    )
