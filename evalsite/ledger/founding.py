# SPDX-License-Identifier: Apache-2.0
"""Founding a ledger: its keys, its keyring, its log."""

from collections.abc import Callable
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, shorten
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.keys import store_keys
from evalsite.ledger.layout import check_name, keyring_name, lock_file, log_folder, trust_folder
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.trust import ROLES, derived_files, make_keyring, open_keyring
from evalsite.schema.checks import Level
from evalsite.storage import create, ensure_folder, lock


def found_ledger(
    project: Path,
    keystore: Path,
    ledger: str,
    *,
    now: str,
    minimum_level: str = "A0",
    make_key: Callable[[str], Signer] | None = None,
) -> str:
    """Make a new ledger with keys of its own.

    Private keys go to the keystore, which lies outside the project; the keyring, the public keys and
    the log's first two entries go to the project.

    Args:
        project: The project's root folder.
        keystore: The folder of private keys.
        ledger: Name of the ledger, new to both.
        now: UTC time.
        minimum_level: The evidence level below which a record of this ledger decides nothing.
        make_key: Makes the key of a role; random keys unless a worked example asks for fixed ones.

    Returns:
        The root key's fingerprint. Write it down elsewhere: it is what others pin.

    Raises:
        InputError: A ledger of this name exists, a name or level is not one, or the keystore lies in the project.
        UndecidedError: The operating system refused.
    """
    check_name(ledger, "ledger")
    if minimum_level not in set(Level):
        raise InputError(f"expected an evidence level A0 to A4, found {shorten(minimum_level)}", rule="run-record §3")
    _require_outside(keystore, project)
    folders = (project / trust_folder(ledger), project / log_folder(ledger))
    with lock(project / lock_file(ledger)):
        if any(folder.exists() for folder in folders):
            raise InputError(
                f"expected no ledger {ledger} in this project yet",
                rule="a ledger is founded once",
                advice="choose another name",
            )
        signers = {role: Signer.generate() if make_key is None else make_key(role) for role in ROLES}
        store_keys(keystore, ledger, signers)
        envelope = make_keyring(ledger, signers, now=now, minimum_level=Level(minimum_level)).to_bytes()
        keys = open_keyring(envelope, ledger=ledger, previous=None)
        ensure_folder(folders[0] / "keyring")
        create(folders[0] / keyring_name(1), envelope)
        for name, data in derived_files(keys).items():
            create(folders[0] / name, data)
        log = LogWriter(project, ledger, signers["log"])
        try:
            log.append("ledger.opened", {"root_fingerprint": keys.root_fingerprint}, now=now)
            log.append("keys.published", {"version": 1, "envelope": digest_bytes(envelope)}, now=now)
            log.sign()
        finally:
            log.close()
    return keys.root_fingerprint


def _require_outside(keystore: Path, project: Path) -> None:
    if keystore.resolve().is_relative_to(project.resolve()):
        raise InputError(
            "expected a keystore outside the project, this one lies inside",
            at=str(keystore),
            rule="private keys never stand inside the project",
            advice="Point EVALSITE_KEYS to a folder outside, or unset it: the default lies in your configuration.",
        )
