# SPDX-License-Identifier: Apache-2.0
"""Detached SSH signatures, taken apart by hand; `ssh-keygen` itself reads one in tests/foreign."""

import base64
import hashlib

from support.ledgers import fixed_key

from evalsite.ledger.ed25519 import verify
from evalsite.ledger.sshsig import sign_detached


def strings(data):
    """Return the SSH strings that ``data`` consists of."""
    found = []
    while data:
        size = int.from_bytes(data[:4], "big")
        assert len(data) >= 4 + size
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


def test_a_signature_has_the_form_of_protocol_sshsig_and_covers_message_and_namespace():
    key = fixed_key("runner")
    lines = sign_detached(b"message", "some@namespace", key).decode().splitlines()
    assert (lines[0], lines[-1]) == ("-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----")
    assert {len(line) for line in lines[1:-2]} == {70}
    blob = base64.b64decode("".join(lines[1:-1]))
    assert blob[:10] == b"SSHSIG\0\0\0\1"
    public, namespace, reserved, hashed, signature = strings(blob[10:])
    assert strings(public) == [b"ssh-ed25519", key.public_key]
    assert (namespace, reserved, hashed) == (b"some@namespace", b"", b"sha512")
    kind, raw = strings(signature)
    assert kind == b"ssh-ed25519"
    digest = hashlib.sha512(b"message").digest()
    parts = [len(part).to_bytes(4, "big") + part for part in (namespace, reserved, hashed, digest)]
    assert verify(key.public_key, b"SSHSIG" + b"".join(parts), raw)


def test_the_same_input_gives_the_same_signature():
    key = fixed_key("runner")
    assert sign_detached(b"a", "n", key) == sign_detached(b"a", "n", key) != sign_detached(b"a", "m", key)
