# SPDX-License-Identifier: Apache-2.0
"""What a decision record declares about other records. Nothing is followed, nothing is opened."""

import re
from collections.abc import Iterable

from evalsite.decisions.fields import references_in
from evalsite.decisions.metadata import Meta, from_preamble
from evalsite.decisions.record import Reference, Status, StatusNorm

_PROSE = re.compile(
    r"^\s*(?:this (?:adr|record|decision)|it)\s+(?P<part>(?:in part|partly|partially)\s+)?"
    r"supersedes\s+(?P<what>[^;]{1,300})",
    re.IGNORECASE,
)
_ACTIVE = re.compile(r"\b(?:supersedes|supercedes|replaces)\b\**\s*:?\s*(?P<what>[^;\n]*)", re.IGNORECASE)


def superseded_by(front: Meta, near: Meta, status: Status) -> tuple[Reference, ...]:
    """Return the records that this one says it was superseded by."""
    texts = [entry.text for meta in (front, near) for entry in meta.get("superseded by")]
    if status.norm in (StatusNorm.SUPERSEDED, StatusNorm.CONTRADICTORY):
        texts.extend(line for line in re.split(r"[\n;]", status.raw) if not _ACTIVE.search(line))
    return _unique(reference for text in texts for reference in references_in(text))


def supersedes(
    front: Meta, near: Meta, status: Status, *, status_lines: list[tuple[int, str]], view: tuple[str, ...]
) -> tuple[Reference, ...]:
    """Return the records that this one says it supersedes: by a key, in its status, or in a sentence.

    Args:
        front: Metadata of the front matter.
        near: Metadata before the first section.
        status: The record's status as read.
        status_lines: Lines of the Status section.
        view: The record's lines, code and comments blanked.
    """
    texts = [entry.text for meta in (front, near) for entry in meta.get("supersedes")]
    texts.extend(match["what"] for match in _ACTIVE.finditer(status.raw))
    texts.extend(entry.text for entry in from_preamble(status_lines).get("supersedes"))
    for line in view:
        match = _PROSE.match(line)
        if match:
            texts.append(f"{match['part'] or ''}{match['what']}")
    return _unique(reference for text in texts for reference in references_in(text))


def _unique(references: Iterable[Reference]) -> tuple[Reference, ...]:
    seen: dict[tuple[int | None, str | None], Reference] = {}
    for reference in references:
        seen.setdefault((reference.number, None if reference.number is not None else reference.slug), reference)
    return tuple(seen.values())
