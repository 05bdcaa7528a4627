# SPDX-License-Identifier: Apache-2.0
"""Detached SSH signatures (OpenSSH ``PROTOCOL.sshsig``), so that ``ssh-keygen -Y verify`` can check ours.

Pure. Only what is needed to write one with an Ed25519 key; nothing of evalsite trusts such a signature.
"""

import base64
import hashlib

from evalsite.ledger.ed25519 import Signer

_MAGIC = b"SSHSIG"
_KEY_TYPE = b"ssh-ed25519"
_HASH = b"sha512"
_WIDTH = 70


def sign_detached(message: bytes, namespace: str, signer: Signer) -> bytes:
    """Return an armoured signature over ``message``; the same input gives the same bytes.

    Args:
        message: What is signed; only its SHA-512 is covered.
        namespace: What the signature is for, so that it counts for nothing else (``allowed_signers`` repeats it).
        signer: The private key.
    """
    scope = _text(namespace.encode()) + _text(b"") + _text(_HASH)
    signature = signer.sign(_MAGIC + scope + _text(hashlib.sha512(message).digest()))
    key = _text(_KEY_TYPE) + _text(signer.public_key)
    blob = _MAGIC + (1).to_bytes(4, "big") + _text(key) + scope + _text(_text(_KEY_TYPE) + _text(signature))
    encoded = base64.b64encode(blob).decode()
    lines = [encoded[start : start + _WIDTH] for start in range(0, len(encoded), _WIDTH)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()


def _text(value: bytes) -> bytes:
    """Return an SSH string: four bytes of length, then the bytes (RFC 4251 §5)."""
    return len(value).to_bytes(4, "big") + value
