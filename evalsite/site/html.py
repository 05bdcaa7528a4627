# SPDX-License-Identifier: Apache-2.0
"""HTML is a type: only this module and `escape` make it, so that text can never pass for it.

`Html` is a `NewType` of ``str``: mypy refuses a plain string where a page expects HTML, and the one
way from text to HTML is `evalsite.site.escape.text`.
"""

from collections.abc import Iterable

from evalsite.site.escape import Html, attr

_VOID = frozenset({"br", "hr"})

EMPTY = Html("")


class _Names(dict[str, str]):
    """Names of attributes as Python can write them, and as HTML has them."""

    def __missing__(self, name: str) -> str:
        self[name] = name.rstrip("_").replace("_", "-")
        return self[name]


_NAMES = _Names()


def join(parts: Iterable[Html]) -> Html:
    """Return the concatenation of pieces of HTML."""
    return Html("".join(parts))


def el(tag: str, *children: Html, **attributes: str) -> Html:
    """Return one element.

    Args:
        tag: Name of the element; written by us, never taken from a record.
        children: What stands inside.
        attributes: ``class_`` for ``class``; other underscores become hyphens. Values are escaped.
            An empty value leaves the attribute out.
    """
    written = "".join([f' {_NAMES[name]}="{attr(value)}"' for name, value in attributes.items() if value])
    if tag in _VOID:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{''.join(children)}</{tag}>")


def table(head: Iterable[Html], rows: Iterable[Iterable[Html]], *, css: str = "", caption: str = "") -> Html:
    """Return a table in a wrapper that scrolls sideways on a narrow screen.

    Args:
        head: Contents of the header cells.
        rows: Contents of the cells; the first cell of each row is its header. A cell that starts
            with ``<td`` or ``<th`` is taken as it is.
        css: Further classes of the table.
        caption: Told to a screen reader; not shown.
    """
    body = []
    for row in rows:
        cells = [
            cell if cell.startswith(("<td", "<th")) else el("th", cell, scope="row") if index == 0 else el("td", cell)
            for index, cell in enumerate(row)
        ]
        body.append(el("tr", *cells))
    parts = [el("thead", el("tr", *(el("th", cell, scope="col") for cell in head))), el("tbody", *body)]
    if caption:
        parts.insert(0, el("caption", Html(attr(caption)), class_="es-sr"))
    inner = el("table", *parts, class_=f"es-table {css}".strip())
    return el("div", inner, class_="es-scroll", tabindex="0", role="region", aria_label=caption or "Table")


def num(content: Html) -> Html:
    """Return a cell with a number, aligned to the right."""
    return el("td", content, class_="es-num")


def facts(pairs: Iterable[tuple[Html, Html]], *, css: str = "") -> Html:
    """Return a list of names and values as a two-column table."""
    rows = [el("tr", el("th", name, scope="row"), el("td", value)) for name, value in pairs]
    inner = el("table", el("tbody", *rows), class_=f"es-table es-facts {css}".strip())
    return el("div", inner, class_="es-scroll", tabindex="0", role="region", aria_label="Facts")


def bullets(items: Iterable[Html], *, css: str = "") -> Html:
    """Return an unordered list."""
    return el("ul", *(el("li", item) for item in items), class_=css)


def link(href: str, content: Html, *, css: str = "") -> Html:
    """Return a link inside this site. ``href`` is made by us, relative to the page.

    Raises:
        ValueError: ``href`` is not relative (a bug in the caller: record text makes no links).
    """
    if ":" in href or href.startswith("/"):
        raise ValueError(href)
    return el("a", content, href=href, class_=css)


def download(href: str, content: Html) -> Html:
    """Return a link that saves a file of this site."""
    if ":" in href or href.startswith("/"):
        raise ValueError(href)
    name = href.rsplit("/", 1)[-1]
    return el("a", content, href=href, download=name, class_="es-download")
