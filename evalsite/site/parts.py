# SPDX-License-Identifier: Apache-2.0
"""Pieces that several kinds of pages share: crumbs, figures, digests, times, withheld texts, notes."""

from collections.abc import Iterable

from evalsite.campaign.trusted import TrialRecord
from evalsite.schema.corpus import DataClass
from evalsite.schema.outcome import Trial
from evalsite.site import marks
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, facts, join, link
from evalsite.site.marks import Mark, icon
from evalsite.site.names import relative
from evalsite.site.views import RunView, Told

_MAX_INLINE = 400
_MAX_LISTED = 60
_DIGEST_HEAD = 12


def para(*children: Html, css: str = "") -> Html:
    """Return a paragraph."""
    return el("p", *children, class_=css)


def says(words: str, css: str = "") -> Html:
    """Return a paragraph of our own words."""
    return el("p", text(words), class_=css)


def foreign(value: str) -> Html:
    """Return a short foreign text inside a line; isolated, so that its direction stays its own."""
    shown = value if len(value) <= _MAX_INLINE else f"{value[:_MAX_INLINE]} … ({len(value)} characters)"
    return el("bdi", text(shown))


def prose(value: str) -> Html:
    """Return a longer text of a corpus author, with its line breaks."""
    return el("div", text(value), class_="es-prose", dir="auto")


def quiet(words: str) -> Html:
    """Return words that stand for an absent value."""
    return el("span", text(words), class_="es-null")


def code(value: str) -> Html:
    """Return a short identifier in fixed width."""
    return el("code", text(value))


def digest(value: str | None) -> Html:
    """Return a digest, shortened for the eye and complete for copying; null is told, not guessed."""
    if value is None:
        return quiet("not told")
    short = value.removeprefix("sha256:")[:_DIGEST_HEAD]
    return el(
        "details",
        el("summary", el("code", text(f"{short}…"), class_="es-hash")),
        el("code", text(value), class_="es-hash es-full"),
        class_="es-digest",
    )


def full_digest(value: str | None) -> Html:
    """Return a digest in full, for pages where it is to be compared."""
    return quiet("not told") if value is None else el("code", text(value), class_="es-hash es-full")


def told(value: str | int | None) -> Html:
    """Return a value, or the words "not told" for null: a null is never shown as a zero."""
    if value is None:
        return quiet("not told")
    return number(value) if isinstance(value, int) else foreign(value)


def number(value: int) -> Html:
    """Return a count with thin spaces between groups of three digits."""
    return text(f"{value:,}".replace(",", "\u2009"))


def summed(sum_: Told, unit: str = "") -> Html:
    """Return a sum with how many calls told it."""
    if sum_.told == 0:
        return quiet("not told")
    shown = join((number(sum_.total), text(f" {unit}".rstrip())))
    if sum_.told == sum_.calls:
        return shown
    return join((shown, text(" "), quiet(f"told by {sum_.told} of {sum_.calls} calls")))


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: ``1 case``, ``2 cases``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def when(value: str | None) -> Html:
    """Return a UTC time for people, with the exact value for machines."""
    if value is None:
        return quiet("not closed")
    shown = f"{value[:10]} {value[11:16]} UTC"
    return el("time", text(shown), datetime=value, class_="es-time")


def day(value: str) -> Html:
    """Return the day of a UTC time."""
    return el("time", text(value[:10]), datetime=value, class_="es-time")


def note(words: str, *more: Html, title: str = "") -> Html:
    """Return a note that must be seen: a caveat, a reservation."""
    head = el("strong", text(f"{title} ")) if title else EMPTY
    return el("div", el("p", head, text(words), *more), class_="es-note")


def caveat(words: str) -> Html:
    """Return a caveat."""
    return note(words, title="Caveat.")


def how_to_read(words: str) -> Html:
    """Return the line that says how a page is to be read."""
    return el("p", text(words), class_="es-howto")


def tags(values: Iterable[str]) -> Html:
    """Return the tags of a case."""
    return join(el("span", text(value), class_="es-tag") for value in values)


def critical() -> Html:
    """Return the mark of a critical case."""
    return el("span", text("critical"), class_="es-tag es-critical")


def listed(values: Iterable[Html]) -> Html:
    """Return short items in a line, at most 60 of them, with how many more there are."""
    found = list(values)
    shown = found[:_MAX_LISTED]
    more = [quiet(f"and {len(found) - len(shown)} more")] if len(found) > len(shown) else []
    return el("span", join(el("span", item, class_="es-item") for item in (*shown, *more)), class_="es-items")


def crumbs(page: str, *steps: tuple[str, str]) -> Html:
    """Return where a page stands: pairs of address and name, from the home page on."""
    parts = [link(relative("index.html", page), text("Home"))]
    parts.extend(link(relative(address, page), foreign(name)) for address, name in steps)
    separator = el("span", text("/"), aria_hidden="true")
    joined = [part for item in parts for part in (separator, item)][1:]
    return el("nav", *joined, class_="es-crumbs", aria_label="Breadcrumbs")


def withheld(view: RunView) -> Html:
    """Return what stands in place of a text that must not be published (R112, T17)."""
    data_class = view.plan.corpus.data_class
    return el(
        "div",
        el("p", el("strong", text("Withheld. ")), text(withheld_words(data_class))),
        class_="es-note es-withheld",
    )


def withheld_words(data_class: DataClass) -> str:
    """Return why a text isn't here, by which rule, and whom to ask."""
    return (
        f"The texts of this corpus are of the class “{data_class.value}”. Only texts that are declared synthetic are "
        "published; the record keeps the bytes under a salted digest. Ask the owner of the corpus, whose role stands "
        "in its retention policy."
    )


def fold(summary: str, *children: Html, is_open: bool = False) -> Html:
    """Return something behind a summary that opens and closes without any script."""
    opened = {"open_": "open"} if is_open else {}
    return el("details", el("summary", text(summary)), *children, class_="es-details", **opened)


def fact_list(pairs: Iterable[tuple[str, Html]]) -> Html:
    """Return names in our words and their values."""
    return facts((text(name), value) for name, value in pairs)


def aspect(trial: Trial) -> str:
    """Return what a trial judges of its case, with a blank behind it; empty where a case has one aspect only."""
    if trial.order is not None:
        return f"{trial.order.value} "
    return f"{trial.dimension.value} " if trial.dimension else ""


def outcomes(view: RunView, case_id: str) -> Html:
    """Return the outcome of each trial of a case: shape, number and word."""
    cells = []
    for trial, record in view.trials_of(case_id):
        mark = view.mark_of(record)
        said = text(f"{aspect(trial)}#{trial.repetition} {outcome(record, mark)}")
        cells.append(el("span", icon(mark), said, class_="es-cell"))
    return join(cells)


def outcome(record: TrialRecord | None, mark: Mark) -> str:
    """Return an outcome in a word or two: what a judge said where the shape alone does not tell."""
    verdict = None if record is None else record.result.verdict
    if mark is marks.GRADED and verdict is not None:
        return f"{verdict.score} of 100"
    if mark is marks.COMPARED and verdict is not None and verdict.winner is not None:
        return verdict.winner.value
    return mark.label
