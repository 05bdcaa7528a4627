# SPDX-License-Identifier: Apache-2.0
"""``evalsite rejudge``: recorded answers of a sealed run before a judge once more."""

import secrets
from pathlib import Path
from typing import TypedDict, Unpack

import click

from evalsite.campaign.project import load_run
from evalsite.campaign.rejudge import Rejudging, judge_of, resume_rejudge, start_rejudge
from evalsite.campaign.session import Host, with_model
from evalsite.campaign.trusted import TrustedRun
from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock, json_option, ledger_option, writing_ledger
from evalsite.cli.progress import Watcher, watcher
from evalsite.cli.reports import RunReport
from evalsite.cli.run import interruptible
from evalsite.cli.unlock import passphrase_option
from evalsite.corpus.load import load_campaign
from evalsite.errors import InputError, RunInterruptedError, UndecidedError, shorten
from evalsite.ledger.layout import run_folder
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.writer import open_ledger
from evalsite.schema.calibration import CalibrationSpec

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


class _Wanted(TypedDict):
    """What the command line asks for; each null or empty where it was not said."""

    judge_model: str | None
    campaign: Path | None
    repetitions: int | None
    commitments: tuple[str, ...]
    run_id: str | None
    resumed: str | None


@click.command()
@click.argument("run")
@click.option("--judge-model", metavar="NAME", help="Another model for the judge, same server and sampling.")
@click.option("--campaign", type=_FILE, help="Judge and calibration of this campaign over the same corpus.")
@click.option("--repetitions", type=click.IntRange(min=1), help="How often each answer is judged. Default: once.")
@click.option(
    "--commitments", metavar="NAME=sealed|dev", multiple=True, help="Committed labels of these answers (repeatable)."
)
@click.option("--run-id", metavar="NAME", help="Name of the new run; default: date, judged run, random digits.")
@click.option("--resume", "resumed", metavar="NEW", help="Go on with this interrupted judging of RUN's answers.")
@ledger_option
@passphrase_option
@json_option
def rejudge(
    run: str,
    ledger: str | None,
    as_json: bool,  # noqa: FBT001 - click hands flags over by name
    **wanted: Unpack[_Wanted],
) -> None:
    """Put the recorded answers of RUN before a judge again, and seal a new record.

    RUN is a sealed run of the binary protocol. Controls are shown first, then every answer as it was
    recorded. The candidate is not asked, so that no gate opens: this measures the judge.
    """
    _check(wanted)
    project, keystore = find_project(), keystore_folder()
    source = load_run(project, run, pins=all_pins())
    name = wanted["resumed"] or wanted["run_id"] or _new_run_id(source)
    chosen = writing_ledger(project, keystore, ledger)
    try:
        with watcher(f"answers of {run}") as watch, open_ledger(project, keystore, chosen) as writer:
            host = _host(watch)
            if wanted["resumed"]:
                interruptible(resume_rejudge(writer, source, name, host))
            else:
                interruptible(start_rejudge(writer, source, _rejudging(source, wanted), name, host))
    except (RunInterruptedError, UndecidedError):
        if (project / run_folder(name)).is_dir():
            output.note(f"What is recorded stays: evalsite rejudge {run} --resume {name} goes on with it.")
        raise
    _say(source, name, chosen, watch, as_json=as_json)


def _say(source: TrustedRun, name: str, ledger: str, watch: Watcher, *, as_json: bool) -> None:
    if as_json:
        record = f"runs/{name}"
        output.say_report(RunReport, {"run": name, "ledger": ledger, "record": record, "statuses": watch.counts})
        return
    output.say(f"run     {name}")
    output.say(f"record  runs/{name}  (sealed, logged in {ledger})")
    output.say(f"answers of {source.run_id}; the candidate was not asked, no gate opens")
    output.say(f"trials  {', '.join(f'{count} {status}' for status, count in watch.counts.items()) or 'none planned'}")
    output.note(f"Next: evalsite calibrate {name}, or evalsite compare {source.run_id} {name} --variable judge")


def _check(wanted: _Wanted) -> None:
    for option, stated in (("--resume", wanted["resumed"]), ("--run-id", wanted["run_id"])):
        if stated == "":  # an unset variable of a script must not start another run
            raise InputError("expected a run's name, got an empty one", at=option)
    others = any(stated is not None and stated != () for name, stated in wanted.items() if name != "resumed")
    if wanted["resumed"] and others:
        raise InputError("expected --resume alone: a resumed run keeps its name and its plan", at="--resume")


def _rejudging(source: TrustedRun, wanted: _Wanted) -> Rejudging:
    campaign = None if wanted["campaign"] is None else load_campaign(wanted["campaign"])
    judge = judge_of(source, campaign)
    stated = None if campaign is None else campaign.spec.calibration
    if wanted["commitments"] and stated is not None:
        raise InputError(
            "expected labels from the campaign or from here, got both",
            at="--commitments",
            advice="Leave --commitments out, or the campaign's calibration.",
        )
    return Rejudging(
        judge=judge if wanted["judge_model"] is None else with_model(judge, wanted["judge_model"]),
        times=wanted["repetitions"] or 1,
        campaign=campaign,
        calibration=_labels(wanted["commitments"]) if wanted["commitments"] else stated,
    )


def _labels(stated: tuple[str, ...]) -> CalibrationSpec:
    commitments: dict[str, object] = {}
    for text in stated:
        name, equals, split = text.partition("=")
        if not equals or name in commitments:
            raise InputError(
                f"expected each name once, as NAME=sealed or NAME=dev, got {shorten(text)}", at="--commitments"
            )
        commitments[name] = split
    try:
        return CalibrationSpec.from_value({"commitments": commitments, "gates": []})
    except InputError as exc:
        raise InputError(exc.message, at="--commitments", rule=exc.rule) from exc


def _host(watch: Watcher) -> Host:
    def none(run: str) -> TrustedRun:  # pragma: no cover - the only other run is loaded already
        raise ValueError(run)

    return Host(clock=host_clock(), watch=watch.step, load_run=none)


def _new_run_id(source: TrustedRun) -> str:
    day = host_clock().now()[:10].replace("-", "")
    return f"{day}-rejudge-{source.run_id[:38].strip('-._')}-{secrets.token_hex(3)}"
