# SPDX-License-Identifier: Apache-2.0
"""Cosignatures of witnesses (C2SP tlog-cosignature, ``cosignature/v1``, Ed25519, signature type 0x04).

Pure. A cosignature says: at this time, this was the largest consistent tree that the witness had seen
under this origin. Its signed message is

```
cosignature/v1
time 1679315147
<the checkpoint's text: origin, size, root>
```

and its signature line carries the time as eight bytes before the signature.
"""

import hashlib
from dataclasses import dataclass

from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.ed25519 import (
    SIGNATURE_BYTES,
    Signer,
    check_public_key,
    parse_base64,
    to_base64,
    verify,
)
from evalsite.ledger.note import NoteSignature, parse_note

RULE = "C2SP tlog-cosignature"
COSIGNATURE = 4
_TIME_BYTES = 8
_MAX_TIME_S = 253_402_300_799  # 9999-12-31T23:59:59Z; the specification allows more, no clock does
_DASH = "\u2014 "


@dataclass(frozen=True, slots=True)
class WitnessKey:
    """A witness's public key under its name."""

    name: str
    public_key: bytes

    @property
    def key_hash(self) -> bytes:
        """Return the four bytes that stand before each of its cosignatures."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([COSIGNATURE]) + self.public_key).digest()[:4]

    def to_text(self) -> str:
        """Return the verifier key, ``<name>+<hash>+<base64(0x04 || key)>``."""
        return f"{self.name}+{self.key_hash.hex()}+{to_base64(bytes([COSIGNATURE]) + self.public_key)}"


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A cosignature that was verified. ``time_s`` counts seconds since 1970 in UTC, as the witness says."""

    key: WitnessKey
    time_s: int


def parse_witness_key(text: str) -> WitnessKey:
    """Return the witness's verifier key in ``text`` (one line, without its newline).

    Raises:
        InputError: Another form, or a key hash that does not fit.
        IntegrityError: A public key that proves nothing.
    """
    name, _, rest = text.partition("+")
    hash_text, _, key_text = rest.partition("+")
    if not name or " " in name or not name.isprintable():  # what moves a terminal's cursor or turns text is no name
        raise InputError(f"expected a key name of visible characters, found {shorten(name)}", rule=RULE)
    data = parse_base64(key_text, at="key")
    if not data or data[0] != COSIGNATURE:
        raise InputError("expected the verifier key of a witness (type 0x04)", at="key", rule=RULE)
    check_public_key(data[1:])
    key = WitnessKey(name, data[1:])
    if key.to_text() != text:
        raise InputError(f"expected the key hash {key.key_hash.hex()}, found {shorten(hash_text)}", rule=RULE)
    return key


def cosign(text: str, name: str, signer: Signer, *, time_s: int) -> NoteSignature:
    """Return a witness's cosignature of a checkpoint's text.

    Args:
        text: The note text: origin, size, root, each with its newline.
        name: The witness's name.
        signer: The witness's key.
        time_s: Seconds since 1970 in UTC.
    """
    if not 0 <= time_s <= _MAX_TIME_S:
        raise ValueError(time_s)
    key = WitnessKey(name, signer.public_key)
    signature = signer.sign(_message(text, time_s))
    return NoteSignature(name, key.key_hash, time_s.to_bytes(_TIME_BYTES, "big") + signature)


def open_cosignature(text: str, signature: NoteSignature, key: WitnessKey) -> Cosignature:
    """Return the cosignature in a signature line, verified over a checkpoint's text.

    Raises:
        IntegrityError: It is not this key's cosignature of this text.
    """
    if (signature.name, signature.key_hash) != (key.name, key.key_hash):
        raise IntegrityError(f"expected a cosignature of {shorten(key.name)}", rule=RULE)
    if len(signature.signature) != _TIME_BYTES + SIGNATURE_BYTES:
        raise IntegrityError("expected a time and an Ed25519 signature", rule=RULE)
    time_s = int.from_bytes(signature.signature[:_TIME_BYTES], "big")
    valid = verify(key.public_key, _message(text, time_s), signature.signature[_TIME_BYTES:])
    if time_s > _MAX_TIME_S or not valid:
        raise IntegrityError(f"expected a valid cosignature of {shorten(key.name)}", rule=RULE)
    return Cosignature(key, time_s)


def signature_line(signature: NoteSignature) -> str:
    """Return a signature's line, with its newline."""
    return f"{_DASH}{signature.name} {to_base64(signature.key_hash + signature.signature)}\n"


def parse_signature_lines(data: bytes) -> tuple[NoteSignature, ...]:
    """Return the signature lines in ``data``, which holds nothing else.

    Raises:
        InputError: Another form, no line, or more than a note may have.
    """
    return parse_note(b"x\n\n" + data).signatures


def _message(text: str, time_s: int) -> bytes:
    return f"cosignature/v1\ntime {time_s}\n{text}".encode()
