# SPDX-License-Identifier: Apache-2.0
"""From foreign text to HTML that shows it and does nothing else.

Everything that a candidate, a judge, an endpoint or a corpus wrote passes here and nowhere else: no
Markdown, no template, no autolinking. The five characters with a meaning in HTML are escaped. Every
code point that cannot be seen, moves other text or is no character is replaced by a small box that
names it, since what a reader cannot see is not evidence. The box is an element with its own style:
the literal text ``U+202E`` can't pass for one.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache
from html import escape
from typing import NewType

#: A piece of HTML that is safe to put into a page.
Html = NewType("Html", str)

#: Bytes of one text that a page shows in full; more is cut and said so.
SHOWN_BYTES = 4 * 1024 * 1024

# C0 without newline and tab, DEL, C1; invisible, joining, filling and directional characters;
# variation selectors; noncharacters; surrogates; tags.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0004fffe\U0004ffff"
    "\U0005fffe\U0005ffff\U0006fffe\U0006ffff\U0007fffe\U0007ffff\U0008fffe\U0008ffff\U0009fffe\U0009ffff"
    "\U000afffe\U000affff\U000bfffe\U000bffff\U000cfffe\U000cffff\U000dfffe\U000dffff\U000e0000-\U000e0fff"
    "\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff]"
)
_SHORT = 80  # characters of texts that are escaped again and again: our own words, names, numbers
_CONTROL_NAMES = {
    0x00: "NULL",
    0x07: "BELL",
    0x08: "BACKSPACE",
    0x0B: "LINE TABULATION",
    0x0C: "FORM FEED",
    0x0D: "CARRIAGE RETURN",
    0x1B: "ESCAPE",
    0x7F: "DELETE",
    0x85: "NEXT LINE",
}
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_ESCAPED_BYTE, _LAST_ESCAPED_BYTE = 0xDC80, 0xDCFF  # how surrogateescape writes the bytes 0x80 to 0xFF


def text(value: str) -> Html:
    """Return ``value`` as HTML text; what can't be seen becomes a named box."""
    return _short_text(value) if len(value) <= _SHORT else _text(value)


def _text(value: str) -> Html:
    escaped = escape(value, quote=True)
    return Html(escaped if _is_plain(escaped) else _UNSEEN.sub(_chip, escaped))


_short_text = lru_cache(maxsize=1 << 14)(_text)


def bytes_text(raw: bytes) -> Html:
    """Return bytes as HTML text: decoded as UTF-8, each byte that is not UTF-8 as a named box."""
    escaped = escape(raw.decode("utf-8", errors="surrogateescape"), quote=True)
    return Html(escaped if _is_plain(escaped) else _UNSEEN.sub(_byte_chip, escaped))


def attr(value: str) -> str:
    """Return ``value`` for use between double quotes; what can't be seen is written as ``[U+202E]``."""
    return _short_attr(value) if len(value) <= _SHORT else _attr(value)


def _attr(value: str) -> str:
    escaped = escape(value, quote=True)
    seen = escaped if _is_plain(escaped) else _UNSEEN.sub(_plain_chip, escaped)
    return seen.replace("\n", " ").replace("\t", " ")


_short_attr = lru_cache(maxsize=1 << 14)(_attr)


def _is_plain(value: str) -> bool:
    """Return whether ``value`` is printable ASCII, line ends and tabs: most texts are, and it is seen at once."""
    return value.isascii() and value.replace("\n", "").replace("\t", "").isprintable()


def title(value: str) -> Html:
    """Return ``value`` on one line without any element, for ``<title>`` and SVG titles."""
    return Html(attr(value))


def has_unseen(value: str) -> bool:
    """Return whether `text` would box anything in ``value``."""
    return _UNSEEN.search(value) is not None


def _plain_chip(match: re.Match[str]) -> str:
    return f"[U+{ord(match.group()):04X}]"


def _chip(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f'<span class="es-cc" title="{_name(code)}">U+{code:04X}</span>'


def _byte_chip(match: re.Match[str]) -> str:
    code = ord(match.group())
    if _ESCAPED_BYTE <= code <= _LAST_ESCAPED_BYTE:
        return f'<span class="es-cc" title="BYTE THAT IS NOT UTF-8">0x{code - 0xDC00:02X}</span>'
    return _chip(match)


def _name(code: int) -> str:
    if code in _CONTROL_NAMES:
        return _CONTROL_NAMES[code]
    if _FIRST_SURROGATE <= code <= _LAST_SURROGATE:
        return "LONE SURROGATE"
    return escape(unicodedata.name(chr(code), "CONTROL OR UNASSIGNED CHARACTER"))


def raw_block(raw: bytes | str, *, label: str, href: str = "", shown_bytes: int = SHOWN_BYTES) -> Html:
    """Return a labelled box with foreign text exactly as it was, inert.

    Args:
        raw: The text. Bytes are shown as they are, with their length and SHA-256. A ``str`` is text
            that was taken out of a reply by a reader; it is shown without a digest.
        label: What it is and who wrote it, in our words.
        href: Where the exact bytes can be saved, relative to the page.
        shown_bytes: More bytes than this are cut, and both lengths are told.
    """
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", errors="surrogatepass")
    cut = len(data) > shown_bytes
    shown = _head(raw, shown_bytes) if cut else raw
    body = bytes_text(shown) if isinstance(shown, bytes) else text(shown)
    size = f"{len(data):,}".replace(",", "\u202f")
    facts = f"<span>{size} byte{'' if len(data) == 1 else 's'}</span>"
    if isinstance(raw, bytes):
        facts += f'<span>SHA-256 <code class="es-hash">{hashlib.sha256(raw).hexdigest()}</code></span>'
    if href:
        facts += (
            f'<a class="es-download" href="{attr(href)}" download="{attr(href.rsplit("/", 1)[-1])}">exact bytes</a>'
        )
    note = ""
    if cut:
        note = (
            f'<p class="es-raw-cut">Only the first {shown_bytes:,} of {len(data):,} bytes are shown here; '
            "the file has all of them.</p>"
        )
    if "es-cc" in body:
        note += (
            '<p class="es-raw-note">Boxed codes such as <span class="es-cc" title="EXAMPLE">U+001B</span> '
            "stand for characters that can't be seen.</p>"
        )
    empty = "" if data else '<p class="es-raw-note">Empty: not a single byte.</p>'
    kind = "es-raw" if isinstance(raw, bytes) else "es-raw es-said"
    return Html(
        f'<figure class="{kind}"><figcaption><strong>{attr(label)}</strong>'
        f'<span class="es-untrusted">untrusted text</span>{facts}</figcaption>'
        f'<pre dir="auto" tabindex="0"><code>{body}</code></pre>{empty}{note}</figure>'
    )


def _head(raw: bytes | str, limit: int) -> bytes | str:
    if isinstance(raw, str):
        return raw[:limit]
    # A character that the cut would split is left out, so that its rest isn't shown as broken bytes.
    end = limit
    while end > max(limit - 4, 0) and raw[end] & 0xC0 == 0x80:  # noqa: PLR2004 - UTF-8 continuation bytes are 10xxxxxx
        end -= 1
    return raw[:end]
