# SPDX-License-Identifier: Apache-2.0
"""Signed notes (C2SP signed-note) with Ed25519 keys, signature type 0x01.

Pure. Parsing is strict and lossless: a note that parses formats back to the same bytes. Signatures
of unknown keys must be well formed and are otherwise ignored, as the specification asks.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.ed25519 import Signer, check_public_key, parse_base64, to_base64, verify
from evalsite.ledger.mldsa import SecondKey
from evalsite.schema.bounds import MAX_NOTE_BYTES, MAX_NOTE_SIGNATURES

RULE = "C2SP signed-note"
ED25519 = 1
_KEY_HASH_BYTES = 4
_DASH = "\u2014 "  # em dash and space


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A public key under a name: what checks a note's signature.

    ``second`` is a log's second key, by which a note of a record is then signed as well (run-record §5).
    """

    name: str
    public_key: bytes
    second: SecondKey | None = None

    @property
    def key_hash(self) -> bytes:
        """Return the four bytes that stand before each of its signatures."""
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([ED25519]) + self.public_key).digest()[:4]

    def fits(self, hashes: Collection[bytes]) -> bool:
        """Return whether key hashes of a note's signatures are those of this key, and of its second."""
        return self.key_hash in hashes and (self.second is None or self.second.key_hash in hashes)

    def to_text(self) -> str:
        """Return the verifier key, ``<name>+<hash>+<base64(0x01 || key)>``."""
        return f"{self.name}+{self.key_hash.hex()}+{to_base64(bytes([ED25519]) + self.public_key)}"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: who says to have signed, and the bytes."""

    name: str
    key_hash: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A text, ending in a newline, with its signatures."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the note as it is stored."""
        lines = [f"{_DASH}{item.name} {to_base64(item.key_hash + item.signature)}\n" for item in self.signatures]
        return (self.text + "\n" + "".join(lines)).encode()


def parse_note_key(text: str) -> NoteKey:
    """Return the Ed25519 verifier key in ``text`` (one line, without its newline).

    Raises:
        InputError: Another form, or a key hash that does not fit.
        IntegrityError: A public key that proves nothing.
    """
    name, hash_text, key_text = ([*text.split("+", 2), "", ""])[:3]
    _check_name(name)
    data = parse_base64(key_text, at="key")
    if not data or data[0] != ED25519:
        raise InputError("expected an Ed25519 verifier key (type 0x01)", at="key", rule=RULE)
    check_public_key(data[1:])
    key = NoteKey(name, data[1:])
    if key.to_text() != text:
        raise InputError(f"expected the key hash {key.key_hash.hex()}, found {shorten(hash_text)}", rule=RULE)
    return key


def parse_note(data: bytes) -> Note:
    """Return the note in ``data``, with every signature unchecked.

    Raises:
        InputError: ``data`` is not the one spelling of a signed note within the limits.
    """
    if len(data) > MAX_NOTE_BYTES:
        raise InputError(f"expected at most {MAX_NOTE_BYTES} bytes, found {len(data)}", rule=RULE)
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InputError("expected UTF-8", at=f"byte {exc.start}", rule=RULE) from exc
    if any(character < " " and character != "\n" for character in content):
        raise InputError("expected no control characters but newlines", rule=RULE)
    split = content.rfind("\n\n")
    if split < 0:
        raise InputError("expected a blank line before the signatures", rule=RULE)
    text, block = content[: split + 1], content[split + 2 :]
    if not block.endswith("\n"):
        raise InputError("expected signature lines, each ending in a newline", rule=RULE)
    lines = block[:-1].split("\n")
    if len(lines) > MAX_NOTE_SIGNATURES:
        raise InputError(f"expected at most {MAX_NOTE_SIGNATURES} signatures, found {len(lines)}", rule=RULE)
    return Note(text, tuple(_parse_signature(line) for line in lines))


def sign_note(text: str, name: str, signer: Signer) -> Note:
    """Return ``text`` with one signature under ``name``.

    Raises:
        ValueError: ``text`` does not end in a newline, or holds control characters (a bug in the caller).
    """
    if not text.endswith("\n") or any(character < " " and character != "\n" for character in text):
        raise ValueError(text)
    key = NoteKey(name, signer.public_key)
    _check_name(name)
    return Note(text, (NoteSignature(name, key.key_hash, signer.sign(text.encode())),))


def verify_note(note: Note, keys: Iterable[NoteKey]) -> tuple[NoteKey, ...]:
    """Return the known keys that signed the note, each once.

    Raises:
        IntegrityError: No known key signed, or a signature under a known name and hash is wrong.
    """
    signed_by: list[NoteKey] = []
    message = note.text.encode()
    for key in keys:
        for item in note.signatures:
            if (item.name, item.key_hash) != (key.name, key.key_hash):
                continue
            if not verify(key.public_key, message, item.signature):
                raise IntegrityError(f"expected a valid signature of {shorten(key.name)}", rule=RULE)
            if key not in signed_by:
                signed_by.append(key)
    if not signed_by:
        raise IntegrityError("expected a signature of a known key, found none", rule=RULE)
    return tuple(signed_by)


def _parse_signature(line: str) -> NoteSignature:
    if not line.startswith(_DASH):
        raise InputError("expected a signature line: em dash, space, name, space, base64", rule=RULE)
    name, space, encoded = line[len(_DASH) :].partition(" ")
    if not space:
        raise InputError("expected a name and a signature", rule=RULE)
    _check_name(name)
    data = parse_base64(encoded, at="signature")
    if len(data) <= _KEY_HASH_BYTES:
        raise InputError("expected a key hash and a signature", rule=RULE)
    return NoteSignature(name, data[:_KEY_HASH_BYTES], data[_KEY_HASH_BYTES:])


def _check_name(name: str) -> None:
    if not name or "+" in name or any(character.isspace() for character in name):
        raise InputError(f"expected a key name without spaces and plus signs, found {shorten(name)}", rule=RULE)
