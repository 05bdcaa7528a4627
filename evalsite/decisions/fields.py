# SPDX-License-Identifier: Apache-2.0
"""Numbers, titles, dates, names and references as decision records write them."""

import re
from datetime import date
from urllib.parse import unquote

from evalsite.decisions.frontmatter import split_list
from evalsite.decisions.record import DecisionDate, Reference
from evalsite.decisions.status import is_partial

_DATE_PREFIX = re.compile(r"^(\d{4})-?(\d{2})-?(\d{2})(?:[-_ ]|$)")
_NUMBER = re.compile(
    r"^(?:(?P<scope>(?i:adr|dr|mdr|edr|rfc|decision)|[A-Z]{2,10})[-_ #]{0,2})?(?P<number>\d{1,6})(?:[-_. ]|$)"
)
_TITLE_NUMBER = re.compile(
    r"^(?:Architecture Decision Record\s*:?\s*)?(?:(?:ADR|DR|MDR|RFC|[A-Z]{2,10})[-_ ]?#?\s?)?"
    r"(\d{1,6})\s*[.:)\-\u2013\u2014]\s+",
    re.IGNORECASE,
)
_TITLE_WORDS = re.compile(r"^(?:Architecture Decision Record|ADR)\s*:\s*", re.IGNORECASE)
_HREF = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)|:doc:`([^`]+)`")
_MENTION = re.compile(r"\b(?:ADR|AMT|DR|MDR|RFC)[-_ #]{0,2}(\d{1,6})\b|#(\d{1,6})\b|^\W*(\d{1,6})\b", re.IGNORECASE)
_NOTHING = ("", "-", "n/a", "none", "null", "no", "tbd", "[]", "{}")
_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_ISO = r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"
_CJK = r"(?P<cy>\d{4})\s*[\u5e74\ub144]\s*(?P<cm>\d{1,2})\s*[\u6708\uc6d4]\s*(?P<cd>\d{1,2})\s*[\u65e5\uc77c]"
_DOTTED = r"(?P<dd>\d{1,2})\.\s?(?P<dm>\d{1,2})\.\s?(?P<dy>\d{4})"
_SLASH = r"(?P<a>\d{1,2})/(?P<b>\d{1,2})/(?P<sy>\d{4})"
_NAMED = r"(?P<nd>\d{1,2})[- ](?P<nm>[A-Za-z]{3})[a-z]*\.?,?[- ](?P<ny>\d{4})"
_YEAR_FIRST = r"(?P<yy>\d{4}) (?P<ym>[A-Za-z]{3})[a-z]*\.? (?P<yd>\d{1,2})\b"
_MONTH_FIRST = r"(?P<mm>[A-Za-z]{3})[a-z]*\.? (?P<md>\d{1,2}),? (?P<my>\d{4})"
_DATES = re.compile(f"{_ISO}|{_CJK}|{_DOTTED}|{_SLASH}|{_NAMED}|{_YEAR_FIRST}|{_MONTH_FIRST}")
_REMARK = re.compile(r"\s*\(([^()]{1,200})\)")
_FORMS = (("y", "m", "d"), ("cy", "cm", "cd"), ("dy", "dm", "dd"), ("ny", "nm", "nd"), ("yy", "ym", "yd"))
_MAX_MONTH = 12


def number_of_name(stem: str) -> tuple[int | None, str | None, str | None]:
    """Return number, scope prefix and date of a file's stem; eight leading digits are a date."""
    dated = _DATE_PREFIX.match(stem)
    day = _day(dated[1], dated[2], dated[3]) if dated else None
    rest = stem[dated.end() :] if dated and day else stem
    if day and not re.match(r"\d{1,6}[-_]", rest):
        return None, None, day
    found = _NUMBER.match(rest)
    if not found:
        return None, None, day
    return int(found["number"]), found["scope"], day


def title_of_name(stem: str) -> str:
    """Return a readable title of a file's stem: date and number cut off, dashes as blanks."""
    dated = _DATE_PREFIX.match(stem)
    rest = stem[dated.end() :] if dated and _day(dated[1], dated[2], dated[3]) else stem
    found = _NUMBER.match(rest)
    return re.sub(r"[-_]+", " ", rest[found.end() :] if found else rest).strip()


def split_title(text: str) -> tuple[str, int | None]:
    """Return a title without its number, and the number."""
    text = " ".join(text.split())
    found = _TITLE_NUMBER.match(text)
    if found:
        return text[found.end() :].strip(), int(found[1])
    return _TITLE_WORDS.sub("", text).strip(), None


def _day(year: str, month: str, day: str) -> str | None:
    try:
        number = _MONTHS[month.casefold()] if month.isalpha() else int(month)
        return date(int(year), number, int(day)).isoformat()
    except (KeyError, ValueError):
        return None


def dates_in(text: str, *, role: str) -> list[DecisionDate]:
    """Return the dates of a text. ``02/09/2020`` can be read in two ways, so it gets no value."""
    found: list[DecisionDate] = []
    for match in _DATES.finditer(text[:2000]):
        remark = _REMARK.match(text, match.end())
        value, ambiguous = _value(match)
        if value is not None or ambiguous:
            note = remark[1] if remark else ""
            found.append(DecisionDate(value=value, raw=match[0], role=role, remark=note, ambiguous=ambiguous))
    return found


def _value(match: re.Match[str]) -> tuple[str | None, bool]:
    if match["a"]:
        first, second = int(match["a"]), int(match["b"])
        if first <= _MAX_MONTH and second <= _MAX_MONTH and first != second:
            return None, True
        day, month = (second, first) if second > _MAX_MONTH else (first, second)
        return _day(match["sy"], str(month), str(day)), False
    for year, month_name, day_name in (*_FORMS, ("my", "mm", "md")):
        if match[year]:
            return _day(match[year], match[month_name], match[day_name]), False
    return None, False


def names_in(text: str) -> tuple[str, ...]:
    """Return names separated by commas that stand outside parentheses, links cut to their text."""
    plain = re.sub(r"\[([^\[\]]*)\]\([^()\s]*\)", r"\1", text)
    return tuple(name.strip("* ") for name in split_list(plain) if name.strip("* ").casefold() not in _NOTHING)


def references_in(text: str) -> tuple[Reference, ...]:
    """Return the records that a text refers to: targets of links first, then ``ADR-12`` and ``#12``.

    No target is ever opened; only its last path segment is read.
    """
    if text.strip().casefold() in _NOTHING:
        return ()
    partial = is_partial(text)
    found: list[Reference] = []
    for match in _HREF.finditer(text):
        reference = _of_target(match[2] or match[3], partial=partial)
        if reference is None and (numbers := _mentions(match[1] or "")):
            reference = Reference(raw=match[0], number=numbers[0], slug=None, partial=partial)
        if reference is not None:
            found.append(reference)
    rest = re.sub(r"\d{4}-\d{2}-\d{2}", "", _HREF.sub("", text))
    found.extend(Reference(raw=str(number), number=number, slug=None, partial=partial) for number in _mentions(rest))
    unique: dict[tuple[int | None, str | None], Reference] = {}
    for reference in found:
        unique.setdefault((reference.number, None if reference.number is not None else reference.slug), reference)
    return tuple(unique.values())


def _of_target(target: str, *, partial: bool) -> Reference | None:
    segment = unquote(re.split(r"[?#]", target, maxsplit=1)[0]).rstrip("/").rsplit("/", 1)[-1]
    stem = re.sub(r"\.(md|rst|html)$", "", segment)
    number, _, day = number_of_name(stem)
    if number is None and (day is None or not stem):
        return None
    return Reference(raw=target, number=number, slug=stem, partial=partial)


def _mentions(text: str) -> list[int]:
    return [int(match[1] or match[2] or match[3]) for match in _MENTION.finditer(text)]
