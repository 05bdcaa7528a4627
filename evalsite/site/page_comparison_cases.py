# SPDX-License-Identifier: Apache-2.0
"""The cases of a comparison: every pair before and after, where its change comes from, what was not compared."""

from collections import Counter
from collections.abc import Iterable, Sequence

from evalsite.campaign.trusted import TrialRecord
from evalsite.judging import comparison_words as words
from evalsite.judging.comparison import CaseRow, Cause, Change, Pair
from evalsite.schema.outcome import Protocol, Trial
from evalsite.site import figures, marks, parts
from evalsite.site.comparisons import Beside
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, join, link, num, table
from evalsite.site.marks import Mark, icon, legend, pill
from evalsite.site.names import relative
from evalsite.site.views import RunView

_MAX_FIGURE = 40
_MAX_PAIRS = 500
_MAX_STILL = 200
_FEW = 12
_MAX_OPEN = 24
_CAUSES = {
    Cause.ANSWER: ("The candidate answered otherwise", "another answer, byte for byte"),
    Cause.JUDGE: ("The judge judged otherwise", "the same answer to the byte, another verdict"),
    Cause.CASE: ("The case is another", "the same answer, another text or expectation of the case"),
}
_ORDER = (Change.DOWN, Change.UP, Change.BREAK, Change.EXCLUDED, Change.SAME)


def cases_section(found: Beside) -> Html:
    """Return every case before and after: what changed first, what stayed behind a fold."""
    rows = sorted(found.comparison.cases, key=lambda row: _ORDER.index(row.change))
    if not rows:
        return parts.says("The two runs share no trial: nothing can stand beside each other.")
    moved = [row for row in rows if _moved(row)]
    still = [row for row in rows if not _moved(row)]
    pieces = [
        parts.says(words.counts(found.comparison)),
        _figure(found, [*moved, *still] if len(rows) <= _FEW else moved),
    ]
    if moved:
        pieces.append(_table(found, moved, "Cases that changed, or were not compared"))
    if still:
        what = "case" if still[0].dimension is None else "question"
        name = f"{parts.plural(len(still), what)} without any change"
        more = len(still) - _MAX_STILL
        cut = parts.says(f"and {more} more, on the pages of the runs", css="es-quiet") if more > 0 else EMPTY
        shown = join((_table(found, still[:_MAX_STILL], name), cut))
        pieces.append(parts.fold(name, shown, is_open=not moved))
    pieces.append(parts.fold("What the shapes mean", _legend(found, rows)))
    return join(pieces)


def _figure(found: Beside, rows: Sequence[CaseRow]) -> Html:
    """Return the first cases as a strip; none where every score has the same shape."""
    if found.after.plan.protocol is Protocol.GRADED:
        return EMPTY
    strip = figures.beside([_drawn(found, row) for row in rows[:_MAX_FIGURE]], name="Each case before and after")
    more = len(rows) - _MAX_FIGURE
    cut = parts.says(f"{more} more cases are in the tables below.", css="es-quiet") if more > 0 else EMPTY
    return join((strip, cut))


def _moved(row: CaseRow) -> bool:
    return row.change is not Change.SAME or bool(row.flips) or bool(row.excluded)


def _drawn(found: Beside, row: CaseRow) -> tuple[str, list[tuple[str, Mark]], list[tuple[str, Mark]]]:
    names = [found.after.trial_name(pair.trial) for pair in row.pairs]
    before = [found.before.mark_of(found.record_before(pair)) for pair in row.pairs]
    after = [found.after.mark_of(found.record_after(pair)) for pair in row.pairs]
    return found.name(row), list(zip(names, before, strict=True)), list(zip(names, after, strict=True))


def _legend(found: Beside, rows: Iterable[CaseRow]) -> Html:
    drawn = [_drawn(found, row) for row in rows]
    used = {mark for _, before, after in drawn for _, mark in (*before, *after)}
    outcomes = [mark for mark in dict.fromkeys((*marks.OUTCOMES, *marks.SCORES)) if mark in used]
    changes = {found.change(row.change) for row in found.comparison.cases}
    return legend((*outcomes, *(mark for mark in marks.CHANGES if mark in changes)))


def _table(found: Beside, rows: Sequence[CaseRow], caption: str) -> Html:
    body = [
        (
            join((_case(found, row), parts.critical() if row.critical else EMPTY)),
            _side(found, row, after=False),
            _side(found, row, after=True),
            *((pill(found.change(row.change)), _why(row)) if _moved(row) else ()),
        )
        for row in rows
    ]
    more = ("Change", "Where it comes from") if any(map(_moved, rows)) else ()
    head = tuple(text(name) for name in ("Case", "Before", "After", *more))
    return table(head, body, css="es-results", caption=caption)


