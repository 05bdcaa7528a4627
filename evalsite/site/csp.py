# SPDX-License-Identifier: Apache-2.0
"""The content security policy of a page, computed from the page itself.

Nothing is allowed but files of this site and the inline scripts that stand in the page now, by
their SHA-256. A script that got in later, however it did, does not run.
"""

import base64
import hashlib
import re

from evalsite.errors import InputError

_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script>", re.DOTALL | re.IGNORECASE)
_CHARSET = re.compile(r'<meta\s+charset="?utf-8"?\s*/?>', re.IGNORECASE)
_LOADS = re.compile(
    r'<(?:script|img|iframe|audio|video|source|embed|object)\b[^>]*?\b(?:src|data)="((?:https?:)?//[^"]*)"'
    r'|<link\b(?=[^>]*\brel="(?:stylesheet|icon|preload|prefetch|preconnect|modulepreload)")[^>]*\bhref="((?:https?:)?//[^"]*)"',
    re.IGNORECASE,
)
_HANDLER = re.compile(r"<[a-z][^<>]*\son[a-z]+\s*=", re.IGNORECASE)
_POLICY = (
    "default-src 'none'; script-src 'self'{hashes}; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'"
)


def policy(html: str) -> str:
    """Return the policy for a page with its inline scripts."""
    hashes: dict[str, None] = {}
    for attributes, script in _SCRIPT.findall(html):
        if "src=" in attributes or (
            'type="' in attributes and "javascript" not in attributes and "module" not in attributes
        ):
            continue
        digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
        hashes[f" 'sha256-{digest}'"] = None
    return _POLICY.format(hashes="".join(hashes))


def with_policy(html: str, *, at: str) -> str:
    """Return a page with its policy right behind the character set, before anything is loaded.

    Args:
        html: The page, or the shell of a page.
        at: Its address, for errors.

    Raises:
        InputError: The page loads something from another host, has an inline handler, or no head.
    """
    found = _LOADS.search(html)
    if found:
        raise InputError(
            f"expected a page that loads nothing from other hosts, got {found.group(1) or found.group(2)}",
            at=at,
            rule="no external requests",
            advice="Set theme.font to false and keep scripts, styles and images inside the project.",
        )
    if _HANDLER.search(html):
        raise InputError("expected a page without inline handlers, got one", at=at, rule="CSP")
    head = _CHARSET.search(html)
    if head is None:
        raise InputError("expected a page with a character set in its head, got none", at=at, rule="CSP")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy(html)}">'
    return f"{html[: head.end()]}{meta}{html[head.end() :]}"
