# SPDX-License-Identifier: Apache-2.0
"""Ed25519 (RFC 8032): the signature algorithm of run records v1; `evalsite.ledger.mldsa` can stand beside it.

Verification libraries accept public keys of low order, under which one signature fits any message.
`check_public_key` refuses them and every encoding that is not canonical; call it on every key that
comes from outside.
"""

import base64
import binascii
import hashlib

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from evalsite.errors import InputError, IntegrityError, UndecidedError

PUBLIC_KEY_BYTES = 32
SIGNATURE_BYTES = 64
_FIELD = 2**255 - 19
_LOW_ORDER = frozenset(
    bytes.fromhex(key)
    for key in (  # the 14 encodings of the 8 points of low order
        "0000000000000000000000000000000000000000000000000000000000000000",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    )
)


class Signer:
    """One private key. Its ``repr`` and its errors never show it."""

    __slots__ = ("_private", "public_key")

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.public_key = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @classmethod
    def generate(cls) -> "Signer":
        """Return a new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> "Signer":
        """Return the key of a 32-byte RFC 8032 seed (published vectors and worked examples only)."""
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def from_pem(cls, data: bytes, passphrase: bytes | None = None) -> "Signer":
        """Return the key in a PKCS #8 PEM.

        Args:
            data: The file's bytes.
            passphrase: Opens an encrypted key; not looked at for one that is not.

        Raises:
            InputError: ``data`` is something else.
            UndecidedError: It is encrypted, and the passphrase does not open it.
        """
        private = load_private_pem(data, passphrase)
        if not isinstance(private, Ed25519PrivateKey):
            raise InputError("expected an Ed25519 private key, found another kind", rule="RFC 8410")
        return cls(private)

    def to_pem(self, passphrase: bytes | None = None) -> bytes:
        """Return the private key as PKCS #8 PEM, for a file of mode 0600; encrypted if there is a passphrase."""
        return private_pem(self._private, passphrase)

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature of ``message``; the same message gives the same signature."""
        return self._private.sign(message)

    @property
    def key_id(self) -> str:
        """Return the id of the public key."""
        return key_id(self.public_key)

    def __repr__(self) -> str:
        """Name the public key only."""
        return f"Signer({self.key_id})"


def load_private_pem(data: bytes, passphrase: bytes | None) -> PrivateKeyTypes:
    """Return whatever private key a PKCS #8 PEM holds; the arguments are those of `Signer.from_pem`.

    Raises:
        InputError: ``data`` is something else.
        UndecidedError: It is encrypted, and the passphrase does not open it.
    """
    sealed = is_encrypted(data)
    try:
        return load_pem_private_key(data, password=passphrase if sealed else None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # Without the cause: a parser's message may quote the file.
        if sealed:
            message = "expected the passphrase of this key" + ("" if passphrase is None else ", found another")
            raise UndecidedError(message, rule="RFC 5958", advice="nothing was changed; try again") from None
        raise InputError("expected an unencrypted PKCS #8 private key in PEM", rule="RFC 5958") from None


def private_pem(private: PrivateKeyTypes, passphrase: bytes | None) -> bytes:
    """Return a private key as PKCS #8 PEM; encrypted if there is a passphrase."""
    sealing = NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealing)


def is_encrypted(pem: bytes) -> bool:
    """Return whether a private key file asks for a passphrase."""
    return pem.lstrip().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")


def parse_public_pem(data: bytes) -> bytes:
    """Return the 32 raw bytes of an Ed25519 public key in PEM.

    Raises:
        InputError: Something else.
        IntegrityError: A key that proves nothing.
    """
    try:
        public = load_pem_public_key(data)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InputError("expected a public key in PEM (SubjectPublicKeyInfo)", rule="RFC 8410") from None
    if not isinstance(public, Ed25519PublicKey):
        raise InputError("expected an Ed25519 public key, found another kind", rule="RFC 8410")
    raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    check_public_key(raw)
    return raw


def key_id(public_key: bytes) -> str:
    """Return ``sha256:<hex>`` of the raw bytes: a key's id, and a root key's fingerprint."""
    return "sha256:" + hashlib.sha256(public_key).hexdigest()


def check_public_key(public_key: bytes) -> None:
    """Refuse a public key that proves nothing.

    Raises:
        IntegrityError: Not 32 bytes, not a canonical encoding (RFC 8032 §5.1.3), or of low order.
    """
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise IntegrityError(f"expected a public key of 32 bytes, found {len(public_key)}", rule="RFC 8032 §5.1.5")
    if public_key in _LOW_ORDER:
        raise IntegrityError("expected a public key of high order, found a point of low order", rule="key hygiene")
    if int.from_bytes(public_key, "little") & (2**255 - 1) >= _FIELD:
        raise IntegrityError("expected a canonically encoded public key", rule="RFC 8032 §5.1.3")


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether ``signature`` is the key's signature of ``message``; call `check_public_key` on the key first."""
    if len(signature) != SIGNATURE_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def public_pem(public_key: bytes) -> bytes:
    """Return the public key as SubjectPublicKeyInfo PEM, as ``openssl pkeyutl -pubin`` reads it."""
    return Ed25519PublicKey.from_public_bytes(public_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def public_ssh(public_key: bytes) -> str:
    """Return the public key as ``ssh-ed25519 <base64>`` (RFC 8709)."""
    return Ed25519PublicKey.from_public_bytes(public_key).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def parse_base64(text: str, *, at: str = "") -> bytes:
    """Return the bytes of standard, padded base64 (RFC 4648 §4) in its one canonical spelling.

    Raises:
        InputError: Another alphabet, spaces, missing padding, or padding bits that are not zero.
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InputError("expected standard base64", at=at, rule="RFC 4648 §4") from exc
    if to_base64(data) != text:
        raise InputError("expected base64 in its canonical spelling", at=at, rule="RFC 4648 §3.5")
    return data


def to_base64(data: bytes) -> str:
    """Return standard, padded base64 of ``data``."""
    return base64.b64encode(data).decode("ascii")
