# SPDX-License-Identifier: Apache-2.0
"""What an error says, and its exit code."""

import pytest

from evalsite.errors import EvalsiteError, InputError, IntegrityError, shorten


def test_an_error_says_what_where_and_by_which_rule() -> None:
    error = InputError("expected text, got 7", at="cases[3].input", rule="R1", advice="Quote it.")
    assert str(error) == "expected text, got 7 at cases[3].input [R1]"
    assert (error.message, error.advice) == ("expected text, got 7", "Quote it.")
    assert str(InputError("expected text")) == "expected text"


@pytest.mark.parametrize(
    ("at", "parent", "place"),
    [("", "a", "a"), ("b", "a", "a.b"), ("[0].b", "a", "a[0].b"), ("line 3", "file.json", "file.json.line 3")],
)
def test_a_place_grows_on_the_way_out(at: str, parent: str, place: str) -> None:
    error = IntegrityError("x", at=at)
    assert error.under(parent) is error
    assert error.at == place


def test_a_subclass_keeps_its_kind_under_a_parent() -> None:
    with pytest.raises(IntegrityError) as caught:
        raise IntegrityError("x", at="b").under("a")
    assert caught.value.exit_code == 4
    assert isinstance(caught.value, EvalsiteError)


def test_a_long_value_is_cut_and_the_cut_is_told() -> None:
    assert shorten("é") == r"'\xe9'"
    assert shorten("x" * 50, 10) == "'xxxxxxxxx... (52 characters in all)"
    assert shorten("\x1b[31m\u202e") == r"'\x1b[31m\u202e'"
