# SPDX-License-Identifier: Apache-2.0
"""DSSE v1 envelopes: a payload, its type, and signatures over both.

Pure. An envelope in a record is stored in one spelling: canonical JSON and a newline, base64 of the
standard alphabet. The key id is the SHA-256 of the raw public key, ``sha256:<hex>``, the same as in
the keyring (other tools are told it, they do not derive it).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.ed25519 import Signer, key_id, parse_base64, to_base64, verify
from evalsite.schema.base import ShortText, StrictModel

RULE = "DSSE v1"
MAX_ENVELOPE_BYTES = 4 * 1024 * 1024
MAX_SIGNATURES = 16


class _SignatureModel(StrictModel):
    keyid: ShortText
    sig: str


class _EnvelopeModel(StrictModel):
    payload: str
    payloadType: ShortText  # noqa: N815 - DSSE's own spelling
    signatures: tuple[_SignatureModel, ...] = Field(min_length=1, max_length=MAX_SIGNATURES)


@dataclass(frozen=True, slots=True)
class EnvelopeSignature:
    """One signature: the key's id and the bytes."""

    key_id: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with its signatures."""

    payload_type: str
    payload: bytes
    signatures: tuple[EnvelopeSignature, ...]

    def to_bytes(self) -> bytes:
        """Return the envelope as it is stored."""
        return (
            canonical_bytes(
                {
                    "payload": to_base64(self.payload),
                    "payloadType": self.payload_type,
                    "signatures": [
                        {"keyid": item.key_id, "sig": to_base64(item.signature)} for item in self.signatures
                    ],
                }
            )
            + b"\n"
        )


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed (DSSE v1, pre-authentication encoding)."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def parse_envelope(data: bytes) -> Envelope:
    """Return the envelope in ``data``, with every signature unchecked.

    Raises:
        InputError: Another form, or not in the one spelling of a record.
    """
    found = _EnvelopeModel.parse(data, max_bytes=MAX_ENVELOPE_BYTES)
    envelope = Envelope(
        found.payloadType,
        parse_base64(found.payload, at="payload"),
        tuple(EnvelopeSignature(item.keyid, parse_base64(item.sig, at="sig")) for item in found.signatures),
    )
    if envelope.to_bytes() != data:
        raise InputError("expected canonical JSON and a newline", rule="run-record §7")
    return envelope


def sign_envelope(payload_type: str, payload: bytes, *signers: Signer) -> Envelope:
    """Return ``payload`` signed by each signer."""
    message = pae(payload_type, payload)
    return Envelope(
        payload_type,
        payload,
        tuple(EnvelopeSignature(signer.key_id, signer.sign(message)) for signer in signers),
    )


def verify_envelope(envelope: Envelope, *, payload_type: str, keys: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the ids of the keys that signed.

    Every signature must be by one of ``keys`` and valid, and no key may sign twice: in a record no
    signature is there for nobody.

    Args:
        envelope: As parsed.
        payload_type: The type that is expected here.
        keys: Public keys by id; distinct and checked.

    Raises:
        IntegrityError: Another type, an unknown key, a repeated key, a wrong signature.
    """
    if envelope.payload_type != payload_type:
        raise IntegrityError(
            f"expected the payload type {payload_type}, found {shorten(envelope.payload_type)}", rule=RULE
        )
    message = pae(envelope.payload_type, envelope.payload)
    signed_by: list[str] = []
    for item in envelope.signatures:
        public_key = keys.get(item.key_id)
        if public_key is None or key_id(public_key) != item.key_id:
            raise IntegrityError(f"expected a key of the keyring, found {shorten(item.key_id)}", rule=RULE)
        if item.key_id in signed_by:
            raise IntegrityError("expected every key once among the signatures", rule=RULE)
        if not verify(public_key, message, item.signature):
            raise IntegrityError("expected a valid signature over payload and type", rule=RULE)
        signed_by.append(item.key_id)
    if not signed_by:
        raise IntegrityError("expected at least one signature", rule=RULE)
    return tuple(signed_by)
