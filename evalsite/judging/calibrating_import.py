# SPDX-License-Identifier: Apache-2.0
"""Labelled verdicts of others, by the same counting as our own (docs/reference/calibration.md). Pure.

A published benchmark compared labels of 1 and 2 with verdicts of 0 and 1, so that a verdict for the second
answer never matched: its kappas are wrong by up to 0.6. Both sides therefore state their vocabulary, unequal
ones are refused, and so is any symbol that the mapping does not explain.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evalsite.errors import InputError, shorten
from evalsite.judging import calibrating_figures as figures
from evalsite.judging.calibrating import Observation, Scale, Weighed, weigh
from evalsite.judging.calibrating_tables import column_of, judge_rate, most_common
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.judging.statistics.position import Choice
from evalsite.schema.calibration import Criterion, rate_of
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.tables import ImportedTable, PositionTable, Unavailable
from evalsite.schema.verdictmap import VerdictMapping

_SCALE = Scale(criterion=Criterion.BINARY, lock=DEFAULT_LOCK)


@dataclass(frozen=True, slots=True)
class _Judge:
    """The items of one judge: a label, a verdict, and the verdict in the other order, as symbols."""

    items: dict[str, tuple[str, str, str | None]] = field(default_factory=dict)


def check_vocabulary(mapping: VerdictMapping) -> None:
    """Refuse a mapping whose sides do not share one vocabulary.

    Raises:
        InputError: They do not.
    """
    labels, verdicts = mapping.vocabulary.labels, mapping.vocabulary.verdicts
    if set(labels) != set(verdicts):
        raise InputError(
            f"expected one vocabulary on both sides, got labels {_listed(labels)} and verdicts {_listed(verdicts)}",
            at="vocabulary",
            rule="equal vocabularies",
            advice="A value that only one side has can never agree. Map the source's values first.",
        )


def import_tables(rows: Iterable[tuple[str, Mapping[str, str]]], mapping: VerdictMapping) -> tuple[ImportedTable, ...]:
    """Return one table per judge, in the order of the rows.

    Args:
        rows: (place, cells by column) of each row.
        mapping: How to read them.

    Raises:
        InputError: No row, unequal vocabularies, a missing column, a symbol that is not explained, an item that
            stands twice, or packed cells of different lengths; the place is the row's.
    """
    check_vocabulary(mapping)
    judges: dict[tuple[str, ...], _Judge] = {}
    for place, row in rows:
        key = tuple(_cell(row, name, place) for name in mapping.group)
        judge = judges.setdefault(key, _Judge())
        for item, symbols in _items(row, mapping, place):
            if item in judge.items:
                raise InputError(f"expected each item of a judge once, got {shorten(item)} twice", at=place, rule="R71")
            judge.items[item] = _known(symbols, mapping, place)
    if not any(judge.items for judge in judges.values()):
        message = "expected rows with labels and verdicts, found none below the header"
        raise InputError(message, at="table", advice="Export the table again: nothing can be counted.")
    return tuple(_table(dict(zip(mapping.group, key, strict=True)), judge, mapping) for key, judge in judges.items())


def _items(
    row: Mapping[str, str], mapping: VerdictMapping, place: str
) -> Iterable[tuple[str, tuple[str, str, str | None]]]:
    columns = mapping.columns
    label, verdict = _cell(row, columns.label, place), _cell(row, columns.verdict, place)
    swapped = None if columns.swapped is None else _cell(row, columns.swapped, place)
    if columns.item is not None:
        yield _cell(row, columns.item, place), (label, verdict, swapped)
        return
    lengths = {len(text) for text in (label, verdict, swapped) if text is not None}
    stated = None if columns.count is None else _cell(row, columns.count, place)
    if len(lengths) > 1 or (stated is not None and stated != str(len(label))):
        message = f"expected packed cells of one length, got {sorted(lengths)}" + (
            "" if stated is None else f" and a count of {shorten(stated, 20)}"
        )
        raise InputError(message, at=place, rule="packed rows")
    for number, symbols in enumerate(zip(label, verdict, swapped or [None] * len(label), strict=True)):
        yield str(number + 1), symbols


def _cell(row: Mapping[str, str], column: str, place: str) -> str:
    if column not in row:
        raise InputError(f"expected a column {shorten(column)}, found none", at=place, rule="mapping")
    return row[column]


def _known(symbols: tuple[str, str, str | None], mapping: VerdictMapping, place: str) -> tuple[str, str, str | None]:
    label, *verdicts = symbols
    words = mapping.vocabulary
    if label not in words.labels:
        message = f"expected a label of {_listed(words.labels)}, got {shorten(label, 40)}"
        raise InputError(message, at=place, rule="label vocabulary")
    for verdict in verdicts:
        if verdict is not None and verdict not in words.verdicts and verdict not in words.unavailable:
            raise InputError(
                f"expected a verdict of {_listed((*words.verdicts, *words.unavailable))}, got {shorten(verdict, 40)}",
                at=place,
                rule="verdict vocabulary",
                advice="State in the mapping what it means; a verdict is never guessed.",
            )
    return symbols


def _table(group: dict[str, str], judge: _Judge, mapping: VerdictMapping) -> ImportedTable:
    weighed = _weighed(judge, mapping)
    pairs = [(human, said) for _, human, said in weighed.pairs]
    judged, labeled = len(pairs), len(weighed.human)
    alpha = rate_of(DEFAULT_LOCK.alpha)
    return ImportedTable(
        group=group,
        counts=weighed.counts(measured=True),
        human_fail=weighed.could_false_pass,
        human_pass=weighed.could_false_fail,
        agreement=figures.rate(weighed.agreed, judged, "nothing was judged"),
        agreement_worst=figures.rate(weighed.agreed, labeled, "nothing was labelled"),
        false_pass=figures.bound(weighed.false_pass, weighed.could_false_pass, alpha),
        false_fail=figures.bound(weighed.false_fail, weighed.could_false_fail, alpha),
        prevalence=figures.rate(sum(human or 0 for human in weighed.human.values()), labeled, "nothing was labelled"),
        judge_rate=judge_rate(weighed),
        baseline=figures.rate(most_common(pairs), judged, "nothing was judged"),
        kappa=figures.kappa(pairs, 2, interval=False),
        ac1=figures.ac1(pairs, 2),
        column=column_of(weighed),
        position=None if mapping.columns.swapped is None else _position(judge, mapping),
    )


def _weighed(judge: _Judge, mapping: VerdictMapping) -> Weighed:
    words = mapping.vocabulary
    labels, seen = {}, []
    for number, (label, verdict, _) in enumerate(judge.items.values()):
        item = LabelItem(case_id=f"item-{number + 1}", repetition=None, dimension=None)
        labels[item] = GivenLabel(item=item, value=int(label == words.passing), note=None)
        outcome: int | Unavailable = words.unavailable.get(verdict, int(verdict == words.passing))
        seen.append(Observation(item=item, repetition=1, outcome=outcome))
    return weigh(_SCALE, labels, seen)


def _position(judge: _Judge, mapping: VerdictMapping) -> PositionTable:
    """Return T4: in both orders, which text is preferred; A is the one that stood first in the first order."""
    other = next(value for value in mapping.vocabulary.labels if value != mapping.first)
    first = {mapping.first: Choice.A, other: Choice.B}
    second = first if mapping.swapped_names == "answer" else {mapping.first: Choice.B, other: Choice.A}
    return figures.position(
        (first.get(verdict), None if swapped is None else second.get(swapped))
        for _, verdict, swapped in judge.items.values()
    )


def _listed(symbols: Sequence[str]) -> str:
    return "{" + ", ".join(shorten(symbol, 20) for symbol in symbols) + "}"
