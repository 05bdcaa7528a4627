# SPDX-License-Identifier: Apache-2.0
"""The command line: a table of commands that are imported when called, and one error door.

Everything heavy is imported inside the commands, so that ``evalsite --help`` stays quick. Errors
raised on purpose end here, with their exit code; anything else is a crash and keeps Python's
traceback and exit code 1.
"""

import errno
import importlib
import sys
from typing import NoReturn

import click

from evalsite import __version__
from evalsite.cli.streams import patient_streams
from evalsite.errors import EvalsiteError, InputError, UndecidedError, shorten

_REFUSALS = (errno.EACCES, errno.EPERM, errno.EIO)

#: Command name -> (module, attribute, one line for the overview).
COMMANDS = {
    "demo": ("demo", "demo", "The whole loop in a new folder, offline: keys, campaign, record, gate, site."),
    "init": ("project", "init", "Start a new project: mkdocs.yml, corpora/, runs/, docs/."),
    "keys": ("keys", "keys", "Found a ledger with its keys; list, replace, revoke and export keys."),
    "corpus": ("corpus", "corpus", "Check, show and compare corpora; JSON Schemas for editors."),
    "label": ("label", "label", "Label blind: sheets, commitments before the judge runs, reveals behind it."),
    "run": ("run", "run", "Execute a campaign and seal its record; resume an interrupted run."),
    "rejudge": ("rejudge", "rejudge", "Put the recorded answers of a run before a judge again; ask nobody else."),
    "verify": ("verify", "verify", "Check the whole trail, or one run, and print every step with its count."),
    "anchor": ("anchor", "anchor", "Let others vouch for a log's head: witnesses, git tags, time stamps."),
    "witness": ("witness", "witness", "Watch other people's logs as a second person, and cosign what only grew."),
    "export": ("export", "export", "Hand over a run, or one case of it, so that a stranger can check it."),
    "calibrate": ("calibrate", "calibrate", "How far a judge can be trusted: its verdicts against labels of people."),
    "gate": ("gate", "gate", "Recompute the decision over a run from its verified record."),
    "compare": ("compare", "compare", "Compare two runs by case and repetition; refuse what can't be compared."),
    "power": ("power", "power", "Say beforehand how many cases or labels it takes to show something."),
    "build": ("site", "build", "Verify, then build the review site."),
    "serve": ("site", "serve", "Verify, build and serve the review site on this machine."),
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names in the order in which a newcomer needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(f"evalsite.cli.{module}"), attribute)
        if not isinstance(command, click.Command):  # pragma: no cover - a bug in the table
            raise TypeError(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview from the table, without importing any command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="evalsite")
def cli() -> None:
    """Qualify an LLM before a release, and be able to prove it later.

    Start with `evalsite demo`. Exit codes: 0 holds, 2 input error, 3 refused, 4 integrity failure,
    5 not decided, 6 leak, 7 endpoint failure, 130 interrupted.
    """


def main() -> NoReturn:
    """Run the command line and exit with a code of the published table."""
    with patient_streams(sys.stdout, sys.stderr) as results:
        code = _run()
        if results.failure is not None and not code:  # a verdict that says no stays as it is
            lost = f"could not write the results: {results.failure.strerror}"
            code = _explain(UndecidedError(lost, at="standard output"))
        sys.exit(code)


def _run() -> int:
    try:
        code = cli.main(standalone_mode=False)
    except SystemExit as exc:  # how a command states its verdict
        code = exc.code
    except EvalsiteError as exc:
        return _explain(exc)
    except click.exceptions.Abort:
        click.echo("evalsite: interrupted", err=True)
        return 130
    except click.ClickException as exc:
        exc.show()
        return 2
    except OSError as exc:
        if exc.filename is None:
            raise
        # The operating system refused a path that the user stated: no crash of ours. What is there and can't be
        # read decides nothing; what is not there was stated wrongly.
        kind = UndecidedError if exc.errno in _REFUSALS else InputError
        return _explain(kind(f"could not read or write: {exc.strerror}", at=shorten(exc.filename)))
    return code if isinstance(code, int) else 0


def _explain(exc: EvalsiteError) -> int:
    click.echo(f"evalsite: {exc.message}", err=True)
    for name, text in (("at", exc.at), ("rule", exc.rule), ("do", exc.advice)):
        if text:
            click.echo(f"  {name + ':':<6}{text}", err=True)
    return exc.exit_code
