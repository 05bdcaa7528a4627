# SPDX-License-Identifier: Apache-2.0
"""Where a command works: the project, the keystore, the pins, the clock."""

import time
from datetime import UTC, datetime
from pathlib import Path

import click

from evalsite.campaign.execute import Clock
from evalsite.errors import InputError, UndecidedError
from evalsite.ledger.keys import usable_ledgers
from evalsite.schema.checks import Level

PROJECT_MARK = "mkdocs.yml"


def utc_now() -> str:
    """Return the time in UTC, whole seconds, with ``Z``."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: TID251 - the one place that reads the clock


def host_clock() -> Clock:
    """Return the host's clock."""
    return Clock(now=utc_now, elapsed_ms=lambda: time.monotonic_ns() // 1_000_000)


def find_project(start: Path | None = None) -> Path:
    """Return the nearest folder at or above ``start`` that holds ``mkdocs.yml``.

    Raises:
        InputError: There is none.
    """
    folder = (start or Path.cwd()).resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / PROJECT_MARK).is_file():
            return candidate
    raise InputError(
        f"expected a project (a folder with {PROJECT_MARK}) here or above, found none",
        advice="Change into a project, start one with `evalsite init DIR`, or try `evalsite demo`.",
    )


root_key_option = click.option(
    "--root-key",
    "root_keys",
    multiple=True,
    metavar="LEDGER=FINGERPRINT",
    help="Trust this root key for a ledger (repeatable). Keys of your own keystore are trusted anyway.",
)
minimum_level_option = click.option(
    "--minimum-level",
    type=click.Choice([level.value for level in Level]),
    default=Level.A0.value,
    help="Ask for at least this evidence level, whatever a ledger itself asks for.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the same facts as JSON on stdout.")
ledger_option = click.option("--ledger", metavar="NAME", help="Which ledger, if you hold keys of several.")


def stricter(asked: Level | None, stated: str) -> Level:
    """Return the higher of what a ledger asks for and what the caller states."""
    return max(asked or Level.A0, Level(stated), key=lambda level: level.value)


def writing_ledger(project: Path, keystore: Path, stated: str | None) -> str:
    """Return the ledger that a command writes to: the stated one, or the only one whose keys are here.

    Raises:
        UndecidedError: The keys of the stated ledger are not here.
        InputError: No keys are here, or those of several ledgers and none is stated.
    """
    usable = usable_ledgers(project, keystore)
    if stated is not None:
        if stated not in usable:
            raise UndecidedError(
                f"expected a ledger whose keys are here, got {stated!a}",
                at="--ledger",
                advice=f"Keys are here for: {', '.join(usable) or 'none'}. Found one with `evalsite keys init`.",
            )
        return stated
    if len(usable) == 1:
        return usable[0]
    if not usable:
        raise InputError(
            "expected a ledger whose private keys are in your keystore, found none",
            at=str(Path("runs") / "trust"),
            rule="signed records",
            advice="Found your own with `evalsite keys init`; runs of other ledgers stay as they are.",
        )
    raise InputError(
        f"expected to be told which ledger, you hold keys of {', '.join(usable)}",
        at="--ledger",
        advice="Add --ledger NAME.",
    )
