# SPDX-License-Identifier: Apache-2.0
"""Private labels on disk until they are revealed: beside the private keys, outside every project.

    <keystore>/<ledger>/labels/<commitment>.json   mode 0600, folder 0700

The file holds labels with their nonces. Where the ledger's keys are kept under a passphrase, it is
encrypted under the same one: AES-256-GCM with a key of scrypt. Labels never reach a terminal, a log or
an error's text.
"""

import secrets
from pathlib import Path
from typing import Annotated, Final, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from pydantic import Field

from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError, UndecidedError
from evalsite.ledger.keys import read_private, sealed
from evalsite.ledger.layout import check_name
from evalsite.ledger.passphrase import passphrase_for
from evalsite.schema.base import StrictModel
from evalsite.schema.bounds import MAX_LABEL_FILE_BYTES
from evalsite.schema.labels import SealedLabels
from evalsite.storage import PRIVATE_FILE, PRIVATE_FOLDER, create, ensure_folder

_LOCKED: Final = "evalsite/labels-locked/v1"
_SALT_BYTES = 16
_NONCE_BYTES = 12  # what AES-GCM takes
_SCRYPT = {"n": 2**17, "r": 8, "p": 1}  # 128 MiB and some tenths of a second for each guess


class LockedLabels(StrictModel):
    """A private file under a passphrase, all values in hexadecimal. The commitment's name is authenticated."""

    format: Literal["evalsite/labels-locked/v1"]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{24}$")]
    sealed: Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")]


def label_file(keystore: Path, ledger: str, commitment: str) -> Path:
    """Return where the private labels of a commitment are kept.

    Raises:
        InputError: No name of a ledger or commitment.
    """
    return keystore / check_name(ledger, "ledger") / "labels" / f"{check_name(commitment, 'commitment')}.json"


def store_labels(keystore: Path, labels: SealedLabels) -> Path:
    """Write private labels, readable by this user alone; return the file.

    Raises:
        InputError: Labels of this name are there already.
        UndecidedError: The operating system refused, or there is nobody to ask for the passphrase.
    """
    path = label_file(keystore, labels.ledger, labels.commitment)
    data = labels.to_bytes()
    if sealed(keystore, labels.ledger):
        data = _lock(data, labels.commitment, passphrase_for(f"labels {labels.commitment}"))
    ensure_folder(path.parent, mode=PRIVATE_FOLDER)
    create(path, data, mode=PRIVATE_FILE)
    return path


def load_labels(keystore: Path, ledger: str, commitment: str) -> SealedLabels:
    """Return the private labels of a commitment.

    Raises:
        UndecidedError: They are not on this machine, or need another passphrase.
        RefusedError: Others may read the file, or it belongs to another user.
        InputError: The file holds something else.
    """
    return open_file(label_file(keystore, ledger, commitment), commitment)


def open_file(path: Path, commitment: str) -> SealedLabels:
    """Return the private labels in a file that an annotator handed over, as `load_labels` does."""
    data = read_private(path, f"labels {commitment}", MAX_LABEL_FILE_BYTES)
    value = parse_json(data, max_bytes=MAX_LABEL_FILE_BYTES)
    if isinstance(value, dict) and value.get("format") == _LOCKED:
        data = _unlock(data, commitment, passphrase_for(f"labels {commitment}"))
    labels = SealedLabels.parse(data, max_bytes=MAX_LABEL_FILE_BYTES)
    if labels.commitment != commitment:
        raise InputError(f"expected the labels {commitment}, found {labels.commitment}", at=path.name)
    return labels


def _key(passphrase: bytes, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=32, **_SCRYPT).derive(passphrase)


def _lock(data: bytes, commitment: str, passphrase: bytes) -> bytes:
    salt, nonce = secrets.token_bytes(_SALT_BYTES), secrets.token_bytes(_NONCE_BYTES)
    box = AESGCM(_key(passphrase, salt)).encrypt(nonce, data, commitment.encode())
    return LockedLabels(format=_LOCKED, salt=salt.hex(), nonce=nonce.hex(), sealed=box.hex()).to_bytes()


def _unlock(data: bytes, commitment: str, passphrase: bytes) -> bytes:
    box = LockedLabels.parse(data, max_bytes=MAX_LABEL_FILE_BYTES)
    key = _key(passphrase, bytes.fromhex(box.salt))
    try:
        return AESGCM(key).decrypt(bytes.fromhex(box.nonce), bytes.fromhex(box.sealed), commitment.encode())
    except InvalidTag as exc:
        raise UndecidedError(
            f"expected the passphrase of the labels {commitment}, got another", rule="key not usable"
        ) from exc
