# SPDX-License-Identifier: Apache-2.0
"""A sentence as data: a template and what stands in it, so that a page can say it in the reader's language.

Below the pages everything is said in English, for ``str()`` of these words goes into reports and terminals. A page
takes the same words and looks their template up in a catalogue (`evalsite.site.words`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Union

Value = Union[str, int, "Words"]


@dataclass(frozen=True, slots=True)
class Words:
    """A template in the syntax of ``str.format``, named fields only, and the values of its fields.

    ``many`` is the template for more than one; then the field ``count`` decides between the two.
    """

    template: str
    values: Mapping[str, Value] = field(default_factory=dict)
    many: str = ""

    def __str__(self) -> str:
        """Return the sentence in English."""
        template = self.many if self.many and self.values["count"] != 1 else self.template
        return template.format(**{name: str(value) for name, value in self.values.items()})


def words(template: str, /, **values: Value) -> Words:
    """Return a sentence; its template must be a literal, for catalogues are made from the source."""
    return Words(template, values)


def counted(one: str, many: str, /, count: int, **values: Value) -> Words:
    """Return a sentence about a number of things; both templates must be literals."""
    return Words(one, {"count": count, **values}, many)
