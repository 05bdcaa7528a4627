# SPDX-License-Identifier: Apache-2.0
"""Private keys on disk: a folder for each ledger, outside every project.

    <keystore>/<ledger>/root.pem  runner.pem  log.pem   mode 0600, folders 0700
    <keystore>/<ledger>/root.pin                        the root key's fingerprint, the verifier's pin

Nothing of a private key ever reaches a log, a record or an error's text.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from evalsite.errors import InputError, RefusedError, UndecidedError, shorten
from evalsite.ledger.ed25519 import Signer, is_encrypted
from evalsite.ledger.layout import TRUST, check_name
from evalsite.ledger.passphrase import passphrase_for, sealing_passphrase
from evalsite.ledger.trust import ROLES
from evalsite.storage import PRIVATE_FILE, PRIVATE_FOLDER, create, ensure_folder, read_regular

PIN = "root.pin"
PENDING = "pending.json"  # a change of keys that was decided; `evalsite.ledger.rotation` carries it out
_MAX_KEY_BYTES = 4096
_WIDER = stat.S_IRWXG | stat.S_IRWXO
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")


def store_keys(keystore: Path, ledger: str, signers: Mapping[str, Signer]) -> None:
    """Write a ledger's private keys and its pin; nothing of this name may exist.

    Raises:
        InputError: The ledger has keys here already.
        UndecidedError: The operating system refused.
    """
    folder = keystore / check_name(ledger, "ledger")
    if folder.exists():
        raise InputError(
            f"expected no keys of the ledger {ledger} yet", rule="keys are made once", advice="choose another name"
        )
    ensure_folder(folder, mode=PRIVATE_FOLDER)
    for role in ROLES:
        create(folder / f"{role}.pem", signers[role].to_pem(sealing_passphrase()), mode=PRIVATE_FILE)
    create(folder / PIN, f"{signers['root'].key_id}\n".encode(), mode=PRIVATE_FILE)


def load_key(keystore: Path, ledger: str, role: str) -> Signer:
    """Return one private key.

    Raises:
        UndecidedError: There is no such key here, or it needs another passphrase.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    return load_file(keystore / check_name(ledger, "ledger") / f"{role}.pem", f"{role} key of the ledger {ledger}")


def load_file(path: Path, what: str) -> Signer:
    """Return the private key in a file; ``what`` names it to the reader.

    Raises:
        UndecidedError: There is no such file, or it needs another passphrase.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    try:
        status = os.lstat(path)
    except OSError as exc:
        raise UndecidedError(
            f"expected the {what} in the keystore, found none",
            advice="found a ledger of your own, or bring its keys here",
        ) from exc
    if status.st_uid != os.geteuid():
        raise RefusedError(f"expected a {what} that belongs to this user", at=path.name, rule="mode 0600")
    if stat.S_ISREG(status.st_mode) and status.st_mode & _WIDER:
        raise RefusedError(
            f"expected mode 0600, found {stat.S_IMODE(status.st_mode):04o}",
            at=path.name,
            rule="mode 0600",
            advice="chmod 600 the file, and replace the key if others may have read it",
        )
    data = read_regular(path, _MAX_KEY_BYTES)
    return Signer.from_pem(data, passphrase_for(what) if is_encrypted(data) else None)


def sealed(keystore: Path, ledger: str) -> bool:
    """Return whether a ledger's private keys here are kept under a passphrase."""
    paths = sorted((keystore / check_name(ledger, "ledger")).glob("*.pem"))
    return any(is_encrypted(read_regular(path, _MAX_KEY_BYTES)) for path in paths)


def check_settled(keystore: Path, ledger: str) -> None:
    """Refuse to write to a ledger whose change of keys was cut short.

    Raises:
        UndecidedError: A change of keys is waiting to be finished.
    """
    if (keystore / check_name(ledger, "ledger") / PENDING).exists():
        raise UndecidedError(
            f"expected no unfinished change of keys of the ledger {ledger}",
            rule="run-record §3",
            advice=f"finish it first: evalsite keys finish --ledger {ledger}",
        )


def read_pins(keystore: Path) -> dict[str, str]:
    """Return the pinned root fingerprint of every ledger that the keystore knows.

    Raises:
        InputError: A pin file holds something else.
    """
    pins = {}
    for path in sorted(keystore.glob(f"*/{PIN}")):
        text = read_regular(path, 200).decode("ascii", "replace").strip()
        if not _FINGERPRINT.fullmatch(text):
            raise InputError(f"expected a fingerprint, found {shorten(text)}", at=f"{path.parent.name}/{PIN}")
        pins[path.parent.name] = text
    return pins


def usable_ledgers(project: Path, keystore: Path) -> list[str]:
    """Return the project's ledgers whose private runner and log keys are in the keystore, sorted."""
    folder = project / TRUST
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [name for name in names if all((keystore / name / f"{role}.pem").is_file() for role in ("runner", "log"))]
