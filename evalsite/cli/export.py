# SPDX-License-Identifier: Apache-2.0
"""``evalsite export``: what an outsider needs, in one folder, with the literal commands to check it."""

from pathlib import Path

import click

from evalsite.campaign.export import Detach, Wanted, export_audit, export_case, open_for_export
from evalsite.cli import output
from evalsite.cli.context import find_project, root_key_option
from evalsite.cli.unlock import passphrase_option
from evalsite.errors import EvalsiteError, InputError
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.bundle import ARCHIVE_SUFFIX, BundleManifest, pack
from evalsite.ledger.ed25519 import public_ssh
from evalsite.ledger.keys import load_key
from evalsite.ledger.layout import trust_folder
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.sshsig import sign_detached
from evalsite.ledger.trust import SSH_NAMESPACE

_into_option = click.option(
    "--into", type=click.Path(path_type=Path), required=True, help="Folder of the bundle; new or empty."
)
_tar_option = click.option(
    "--tar", "as_tar", is_flag=True, help="Also write DIR.tar.gz beside it: the same bundle gives the same bytes."
)


@click.group()
def export() -> None:
    """Hand over a run, or one case of it, so that a stranger can check it."""


@export.command("audit")
@click.argument("run")
@_into_option
@_tar_option
@root_key_option
@passphrase_option
def audit(
    run: str,
    into: Path,
    root_keys: tuple[str, ...],
    as_tar: bool,  # noqa: FBT001 - click hands flags over by name
) -> None:
    """Write RUN with its ledger's keys, log, proofs and anchors, and VERIFY.md, into a folder.

    The folder holds the raw replies of the run: whoever gets it can read them. Where the ledger's
    runner key is in your keystore, the statement is signed for `ssh-keygen -Y verify` as well.
    `evalsite verify DIR` checks the bundle, and so do the commands of its VERIFY.md.
    """
    archive = _archive_of(into, as_tar=as_tar)
    found = open_for_export(find_project(), run, pins=all_pins(root_keys))
    _finish(export_audit(found, into, detach=_detach(found)), into, archive)


@export.command("case")
@click.argument("run")
@click.argument("case")
@click.option("--repetition", type=click.IntRange(min=1), help="Only this repetition. Default: all, and the controls.")
@_into_option
@_tar_option
@root_key_option
def case(
    run: str,
    case: str,
    *,
    repetition: int | None,
    into: Path,
    root_keys: tuple[str, ...],
    as_tar: bool,
) -> None:
    """Disclose CASE of RUN alone: its lines, each with a proof, its requests and replies, and no other case's.

    Each line is proved against the run's signed root. That these are all lines of the case is not
    shown: only the whole run shows that.
    """
    archive = _archive_of(into, as_tar=as_tar)
    found = open_for_export(find_project(), run, pins=all_pins(root_keys))
    _finish(export_case(found, Wanted(case_id=case, repetition=repetition), into), into, archive)


def _archive_of(into: Path, *, as_tar: bool) -> Path | None:
    archive = into.resolve().with_name(into.resolve().name + ARCHIVE_SUFFIX)
    if as_tar and archive.exists():
        raise InputError("expected a new archive, found one of this name", at=archive.name)
    return archive if as_tar else None


def _finish(manifest: BundleManifest, into: Path, archive: Path | None) -> None:
    output.say(f"bundle   {into}")
    if archive is not None:
        pack(into, archive, manifest)
        output.say(f"archive  {into}{ARCHIVE_SUFFIX}")
    output.say(f"ledger   {manifest.ledger}")
    output.note("Hand the root key's fingerprint over by another way than the bundle.")


def _detach(run: AuthenticRun) -> Detach | None:
    """Return a signer with the ledger's runner key if it is here and still the ledger's."""
    try:
        signer = load_key(keystore_folder(), run.ledger, "runner")
    except EvalsiteError as exc:
        output.note(f"not signed for ssh-keygen: {exc.message}")
        return None
    allowed = (run.project / trust_folder(run.ledger) / "allowed_signers").read_text(encoding="utf-8")
    if public_ssh(signer.public_key) not in allowed:
        output.note("not signed for ssh-keygen: the runner key in the keystore is not the ledger's")
        return None
    return lambda message: sign_detached(message, SSH_NAMESPACE, signer)
