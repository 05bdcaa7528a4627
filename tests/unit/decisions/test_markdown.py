# SPDX-License-Identifier: Apache-2.0
"""The safe subset of Markdown: what it renders, and that nothing of the source becomes markup."""

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.decisions.markdown import is_safe_target, plain, to_html

TAGS = {
    *("p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "hr", "em", "strong", "s", "a"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
VOID = {"hr"}


class Auditor(HTMLParser):
    """Collects what a browser would see as markup, and what it would see as text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack: list[str] = []
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.problems.append(f"tag {tag}")
        for key, value in attrs:
            if tag != "a" or key not in ("href", "rel"):
                self.problems.append(f"attribute {key} of {tag}")
            if key == "href" and not is_safe_target(value or ""):
                self.problems.append(f"target {value}")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.stack or self.stack.pop() != tag:
            self.problems.append(f"unbalanced {tag}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"declaration {decl}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"instruction {data}")

    def unknown_decl(self, data: str) -> None:
        self.problems.append(f"declaration {data}")


def audited(html: str) -> Auditor:
    auditor = Auditor()
    auditor.feed(html)
    auditor.close()
    return auditor


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"),
        ("# A\n### B ###\n###### C", "<h3>A</h3>\n<h3>B</h3>\n<h6>C</h6>\n"),
        ("*a* **b `*` c** _d_ `e<f` ~~g~~", None),
        ("* a\n* b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"),
        ("* a\n  * b", "<ul>\n<li><p>a</p>\n<ul>\n<li>b</li>\n</ul>\n</li>\n</ul>\n"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>\n"),
        ("```py\n<x> & *y*\n```", "<pre><code>&lt;x&gt; &amp; *y*\n</code></pre>\n"),
        ("a\n\n---\n\nb", "<p>a</p>\n<hr>\n<p>b</p>\n"),
        ("snake_case_name", "<p>snake_case_name</p>\n"),
        (r"\*a\*", "<p>*a*</p>\n"),
        ("[a](b.md)", '<p><a href="b.md">a</a></p>\n'),
        ("<https://a.invalid/>", None),
        ("![a](b.png)", "<p>[image: a] (b.png)</p>\n"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>\n"),
        ("<!-- x -->", "<p>&lt;!-- x --&gt;</p>\n"),
        ("a \u202e b", "<p>a [U+202E] b</p>\n"),
        ("&lt;", "<p>&amp;lt;</p>\n"),
    ],
)
def test_subset(text: str, html: str | None) -> None:
    rendered = to_html(text)
    assert audited(rendered).problems == []
    if html is not None:
        assert rendered == html


def test_emphasis_and_code() -> None:
    expected = "<p><em>a</em> <strong>b <code>*</code> c</strong> <em>d</em> <code>e&lt;f</code> <s>g</s></p>\n"
    assert to_html("*a* **b `*` c** _d_ `e<f` ~~g~~") == expected


def test_links_outside_tell_nothing() -> None:
    expected = '<p><a href="https://a.invalid/?x=1&amp;y=2" rel="noopener noreferrer nofollow">t</a></p>\n'
    assert to_html("[t](https://a.invalid/?x=1&y=2)") == expected


def test_table() -> None:
    html = to_html("| a | b |\n|---|:-:|\n| 1 | `2` |\n")
    assert "<th>a</th><th>b</th>" in html
    assert "<td>1</td><td><code>2</code></td>" in html


@pytest.mark.parametrize(
    "href",
    [
        *(
            "javascript:alert",
            "JaVaScRiPt:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc/x",
            "//host/x",
            "mailto:a@b",
        ),
        *("\\\\host", "/\\host", "java\u200bscript:x", "", "https:x", "http:/x", "https://"),
    ],
)
def test_unsafe_targets_stay_text(href: str) -> None:
    assert not is_safe_target(href)
    assert "<a" not in to_html(f"[t]({href})")


@pytest.mark.parametrize("href", ["0002-x.md", "../adr/", "#part", "a/b:c", "?q=a:b", "/adr/23", "https://a.invalid"])
def test_safe_targets(href: str) -> None:
    assert is_safe_target(href)


def test_resolver_decides_about_targets_but_not_about_safety() -> None:
    assert to_html("[t](a.md)", resolve=lambda href: href.replace(".md", ".html")) == '<p><a href="a.html">t</a></p>\n'
    assert to_html("[t](a.md)", resolve={}.get) == "<p>[t](a.md)</p>\n"
    assert to_html("[t](a.md)", resolve={"a.md": "javascript:x"}.get) == "<p>[t](a.md)</p>\n"


HOSTILE = st.sampled_from(
    [
        *(
            "<script>alert(1)</script>",
            "<img src=x onerror=y>",
            "<!--",
            "-->",
            "</p>",
            "</code>",
            '"',
            "'",
            "&",
            "&lt;",
        ),
        *(
            "[a](",
            "](javascript:x)",
            "![",
            "](x)",
            "[",
            "]",
            "(",
            ")",
            '[x](a" onclick="y)',
            "<https://",
            "<http://a b>",
        ),
        *("**", "*", "_", "~~", "`", "``", "```\n", "~~~\n", "> ", "- ", "1. ", "# ", "| ", "|---|\n", "---\n", "    "),
        *("\n", "\n\n", "\t", "\\", "\x00", "\u202e", "\u2028", "\ud800", "{{ x }}", "--8<--", "TOKTitle", "a", "b c"),
    ]
)


@given(st.lists(st.one_of(HOSTILE, st.text(max_size=6)), max_size=40))
def test_no_source_text_ever_becomes_markup(pieces: list[str]) -> None:
    auditor = audited(to_html("".join(pieces)))
    assert auditor.problems == []
    assert auditor.stack == []


@given(
    st.text(
        alphabet=st.characters(categories=["L"], exclude_characters="\u115f\u1160\u3164\uffa0"), min_size=1, max_size=40
    )
)
def test_words_are_never_lost(word: str) -> None:
    assert word in "".join(audited(to_html(f"> * {word}\n")).text)


def test_plain_escapes_quotes_and_shows_invisible_characters() -> None:
    assert plain("\"'<>&\x1b\u2066") == "&quot;&#x27;&lt;&gt;&amp;[U+001B][U+2066]"


@pytest.mark.parametrize(
    "piece", ["*a ", "[", "`a``", "_a", "> ", "- ", "[a](", "**a*", "- a\n  ", "**`*", "| a |\n|-|\n"]
)
def test_long_hostile_text_takes_linear_time(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        started = time.process_time()
        to_html(text)
        return time.process_time() - started

    assert seconds(200_000) < 10  # a quadratic renderer needs minutes
