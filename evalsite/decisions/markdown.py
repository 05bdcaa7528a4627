# SPDX-License-Identifier: Apache-2.0
"""Markdown of decision records to HTML: a small, safe subset; everything else is shown as text.

The text is escaped first and markup is added by this module alone, so nothing of the source can
become a tag or an attribute of its own. There is no raw HTML, no image (its text and address are shown), no
reference link, no entity. What is not understood is not hidden: it stands there as written.
Control and bidirectional characters are shown by their code points.

Paragraphs, headings (from ``h3`` down), lists, block quotes, fenced code, pipe tables, rules,
emphasis, inline code, links to ``http``, ``https`` and relative targets.
"""

import re
from collections.abc import Callable
from html import escape

MAX_DEPTH = 8  # nested lists and quotes; deeper ones are shown as plain text
MIN_HEADING = 3  # the page's own headings stand above

#: Turns a link's target into the one for the page, or null to show the target as text.
Resolver = Callable[[str], str | None]

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`]*)$")
_ITEM = re.compile(r"^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)(.*)$")
_RULE = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_QUOTE = re.compile(r"^ {0,3}> ?(.*)$")
_TABLE_RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`{1,3})(?!`)(?P<code>[^`]{1,2000})(?P=ticks)(?!`)"
    r"|(?P<image>!)?\[(?P<text>[^\[\]]{0,500})\]\((?P<href>[^()\s<>]{0,2000})(?:[ \t]+\"[^\"]{0,200}\")?\)"
    r"|<(?P<auto>https?://[^<>\s]{1,2000})>"
    r"|\*\*(?=\S)(?P<strong>(?:[^*`]|`[^`]{0,500}`){1,2000})(?<=\S)\*\*"
    r"|\*(?P<em>[^*\s](?:[^*]{0,2000}[^*\s])?)\*"
    r"|(?<![^\W_])_(?P<em_>[^_\s](?:[^_]{0,2000}[^_\s])?)_(?![^\W_])"
    r"|~~(?P<struck>[^~\s](?:[^~]{0,2000}[^~\s])?)~~"
)
_SAFE_RELATIVE = re.compile(r"^(?![/\\]{2})[^:\\]*$|^[^:?#/\\]*[/?#][^\\]*$")
_SAFE_ABSOLUTE = re.compile(r"^https?://[A-Za-z0-9.\[\]-][^\\]*$", re.IGNORECASE)


def plain(text: str) -> str:
    """Return text escaped for HTML, invisible characters shown as ``[U+202E]``."""
    shown = _INVISIBLE.sub(lambda found: f"[U+{ord(found.group()):04X}]", text)
    return escape(shown, quote=True)


def is_safe_target(href: str) -> bool:
    """Return whether a link may lead there: ``http``, ``https``, or a relative address without a scheme."""
    if not href or _INVISIBLE.search(href) or re.search(r"\s", href):
        return False
    return bool(_SAFE_ABSOLUTE.match(href)) or (_SAFE_RELATIVE.match(href) is not None and not href.startswith("//"))


def to_html(text: str, *, resolve: Resolver | None = None) -> str:
    """Return the HTML of a text; block elements, one per line.

    Args:
        text: Markdown. Line ends of any kind.
        resolve: Turns a relative or absolute target into the one for the page; null shows the target as text.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    return _Renderer(resolve).blocks(lines, 0)


class _Renderer:
    """Renders blocks recursively; the depth is bounded."""

    def __init__(self, resolve: Resolver | None) -> None:
        self.resolve = resolve

    def blocks(self, lines: list[str], depth: int) -> str:
        if depth > MAX_DEPTH:
            return f"<pre>{plain(chr(10).join(lines))}</pre>\n"
        out: list[str] = []
        index = 0
        while index < len(lines):
            if not lines[index].strip():
                index += 1
                continue
            html, index = self._block(lines, index, depth)
            out.append(html)
        return "".join(out)

    def _block(self, lines: list[str], index: int, depth: int) -> tuple[str, int]:
        line = lines[index]
        if fence := _FENCE.match(line):
            return self._fence(lines, index, fence[1])
        if heading := _HEADING.match(line):
            level = min(6, max(MIN_HEADING, len(heading[1])))
            return f"<h{level}>{self.inline(heading[2])}</h{level}>\n", index + 1
        if _RULE.match(line):
            return "<hr>\n", index + 1
        if _QUOTE.match(line):
            return self._quote(lines, index, depth)
        if _ITEM.match(line):
            return self._list(lines, index, depth)
        is_table = "|" in line and index + 1 < len(lines) and "|" in lines[index + 1]
        plain_text = not (is_table and _TABLE_RULE.match(lines[index + 1]))
        return self._paragraph(lines, index) if plain_text else self._table(lines, index)

    def _fence(self, lines: list[str], index: int, fence: str) -> tuple[str, int]:
        end = index + 1
        while end < len(lines):
            closing = lines[end].strip()
            if closing.startswith(fence) and not closing.strip(fence[0]):
                break
            end += 1
        return f"<pre><code>{plain(chr(10).join(lines[index + 1 : end]))}\n</code></pre>\n", end + 1

    def _quote(self, lines: list[str], index: int, depth: int) -> tuple[str, int]:
        inner: list[str] = []
        while index < len(lines) and (found := _QUOTE.match(lines[index])):
            inner.append(found[1])
            index += 1
        return f"<blockquote>\n{self.blocks(inner, depth + 1)}</blockquote>\n", index

    def _list(self, lines: list[str], index: int, depth: int) -> tuple[str, int]:
        first = _ITEM.match(lines[index])
        ordered = first is not None and first[2][0].isdigit()
        items: list[str] = []
        while index < len(lines):
            found = _ITEM.match(lines[index])
            if not found or found[2][0].isdigit() != ordered or _RULE.match(lines[index]):
                break
            inner, index = _item_lines(lines, index, found)
            body = self.blocks(inner, depth + 1)
            single = re.fullmatch(r"<p>((?:(?!</?p>).)*)</p>\n", body, re.DOTALL)
            items.append(f"<li>{single[1] if single else body}</li>\n")
        tag = "ol" if ordered else "ul"
        return f"<{tag}>\n{''.join(items)}</{tag}>\n", index

    def _table(self, lines: list[str], index: int) -> tuple[str, int]:
        head = "".join(f"<th>{self.inline(cell)}</th>" for cell in _cells(lines[index]))
        rows: list[str] = []
        index += 2
        while index < len(lines) and "|" in lines[index]:
            cells = "".join(f"<td>{self.inline(cell)}</td>" for cell in _cells(lines[index]))
            rows.append(f"<tr>{cells}</tr>\n")
            index += 1
        table = f"<table>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{''.join(rows)}</tbody>\n</table>\n"
        return table, index

    def _paragraph(self, lines: list[str], index: int) -> tuple[str, int]:
        end = index + 1
        while end < len(lines) and lines[end].strip() and not _interrupts(lines[end]):
            end += 1
        text = "\n".join(line.strip() for line in lines[index:end])
        return f"<p>{self.inline(text)}</p>\n", end

    def inline(self, text: str, depth: int = 0) -> str:
        if depth > MAX_DEPTH:
            return plain(text)
        out: list[str] = []
        position = 0
        for found in _INLINE.finditer(text):
            out.extend((plain(text[position : found.start()]), self._span(found, depth)))
            position = found.end()
        return "".join((*out, plain(text[position:])))

    def _span(self, found: re.Match[str], depth: int) -> str:
        if found["code"]:
            return f"<code>{plain(' '.join(found['code'].split()))}</code>"
        if found["auto"]:
            return self._link(found["auto"], plain(found["auto"]), found[0])
        if found["image"]:
            return plain(f"[image: {found['text']}] ({found['href']})")
        if found["href"] is not None:
            return self._link(found["href"], self.inline(found["text"], depth + 1), found[0])
        for group, tag in (("strong", "strong"), ("em", "em"), ("em_", "em"), ("struck", "s")):
            if found[group]:
                return f"<{tag}>{self.inline(found[group], depth + 1)}</{tag}>"
        return plain(found["escaped"])

    def _link(self, href: str, label: str, source: str) -> str:
        target = self.resolve(href) if self.resolve is not None else href
        if target is None or not is_safe_target(target) or "<a " in label or not label:
            return plain(source)
        outside = ' rel="noopener noreferrer nofollow"' if _SAFE_ABSOLUTE.match(target) else ""
        return f'<a href="{escape(target, quote=True)}"{outside}>{label}</a>'


def _item_lines(lines: list[str], index: int, found: re.Match[str]) -> tuple[list[str], int]:
    """Return the lines of one list item, its indentation taken off, and the index after it."""
    width = len(found[1]) + len(found[2]) + min(max(len(found[3]), 1), 4)
    inner = [found[4]]
    index += 1
    blank = False
    while index < len(lines):
        line = lines[index]
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            blank = True
        elif indent >= min(width, 2) and indent > len(found[1]):
            blank = False
        elif blank or _interrupts(line):
            break
        inner.append(line[min(indent, width) :])
        index += 1
    return inner, index


def _interrupts(line: str) -> bool:
    return any(pattern.match(line) for pattern in (_ITEM, _HEADING, _FENCE, _QUOTE, _RULE))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
