# SPDX-License-Identifier: Apache-2.0
"""Addresses of pages: lower case, plain ASCII, and never two ids on one file."""

import hashlib
import re

from evalsite.errors import InputError

_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_MAX_SLUG = 60


def file_slug(identifier: str) -> str:
    """Return ``<slug>-<8 hex of SHA-256(identifier)>``.

    The digest keeps apart what a slug merges (``Case`` and ``case``, ``a.b`` and ``a-b``), and keeps
    clear of ``index``, ``README`` and the names that some systems reserve.
    """
    slug = _NOT_PLAIN.sub("-", identifier.lower()).strip("-")[:_MAX_SLUG].strip("-")
    digest = hashlib.sha256(identifier.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]
    return f"{slug}-{digest}" if slug else digest


def relative(target: str, page: str) -> str:
    """Return the address of ``target`` as seen from ``page``; both are paths from the site's root."""
    here = page.split("/")[:-1]
    there = target.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return "../" * (len(here) - shared) + "/".join(there[shared:])


def refuse_duplicates(paths: list[str]) -> None:
    """Check that no two pages or files share an address, on any file system.

    Raises:
        InputError: Two addresses are equal when case is ignored.
    """
    seen: dict[str, str] = {}
    for path in paths:
        folded = path.casefold()
        if folded in seen:
            raise InputError(
                f"expected one page per address, got {path} twice",
                at=path,
                rule="addresses are unique",
                advice="Rename one of the two; this is also how two runs with one id would show.",
            )
        seen[folded] = path
