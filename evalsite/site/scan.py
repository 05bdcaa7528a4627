# SPDX-License-Identifier: Apache-2.0
"""The last door before a page is written: its generated HTML is read again as an adversary would.

Everything between angle brackets must be one of the elements and attributes that our pages use, and
every link must stay inside the site. So an escaping mistake anywhere above stops the build.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from evalsite.errors import InputError

_TAG = re.compile(r"<[^<>]*>")
_FORM = re.compile(r'</([a-z][a-z0-9]*)>|<([a-z][a-z0-9]*)((?: [A-Za-z][A-Za-z0-9-]*="[^"<>]*")*)>')
_ATTRIBUTE = re.compile(r' ([A-Za-z][A-Za-z0-9-]*)="([^"]*)"')
_OUTSIDE = re.compile(r"https?://[A-Za-z0-9.\[\]-]")
_CONTROL = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_TAG_NAMES = (
    "a b bdi blockquote br caption circle code dd details div dl dt em figcaption figure g h2 h3 h4 h5 h6 "
    "hr i li line nav ol p path polygon pre rect s section span strong summary svg table tbody td text th "
    "thead time title tr ul "
)
_ATTRIBUTE_NAMES = (
    "aria-hidden aria-label class cx cy d datetime dir download height href id open points "
    "preserveAspectRatio r rel role rx scope tabindex text-anchor title transform viewBox width x x1 x2 y y1 y2 "
)
_TAGS = frozenset(_TAG_NAMES.split())
_ATTRIBUTES = frozenset(_ATTRIBUTE_NAMES.split())


def check_fragment(html: str, *, at: str, outside_links: bool = False) -> frozenset[str]:
    """Check one piece of generated HTML and return its distinct tags.

    Args:
        html: The piece.
        at: The page, for errors.
        outside_links: Whether links to other hosts may stand in it (hand-written decision records).

    Raises:
        InputError: Foreign text became markup. The page isn't written.
    """
    tags = _TAG.findall(html)
    if html.count("<") != len(tags) or html.count(">") != len(tags):
        raise InputError("expected every angle bracket to be one of our tags, got another", at=at, rule="hostile text")
    found = _CONTROL.search(html)
    if found:
        raise InputError(f"expected visible text, got U+{ord(found.group()):04X}", at=at, rule="hostile text")
    distinct = frozenset(tags)
    for tag in distinct:
        fault = _fault_of(tag, outside_links=outside_links)
        if fault:
            raise InputError(fault, at=at, rule="hostile text")
    return distinct


@lru_cache(maxsize=1 << 15)  # most tags of a page are those of every page
def _fault_of(tag: str, *, outside_links: bool) -> str:
    """Return what is wrong with a tag; empty if it is one of ours."""
    form = _FORM.fullmatch(tag)
    name = (form.group(1) or form.group(2)) if form else None
    if form is None or name not in _TAGS:
        return f"expected one of our elements, got {tag[:80]!a}"
    for attribute, value in _ATTRIBUTE.findall(form.group(3) or ""):
        if attribute not in _ATTRIBUTES:
            return f"expected one of our attributes, got {attribute}"
        if attribute == "href" and not _is_ours(value) and not (outside_links and _OUTSIDE.match(value)):
            return f"expected a link inside this site, got {value[:80]!a}"
    return ""


def _is_ours(href: str) -> bool:
    return ":" not in href and not href.startswith(("/", "\\")) and href != ""


_LINK = re.compile(r'(?<![\w-])(?:href|src)="([^"]*)"')
_ID = re.compile(r'(?<![\w-])id="([^"]*)"')


def links_in(tags: Iterable[str], page: str) -> Iterator[tuple[str, str]]:
    """Return the links of a page's tags as `links` does."""
    return links("".join(tag for tag in tags if "href=" in tag), page)


def links(html: str, page: str) -> Iterator[tuple[str, str]]:
    """Return every link of a page to a file of this site: its address from the root, and its fragment."""
    for href in _LINK.findall(html):
        if ":" in href.split("/", 1)[0] or href.startswith("//") or href == "":
            continue
        target, _, fragment = href.replace("&amp;", "&").partition("#")
        target = target.partition("?")[0]
        yield (_resolve(target, page) if target else page), fragment


def ids(html: str) -> set[str]:
    """Return the ids of a page."""
    return set(_ID.findall(html))


def _resolve(target: str, page: str) -> str:
    if target.startswith("/"):  # 404.html is served from anywhere, so that its links are absolute
        return target.lstrip("/") or "index.html"
    parts = page.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return f"../{target}"
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    resolved = "/".join(parts)
    return f"{resolved}/index.html".lstrip("/") if target.endswith(("/", ".")) or not resolved else resolved
