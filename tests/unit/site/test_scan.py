# SPDX-License-Identifier: Apache-2.0
"""The last door: generated HTML is read again before it is written."""

import pytest

from evalsite.errors import InputError
from evalsite.site.scan import check_fragment, ids, links


@pytest.mark.parametrize(
    "html",
    [
        "<script>x</script>",
        "<p onclick=x>y</p>",
        '<p onclick="x">y</p>',
        '<p style="x">y</p>',
        "<img>",
        '<a href="javascript:x">y</a>',
        '<a href="https://example.invalid/">y</a>',
        '<a href="//example.invalid/">y</a>',
        '<a href="/etc">y</a>',
        '<a href="">y</a>',
        "<iframe></iframe>",
        "a < b",
        "a > b",
        "<p>\x1b</p>",
        "<p>\u202e</p>",
        "<!-- x -->",
        "<p\n>x</p>",
        "<svg><script>x</script></svg>",
    ],
)
def test_anything_but_our_own_markup_is_refused(html: str) -> None:
    with pytest.raises(InputError):
        check_fragment(html, at="page")


def test_our_own_markup_passes() -> None:
    check_fragment('<p class="x">a &lt; b <a href="../x.html#y">z</a></p>', at="page")


def test_decision_records_may_link_elsewhere_and_nowhere_else() -> None:
    check_fragment('<a href="https://example.invalid/">y</a>', at="page", outside_links=True)
    with pytest.raises(InputError):
        check_fragment('<a href="javascript:x">y</a>', at="page", outside_links=True)


def test_links_are_resolved_from_the_page() -> None:
    html = '<a href="../b.html#x">1</a><a href="#here">2</a><a href="https://x.invalid/">3</a><a href="./">4</a>'
    assert list(links(html, "a/c/d.html")) == [("a/b.html", "x"), ("a/c/d.html", "here"), ("a/c/index.html", "")]


def test_a_link_out_of_the_site_is_told() -> None:
    target, _ = next(links('<a href="../../x.html">1</a>', "a/b.html"))
    assert target.startswith("..")


def test_ids_of_a_page() -> None:
    assert ids('<h2 id="a">x</h2><p data-id="c" id="b">') == {"a", "b"}
