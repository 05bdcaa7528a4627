# SPDX-License-Identifier: Apache-2.0
"""Addresses of pages."""

import pytest

from evalsite.errors import InputError
from evalsite.site.names import file_slug, refuse_duplicates, relative


def test_what_a_slug_merges_a_digest_keeps_apart() -> None:
    names = {file_slug(name) for name in ("Case", "case", "CASE", "ca.se", "ca-se", "ca_se")}
    assert len(names) == 6


@pytest.mark.parametrize("name", ["README", "index", "con", ".x", "..", "a#b?c%20d", "x" * 300, "中文", ""])
def test_odd_ids_get_plain_names(name: str) -> None:
    slug = file_slug(name)
    assert len(slug) <= 69
    assert slug.isascii()
    assert slug not in {"readme", "index", "con"}
    assert not set(slug) & set("/.#?%")


def test_relative_addresses() -> None:
    assert relative("index.html", "runs/a/cases/x.html") == "../../../index.html"
    assert relative("runs/a/raw/1.txt", "runs/a/cases/x.html") == "../raw/1.txt"
    assert relative("runs/index.html", "index.html") == "runs/index.html"
    assert relative("a.html", "a.html") == "a.html"


def test_two_addresses_that_a_disk_may_merge_are_refused() -> None:
    refuse_duplicates(["a.html", "b.html"])
    with pytest.raises(InputError, match=r"expected one page per address, got A\.html twice"):
        refuse_duplicates(["a.html", "A.html"])
