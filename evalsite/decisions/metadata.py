# SPDX-License-Identifier: Apache-2.0
"""Metadata of a decision record: from its front matter, and from the lines before its first section."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from evalsite.decisions.fields import names_in
from evalsite.decisions.frontmatter import Field
from evalsite.decisions.vocabulary import key_of

_LINE = re.compile(
    r"^ {0,3}(?:[-*+]\s+)?(?:\*\*|__)?(?P<key>[^\s:\uff1a*_|`\[\]<>][^:\uff1a*_|`\[\]<>]{1,60}?)"
    r"(?:\*\*|__)?[ \u00a0\u202f]?[:\uff1a](?:\*\*|__)?[ \t]*(?P<value>.*)$"
)
_RULE = re.compile(r"^\s*\|?[\s:|-]*-[\s:|-]*$")
_MAX_CELLS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value of one key, as text, with its source and file line."""

    text: str
    source: str
    line: int


@dataclass(slots=True, kw_only=True)
class Meta:
    """Values by canonical key, in file order, and the languages that the keys are written in."""

    entries: dict[str, list[Entry]] = field(default_factory=dict)
    langs: list[str] = field(default_factory=list)

    def add(self, key: str, text: str, *, source: str, line: int) -> bool:
        """Add a value if its key is known; return whether it is."""
        known = key_of(key)
        if known is None:
            return False
        self.entries.setdefault(known[0], []).append(Entry(text=text, source=source, line=line))
        if known[1] is not None:
            self.langs.append(known[1])
        return True

    def get(self, name: str) -> list[Entry]:
        """Return the values of a canonical key."""
        return self.entries.get(name, [])


def from_fields(fields: Iterable[Field]) -> Meta:
    """Return the metadata of a front matter."""
    meta = Meta()
    for item in fields:
        if item.items:
            meta.add(item.key, item.text, source="front matter", line=item.line)
    return meta


def from_preamble(lines: list[tuple[int, str]]) -> Meta:
    """Return the metadata of the lines before the first section: bullets, bold keys, pipe tables."""
    meta = Meta()
    table: list[tuple[int, list[str]]] = []
    for line, text in lines:
        if text.strip().startswith("|"):
            if not _RULE.match(text):
                table.append((line, _cells(text)))
            continue
        found = _LINE.match(text)
        if found:
            meta.add(found["key"].strip(), found["value"].strip(), source="metadata", line=line)
    _read_table(table, meta)
    return meta


def _cells(text: str) -> list[str]:
    return [cell.strip().strip("*_").strip() for cell in text.strip().strip("|").split("|")][:_MAX_CELLS]


def _read_table(rows: list[tuple[int, list[str]]], meta: Meta) -> None:
    """Read a table whose first row holds keys, or whose first column does."""
    if not rows:
        return
    head = rows[0][1]
    keys = [cell for cell in head if key_of(cell)]
    across = len(keys) > 1 or (len(keys) == 1 and len(head) == 1)
    if across and len(rows) > 1:
        line, values = rows[1]
        for key, value in zip(head, values, strict=False):
            meta.add(key, value, source="metadata", line=line)
        return
    for line, cells in rows:
        if len(cells) > 1:
            meta.add(cells[0], " | ".join(cells[1:]) if len(cells) > 2 else cells[1], source="metadata", line=line)  # noqa: PLR2004 - key and value


def people(front: Meta, near: Meta) -> dict[str, tuple[str, ...]]:
    """Return names by role, in file order, each once."""
    found: dict[str, tuple[str, ...]] = {}
    for role in ("decision-makers", "consulted", "informed", "authors"):
        entries = [entry.text for meta in (front, near) for entry in meta.get(role)]
        names = dict.fromkeys(name for text in entries for name in names_in(text))
        if names:
            found[role] = tuple(names)
    return found
