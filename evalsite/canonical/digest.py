# SPDX-License-Identifier: Apache-2.0
"""Digests as text: always ``sha256:`` and 64 lower-case hexadecimal digits."""

import hashlib
import re

from evalsite.canonical.jcs import canonical_bytes

PREFIX = "sha256:"
_FORM = re.compile(PREFIX + "[0-9a-f]{64}")


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as ``sha256:<hex>``."""
    return PREFIX + hashlib.sha256(data).hexdigest()


def digest_value(value: object) -> str:
    """Return the SHA-256 of the canonical bytes of a JSON value as ``sha256:<hex>``.

    Raises:
        CanonicalizationError: The value has no canonical bytes.
    """
    return digest_bytes(canonical_bytes(value))


def digest_text(text: str) -> str:
    """Return the SHA-256 of the UTF-8 bytes of ``text`` as ``sha256:<hex>``."""
    return digest_bytes(text.encode("utf-8"))


def hex_of(digest: str) -> str:
    """Return the 64 hexadecimal digits of ``sha256:<hex>``.

    Raises:
        ValueError: ``digest`` has another form (a bug in the caller).
    """
    if not _FORM.fullmatch(digest):
        raise ValueError(digest)
    return digest.removeprefix(PREFIX)
