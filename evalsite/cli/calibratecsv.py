# SPDX-License-Identifier: Apache-2.0
"""The tables of a calibration as CSV files, every cell guarded against being run as a formula."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from evalsite.campaign.guardedcsv import write_csv
from evalsite.cli.calibratetables import COUNTS, IMPORT_HEADER, count_cells, figures, import_cells
from evalsite.schema.tables import CalibrationReport, CriterionTables, Figure, ImportReport

_FIGURE = ("count", "of", "value", "low", "high", "method", "reason")
_NAMED = ("criterion", "labels")
_Rows = Iterator[Sequence[object]]


def csv_of_import(report: ImportReport) -> dict[str, bytes]:
    """Return an imported table as CSV by file name."""
    names = tuple(report.tables[0].group) if report.tables else ()
    rows = ([*one.group.values(), *import_cells(one)] for one in report.tables)
    return {"imported.csv": _csv((*names, *IMPORT_HEADER), rows)}


def csv_tables(report: CalibrationReport) -> dict[str, bytes]:
    """Return the tables of a run as CSV by file name; table numbers are those of docs/reference/calibration.md."""
    tables = {
        name: _csv((*_NAMED, *header), ([*_named(one), *row] for one in report.criteria for row in rows(one)))
        for name, (header, rows) in _TABLES.items()
    }
    cases = report.repetition.cases
    tables["t5-repetitions.csv"] = _csv(
        ("case", "dimension", "trials", "passes", "unavailable"),
        ([case.case_id, case.dimension, case.trials, case.passes, case.unavailable] for case in cases),
    )
    return dict(sorted(tables.items()))


def _calibration(one: CriterionTables) -> _Rows:
    head = [one.labels.level.value, one.labels.split.value, one.gate.outcome.value, one.gate.standing.value]
    for name, figure in figures(one):
        yield [*head, *count_cells(one.counts), name, *_figure(figure)]


def _disagreements(one: CriterionTables) -> _Rows:
    for row in one.disagreements:
        cited = " ".join(map(str, row.evidence))
        yield [row.item, row.human, row.judge, row.kind, cited, row.evidence_supplied, row.reason]


def _annotators(one: CriterionTables) -> _Rows:
    for pair in one.annotators.pairs:
        yield [pair.first, pair.second, *_figure(pair.agreement)]


def _bins(one: CriterionTables) -> _Rows:
    for row in one.bins:
        yield [row.bin, row.judged, *_figure(row.same)]


def _lengths(one: CriterionTables) -> _Rows:
    for row in one.lengths:
        yield [row.tercile, row.least_chars, row.most_chars, *count_cells(row.counts)]


def _order(one: CriterionTables) -> _Rows:
    for row in one.order:
        yield [row.step, row.position, row.event]


_TABLES: dict[str, tuple[tuple[str, ...], Callable[[CriterionTables], _Rows]]] = {
    "t1-calibration.csv": (("level", "split", "outcome", "standing", *COUNTS, "figure", *_FIGURE), _calibration),
    "t2-disagreements.csv": (
        ("item", "human", "judge", "kind", "evidence", "supplied", "reason"),
        _disagreements,
    ),
    "t3-annotators.csv": (("first", "second", *_FIGURE), _annotators),
    "t8-bins.csv": (("bin", "judged", *_FIGURE), _bins),
    "t9-lengths.csv": (("tercile", "least chars", "most chars", *COUNTS), _lengths),
    "t10-order.csv": (("step", "log position", "event"), _order),
}


def _named(one: CriterionTables) -> list[object]:
    return [one.criterion.value, one.labels.name]


def _figure(figure: Figure) -> list[object]:
    return [getattr(figure, name) for name in _FIGURE]


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    return write_csv([header, *(["" if cell is None else str(cell) for cell in row] for row in rows)])
