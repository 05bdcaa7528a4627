# SPDX-License-Identifier: Apache-2.0
"""The one way from foreign text to HTML."""

import hashlib
import re

import pytest
from support.hostile import HOSTILE, LONE_SURROGATE

from evalsite.site.escape import attr, bytes_text, raw_block, text, title
from evalsite.site.scan import check_fragment


def test_the_five_characters_are_escaped() -> None:
    assert text("<a href=\"x\">'&'</a>") == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;&#x27;&lt;/a&gt;"


@pytest.mark.parametrize(
    ("found", "chip"),
    [
        ("\x1b", '<span class="es-cc" title="ESCAPE">U+001B</span>'),
        ("\u202e", '<span class="es-cc" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>'),
        ("\ud800", '<span class="es-cc" title="LONE SURROGATE">U+D800</span>'),
        ("\r", '<span class="es-cc" title="CARRIAGE RETURN">U+000D</span>'),
        ("\U000e0041", '<span class="es-cc" title="TAG LATIN CAPITAL LETTER A">U+E0041</span>'),
        ("\U0010ffff", '<span class="es-cc" title="CONTROL OR UNASSIGNED CHARACTER">U+10FFFF</span>'),
    ],
)
def test_what_cannot_be_seen_becomes_a_named_box(found: str, chip: str) -> None:
    assert text(f"a{found}b") == f"a{chip}b"


def test_newline_tab_and_visible_text_stay() -> None:
    assert text("é 中文 עברית\n\t😀") == "é 中文 עברית\n\t😀"


def test_the_literal_name_of_a_box_has_no_box() -> None:
    assert "es-cc" not in text("U+202E")


def test_a_byte_that_is_no_utf8_is_told_as_a_byte() -> None:
    assert bytes_text(b"a\xffb") == 'a<span class="es-cc" title="BYTE THAT IS NOT UTF-8">0xFF</span>b'


def test_a_lone_surrogate_in_text_is_no_byte() -> None:
    assert "U+DCFF" in text("\udcff")


def test_attributes_hold_no_element_and_no_line() -> None:
    assert attr('a"\n\u202e<') == "a&quot; [U+202E]&lt;"
    assert title("</title>\x00") == "&lt;/title&gt;[U+0000]"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_shown_whole_and_inert(name: str) -> None:
    payload = HOSTILE[name]
    for raw in (payload, payload.encode("utf-8")):
        block = raw_block(raw, label="Reply")
        check_fragment(block, at=name)
        assert "END</code>" in block


def test_a_lone_surrogate_reaches_the_page() -> None:
    block = raw_block(LONE_SURROGATE, label="Reply")
    assert "U+D800" in block
    block.encode("utf-8")


def test_a_box_tells_length_and_digest_of_its_bytes() -> None:
    block = raw_block(b"abc", label="Reply", href="raw/1.txt")
    assert "3 bytes" in block
    assert hashlib.sha256(b"abc").hexdigest() in block
    assert 'href="raw/1.txt" download="1.txt"' in block
    assert "untrusted text" in block


def test_text_taken_out_of_a_reply_claims_no_digest() -> None:
    assert "SHA-256" not in raw_block("abc", label="Answer")


def test_a_text_over_the_cap_is_cut_between_characters_and_says_so() -> None:
    block = raw_block("é" * 10 + "END", label="Reply", shown_bytes=5)
    assert "Only the first 5 of 23 bytes" in block
    cut = raw_block(("é" * 10).encode(), label="Reply", shown_bytes=5)
    assert re.search(r"<code>éé</code>", cut)
    assert "0x" not in cut


def test_an_empty_reply_is_told() -> None:
    assert "not a single byte" in raw_block(b"", label="Reply")
    assert "1 byte<" in raw_block(b"x", label="Reply")
