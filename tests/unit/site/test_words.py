# SPDX-License-Identifier: Apache-2.0
"""Words in the language of the page."""

import pytest

from evalsite.schema import words as sentences
from evalsite.site import words
from evalsite.site.escape import text
from evalsite.site.html import el


def test_english_needs_no_catalogue() -> None:
    assert words.say("{passed} of {planned} passed.", passed=1, planned=2) == "1 of 2 passed."


@pytest.mark.parametrize(("count", "said"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases")])
def test_a_number_decides_between_one_and_many(count: int, said: str) -> None:
    assert words.counted("{count} case", "{count} cases", count) == said
    assert words.own_counted("{count} case", "{count} cases", count) == said
    assert str(sentences.counted("{count} case", "{count} cases", count)) == said


def test_words_escape_themselves_and_keep_the_html_in_their_fields() -> None:
    assert words.own("a < {b}", b=el("b", text("<"))) == "a &lt; <b>&lt;</b>"


def test_a_value_that_looks_like_a_field_is_no_field() -> None:
    assert words.say("{name} is here", name="{other}") == "{other} is here"
    assert words.own("{name} is here", name=text("{other}")) == "{other} is here"


def test_words_of_a_lower_floor_are_words_inside_others() -> None:
    inner = sentences.counted("{count} trial", "{count} trials", 3)
    assert words.say(sentences.words("{what} failed", what=inner)) == "3 trials failed"
    assert str(sentences.words("{what} failed", what=inner)) == "3 trials failed"


def test_what_is_spoken_ends_where_it_began() -> None:
    with words.speaking("fr"):
        assert words.spoken() == "fr"
    assert words.spoken() == "en"
