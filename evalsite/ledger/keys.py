# SPDX-License-Identifier: Apache-2.0
"""Private keys on disk: a folder for each ledger, outside every project.

    <keystore>/<ledger>/root.pem  runner.pem  log.pem   mode 0600, folders 0700
    <keystore>/<ledger>/log-ml-dsa-44.pem               the log's second key, if it has one
    <keystore>/<ledger>/root.pin                        the root key's fingerprint, the verifier's pin

Nothing of a private key ever reaches a log, a record or an error's text.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from evalsite.errors import EvalsiteError, InputError, RefusedError, UndecidedError, shorten
from evalsite.ledger.ed25519 import Signer, is_encrypted
from evalsite.ledger.layout import TRUST, check_name
from evalsite.ledger.mldsa import SecondKey, SecondSigner
from evalsite.ledger.passphrase import passphrase_for, sealing_passphrase
from evalsite.ledger.trust import ROLES, SECOND
from evalsite.storage import PRIVATE_FILE, PRIVATE_FOLDER, create, ensure_folder, read_regular

PIN = "root.pin"
PENDING = "pending.json"  # a change of keys that was decided; `evalsite.ledger.rotation` carries it out
_MAX_KEY_BYTES = 4096
_MAX_PIN_BYTES = 200
_WIDER = stat.S_IRWXG | stat.S_IRWXO
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")


def store_keys(keystore: Path, ledger: str, signers: Mapping[str, Signer], second: SecondSigner | None = None) -> None:
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
    if second is not None:
        create(folder / f"{SECOND}.pem", second.to_pem(sealing_passphrase()), mode=PRIVATE_FILE)
    create(folder / PIN, f"{signers['root'].key_id}\n".encode(), mode=PRIVATE_FILE)


def load_key(keystore: Path, ledger: str, role: str) -> Signer:
    """Return one private key.

    Raises:
        UndecidedError: There is no such key here, or it needs another passphrase.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    return load_file(keystore / check_name(ledger, "ledger") / f"{role}.pem", f"{role} key of the ledger {ledger}")


def load_second(keystore: Path, ledger: str, key: SecondKey) -> SecondSigner:
    """Return the private key of a log's second key.

    Raises:
        UndecidedError: There is no such key here, or it needs another passphrase.
        RefusedError: It is another one, others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    path = keystore / check_name(ledger, "ledger") / f"{SECOND}.pem"
    signer = load_second_file(path, f"second log key of the ledger {ledger}")
    if signer.public_key != key.public_key:
        raise RefusedError("expected the keyring's second log key in the keystore, found another", rule="run-record §3")
    return signer


def load_file(path: Path, what: str) -> Signer:
    """Return the private key in a file; ``what`` names it to the reader.

    Raises:
        UndecidedError: There is no such file, or it needs another passphrase.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    return Signer.from_pem(*_read_key(path, what))


def load_second_file(path: Path, what: str) -> SecondSigner:
    """Return the second private key of a log in a file; as `load_file`.

    Raises:
        UndecidedError: There is no such file, or it needs another passphrase.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: The file holds something else.
    """
    return SecondSigner.from_pem(*_read_key(path, what))


def _read_key(path: Path, what: str) -> tuple[bytes, bytes | None]:
    """Return a private key's file and the passphrase that it asks for."""
    data = read_private(path, what, _MAX_KEY_BYTES)
    return data, passphrase_for(what) if is_encrypted(data) else None


def read_private(path: Path, what: str, max_bytes: int) -> bytes:
    """Return the bytes of a file that nobody but this user may read; ``what`` names it to the reader.

    Raises:
        UndecidedError: There is no such file.
        RefusedError: Others may read it, or it belongs to another user.
        InputError: It is longer than ``max_bytes``.
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
    return read_regular(path, max_bytes)


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
    return {path.parent.name: _read_pin(path) for path in sorted(keystore.glob(f"*/{PIN}"))}


def is_fingerprint(text: str) -> bool:
    """Return whether ``text`` has the form of a root key's fingerprint, ``sha256:<64 hexadecimal digits>``."""
    return _FINGERPRINT.fullmatch(text) is not None


def _read_pin(path: Path) -> str:
    try:
        text = read_regular(path, _MAX_PIN_BYTES).decode("ascii", "replace").strip()
    except UndecidedError as exc:
        exc.at = str(path)
        raise
    except EvalsiteError as exc:  # a link, or too long for a fingerprint
        raise _no_pin(path, exc.message) from exc
    if not is_fingerprint(text):
        raise _no_pin(path, f"found {shorten(text)}")
    return text


def _no_pin(path: Path, found: str) -> InputError:
    return InputError(
        f"expected a root key's fingerprint, sha256:<64 hexadecimal digits>: {found}",
        at=str(path),
        rule="run-record §3",
        advice="Write the fingerprint into this file that you got from the key holder, or remove the file: "
        "evidence is A0 at most without a pin.",
    )


def usable_ledgers(project: Path, keystore: Path) -> list[str]:
    """Return the project's ledgers whose private runner and log keys are in the keystore, sorted."""
    folder = project / TRUST
    if not folder.is_dir():
        return []
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [name for name in names if all((keystore / name / f"{role}.pem").is_file() for role in ("runner", "log"))]
