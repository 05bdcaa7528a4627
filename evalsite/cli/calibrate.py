# SPDX-License-Identifier: Apache-2.0
"""``evalsite calibrate``: how far a judge can be trusted, against controls and labels of people."""

from collections.abc import Mapping
from pathlib import Path

import click

from evalsite.campaign.calibrate import calibration_of, seal_for
from evalsite.campaign.calibrate_import import read_tables
from evalsite.campaign.project import load_run
from evalsite.campaign.qualification import labels_of
from evalsite.campaign.trusted import TrustedRun
from evalsite.cli import calibratetables, output
from evalsite.cli.calibratecsv import csv_of_import, csv_tables
from evalsite.cli.context import find_project, host_clock, json_option, root_key_option
from evalsite.cli.policy import policy_options
from evalsite.cli.unlock import passphrase_option
from evalsite.errors import InputError
from evalsite.ledger.evidence import Policy
from evalsite.ledger.labelbook import LabelBook, lock_digest
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.policy import require_ledgers
from evalsite.ledger.verify import ledger_names
from evalsite.ledger.writer import open_ledger
from evalsite.schema.calibration import GateOutcome
from evalsite.schema.tables import CalibrationReport, ImportReport
from evalsite.storage import ensure_folder, replace

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_csv_option = click.option(
    "--csv", "folder", type=click.Path(path_type=Path, file_okay=False), help="Write the tables as CSV into a folder."
)


class _WithDefault(click.Group):
    """A group whose first word may be a run: ``calibrate RUN`` is short for ``calibrate run RUN``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front, unless a command or a call for help stands there."""
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_WithDefault)
def calibrate() -> None:
    """Compare a judge's verdicts with controls and labels: `calibrate RUN`, or a table of others."""


@calibrate.command("run")
@click.argument("run")
@click.option("--labels", metavar="NAME", help="Only these labels; default: all that stand beside the run.")
@click.option("--record", is_flag=True, help="Log the counts against revealed labels; every verification derives them.")
@click.option("--gate", "gated", is_flag=True, help="Exit 3 if a calibration gate fails, 5 if one is not decided.")
@_csv_option
@root_key_option
@policy_options
@passphrase_option
@json_option
def calibrate_run(  # noqa: PLR0913 - the options of one command
    run: str,
    labels: str | None,
    folder: Path | None,
    root_keys: tuple[str, ...],
    policy: Policy,
    *,
    record: bool,
    gated: bool,
    as_json: bool,
) -> None:
    """Print every table about the judge of RUN: counts, rates with their bounds, gates, disagreements.

    Labels are those that the run's plan committed to, once they are revealed, and the label sets of its corpus.
    """
    project, pins = find_project(), all_pins(root_keys)
    require_ledgers(policy, ledger_names(project))
    trusted = load_run(project, run, pins=pins, policy=policy)
    book = labels_of(project, trusted, pins=pins, policy=policy)
    report = _only(calibration_of(trusted, book), labels)
    if folder is not None:
        _write_csv(folder, csv_tables(report))
    if as_json:
        output.say_report(CalibrationReport, report.plain())
    else:
        calibratetables.print_report(report)
    if record:
        _record(
            project, trusted, book, [one.labels.name for one in report.criteria if one.labels.source == "committed"]
        )
    if gated:
        raise SystemExit(_exit_code(report))


def _only(report: CalibrationReport, name: str | None) -> CalibrationReport:
    if name is None:
        return report
    chosen = tuple(one for one in report.criteria if one.labels.name == name)
    if not chosen:
        known = ", ".join(sorted({one.labels.name for one in report.criteria})) or "none"
        raise InputError(
            f"expected labels that stand beside {report.run}, got {name!a}",
            at="--labels",
            advice=f"There are: {known}. Committed labels count once they are revealed.",
        )
    return report.model_copy(update={"criteria": chosen})


def _exit_code(report: CalibrationReport) -> int:
    """Return 3 if the judge failed, with labels or without any, 0 if every gate passed, else 5."""
    outcomes = {one.gate.outcome for one in report.criteria} | {found.effect for found in report.findings}
    if GateOutcome.FAIL in outcomes:
        return 3
    return 0 if outcomes == {GateOutcome.PASS} else 5


def _record(project: Path, run: TrustedRun, book: LabelBook | None, names: list[str]) -> None:
    """Log what a run comes to against each of its committed labels; again only once more reveals make it another."""
    if book is None or not names:
        raise InputError(
            "expected revealed labels that the run's plan committed to, found none", at="--record", rule="R78"
        )
    seals = {name: seal_for(run, name, book) for name in names}
    with open_ledger(project, keystore_folder(), run.ledger) as writer:
        recorded = {(entry.run, entry.commitment): entry.seal for entry in writer.labels.book.calibrations}
        for name, seal in seals.items():
            if recorded.get((run.run_id, name)) == seal:
                output.note(f"recorded already: {run.run_id} against {name}")
                continue
            body = {
                "run": run.run_id,
                "commitment": name,
                "lock": lock_digest(book.labels[name].lock),
                "attempt": book.attempt(name, run.run_id),
                "seal": seal.plain(),
            }
            writer.labels.append("calibration.recorded", body, now=host_clock().now())
            output.note(f"recorded: {run.run_id} against {name}, {seal.outcome.value}")


@calibrate.command("import")
@click.argument("table", type=_FILE)
@click.option("--mapping", type=_FILE, required=True, help="How to read TABLE (YAML).")
@_csv_option
@json_option
def import_table(table: Path, mapping: Path, folder: Path | None, *, as_json: bool) -> None:
    """Read labels and verdicts of others from TABLE (CSV) and print the same tables for them.

    They were recorded by others: they open no gate.
    """
    report = read_tables(table, mapping)
    if folder is not None:
        _write_csv(folder, csv_of_import(report))
    if as_json:
        output.say_report(ImportReport, report.plain())
    else:
        calibratetables.print_import(report)


def _write_csv(folder: Path, tables: Mapping[str, bytes]) -> None:
    ensure_folder(folder)
    for name, data in tables.items():
        replace(folder / name, data)
    output.note(f"tables  {folder} ({len(tables)} files)")
