# SPDX-License-Identifier: Apache-2.0
"""Our own words in the language of the page: gettext catalogues, numbers and dates by Babel (its only door).

What a page says is a literal English sentence, given to `say`, `own`, `counted` or `own_counted`. The catalogue of
the language that is spoken gives its translation; English needs none. Text of records is never looked up.

The language is ambient, as the precision of `decimal` is: every page is made inside `speaking`, and no function of a
page hands a language on.
"""

import gettext
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import resources

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from evalsite.schema.words import Value, Words
from evalsite.site.escape import Html, text

#: Languages that pages can speak; the first needs no catalogue.
LANGUAGES = ("en", "fr", "pt", "zh")
_SPOKEN: ContextVar[str] = ContextVar("spoken", default=LANGUAGES[0])


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Make everything inside speak a language of `LANGUAGES`."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def spoken() -> str:
    """Return the language that is spoken now."""
    return _SPOKEN.get()


@lru_cache(maxsize=len(LANGUAGES))
def _catalogue(language: str) -> gettext.NullTranslations:
    if language == LANGUAGES[0]:
        return gettext.NullTranslations()
    source = resources.files("evalsite.site.locale").joinpath(f"{language}.po").read_bytes()
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(source), locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


@lru_cache(maxsize=1 << 13)
def _template(language: str, template: str) -> str:
    return _catalogue(language).gettext(template)


def _counted_template(language: str, one: str, many: str, count: int) -> str:
    return _catalogue(language).ngettext(one, many, count)


def say(template: str | Words, /, **values: Value) -> str:
    """Return our words as text, in the language that is spoken.

    Args:
        template: A literal sentence with named fields, or a sentence that a lower floor made.
        values: What stands in the fields: text as it is, or words that are translated too.
    """
    if isinstance(template, Words):
        if template.many:
            count = template.values["count"]
            if not isinstance(count, int):
                raise TypeError(template.template)
            found = _counted_template(spoken(), template.template, template.many, count)
            return found.format(**_said(template.values))
        return say(template.template, **template.values)
    found = _template(spoken(), template)
    return found.format(**_said(values)) if values else found


def _said(values: Mapping[str, Value]) -> dict[str, str]:
    return {name: say(value) if isinstance(value, Words) else str(value) for name, value in values.items()}


def counted(one: str, many: str, /, count: int, **values: Value) -> str:
    """Return our words about a number of things, as text; ``{count}`` is the number."""
    return say(Words(one, {"count": count, **values}, many))


@lru_cache(maxsize=1 << 13)
def _escaped(language: str, template: str) -> Html:
    return text(_template(language, template))


def own(template: str | Words, /, **values: Html) -> Html:
    """Return our words as HTML; what stands in the fields of a literal is HTML already."""
    if isinstance(template, Words):
        return text(say(template))
    found = _escaped(spoken(), template)
    return Html(found.format(**values)) if values else found


def own_counted(one: str, many: str, /, count: int, **values: Html) -> Html:
    """Return our words about a number of things as HTML; ``{count}`` is the number."""
    found = text(_counted_template(spoken(), one, many, count))
    return Html(found.format(count=str(count), **values))