def _case(found: Beside, row: CaseRow) -> Html:
    name = parts.foreign(found.name(row))
    if not found.shows_cases:
        return name
    page = found.after.comparison_path
    of_all_runs = f"corpora/{found.after.plan.corpus.name}/cases/{found.after.case_path(row.case_id).split('/')[-1]}"
    return join((link(relative(of_all_runs, page), name), text(" ")))


def _side(found: Beside, row: CaseRow, *, after: bool) -> Html:
    """Return one run's repetitions of a case: a shape each, then what they come to."""
    view = found.after if after else found.before
    record_of = found.record_after if after else found.record_before
    shapes = join(_shape(view, record_of(pair)) for pair in row.pairs)
    said = words.tally_words(found.comparison, row, after=after) if row.before.compared else "not compared"
    tally = text(f" {said}")
    if not found.shows_cases:
        return el("span", shapes, tally, class_="es-cell")
    target = relative(view.case_path(row.case_id), found.after.comparison_path)
    return el("span", shapes, link(target, tally), class_="es-cell")


def _shape(view: RunView, record: TrialRecord | None) -> Html:
    mark = view.mark_of(record)
    if mark is marks.GRADED:
        return EMPTY  # its bin is told in words
    return el("span", icon(mark), el("span", text(f"{mark.label}, "), class_="es-sr"))


def _why(row: CaseRow) -> Html:
    causes = Counter(pair.cause for pair in row.flips)
    said = [f"{cause.value} {count}\u00d7" for cause in Cause if (count := causes[cause])]
    sides = Counter(_side_of(pair) for pair in row.excluded)
    said += [f"not compared {count}\u00d7: {side}" for side, count in sorted(sides.items())]
    return text(", ".join(said)) if said else parts.quiet("nothing")


def _side_of(pair: Pair) -> str:
    sides = {side for side in (pair.before.side, pair.after.side) if side is not None}
    return " and ".join(sorted(sides))


def causes_section(found: Beside) -> Html:
    """Return the flips by cause, every flip, every pair that was not compared, and what one run alone planned."""
    compared = found.comparison
    causes = [
        (text(name), num(parts.number(compared.by_cause[cause])), text(meaning))
        for cause, (name, meaning) in _CAUSES.items()
    ]
    head = tuple(text(name) for name in ("Cause", "Flips", "As bytes tell"))
    flips = [pair for pair in compared.pairs if pair.change in (Change.DOWN, Change.UP)]
    left_out = [pair for pair in compared.pairs if pair.change is Change.EXCLUDED]
    pieces = [table(head, causes, caption="Flips by cause")]
    pieces += [parts.says(one) for one in words.variance(compared) if not one.startswith("Flips:")]
    if flips:
        pieces.append(parts.fold("Flips, one by one", _pairs(found, flips, "Flips"), is_open=len(flips) <= _MAX_OPEN))
    pieces.append(el("h3", text("Not compared")))
    if left_out:
        sides = ", ".join(f"{side} {count}" for side, count in compared.by_side.items())
        pieces.append(parts.says(f"{parts.plural(len(left_out), 'pair')}, by whose failure: {sides}."))
        pieces.append(_pairs(found, left_out, "Pairs that were not compared"))
    else:
        pieces.append(parts.says("Every pair has a value in both runs."))
    for name, trials in (("earlier", compared.only_before), ("later", compared.only_after)):
        if trials:
            pieces.append(_unmatched(found, name, trials))
    return join(pieces)


def _pairs(found: Beside, pairs: Sequence[Pair], caption: str) -> Html:
    page = found.after.comparison_path
    rows = []
    for pair in pairs[:_MAX_PAIRS]:
        name = parts.foreign(found.after.trial_name(pair.trial))
        target = relative(found.after.case_path(pair.trial.case_id), page)
        said = words.pair_words(found.comparison, pair).split(": ", 1)
        what = said[0].replace("->", "\u2192")
        rows.append((link(target, name) if found.shows_cases else name, text(what), text(said[1] if said[1:] else "")))
    more = len(pairs) - _MAX_PAIRS
    tail = parts.says(f"and {more} more", css="es-quiet") if more > 0 else EMPTY
    head = tuple(text(name) for name in ("Pair", "Before \u2192 after", "Where it comes from"))
    return join((table(head, rows, caption=caption), tail))


def _unmatched(found: Beside, name: str, trials: Sequence[Trial]) -> Html:
    said = f"{parts.plural(len(trials), 'trial')} planned in the {name} run only"
    if not found.shows_cases:
        return parts.says(f"{said}.")
    view = found.before if name == "earlier" else found.after
    return el("p", text(f"{said}: "), parts.listed(parts.foreign(view.trial_name(trial)) for trial in trials))
