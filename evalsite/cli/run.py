# SPDX-License-Identifier: Apache-2.0
"""``evalsite run``: execute a campaign, or go on with one."""

import asyncio
import re
import secrets
import signal
from collections.abc import Coroutine
from pathlib import Path

import click

from evalsite.campaign.project import load_run
from evalsite.campaign.session import Host, resume_run, start_run
from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock, json_option, ledger_option, writing_ledger
from evalsite.cli.progress import Watcher, watcher
from evalsite.cli.reports import RunReport
from evalsite.cli.unlock import passphrase_option
from evalsite.corpus.load import LoadedCampaign, load_campaign
from evalsite.errors import InputError, RunInterruptedError, UndecidedError
from evalsite.ledger.layout import run_folder
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.writer import open_ledger
from evalsite.site.independence import independence


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--resume", "resumed", metavar="RUN", help="Go on with this interrupted run.")
@click.option("--judge-model", metavar="NAME", help="Another model for the judge, same endpoint and protocol.")
@click.option("--run-id", metavar="NAME", help="Name of the new run; default: date, corpus, campaign, random digits.")
@ledger_option
@passphrase_option
@json_option
def run(
    campaign: Path,
    resumed: str | None,
    judge_model: str | None,
    run_id: str | None,
    ledger: str | None,
    as_json: bool,  # noqa: FBT001 - click hands flags over by name
) -> None:
    """Execute CAMPAIGN (corpora/NAME/campaigns/FILE.yaml) and seal its record.

    The record is written while the campaign runs. Ctrl-C stops it whole; `--resume RUN` goes on.
    """
    for option, stated in (("--resume", resumed), ("--run-id", run_id)):
        if stated == "":  # an unset variable of a script must not start another run
            raise InputError("expected a run's name, got an empty one", at=option)
    if resumed and (judge_model or run_id):
        raise InputError("expected --resume alone: a resumed run keeps its name and its plan", at="--resume")
    loaded = load_campaign(campaign)
    project, keystore = find_project(loaded.path.parent), keystore_folder()
    name = resumed or run_id or _new_run_id(loaded)
    chosen = writing_ledger(project, keystore, ledger)
    try:
        with watcher(f"{loaded.corpus.corpus.name} / {loaded.spec.name}") as watch:
            _sit(project, keystore, chosen, loaded, name, judge_model, resume=bool(resumed), watch=watch)
    except (RunInterruptedError, UndecidedError):
        if (project / run_folder(name)).is_dir():
            output.note(f"What is recorded stays: evalsite run {campaign} --resume {name} goes on with it.")
        raise
    facts = {"run": name, "ledger": chosen, "record": f"runs/{name}", "statuses": watch.counts}
    if as_json:
        output.say_report(RunReport, facts)
        return
    output.say(f"run     {name}")
    output.say(f"record  runs/{name}  (sealed, logged in {chosen})")
    output.say(f"trials  {', '.join(f'{count} {status}' for status, count in watch.counts.items()) or 'none planned'}")
    output.note(f"Next: evalsite verify {name} && evalsite gate {name}")


def _sit(  # noqa: PLR0913 - the pieces of one sitting
    project: Path,
    keystore: Path,
    ledger: str,
    loaded: LoadedCampaign,
    name: str,
    judge_model: str | None,
    *,
    resume: bool,
    watch: Watcher,
) -> None:
    pins = all_pins()
    host = Host(
        clock=host_clock(),
        watch=watch.step,
        load_run=lambda run: load_run(project, run, pins=pins),
        planned=lambda plan: output.note(independence(plan)),
    )
    with open_ledger(project, keystore, ledger) as writer:
        if resume:
            interruptible(resume_run(writer, loaded, name, host))
        else:
            interruptible(start_run(writer, loaded, name, host, judge_model=judge_model))


def interruptible(work: Coroutine[None, None, None]) -> None:
    """Run a coroutine; the first SIGINT or SIGTERM cancels it with the signal's name."""
    heard = "CancelledError"

    async def guarded() -> None:
        task = asyncio.ensure_future(work)

        def stop(name: str) -> None:
            nonlocal heard
            heard = name
            task.cancel(name)

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop, number.name)
        try:
            await task
        except asyncio.CancelledError as exc:
            raise RunInterruptedError(
                f"interrupted by {heard} outside of any case; what was recorded, if anything, is whole",
                rule="R36",
                advice="Start again; a run that has a folder under runs/ goes on with --resume RUN.",
            ) from exc

    asyncio.run(guarded())


def _new_run_id(loaded: LoadedCampaign) -> str:
    day = host_clock().now()[:10].replace("-", "")
    words = re.sub(r"[^a-z0-9-]+", "-", f"{loaded.corpus.corpus.name}-{loaded.spec.name}".lower())
    return f"{day}-{words[:46].strip('-')}-{secrets.token_hex(3)}"
