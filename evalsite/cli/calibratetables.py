# SPDX-License-Identifier: Apache-2.0
"""The tables of a calibration on a terminal. Texts of judges and of others are shown escaped."""

from evalsite.cli import output
from evalsite.errors import shorten
from evalsite.schema.tables import (
    CalibrationReport,
    CriterionTables,
    Figure,
    ImportedTable,
    ImportReport,
    OutcomeCounts,
    PositionTable,
)

_MAX_TEXT = 100
_CANDIDATES = {
    None: "none, or it is not known whether it is another model than the judge",
    True: "the same model as the judge: no independent judge",
    False: "another model than the judge, which establishes no independence",
}
COUNTS = ("labeled", "judged", "agreed", "false pass", "false fail", "unavailable")
_RATES = ("agreement", "agreement_worst", "false_pass", "false_fail", "prevalence", "judge_rate", "baseline")
_COEFFICIENTS = ("kappa", "ac1")


def print_report(report: CalibrationReport) -> None:
    """Print every table of one run's judge."""
    judge, controls = report.judge, report.controls
    output.say_facts(
        {
            "run": report.run,
            "mode": f"{report.mode.value}, protocol {report.protocol.value}, corpus {report.corpus}",
            "judge": f"{judge.model_name or 'not told'} {judge.model_digest or ''}".rstrip(),
            "candidate": _CANDIDATES[judge.same_model_as_candidate],
            "controls": _controls(report),
        }
    )
    for kind, (right, shown) in controls.by_kind.items():
        output.say(f"            {kind}: {right} of {shown} as expected")
    for found in report.findings:
        output.say(f"finding   {found.code}: {found.message} [{found.rule}]")
        if found.items:
            output.say(f"          {', '.join(found.items)}")
    for name in report.unrevealed:
        output.say(f"labels    {name} are committed, and not revealed yet: nothing can be compared with them")
    if not report.criteria and not report.unrevealed:
        output.say("No labels stand beside this run: nothing can be compared.")
    told = frozenset(found.code for found in report.findings)
    for one in report.criteria:
        _print_criterion(one, told)
    _print_repetitions(report)
    if report.position is not None:
        _print_position(report.position)
    output.say()
    for caveat in report.caveats:
        output.say(f"Note: {caveat}")


def _controls(report: CalibrationReport) -> str:
    controls = report.controls
    if controls.passed is None:
        return "none in this run"
    return f"{controls.right} of {controls.planned} as expected, {controls.unavailable} without a verdict"


def _print_criterion(one: CriterionTables, told: frozenset[str]) -> None:
    """Print one criterion; the items of findings that were told already are not listed again."""
    labels, gate = one.labels, one.gate
    output.say()
    output.say(f"== {one.criterion.value} against {labels.name}")
    output.say_facts(
        {
            "gate": f"{gate.outcome.value}: {gate.words}",
            "labels": f"{labels.total} ({labels.undecided} undecided by people, {labels.boundary} on the boundary)",
            "level": f"{labels.level.value} (claimed: {labels.claimed_level.value}), {labels.split.value}",
            "annotators": f"{labels.raters}, alpha {labels.human_alpha or 'none'}, "
            f"{'adjudicated' if labels.adjudicated else 'not adjudicated'}",
            "attempt": f"{gate.attempt}, tested at {gate.alpha}",
        }
    )
    for reason in gate.reasons:
        output.say(f"  - {reason.effect}: {reason.message} [{reason.rule}]")
        if reason.items and reason.code not in told:
            output.say(f"    {', '.join(reason.items)}")
    output.say()
    output.say_table(COUNTS, [count_cells(one.counts)])
    _print_unavailable(one.counts)
    if not one.measured:
        output.say(f"No agreement is stated: {one.not_measured}.")
        return
    output.say()
    output.say_table(("rate", "count", "value", "interval", "by"), [_figure_cells(*row) for row in figures(one)])
    _print_confusion(one)
    _print_disagreements(one)
    _print_rest(one)


def figures(one: CriterionTables | ImportedTable) -> list[tuple[str, Figure]]:
    """Return the rates and coefficients of T1 by name."""
    names = [*_RATES, *_COEFFICIENTS]
    return [(name.replace("_", " "), getattr(one, name)) for name in names]


def count_cells(counts: OutcomeCounts) -> list[object]:
    """Return counts in the order of `COUNTS`."""
    known = (counts.labeled, counts.judged, counts.agreed, counts.false_pass, counts.false_fail)
    return [*("-" if value is None else value for value in known), sum(counts.unavailable.values())]


def _print_unavailable(counts: OutcomeCounts) -> None:
    if counts.unavailable:
        found = ", ".join(f"{count} {reason.value}" for reason, count in counts.unavailable.items())
        output.say(f"unavailable: {found}")


