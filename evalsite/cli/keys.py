# SPDX-License-Identifier: Apache-2.0
"""``evalsite keys``: the ceremony that founds a ledger, and what stands in the keystore."""

import re
import secrets
from pathlib import Path

import click

from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock, ledger_option
from evalsite.cli.unlock import passphrase_option, sealing
from evalsite.errors import InputError, shorten
from evalsite.ledger import rotation
from evalsite.ledger.cosignature import parse_witness_key
from evalsite.ledger.ed25519 import parse_public_pem
from evalsite.ledger.keyexport import export_keys, exported_keys
from evalsite.ledger.keys import read_pins, usable_ledgers
from evalsite.ledger.layout import TRUST
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.pins import keystore_folder
from evalsite.ledger.trust import ROLES, SECOND, slot_of
from evalsite.ledger.writer import found_ledger, verified_ledger
from evalsite.schema.checks import Level
from evalsite.storage import read_regular

_MAX_PUBLIC = 4096
_root_option = click.option(
    "--root-key-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The root key's file, if it is kept elsewhere than in the keystore.",
)
_leave_option = click.option(
    "--leave-unfinished", is_flag=True, help="Go on although a run waits for its seal; it can't be sealed then."
)


@click.group()
def keys() -> None:
    """Found a ledger with its keys; list, replace, revoke and export keys."""


@keys.command("init")
@click.option("--ledger", metavar="NAME", help="Name of the new ledger; default: local- and six random digits.")
@click.option(
    "--minimum-level",
    type=click.Choice([level.value for level in Level]),
    default="A1",
    show_default=True,
    help="Least evidence level that a verifier must reach: A0 files agree, A1 root key pinned, A2 a head held, "
    "A3 outside time, A4 witness quorum.",
)
@click.option("--passphrase", "protect", is_flag=True, help="Encrypt the private keys with a passphrase.")
@click.option("--post-quantum", is_flag=True, help="Give the log a second key, ML-DSA-44; its checkpoints need both.")
@passphrase_option
def init(ledger: str | None, minimum_level: str, *, protect: bool, post_quantum: bool) -> None:
    """Make root, runner and log key, and start a ledger in this project.

    Private keys are written outside the project, readable by you alone. The project gets the public
    keys, signed by the root key, and the first entries of its log.
    """
    project, keystore = find_project(), keystore_folder()
    name = ledger or f"local-{secrets.token_hex(3)}"
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise InputError("expected a name of lower-case letters, digits, dots and hyphens", at="--ledger")
    second = SecondSigner.generate() if post_quantum else None
    with sealing(asked=protect):
        fingerprint = found_ledger(
            project, keystore, name, now=host_clock().now(), minimum_level=minimum_level, second=second
        )
    output.say(f"ledger       {name}")
    output.say(f"root key     {fingerprint}")
    output.say(f"private keys {keystore / name}  (outside the project; back up root.pem offline)")
    output.say(f"public keys  runs/trust/{name}/")
    _ceremony(name, fingerprint)


@keys.command("list")
@click.option("--ledger", metavar="NAME", help="List the public keys of this ledger instead.")
def list_keys(ledger: str | None) -> None:
    """List the ledgers of this project and whose private keys this keystore holds."""
    project, keystore = find_project(), keystore_folder()
    if ledger is not None:
        _list_ledger(project, ledger)
        return
    pins, usable = read_pins(keystore), set(usable_ledgers(project, keystore))
    trust = project / TRUST
    names = sorted(path.name for path in trust.iterdir() if path.is_dir()) if trust.is_dir() else []
    rows = [(name, "yes" if name in usable else "no", pins.get(name, "not pinned here")) for name in names]
    if not rows:
        output.note("This project has no ledger yet: evalsite keys init")
        return
    output.say_table(("ledger", "private keys here", "root key pinned in this keystore"), rows)


@keys.command("rotate")
@click.argument("role", type=click.Choice([*ROLES, SECOND]))
@ledger_option
@_root_option
@_leave_option
@passphrase_option
def rotate(role: str, ledger: str | None, root_key_file: Path | None, *, leave_unfinished: bool) -> None:
    """Replace the key of ROLE by a new one, from the next log entry on.

    The role log-ml-dsa-44 is the log's second key, against the day on which Ed25519 can be forged: a ledger
    that has none gets it, and signs its checkpoints with both from then on.

    A new keyring version is signed by the root key (the root key's own successor by both) and published
    in the log. What was signed before stays good.
    """
    place = _place(ledger, root_key_file)
    changed = rotation.rotate(place, role, now=host_clock().now(), leave_unfinished=leave_unfinished)
    _tell(place, changed)
    if role == "root":
        _ceremony(place.ledger, changed.root_fingerprint)
        output.note("A verifier that pinned the old root key accepts the new one: the old one signed it.")


