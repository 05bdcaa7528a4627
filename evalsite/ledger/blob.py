# SPDX-License-Identifier: Apache-2.0
"""Salted containers of raw bytes.

A record names a blob by the SHA-256 of the whole container. The salt stands in the container only:
once the file is erased, short contents ("yes", "no") cannot be guessed from the digest that stays.
"""

import re

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError

MAGIC = b"evalsite-blob/v1\n"
SALT_BYTES = 32
_SALT_END = len(MAGIC) + 2 * SALT_BYTES
_SALT = re.compile(rb"[0-9a-f]{64}\n")


def pack_blob(raw: bytes, salt: bytes) -> bytes:
    """Return the container of ``raw``.

    Raises:
        ValueError: ``salt`` is not 32 bytes (a bug in the caller).
    """
    if len(salt) != SALT_BYTES:
        raise ValueError(len(salt))
    return MAGIC + salt.hex().encode("ascii") + b"\n" + raw


def unpack_blob(container: bytes) -> bytes:
    """Return the raw bytes of a container; the caller has compared `blob_digest` with the record.

    Raises:
        InputError: Not a container.
    """
    if not container.startswith(MAGIC) or not _SALT.fullmatch(container[len(MAGIC) : _SALT_END + 1]):
        raise InputError("expected a blob container: magic line, salt line, raw bytes", rule="run-record §6")
    return container[_SALT_END + 1 :]


def blob_digest(container: bytes) -> str:
    """Return the name of a container, ``sha256:<hex>`` of all its bytes."""
    return digest_bytes(container)
