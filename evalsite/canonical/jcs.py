# SPDX-License-Identifier: Apache-2.0
"""Canonical JSON (RFC 8785) behind one door, narrowed to the evalsite profile.

The profile leaves out what makes canonical JSON hard: no floats, integers within ±(2^53 - 1), no
lone surrogates, depth at most 64. Rates are numerator and denominator, durations whole
milliseconds, decimals strings.

Signatures never depend on this module when they are verified: a verifier hashes the stored bytes.
The writer canonicalises, so that two writers produce the same bytes, and a verifier refuses lines
that are spelled otherwise: one fact has one line.
"""

import json
import re
from collections.abc import Mapping

import rfc8785

from evalsite.errors import CanonicalizationError, shorten

MAX_DEPTH = 64
MAX_SAFE_INTEGER = 2**53 - 1  # RFC 8785 §3.2.2.3, RFC 7493 §2.2
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_bytes(value: object) -> bytes:
    """Return the RFC 8785 bytes of a JSON value of the evalsite profile.

    Args:
        value: ``None``, ``bool``, ``int``, ``str``, and lists, tuples and string-keyed mappings of these.

    Raises:
        CanonicalizationError: The value holds a float, a lone surrogate, an integer beyond
            2^53 - 1, a key that is not a string, another type, or nests deeper than 64.
    """
    plain = _check(value, "", 0)
    return rfc8785.dumps(plain)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def is_canonical(data: bytes, value: object) -> bool:
    """Return whether ``data``, of which ``value`` was parsed, is the canonical spelling of that value.

    The standard encoder spells the profile as RFC 8785 does, but for the order of keys beyond the basic
    plane; it is asked first, since it is fast. What the profile leaves out is for a schema to refuse.
    """
    try:
        if _ENCODER.encode(value).encode("utf-8") == data:
            return True
        return canonical_bytes(value) == data
    except (ValueError, CanonicalizationError):  # a float, a lone surrogate: no bytes are canonical
        return False


def _check(value: object, at: str, depth: int) -> "rfc8785._impl._Value":
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            raise CanonicalizationError(
                f"expected an integer within ±(2^53 - 1), got {shorten(value)}", at=at or "$", rule="RFC 7493 §2.2"
            )
        return value
    if isinstance(value, str):
        return _check_text(value, at)
    if isinstance(value, list | tuple | Mapping) and depth == MAX_DEPTH:  # counted as the reader counts
        raise CanonicalizationError(f"expected at most {MAX_DEPTH} levels, got more", at=at or "$", rule="RFC 8785")
    if isinstance(value, list | tuple):
        return [_check(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        checked = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise CanonicalizationError(f"expected a text key, got {shorten(key)}", at=at or "$", rule="RFC 8785")
            checked[_check_text(key, at)] = _check(item, f"{at}.{key}" if at else key, depth + 1)
        return checked
    kind = type(value).__name__
    raise CanonicalizationError(
        f"expected null, boolean, integer, text, list or mapping, got {kind} {shorten(value)}",
        at=at or "$",
        rule="no floats in signed bytes",
    )


def _check_text(text: str, at: str) -> str:
    found = _SURROGATE.search(text)
    if found:
        raise CanonicalizationError(
            f"expected Unicode text, got the lone surrogate U+{ord(found.group()):04X}",
            at=at or "$",
            rule="RFC 7493 §2.1",
        )
    return text
