# SPDX-License-Identifier: Apache-2.0
"""Shells: the theme rendered once per kind of page, around stubs, and cut at tokens.

A stub is a page of fixed headings with a token where text is to stand. Whatever engine renders it,
its HTML is split at the tokens into constant segments and slots; a page is these segments with its
own HTML between them. Values are never searched for tokens, so no record can open a slot.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.errors import InputError
from evalsite.site.escape import attr, title
from evalsite.site.model import Body, Kind, Page

#: Folder of the stubs of kinds with many pages; nothing of it is published.
STUB_FOLDER = "zz-shell"
#: Where a hand-written page wants the generated sections; without it they follow its text.
MARKER = "<!-- evalsite -->"

_TITLES = {Kind.VERIFY: "Verify it yourself"}
_SLOT = "[0-9a-z]+"


def title_of(kind: Kind) -> str:
    """Return the title of the only page of a kind."""
    return _TITLES.get(kind, kind.slug.capitalize())


def stub_source(kind: Kind) -> str:
    """Return the source path of a kind's stub, at the depth of its pages."""
    if kind.is_single:
        return kind.address.removesuffix(".html") + ".md"
    return f"{STUB_FOLDER}/{'a/' * (kind.depth - 1)}{kind.slug}.md"


def stub_output(kind: Kind) -> str:
    """Return where the engine writes a kind's stub."""
    return stub_source(kind).removesuffix(".md") + ".html"


def slot(token: str, name: str) -> str:
    """Return the token of one slot: letters and digits only, so that no engine touches it."""
    return f"{token}x{name}x"


def stub_markdown(kind: Kind, token: str, hand_written: str | None = None) -> str:
    """Return the source of a kind's stub.

    Args:
        kind: The kind of page.
        token: Text that occurs nowhere else.
        hand_written: A page of the project at this place: it keeps its title and text, and the
            generated sections stand at its marker or at its end.
    """
    sections = "\n\n".join(
        f"## {section.title}\n\n{_block(token, f's{number}')}" for number, section in enumerate(kind.sections)
    )
    if hand_written is not None:
        before, marker, after = hand_written.partition(MARKER)
        return (
            f"{before.rstrip()}\n\n{sections}\n\n{after.lstrip()}" if marker else f"{before.rstrip()}\n\n{sections}\n"
        )
    name = title_of(kind) if kind.is_single else slot(token, "title")
    head = f"---\ntitle: {name}\nhide:\n  - navigation\nsearch:\n  exclude: true\n---\n"
    top = f'{_block(token, "crumbs")}\n\n<h1 id="top">{slot(token, "heading")}</h1>\n\n{_block(token, "lead")}\n\n'
    return f"{head}\n{top}{sections}\n"


def _block(token: str, name: str) -> str:
    return f'<div class="es" data-search-exclude>{slot(token, name)}</div>'


@dataclass(frozen=True, slots=True)
class Shell:
    """Constant segments with one slot between each two of them."""

    segments: tuple[str, ...]
    slots: tuple[str, ...]

    def stamp(self, values: Mapping[str, str]) -> str:
        """Return the page with ``values`` in the slots."""
        parts = [self.segments[0]]
        for name, segment in zip(self.slots, self.segments[1:], strict=True):
            parts.append(values[name])
            parts.append(segment)
        return "".join(parts)


def harvest(kind: Kind, html: str, token: str, *, hand_written: bool = False) -> Shell:
    """Cut the HTML of a stub into a shell.

    Args:
        kind: The kind of page.
        html: What the engine made of the stub.
        token: The token that the stub was written with.
        hand_written: Whether the project's own page stands around the sections.

    Raises:
        InputError: A slot is missing, doubled or unknown: the theme changed what was between them.
    """
    marked = html if kind.is_single else html.replace(stub_output(kind), slot(token, "path"))
    pieces = re.split(f"{token}x({_SLOT})x", marked)
    shell = Shell(segments=tuple(pieces[0::2]), slots=tuple(pieces[1::2]))
    wanted = {f"s{number}": 1 for number in range(len(kind.sections))}
    if not hand_written:
        wanted |= {"crumbs": 1, "heading": 1, "lead": 1}
    for name, count in wanted.items():
        if shell.slots.count(name) != count:
            raise InputError(
                (
                    f"expected the slot {name} once in the page of kind {kind.slug}, got it {shell.slots.count(name)} "
                    "times"
                ),
                at=stub_source(kind),
                rule="shells",
                advice="The theme or a Markdown extension changes raw HTML blocks; compare with a plain mkdocs.yml.",
            )
    unknown = set(shell.slots) - set(wanted) - {"title", "path"}
    if unknown or any(token in segment for segment in shell.segments):
        raise InputError("expected only known slots, got others", at=stub_source(kind), rule="shells")
    return shell


def values_of(page: Page, body: Body) -> dict[str, str]:
    """Return what stands in the slots of a page. The title is text without elements."""
    if len(body.sections) != len(page.kind.sections):
        raise ValueError(page.path)
    return {
        "title": title(page.title),
        "path": attr(page.path),
        "crumbs": body.crumbs,
        "heading": body.heading,
        "lead": body.lead,
        **{f"s{number}": section for number, section in enumerate(body.sections)},
    }
