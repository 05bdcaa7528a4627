# SPDX-License-Identifier: Apache-2.0
"""Founding a ledger: its keys, its keyring, its log."""

from collections.abc import Callable
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, shorten
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.keys import store_keys
from evalsite.ledger.layout import LOG, RUNS, TRUST, check_name, keyring_name, lock_file, log_folder, trust_folder
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.trust import ROLES, KeySet, derived_files, make_keyring, open_keyring
from evalsite.schema.checks import Level
from evalsite.storage import create, ensure_folder, lock


def found_ledger(  # noqa: PLR0913 - two of them are for worked examples and for ledgers with a second key
    project: Path,
    keystore: Path,
    ledger: str,
    *,
    now: str,
    minimum_level: str = "A0",
    make_key: Callable[[str], Signer] | None = None,
    second: SecondSigner | None = None,
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
        second: A second key for the log, by which each of its checkpoints is signed as well.

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
    _require_places(project)
    folders = (project / trust_folder(ledger), project / log_folder(ledger))
    with lock(project / lock_file(ledger)):
        if any(folder.exists() for folder in folders):
            raise InputError(
                f"expected no ledger {ledger} in this project yet",
                rule="a ledger is founded once",
                advice="choose another name",
            )
        signers = {role: Signer.generate() if make_key is None else make_key(role) for role in ROLES}
        store_keys(keystore, ledger, signers, second)
        level = Level(minimum_level)
        envelope = make_keyring(ledger, signers, now=now, minimum_level=level, second=second).to_bytes()
        keys = open_keyring(envelope, ledger=ledger, previous=None)
        _publish(folders[0], envelope, keys)
        log = LogWriter(project, ledger, signers["log"], second)
        try:
            log.append("ledger.opened", {"root_fingerprint": keys.root_fingerprint}, now=now)
            log.append("keys.published", {"version": 1, "envelope": digest_bytes(envelope)}, now=now)
            log.sign()
        finally:
            log.close()
    return keys.root_fingerprint


def _publish(folder: Path, envelope: bytes, keys: KeySet) -> None:
    ensure_folder(folder / "keyring")
    create(folder / keyring_name(1), envelope)
    for name, data in derived_files(keys).items():
        create(folder / name, data)


def _require_places(project: Path) -> None:
    for name in (RUNS, TRUST, LOG):
        if (project / name).is_symlink():
            raise InputError("expected a folder of the project, found a link", at=name, rule="run-record §2")


def _require_outside(keystore: Path, project: Path) -> None:
    if keystore.resolve().is_relative_to(project.resolve()):
        raise InputError(
            "expected a keystore outside the project, this one lies inside",
            at=str(keystore),
            rule="private keys never stand inside the project",
            advice="Point EVALSITE_KEYS to a folder outside, or unset it: the default lies in your configuration.",
        )
