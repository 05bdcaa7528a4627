# SPDX-License-Identifier: Apache-2.0
"""The policy of a page, computed from the page."""

import base64
import hashlib

import pytest

from evalsite.errors import InputError
from evalsite.site.csp import policy, with_policy

_HEAD = '<html><head><meta charset="utf-8"><title>x</title></head><body>'


def test_every_inline_script_is_named_by_its_hash_and_nothing_else() -> None:
    script = "var a=1"
    page = f'{_HEAD}<script>{script}</script><script src="a.js"></script><script type="application/json">{{}}</script>'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy(page).count("'sha256-") == 1
    assert f"script-src 'self' 'sha256-{digest}';" in policy(page)
    assert "unsafe" not in policy(page)
    assert "default-src 'none'" in policy(page)


def test_the_policy_stands_before_everything_that_loads() -> None:
    page = with_policy(f"{_HEAD}</body></html>", at="x")
    assert page.index("Content-Security-Policy") < page.index("<title>")


@pytest.mark.parametrize(
    "body",
    [
        '<script src="https://example.invalid/x.js"></script>',
        '<link rel="stylesheet" href="https://example.invalid/x.css">',
        '<link href="//example.invalid/x.css" rel="stylesheet">',
        '<img src="//example.invalid/x.png">',
        '<iframe src="https://example.invalid/"></iframe>',
        '<button onclick="x()">x</button>',
    ],
)
def test_a_page_that_would_break_the_policy_is_refused(body: str) -> None:
    with pytest.raises(InputError):
        with_policy(_HEAD + body, at="x")


def test_a_page_without_a_character_set_is_refused() -> None:
    with pytest.raises(InputError, match="character set"):
        with_policy("<html></html>", at="x")


def test_links_and_canonical_addresses_are_no_requests() -> None:
    with_policy(_HEAD + '<link rel="canonical" href="https://x.invalid/"><a href="https://x.invalid/">x</a>', at="x")
