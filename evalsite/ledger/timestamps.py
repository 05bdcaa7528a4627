# SPDX-License-Identifier: Apache-2.0
"""Time stamps (RFC 3161) over a checkpoint's note, with the chain that is kept beside them.

The optional package ``rfc3161-client`` reads the token and its signature; the certificates are judged
here, at the token's own time and never at the reader's: an authority's certificate expires within
years, and what it said while it was valid stays said. Only a root that the verifier names makes a
time stamp count.

Revocation is not looked at: no list (CRL) and no answer (OCSP) is read, asked for or kept. A reader who
must know whether an authority's certificate was revoked asks the authority.
"""

import hashlib
import importlib
import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding

from evalsite.errors import InputError, IntegrityError, UndecidedError

RULE = "RFC 3161"
LIBRARY = "rfc3161_client"
MAX_CHAIN_CERTIFICATES = 16
_MIN_CHAIN_CERTIFICATES = 2  # the authority's own, and a root


@dataclass(frozen=True, slots=True)
class Timestamp:
    """A time stamp that was verified under the root of its own chain.

    ``time_s`` counts seconds since 1970 in UTC: the latest at which the token says it can have been made, its
    time and its accuracy together, in whole seconds rounded up. Without an accuracy it is the token's time.
    ``root`` is ``sha256:<hex>`` of the root certificate in DER.
    """

    time_s: int
    root: str


def timestamps_readable() -> bool:
    """Return whether the optional package for time stamps is installed."""
    return importlib.util.find_spec(LIBRARY) is not None


def root_fingerprints(pem: bytes) -> frozenset[str]:
    """Return ``sha256:<hex>`` of every root certificate in a file, as a verifier's policy holds them.

    Raises:
        InputError: Not certificates in PEM.
    """
    return frozenset(_fingerprint(item) for item in _load_chain(pem))


def order_chain(pem: bytes) -> bytes:
    """Return the certificates of a chain as they are kept: the authority's first, each issuer next, the root last.

    Raises:
        InputError: No chain that ends in a root.
    """
    left = _load_chain(pem)
    authorities = [item for item in left if not _is_ca(item)]
    if len(authorities) != 1:
        raise InputError(f"expected one certificate of a time stamp authority, found {len(authorities)}", rule=RULE)
    path = authorities
    while path[-1].issuer != path[-1].subject:
        issuers = [item for item in left if item not in path and _issued_by(path[-1], item)]
        if not issuers:
            raise InputError("expected a chain up to its root certificate", rule=RULE)
        path = [*path, issuers[0]]
    return _chain_bytes(path)


def open_timestamp(data: bytes, chain: bytes, message: bytes) -> Timestamp:
    """Return the time stamp in a response, verified over a message and under its chain, at its own time.

    Args:
        data: The response (DER), as the authority sent it.
        chain: The certificates in PEM, as `order_chain` gives them.
        message: What was stamped.

    Raises:
        UndecidedError: The optional package is not installed.
        InputError: Not a response, or not a chain in its one spelling.
        IntegrityError: It does not check out.
    """
    library = _library()
    path = _load_chain(chain)
    if len(path) < _MIN_CHAIN_CERTIFICATES or _chain_bytes(path) != chain:
        raise InputError("expected certificates from the authority's to the root's, and nothing else", rule=RULE)
    try:
        response = library.decode_timestamp_response(data)
        at = response.tst_info.gen_time.replace(tzinfo=UTC)
        latest = at + _accuracy(response.tst_info.accuracy)
        signers = list(response.signed_data.signer_infos)
    except (ValueError, OverflowError) as exc:
        raise InputError("expected a time stamp response in DER", rule=RULE) from exc
    named = [(item.issuer, item.serial_number) for item in signers]
    if named != [(path[0].issuer, path[0].serial_number)]:
        raise IntegrityError("expected one signature, by the first certificate of the chain", rule=RULE)
    _check_path(path, at)
    verifier = library.VerifierBuilder(tsa_certificate=path[0], intermediates=path[1:-1], roots=[path[-1]]).build()
    try:
        verifier.verify_message(response, message)
    except (library.VerificationError, ValueError) as exc:
        raise IntegrityError(f"expected a valid time stamp of this checkpoint: {exc}", rule=RULE) from exc
    return Timestamp(math.ceil(latest.timestamp()), _fingerprint(path[-1]))


def _accuracy(stated: Any) -> timedelta:
    """Return how far off the token's time may be; RFC 3161 §2.4.2 says that a part which is absent is zero."""
    if stated is None:
        return timedelta()
    return timedelta(seconds=stated.seconds or 0, milliseconds=stated.millis or 0, microseconds=stated.micros or 0)


def _library() -> Any:
    if not timestamps_readable():
        raise UndecidedError(
            "expected the package rfc3161-client, it is not installed",
            rule=RULE,
            advice="Install evalsite with its extra: pip install 'evalsite[timestamps]'.",
        )
    return importlib.import_module(LIBRARY)


def _load_chain(pem: bytes) -> list[x509.Certificate]:
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError as exc:
        raise InputError("expected certificates in PEM", rule="RFC 7468") from exc
    if len(certificates) > MAX_CHAIN_CERTIFICATES:
        raise InputError(
            f"expected at most {MAX_CHAIN_CERTIFICATES} certificates, found {len(certificates)}", rule=RULE
        )
    return certificates


def _chain_bytes(path: Sequence[x509.Certificate]) -> bytes:
    return b"".join(item.public_bytes(Encoding.PEM) for item in path)


def _check_path(path: Sequence[x509.Certificate], at: datetime) -> None:
    """Check every certificate at the stamp's time, and that each was issued by the next; the last by itself."""
    for index, (certificate, issuer) in enumerate(zip(path, [*path[1:], path[-1]], strict=True)):
        name = certificate.subject.rfc4514_string()
        if not certificate.not_valid_before_utc <= at <= certificate.not_valid_after_utc:
            raise IntegrityError("expected a certificate that was valid at the stamp's time", at=name, rule=RULE)
        if _is_ca(certificate) != (index > 0):
            raise IntegrityError("expected an authority's certificate under those of its issuers", at=name, rule=RULE)
        if not _issued_by(certificate, issuer):
            raise IntegrityError("expected a certificate issued by the next of the chain", at=name, rule=RULE)


def _issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
    except ValueError as exc:
        raise InputError("expected well-formed certificate extensions", rule="RFC 5280") from exc


def _fingerprint(certificate: x509.Certificate) -> str:
    return "sha256:" + hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()
