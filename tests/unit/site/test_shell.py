# SPDX-License-Identifier: Apache-2.0
"""Stubs, shells and stamping."""

import pytest

from evalsite.errors import InputError
from evalsite.site.escape import Html
from evalsite.site.model import Body, Kind, Page
from evalsite.site.shell import MARKER, harvest, slot, stub_markdown, stub_output, stub_source, values_of

TOKEN = "estok" + "0123456789abcdef01234567"


def _rendered(kind: Kind) -> str:
    return f"<title>{slot(TOKEN, 'title')}</title>" + stub_markdown(kind, TOKEN)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_stub_lies_at_the_depth_of_its_pages(kind: Kind) -> None:
    assert stub_source(kind).count("/") == kind.depth
    assert stub_output(kind).endswith(".html")
    assert kind.is_single == (stub_output(kind) == kind.address)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_shell_has_each_slot_once_and_gives_back_what_stands_between(kind: Kind) -> None:
    html = _rendered(kind)
    shell = harvest(kind, html, TOKEN)
    assert set(shell.slots) >= {"crumbs", "heading", "lead", *(f"s{n}" for n in range(len(kind.sections)))}
    stamped = shell.stamp({name: slot(TOKEN, name) for name in shell.slots})
    assert stamped == html.replace(stub_output(kind), slot(TOKEN, "path")) or kind.is_single


def test_a_value_that_looks_like_a_slot_is_text() -> None:
    shell = harvest(Kind.RUN, _rendered(Kind.RUN), TOKEN)
    values = {name: f"<{slot(TOKEN, 's0')}>" for name in shell.slots}
    assert shell.stamp(values).count(slot(TOKEN, "s0")) == len(shell.slots)


def test_a_missing_slot_stops_the_build() -> None:
    html = _rendered(Kind.RUN).replace(slot(TOKEN, "lead"), "")
    with pytest.raises(InputError, match="expected the slot lead once in the page of kind run, got it 0 times"):
        harvest(Kind.RUN, html, TOKEN)


def test_a_doubled_slot_stops_the_build() -> None:
    html = _rendered(Kind.RUN) + slot(TOKEN, "s0")
    with pytest.raises(InputError, match="got it 2 times"):
        harvest(Kind.RUN, html, TOKEN)


def test_an_unknown_slot_stops_the_build() -> None:
    with pytest.raises(InputError, match="only known slots"):
        harvest(Kind.RUN, _rendered(Kind.RUN) + slot(TOKEN, "other"), TOKEN)


def test_a_hand_written_page_keeps_its_text_around_the_sections() -> None:
    made = stub_markdown(Kind.HOME, TOKEN, f"# Mine\n\nBefore.\n\n{MARKER}\n\nAfter.\n")
    assert made.index("Before.") < made.index("## State of each profile") < made.index("After.")
    assert slot(TOKEN, "heading") not in made
    assert stub_markdown(Kind.HOME, TOKEN, "# Mine\n").startswith("# Mine")


def test_a_page_must_fill_every_section() -> None:
    body = Body(crumbs=Html(""), heading=Html(""), lead=Html(""), sections=())
    page = Page(kind=Kind.RUN, path="runs/x/index.html", title="x", body=lambda: body)
    with pytest.raises(ValueError, match="runs/x"):
        values_of(page, body)
