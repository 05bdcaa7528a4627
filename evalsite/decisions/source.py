# SPDX-License-Identifier: Apache-2.0
"""The text of a decision record: decoded, its front matter cut off, its headings found.

Fenced code and HTML comments are blanked in the *view* that is searched for headings, metadata and
status, so that an example inside a record can never become a fact about it. The source lines stay
as they are for display.
"""

import re
from dataclasses import dataclass

from evalsite.decisions.record import Section
from evalsite.decisions.vocabulary import NESTED, section_of
from evalsite.errors import InputError

MAX_RECORD_BYTES = 1024 * 1024  # one decision record; the longest public one seen has 91 KB
MAX_FRONT_MATTER_LINES = 400

_ATX = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})(.*)$")
_SETEXT = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}$")
_NO_PARAGRAPH = re.compile(r"^\s*([-*+>|#]|\d+[.)]\s)")
_KEY_LINE = re.compile(r"^[^\W\d_][\w .()-]{0,40}:(\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading: ``index`` is the 0-based body line, ``lines`` how many lines it takes."""

    index: int
    level: int
    text: str
    lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A decoded record.

    ``front`` are the lines of the front matter (null: none) and ``front_line`` the 1-based file line
    of the first of them; ``body`` are the source lines after it, ``view`` the same lines with code and
    comments blanked; ``body_line`` is the file line of ``body[0]``. ``problems`` are pairs of code
    and file line.
    """

    front: tuple[str, ...] | None
    front_line: int
    body: tuple[str, ...]
    view: tuple[str, ...]
    body_line: int
    headings: tuple[Heading, ...]
    problems: tuple[tuple[str, int], ...]


def decode(data: bytes, *, name: str) -> str:
    """Return the text of a record with line feeds as line ends and without a byte order mark.

    Raises:
        InputError: Too large, UTF-16, or no UTF-8.
    """
    if len(data) > MAX_RECORD_BYTES:
        message = f"expected at most {MAX_RECORD_BYTES} bytes in a decision record, got {len(data)}"
        raise InputError(message, at=name, rule="size limit")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("expected UTF-8, got UTF-16", at=f"{name}:1", rule="UTF-8", advice="save the file as UTF-8")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        message = f"expected UTF-8, got byte 0x{data[exc.start]:02x}"
        raise InputError(message, at=f"{name}:{line}", rule="UTF-8", advice="save the file as UTF-8") from exc
    return text.replace("\r\n", "\n").replace("\r", "\n")


def split(text: str, *, rst: bool) -> Source:
    """Return front matter, body and headings of a decoded record."""
    lines = text.split("\n")
    start, end, problems = (0, 0, []) if rst else _front_matter(lines)
    body = lines[end + 1 :] if end else lines
    first = end + 2 if end else 1
    view, unclosed = (body, None) if rst else _view(body)
    if unclosed is not None:
        problems.append(("comment-unclosed", first + unclosed))
    headings = _rst_headings(view) if rst else _headings(view)
    return Source(
        front=tuple(lines[start:end]) if end else None,
        front_line=start + 1,
        body=tuple(body),
        view=tuple(view),
        body_line=first,
        headings=tuple(headings),
        problems=tuple(problems),
    )


def _front_matter(lines: list[str]) -> tuple[int, int, list[tuple[str, int]]]:
    """Return first and end line of the front matter (end 0: none) and what is odd about it."""
    limit = min(len(lines), MAX_FRONT_MATTER_LINES)
    if lines[0].rstrip() == "---":
        for index in range(1, limit):
            if lines[index].rstrip() in ("---", "..."):
                return 1, index, []
        return 0, 0, [("front-matter-unclosed", 1)]
    for index in range(limit):
        if lines[index].rstrip() == "---" and index > 0:
            return 0, index, [("front-matter-unopened", 1)]
        if not _KEY_LINE.match(lines[index]):
            break
    return 0, 0, []


def _view(body: list[str]) -> tuple[list[str], int | None]:
    """Blank fenced code and HTML comments; return the view and the line of an unclosed comment."""
    view: list[str] = []
    fence = ""
    comment: int | None = None
    for index, line in enumerate(body):
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
            view.append("")
            continue
        opening = None if comment is not None else _FENCE.match(line)
        if opening and not (opening[1][0] == "`" and "`" in opening[2]):
            fence = opening[1]
            view.append("")
            continue
        text, inside = _without_comments(line, inside=comment is not None)
        comment = (index if comment is None else comment) if inside else None
        view.append(text)
    return view, comment


def _without_comments(line: str, *, inside: bool) -> tuple[str, bool]:
    """Return a line without its HTML comments, and whether one is still open at its end."""
    kept: list[str] = []
    position = ticks = counted = 0
    while position < len(line):
        if inside:
            end = line.find("-->", position)
            if end < 0:
                return "".join(kept), True
            position, inside = end + 3, False
            continue
        start = line.find("<!--", position)
        ticks += line.count("`", counted, max(start, 0))
        counted = max(start, counted)
        if start < 0 or ticks % 2 == 1:  # none, or shown as code
            kept.append(line[position:])
            break
        kept.append(line[position:start])
        position, inside = start + 4, True
    return "".join(kept), inside


def _headings(view: list[str]) -> list[Heading]:
    found: list[Heading] = []
    for index, line in enumerate(view):
        atx = _ATX.match(line)
        if atx:
            text = re.sub(r"(^|[ \t])#+[ \t]*$", "", atx[2] or "")
            text = re.sub(r"\s*\{#[\w-]+\}\s*$", "", text).strip()
            found.append(Heading(index=index, level=len(atx[1]), text=text, lines=1))
            continue
        under = _SETEXT.match(line)
        before = view[index - 1] if index else ""
        alone = index < 2 or not view[index - 2].strip()  # noqa: PLR2004 - the line above the text
        if under and alone and before.strip() and not _NO_PARAGRAPH.match(before):
            found.append(Heading(index=index - 1, level=1 if under[1][0] == "=" else 2, text=before.strip(), lines=2))
    return found


def _rst_headings(view: list[str]) -> list[Heading]:
    """Return headings of reStructuredText: levels follow the order in which underlines appear."""
    levels: dict[str, int] = {}
    found: list[Heading] = []
    for index in range(1, len(view)):
        text, under = view[index - 1].rstrip(), _UNDERLINE.match(view[index].rstrip())
        if under and text and not text.startswith(" ") and not _UNDERLINE.match(text) and len(under[0]) >= len(text):
            level = levels.setdefault(under[1], min(len(levels) + 1, 6))
            found.append(Heading(index=index - 1, level=level, text=text, lines=2))
    return found


def cut(source: Source, title: Heading | None) -> tuple[Section, ...]:
    """Return the sections in file order: every heading of level 1 or 2 opens one.

    The parts that MADR nests in the outcome (consequences, confirmation) become sections of their
    own. Text before the first of them is a section without a heading, named ``preamble``.
    """
    marks = [heading for heading in source.headings if heading is not title and _opens_section(heading)]
    start = title.index + title.lines if title is not None else 0
    first = marks[0].index if marks else len(source.body)
    parts = [_section("preamble", None, source, start, first)] if start < first else []
    for position, heading in enumerate(marks):
        end = marks[position + 1].index if position + 1 < len(marks) else len(source.body)
        known = section_of(heading.text)
        name = known[0] if known else None
        parts.append(_section(name, heading, source, heading.index + heading.lines, end))
    return tuple(part for part in parts if part.heading or part.text)


def _opens_section(heading: Heading) -> bool:
    known = section_of(heading.text)
    return heading.level <= 2 or (known is not None and known[0] in NESTED)  # noqa: PLR2004 - MADR's section level


def _section(name: str | None, heading: Heading | None, source: Source, start: int, end: int) -> Section:
    return Section(
        name=name,
        heading=heading.text if heading else "",
        level=heading.level if heading else 0,
        text="\n".join(source.body[start:end]).strip("\n").rstrip(),
        line=source.body_line + (heading.index if heading else start),
    )


def visible(source: Source, start: int, end: int) -> list[tuple[int, str]]:
    """Return pairs of file line and text of a range of the view, block quotes left out."""
    return [
        (source.body_line + index, source.view[index])
        for index in range(start, min(end, len(source.view)))
        if not source.view[index].lstrip().startswith(">")
    ]
