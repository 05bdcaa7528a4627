# SPDX-License-Identifier: Apache-2.0
"""``evalsite keys``: the ceremony that founds a ledger, and what stands in the keystore."""

import re
import secrets

import click

from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock
from evalsite.errors import InputError
from evalsite.ledger.keys import read_pins, usable_ledgers
from evalsite.ledger.layout import TRUST
from evalsite.ledger.pins import keystore_folder
from evalsite.ledger.writer import found_ledger


@click.group()
def keys() -> None:
    """Found a ledger with its keys; list keys and fingerprints."""


@keys.command("init")
@click.option("--ledger", metavar="NAME", help="Name of the new ledger; default: local- and six random digits.")
@click.option(
    "--minimum-level",
    type=click.Choice(["A0", "A1"]),
    default="A1",
    show_default=True,
    help="Least evidence level that a verifier must reach: A0 files agree, A1 root key pinned.",
)
def init(ledger: str | None, minimum_level: str) -> None:
    """Make root, runner and log key, and start a ledger in this project.

    Private keys are written outside the project, readable by you alone. The project gets the public
    keys, signed by the root key, and the first entries of its log.
    """
    project, keystore = find_project(), keystore_folder()
    name = ledger or f"local-{secrets.token_hex(3)}"
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise InputError("expected a name of lower-case letters, digits, dots and hyphens", at="--ledger")
    fingerprint = found_ledger(project, keystore, name, now=host_clock().now(), minimum_level=minimum_level)
    output.say(f"ledger       {name}")
    output.say(f"root key     {fingerprint}")
    output.say(f"private keys {keystore / name}  (outside the project; back up root.pem offline)")
    output.say(f"public keys  runs/trust/{name}/")
    output.note("")
    output.note("Write the root key's fingerprint on paper and give it to those who will verify:")
    for line in _groups(fingerprint):
        output.note(f"    {line}")
    output.note(f"They check with: evalsite verify --root-key {name}={fingerprint}")


@keys.command("list")
def list_keys() -> None:
    """List the ledgers of this project and whose private keys this keystore holds."""
    project, keystore = find_project(), keystore_folder()
    pins, usable = read_pins(keystore), set(usable_ledgers(project, keystore))
    trust = project / TRUST
    names = sorted(path.name for path in trust.iterdir() if path.is_dir()) if trust.is_dir() else []
    rows = [(name, "yes" if name in usable else "no", pins.get(name, "not pinned here")) for name in names]
    if not rows:
        output.note("This project has no ledger yet: evalsite keys init")
        return
    output.say_table(("ledger", "private keys here", "root key pinned in this keystore"), rows)


def _groups(fingerprint: str) -> list[str]:
    digits = fingerprint.removeprefix("sha256:")
    parts = [digits[start : start + 8] for start in range(0, len(digits), 8)]
    return [" ".join(parts[:4]), " ".join(parts[4:])]
