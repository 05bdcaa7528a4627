# SPDX-License-Identifier: Apache-2.0
"""How a foreign table of labels and verdicts is to be read, stated by whoever imports it.

Nothing is guessed: which columns, which values both sides have, which of them passes, and what every other
symbol means. A label and a verdict that do not share one vocabulary can't be compared at all.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from evalsite.schema.base import ShortText, StrictModel
from evalsite.schema.tables import Unavailable

Symbol = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class MappedColumns(StrictModel):
    """Names of columns. ``item`` is null for packed rows, ``count`` (a row's stated length) for plain ones.

    ``swapped`` holds the verdicts of pairwise judging in the other order; null where there is one order.
    """

    item: ShortText | None = None
    label: ShortText
    verdict: ShortText
    swapped: ShortText | None = None
    count: ShortText | None = None


class MappedVocabulary(StrictModel):
    """The values of both sides, stated for each, and what the remaining symbols of verdicts mean."""

    labels: Annotated[tuple[Symbol, ...], Field(min_length=2, max_length=2)]
    verdicts: Annotated[tuple[Symbol, ...], Field(min_length=2, max_length=2)]
    passing: Symbol
    unavailable: dict[Symbol, Unavailable]


class VerdictMapping(StrictModel):
    """A mapping file of ``evalsite calibrate import``.

    ``layout`` is ``rows`` for one verdict a row, or ``packed`` for one symbol per item in one cell. ``group``
    names the columns that together tell one judge's table from another. ``first`` is the value that names the
    text in the first slot of the first order, and ``swapped_names`` says what a verdict of the other order
    names: the text (``answer``) or the place that it stood in (``slot``); both are null without ``swapped``.
    """

    format: Literal["evalsite/verdict-mapping/v1"]
    title: ShortText
    layout: Literal["rows", "packed"]
    group: tuple[ShortText, ...]
    columns: MappedColumns
    vocabulary: MappedVocabulary
    first: Symbol | None = None
    swapped_names: Literal["answer", "slot"] | None = None

    @model_validator(mode="after")
    def _fits_its_layout(self) -> "VerdictMapping":
        packed, columns, words = self.layout == "packed", self.columns, self.vocabulary
        if packed is (columns.item is not None):
            message = "expected a column of items for the layout rows, and none for packed"
            raise ValueError(message)
        if columns.count is not None and not packed:
            message = "expected a column of counts for the layout packed only"
            raise ValueError(message)
        if len({columns.swapped is None, self.first is None, self.swapped_names is None}) > 1:
            message = "expected swapped, first and swapped_names together, or none of them"
            raise ValueError(message)
        symbols = (*words.labels, *words.verdicts, *words.unavailable)
        if packed and any(len(symbol) != 1 for symbol in symbols):
            message = "expected symbols of one character each for the layout packed"
            raise ValueError(message)
        if words.passing not in words.labels or (self.first is not None and self.first not in words.labels):
            message = "expected passing and first to be values of the labels"
            raise ValueError(message)
        if set(words.unavailable) & {*words.labels, *words.verdicts}:
            message = "expected symbols that are either a value or unavailable"
            raise ValueError(message)
        return self
