# SPDX-License-Identifier: Apache-2.0
"""Laws of showing foreign text: nothing of it becomes markup, and nothing of it is lost."""

import html
import re

from hypothesis import example, given
from hypothesis import strategies as st

from evalsite.site.escape import attr, bytes_text, raw_block, text
from evalsite.site.names import file_slug, relative
from evalsite.site.scan import check_fragment

_ANY = st.text(st.characters(exclude_categories=())) | st.text(st.sampled_from("<>&\"'\x00\x1b\r\n\t\u202e\ud800x;="))
_CHIP = re.compile(r'<span class="es-cc" title="[^"<>]*">U\+([0-9A-F]{4,6})</span>')
_BYTE = re.compile(r'<span class="es-cc" title="BYTE THAT IS NOT UTF-8">0x([0-9A-F]{2})</span>')
_SEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)


def _back(shown: str) -> str:
    """Undo what `text` does, by another road: boxes to characters, then entities."""
    parts = _CHIP.split(shown)
    visible = [html.unescape(part) for part in parts[0::2]]
    boxed = [chr(int(code, 16)) for code in parts[1::2]] + [""]
    return "".join(a + b for a, b in zip(visible, boxed, strict=True))


@given(_ANY)
@example("\x00")
@example("&#x202e;")
@example('<span class="es-cc" title="X">U+202E</span>')
def test_no_character_is_lost_and_none_is_markup(value: str) -> None:
    shown = text(value)
    assert _back(shown) == value
    assert "<" not in _CHIP.sub("", shown)
    assert _SEEN.search(_CHIP.sub("", shown)) is None
    check_fragment(shown, at="law")


@given(st.binary())
def test_no_byte_is_lost(raw: bytes) -> None:
    shown = bytes_text(raw)
    back = _back(_BYTE.sub(lambda m: chr(0xDC00 + int(m[1], 16)), shown))
    assert back.encode("utf-8", errors="surrogateescape") == raw
    check_fragment(shown, at="law")


@given(_ANY)
def test_an_attribute_cannot_be_left(value: str) -> None:
    shown = attr(value)
    assert not set(shown) & set("<>\"'\n\t")
    check_fragment(f'<span title="{shown}">x</span>', at="law")


@given(_ANY | st.binary(), st.integers(0, 40))
def test_a_box_is_one_inert_figure_at_any_cap(raw: str | bytes, cap: int) -> None:
    block = raw_block(raw, label="Reply", shown_bytes=cap)
    check_fragment(block, at="law")
    assert block.startswith("<figure")
    assert block.count("<pre") == block.count("</figure>") == 1
    block.encode("utf-8")


@given(_ANY)
def test_file_names_are_plain(value: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,68}", file_slug(value))


@given(_ANY, _ANY)
def test_two_ids_never_share_a_file_name_by_case(one: str, other: str) -> None:
    if one != other:
        assert file_slug(one) != file_slug(other)


_PATH = st.lists(st.sampled_from(["a", "b", "runs", "x.html"]), min_size=1, max_size=5).map("/".join)


@given(_PATH, _PATH)
def test_a_relative_address_leads_back(target: str, page: str) -> None:
    where = page.split("/")[:-1]
    for part in relative(target, page).split("/"):
        if part == "..":
            where.pop()
        else:
            where.append(part)
    assert "/".join(where) == target