def _figure_cells(name: str, figure: Figure) -> list[str]:
    count = "-" if figure.count is None or figure.of is None else f"{figure.count} of {figure.of}"
    if figure.value is None:
        return [name, count, "-", "-", figure.reason or ""]
    ends = [figure.low or "0", figure.high or "1"]
    interval = "-" if figure.low is None and figure.high is None else f"[{ends[0]}, {ends[1]}]"
    method = figure.method + (f", seed {figure.seed}, {figure.replicates} draws" if figure.seed else "")
    return [name, count, figure.value, interval, method]


def _print_confusion(one: CriterionTables) -> None:
    if one.confusion.cells is None:
        return
    output.say()
    rows = [[name, *cells] for name, cells in zip(one.confusion.rows, one.confusion.cells, strict=True)]
    output.say_table(["people \\ judge", *one.confusion.columns], rows)


def _print_disagreements(one: CriterionTables) -> None:
    output.say()
    output.say(f"Disagreements: {len(one.disagreements) or 'none'}")
    for found in one.disagreements:
        cited = f", cites {list(found.evidence)} of {found.evidence_supplied}" if found.evidence_supplied else ""
        output.say(f"  - {found.item}: people {found.human}, judge {found.judge} ({found.kind}{cited})")
        if found.reason is not None:
            output.say(f"    the judge says {shorten(found.reason, _MAX_TEXT)}")


def _print_rest(one: CriterionTables) -> None:
    people = one.annotators
    if people.names:
        output.say()
        rows = [("people among themselves", people.ceiling), ("Krippendorff alpha", people.alpha)]
        output.say_table(("annotators", "count", "value", "interval", "by"), [_figure_cells(*row) for row in rows])
    if one.corrected.corrected.value is not None:
        names = ("judged_rate", "sensitivity", "specificity", "corrected", "labels_only")
        output.say()
        cells = [_figure_cells(name.replace("_", " "), getattr(one.corrected, name)) for name in names]
        output.say_table(("corrected rate", "count", "value", "interval", "by"), cells)
    output.say()
    output.say_table(
        ("length", "chars", *COUNTS),
        [[row.tercile, f"{row.least_chars}-{row.most_chars}", *count_cells(row.counts)] for row in one.lengths],
    )
    if one.order:
        output.say()
        rows_of_order = [[row.step, or_dash(row.position), or_dash(row.event), row.words] for row in one.order]
        output.say_table(("order", "log", "event", "what"), rows_of_order)


def or_dash(value: int | None) -> str:
    """Return a number, or a dash where there is none."""
    return "-" if value is None else str(value)


def _print_repetitions(report: CalibrationReport) -> None:
    table = report.repetition
    output.say()
    output.say(f"Repetitions: passes means {table.about}")
    rows = [_figure_cells(f"pass^{row.k}", row.all_pass) for row in table.pass_power]
    rows += [_figure_cells("judge repeats itself", table.unanimous)]
    output.say_table(("repeated", "count", "value", "interval", "by"), rows)
    if table.flaky:
        output.say(f"not the same in every repetition: {', '.join(table.flaky)}")


def _print_position(table: PositionTable) -> None:
    output.say()
    output.say("Pairs in both orders")
    output.say_table(
        (
            "pairs",
            "unavailable",
            "both decided",
            "a wins",
            "b wins",
            "ties",
            "tie in one order",
            "flips to first",
            "to second",
        ),
        [
            [
                table.pairs,
                table.unavailable,
                table.both_decided,
                table.wins_a,
                table.wins_b,
                table.ties,
                table.half_ties,
                table.flips_first,
                table.flips_second,
            ]
        ],
    )
    rows = [_figure_cells("consistent", table.consistent), _figure_cells("first slot", table.first_slot)]
    rows.append(_figure_cells("exact p", table.exact_p))
    output.say_table(("pairs", "count", "value", "interval", "by"), rows)


IMPORT_HEADER = (*COUNTS, "agreement", "kappa", "both decided", "consistent", "flip first", "flip second", "column")


def print_import(report: ImportReport) -> None:
    """Print one line per judge of an imported table."""
    output.say_facts({"table": shorten(report.title), "standing": report.standing, "judges": len(report.tables)})
    output.say()
    names = tuple(report.tables[0].group) if report.tables else ()
    rows = [[*(_plain(value) for value in one.group.values()), *import_cells(one)] for one in report.tables]
    output.say_table((*names, *IMPORT_HEADER), rows)


def import_cells(one: ImportedTable) -> list[object]:
    """Return one judge of an imported table in the order of `IMPORT_HEADER`."""
    at = one.position
    place: tuple[object, ...] = ("-",) * 4
    if at is not None:
        place = (at.both_decided, at.consistent.count, at.flips_first, at.flips_second)
    column = f"always {one.column.value}" if one.column.constant else ""
    return [*count_cells(one.counts), one.agreement.value or "-", one.kappa.value or "-", *place, column]


def _plain(value: str) -> str:
    return shorten(value, _MAX_TEXT)[1:-1]