@keys.command("revoke")
@click.argument("key")
@click.option("--reason", required=True, metavar="TEXT", help="Why, in one line; it stands in the log for good.")
@ledger_option
@_root_option
@_leave_option
@passphrase_option
def revoke(key: str, reason: str, ledger: str | None, root_key_file: Path | None, *, leave_unfinished: bool) -> None:
    """Revoke KEY (its id, sha256:...) from the next log entry on.

    A runner or log key in force gets a successor. What the log held before stays good, with a note.
    """
    place = _place(ledger, root_key_file)
    now = host_clock().now()
    _tell(place, rotation.revoke(place, key, reason=reason, now=now, leave_unfinished=leave_unfinished))


@keys.command("add")
@click.argument("role", type=click.Choice(["approver", "witness"]))
@click.argument("name")
@click.option(
    "--public",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File of the public key: PEM, or the line that `evalsite witness init` printed.",
)
@click.option("--generate", is_flag=True, help="Make the key here, in your keystore.")
@ledger_option
@_root_option
@passphrase_option
def add(
    role: str, name: str, public: Path | None, *, generate: bool, ledger: str | None, root_key_file: Path | None
) -> None:
    """List the key of an approver or witness, called NAME, in the keyring."""
    if (public is None) is not generate:
        raise InputError("expected one of --public and --generate", at="keys add")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        raise InputError("expected a name of lower-case letters, digits, dots and hyphens", at="NAME")
    place = _place(ledger, root_key_file)
    raw = None if public is None else _public_key(read_regular(public, _MAX_PUBLIC))
    with sealing(asked=False):
        changed = rotation.add_key(place, role, name, raw, now=host_clock().now())
    if raw is None:
        output.say(f"private key  {place.box / rotation.key_file(role, name)}")
    _tell(place, changed)


@keys.command("finish")
@ledger_option
@passphrase_option
def finish(ledger: str | None) -> None:
    """Finish a change of keys that was cut short."""
    place = _place(ledger, None)
    changed = rotation.finish_change(place, now=host_clock().now())
    if changed is None:
        output.note(f"No change of keys of the ledger {place.ledger} is unfinished.")
    else:
        _tell(place, changed)


@keys.command("export")
@ledger_option
@click.option("--into", type=click.Path(path_type=Path), help="A folder; without it the texts go to stdout.")
def export(ledger: str | None, into: Path | None) -> None:
    """Write a ledger's public keys for an auditor: history, allowed signers, verifier keys, fingerprints."""
    project = find_project()
    name = _chosen(project, ledger)
    if into is not None:
        for file in export_keys(project, name, into):
            output.say(f"{into / file}")
        return
    for file, data in exported_keys(project, name).items():
        if not file.endswith(".json"):
            output.say(f"# {file}")
            output.say(data.decode().rstrip())


def _public_key(data: bytes) -> bytes:
    if data.lstrip().startswith(b"-----BEGIN"):
        return parse_public_pem(data)
    return parse_witness_key(data.decode("utf-8", "replace").strip()).public_key


def _chosen(project: Path, ledger: str | None) -> str:
    trust = project / TRUST
    names = sorted(path.name for path in trust.iterdir() if path.is_dir()) if trust.is_dir() else []
    usable = usable_ledgers(project, keystore_folder())
    candidates = usable if len(usable) == 1 else names
    if ledger is None and len(candidates) == 1:
        return candidates[0]
    if ledger not in names:
        advice = "say which: " + " ".join(f"--ledger {name}" for name in names)
        raise InputError(f"expected a ledger of this project, found {shorten(ledger)}", at="--ledger", advice=advice)
    return ledger


def _place(ledger: str | None, root_key: Path | None) -> rotation.Place:
    project = find_project()
    return rotation.Place(
        project=project, keystore=keystore_folder(), ledger=_chosen(project, ledger), root_key=root_key
    )


def _tell(place: rotation.Place, changed: rotation.Changed) -> None:
    output.say(f"ledger       {place.ledger}")
    output.say(f"keyring      version {changed.version}  {changed.envelope}")
    output.say(f"root key     {changed.root_fingerprint}")
    output.note(f"Commit runs/trust/{place.ledger}/ and runs/log/{place.ledger}/.")


def _list_ledger(project: Path, ledger: str) -> None:
    keys_now = verified_ledger(project, _chosen(project, ledger)).keys
    rows = [("root", f"{ledger}/root", keys_now.root_fingerprint, "in force")]
    for item in keys_now.keyring.keys:
        state = "revoked" if item.revoked_at else "replaced" if item.not_after else "in force"
        rows.append((slot_of(item), item.name, item.key_id, state))
    output.say_table(("role", "name", "key", "state"), rows)


def _ceremony(name: str, fingerprint: str) -> None:
    output.note("")
    output.note("Write the root key's fingerprint on paper and give it to those who will verify:")
    for line in _groups(fingerprint):
        output.note(f"    {line}")
    output.note(f"They check with: evalsite verify --root-key {name}={fingerprint}")


def _groups(fingerprint: str) -> list[str]:
    digits = fingerprint.removeprefix("sha256:")
    parts = [digits[start : start + 8] for start in range(0, len(digits), 8)]
    return [" ".join(parts[:4]), " ".join(parts[4:])]
