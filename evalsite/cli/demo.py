# SPDX-License-Identifier: Apache-2.0
"""``evalsite demo``: the whole loop in a new folder, offline, by the commands that a user has."""

import os
import shlex
import sys
from pathlib import Path

import click

from evalsite.cli import output
from evalsite.cli.context import find_project
from evalsite.cli.scaffold import create_project
from evalsite.errors import EvalsiteError, InputError

_CORPUS = "support-behaviors-v1"
_RUN = "demo-run"


@click.command()
@click.option("--into", "folder", type=click.Path(path_type=Path), default=Path("evalsite-demo"), show_default=True)
@click.pass_context
def demo(ctx: click.Context, folder: Path) -> None:
    """Run the whole loop in a new folder, offline: keys, campaign, record, gate, site.

    No model is asked: the fixture endpoint answers from the corpus. If the folder holds something,
    the next free name is taken.
    """
    place = _free(folder.resolve())
    project, keystore = place / "project", place / "keys"
    output.say(f"A new project in {project}, its private keys in {keystore}")
    create_project(project, corpora=(_CORPUS,), name="evalsite demo")
    os.environ["EVALSITE_KEYS"] = str(keystore)
    os.chdir(project)
    campaign = f"corpora/{_CORPUS}/campaigns/fixture.yaml"
    steps = [
        ("Keys: found a ledger", ("keys", "init", "--ledger", "demo")),
        ("Corpus: check it", ("corpus", "check")),
        ("Campaign: run it on the fixture endpoint and seal the record", ("run", campaign, "--run-id", _RUN)),
        ("Record: verify the whole trail", ("verify",)),
        ("Gate: recompute the decision", ("gate", _RUN)),
        ("Site: build it", ("build",)),
    ]
    for number, (title, words) in enumerate(steps, start=1):
        output.say()
        output.say(f"[{number}/{len(steps)}] {title}")
        output.say(f"$ evalsite {shlex.join(words)}")
        sys.stdout.flush()
        _call(ctx, words)
    site = find_project() / "site" / "index.html"
    output.say()
    output.say(
        "What this showed: code and contracts were exercised, the record is signed and verifies. No model was asked."
    )
    output.say(f"Read the review site: {site}")
    output.say(f"Serve it:             cd {shlex.quote(str(project))} && EVALSITE_KEYS=../keys evalsite serve")


def _free(folder: Path) -> Path:
    for number in range(1, 1000):
        candidate = folder if number == 1 else folder.with_name(f"{folder.name}-{number}")
        if not candidate.exists() or (candidate.is_dir() and not any(candidate.iterdir())):
            return candidate
    raise InputError("expected a free name beside it, found none", at=str(folder))


def _call(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Call one command of the same command line and stop at the first that does not hold."""
    root = ctx.find_root().command
    try:
        code = root.main(list(words), standalone_mode=False, prog_name="evalsite")
    except SystemExit as exc:
        code = exc.code
    if code not in (0, None):
        raise EvalsiteError(f"expected exit 0 of `evalsite {shlex.join(words)}`, got {code}")
