# SPDX-License-Identifier: Apache-2.0
"""The status of a decision record: classified word by word, never guessed.

A statement counts as an acceptance only when it starts with a word of acceptance, nothing but a
date, a remark or a name follows, and no word of doubt stands in it. Everything else that is not
understood is ``unknown``. Two sources that disagree give ``contradictory``.
"""

import re
from dataclasses import dataclass

from evalsite.decisions.record import Status, StatusNorm
from evalsite.decisions.vocabulary import DOUBT, PARTIAL, STATUS_WORDS

MAX_STATEMENT_CHARS = 2000  # what follows is not read for a status

_BADGE = re.compile(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])?")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^)\s]*\)|\[[^\]]*\])?")
_STRUCK = re.compile(r"~~[^~]*~~|<(?:del|s)>.*?</(?:del|s)>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_TICKED = re.compile(r"^\s*[-*+]?\s*\[[xX]\]", re.MULTILINE)
_UNTICKED = re.compile(r"^\s*[-*+]?\s*\[ \].*$", re.MULTILINE)
_LEAD = re.compile(r"^[^\w]+")
_CLAUSE = re.compile(r"[;,.\n\u2192\u3002\uff0c\uff1b]|->|\s[-\u2013\u2014]\s")
_AFTER = re.compile(
    r"\s*($|[(\[:\uff08]|[-\u2013\u2014]|\d|"
    r"(?:on|by|at|in|since|as of|le|el|em|am|par|por|von|vom|seit|depuis|desde)\b)"
)
_SUPERSEDES = re.compile(r"\b(?:supersedes|supercedes|replaces)\b[^;.\n)]*")
_PASSIVE = re.compile(r"\b(?:is|was|been|est|foi|fue|ist|wurde)\s+(?=(\S+)(?:\s+(\S+))?(?:\s+(\S+))?)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_UNTIL = re.compile(r"\b(?:until|to|till|through|bis|jusqu'au|até|hasta)\s+(\d{4}-\d{2}-\d{2})")
_NEGATIVE_MARKS = ("\u274c", "\u26d4", "\U0001f6ab", "?")
_DOUBT_STEMS = ("condition", "provision", "tentativ", "propos", "supersed", "superced", "reject", "withdr", "deprec")
_OTHER_STATUS = re.compile(
    r"(?<!\w)(?:"
    + "|".join(re.escape(word) for word, norm in STATUS_WORDS if norm is not StatusNorm.ACCEPTED)
    + r")(?!\w)"
)
_WORD = re.compile(r"[^\W_]+", re.UNICODE)

#: What ends a decision's life, strongest first; in one list of statements the strongest counts.
_ENDS = (
    StatusNorm.SUPERSEDED,
    StatusNorm.WITHDRAWN,
    StatusNorm.DEPRECATED,
    StatusNorm.EXPIRED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement about a status, as written, with the place it came from."""

    raw: str
    source: str
    line: int | None


def plain_text(raw: str) -> str:
    """Return a statement without badges, struck text, unticked boxes, links and emphasis."""
    text = _TICKED.sub("", _UNTICKED.sub("", raw[:MAX_STATEMENT_CHARS]))
    text = _TAG.sub("", _STRUCK.sub("", _BADGE.sub("", text)))
    text = _LINK.sub(r"\1", text)
    return re.sub(r"[*`{}]|\b_|_\b|^\s*[-+]\s*", "", text, flags=re.MULTILINE).strip()


def lead(clause: str) -> tuple[StatusNorm, str] | None:
    """Return the status that a clause starts with and the rest of the clause, or null."""
    text = _LEAD.sub("", clause.casefold())
    for word, norm in STATUS_WORDS:
        if text.startswith(word) and not text[len(word) : len(word) + 1].isalnum():
            return norm, text[len(word) :]
    return None


def classify(raw: str) -> StatusNorm:
    """Return the status that one statement names; ``unstated`` for an empty one."""
    text = plain_text(raw)
    if not _WORD.search(text):
        return StatusNorm.UNSTATED
    if _is_choice(text):
        return StatusNorm.UNKNOWN
    clauses = [found for clause in _CLAUSE.split(text) if (found := lead(clause))]
    if not clauses:
        return _passive(text)
    norms = {norm for norm, _ in clauses}
    ends = [norm for norm in _ENDS if norm in norms]
    if ends:
        return ends[0]
    if norms == {StatusNorm.ACCEPTED, StatusNorm.CONDITIONAL}:
        return StatusNorm.CONDITIONAL
    plain = norms != {StatusNorm.ACCEPTED} or _is_plain_acceptance(raw, text, clauses[0][1])
    return clauses[0][0] if len(norms) == 1 and plain else StatusNorm.UNKNOWN


def _is_choice(text: str) -> bool:
    """Return whether a statement lists several statuses: a template's choice that was never made."""
    parts = re.split(r"[/\s]+", _DATE.sub("", text))
    return "|" in text or ("/" in text and len({found[0] for part in parts if (found := lead(part))}) > 1)


def _is_plain_acceptance(raw: str, text: str, rest: str) -> bool:
    if any(mark in raw for mark in _NEGATIVE_MARKS) or lead(text) is None:
        return False
    said = _SUPERSEDES.sub("", text.casefold())
    words = set(_WORD.findall(said))
    doubtful = words & set(DOUBT) or any(word.startswith(_DOUBT_STEMS) for word in words)
    return not doubtful and not _OTHER_STATUS.search(said) and _AFTER.match(rest) is not None


def _passive(text: str) -> StatusNorm:
    """Return the end that a sentence tells ("this record has been superseded by ..."), else unknown."""
    for match in _PASSIVE.finditer(text.casefold()):
        for found in (lead(word) for word in match.groups() if word):
            if found and (found[0] in _ENDS or found[0] is StatusNorm.REJECTED):
                return found[0]
    return StatusNorm.UNKNOWN


def is_partial(raw: str) -> bool:
    """Return whether a statement speaks of a part only."""
    text = plain_text(raw).casefold()
    return any(re.search(rf"\b{phrase}\b", text) for phrase in PARTIAL)


def _until(raw: str) -> str | None:
    """Return the last day of a provisional window, if one is stated."""
    days = _UNTIL.findall(plain_text(raw).casefold())
    return max(days) if days else None


def statements_of_section(lines: list[tuple[int, str]]) -> list[Statement]:
    """Return the statements of a Status section.

    The first paragraph always is one. A later paragraph is one only when it starts with a word of
    status, or tells in a sentence that the record's life has ended.
    """
    statements: list[Statement] = []
    for line, paragraph in _paragraphs(lines):
        text = plain_text(paragraph)
        told = lead(text) is not None or _passive(text) is not StatusNorm.UNKNOWN
        if (not statements or told) and _WORD.search(text):
            statements.append(Statement(raw=paragraph, source="section", line=line))
    return statements


def _paragraphs(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    found: list[tuple[int, list[str]]] = []
    open_paragraph = False
    for line, text in lines:
        if not text.strip():
            open_paragraph = False
        elif open_paragraph:
            found[-1][1].append(text.strip())
        else:
            found.append((line, [text.strip()]))
            open_paragraph = True
    return [(line, "\n".join(texts)) for line, texts in found]


def decide(groups: list[list[Statement]]) -> Status:
    """Return the status from groups of statements, one group per source, most trusted first.

    Within one source the strongest end of life counts. A source that says something known and
    different from the first makes the status contradictory.
    """
    heard = [_group(group) for group in groups]
    stated = [status for status in heard if status.norm is not StatusNorm.UNSTATED]
    if not stated:
        return Status(norm=StatusNorm.UNSTATED, raw="", source="absent", line=None)
    first = stated[0]
    others = {status.norm for status in stated} - {StatusNorm.UNKNOWN, first.norm}
    if not others:
        return first
    raw = " / ".join(f"{status.source}: {status.raw}" for status in stated)
    return Status(norm=StatusNorm.CONTRADICTORY, raw=raw, source=first.source, line=first.line)


def _group(group: list[Statement]) -> Status:
    pairs = [(classify(item.raw), item) for item in group]
    pairs = [(norm, item) for norm, item in pairs if norm is not StatusNorm.UNSTATED]
    if not pairs:
        return Status(norm=StatusNorm.UNSTATED, raw="", source="absent", line=None)
    norms = {norm for norm, _ in pairs}
    norm = next((end for end in _ENDS if end in norms), pairs[0][0])
    if norm not in _ENDS and len(norms) > 1:
        norm = StatusNorm.CONTRADICTORY
    chosen = next((item for found, item in pairs if found is norm), pairs[0][1])
    raws = [item.raw for _, item in pairs]
    superseding = [item.raw for found, item in pairs if found is StatusNorm.SUPERSEDED]
    return Status(
        norm=norm,
        raw="\n".join(raws),
        source=chosen.source,
        line=chosen.line,
        partial=norm is StatusNorm.SUPERSEDED and all(is_partial(raw) for raw in superseding),
        provisional_until=_until("\n".join(raws)) if norm in (StatusNorm.CONDITIONAL, StatusNorm.ACCEPTED) else None,
    )
