# SPDX-License-Identifier: Apache-2.0
"""ML-DSA-44 (FIPS 204): a second signature of the log over its checkpoints, for the day on which Ed25519 falls.

Pure. The form is that of C2SP tlog-cosignature, signature type 0x06, under the log's own name: eight
bytes of time and the signature of

```
"subtree/v1" LF NUL | length and name | time | length and origin | 0 | size | root
```

The time is always zero: a ledger states none of its own. Signing is randomised, so that a signature that
was stored is kept and never made again.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.ed25519 import key_id, load_private_pem, private_pem, to_base64

ALGORITHM: Final = "ml-dsa-44"
PUBLIC_KEY_BYTES = 1312
SIGNATURE_BYTES = 2420
RULE = "C2SP tlog-cosignature"
_TYPE = b"\x06"
_LABEL = b"subtree/v1\n\x00"
_NO_TIME = bytes(8)


@dataclass(frozen=True, slots=True)
class SecondKey:
    """A log's second public key under the log's name."""

    name: str
    public_key: bytes

    @property
    def key_hash(self) -> bytes:
        """Return the four bytes that stand before each of its signatures."""
        return hashlib.sha256(self.name.encode() + b"\n" + _TYPE + self.public_key).digest()[:4]

    def to_text(self) -> str:
        """Return the verifier key, ``<name>+<hash>+<base64(0x06 || key)>``."""
        return f"{self.name}+{self.key_hash.hex()}+{to_base64(_TYPE + self.public_key)}"

    def to_pem(self) -> bytes:
        """Return the public key as SubjectPublicKeyInfo PEM (RFC 9881)."""
        return _public(self.public_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


class SecondSigner:
    """One private key of ML-DSA-44. Its ``repr`` and its errors never show it."""

    __slots__ = ("_private", "public_key")

    def __init__(self, private: MLDSA44PrivateKey) -> None:
        self._private = private
        self.public_key = private.public_key().public_bytes_raw()

    @classmethod
    def generate(cls) -> "SecondSigner":
        """Return a new key from the operating system's randomness.

        Raises:
            UndecidedError: The installed library can't make one.
        """
        try:
            return cls(MLDSA44PrivateKey.generate())
        except UnsupportedAlgorithm as exc:
            raise _unsupported() from exc

    @classmethod
    def from_seed(cls, seed: bytes) -> "SecondSigner":
        """Return the key of a 32-byte FIPS 204 seed (tests only)."""
        return cls(MLDSA44PrivateKey.from_seed_bytes(seed))

    @classmethod
    def from_pem(cls, data: bytes, passphrase: bytes | None = None) -> "SecondSigner":
        """Return the key in a PKCS #8 PEM; as `evalsite.ledger.ed25519.Signer.from_pem`.

        Raises:
            InputError: ``data`` is something else.
            UndecidedError: It is encrypted, and the passphrase does not open it.
        """
        private = load_private_pem(data, passphrase)
        if not isinstance(private, MLDSA44PrivateKey):
            raise InputError("expected an ML-DSA-44 private key, found another kind", rule="RFC 9881")
        return cls(private)

    def to_pem(self, passphrase: bytes | None = None) -> bytes:
        """Return the private key as PKCS #8 PEM, for a file of mode 0600; encrypted if there is a passphrase."""
        return private_pem(self._private, passphrase)

    def sign_root(self, name: str, origin: str, size: int, root: bytes) -> bytes:
        """Return the time, which is none, and the signature over a tree's head, as a signature line carries them.

        Args:
            name: The log's name.
            origin: The tree's origin.
            size: Number of its leaves.
            root: Its root, 32 bytes.
        """
        return _NO_TIME + self._private.sign(_message(name, origin, size, root))

    @property
    def key_id(self) -> str:
        """Return the id of the public key."""
        return key_id(self.public_key)

    def __repr__(self) -> str:
        """Name the public key only."""
        return f"SecondSigner({self.key_id})"


def check_second_key(public_key: bytes) -> None:
    """Refuse bytes that are no public key of ML-DSA-44.

    Raises:
        IntegrityError: Another length.
    """
    if len(public_key) != PUBLIC_KEY_BYTES:
        message = f"expected a public key of {PUBLIC_KEY_BYTES} bytes, found {len(public_key)}"
        raise IntegrityError(message, rule="FIPS 204")


def verify_root(key: SecondKey, signature: bytes, origin: str, size: int, root: bytes) -> bool:
    """Return whether ``signature`` (time and signature) is the key's over a tree's head, and states no time.

    Raises:
        UndecidedError: The installed library can't tell.
    """
    if len(signature) != len(_NO_TIME) + SIGNATURE_BYTES or not signature.startswith(_NO_TIME):
        return False
    return verify(key.public_key, _message(key.name, origin, size, root), signature[len(_NO_TIME) :])


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether ``signature`` is the key's of ``message``; call `check_second_key` on the key first.

    Raises:
        UndecidedError: The installed library can't tell.
    """
    try:
        _public(public_key).verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _public(public_key: bytes) -> MLDSA44PublicKey:
    try:
        return MLDSA44PublicKey.from_public_bytes(public_key)
    except UnsupportedAlgorithm as exc:
        raise _unsupported() from exc


def _unsupported() -> UndecidedError:
    return UndecidedError(
        "expected a cryptography library with ML-DSA-44, this one has none",
        rule="FIPS 204",
        advice="install a release of the package cryptography that brings its own OpenSSL",
    )


def _message(name: str, origin: str, size: int, root: bytes) -> bytes:
    named, about = name.encode(), origin.encode()
    head = _LABEL + bytes([len(named)]) + named + _NO_TIME + bytes([len(about)]) + about
    return head + bytes(8) + size.to_bytes(8, "big") + root
