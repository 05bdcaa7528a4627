# SPDX-License-Identifier: Apache-2.0
"""Questions that code decides about an answer, so that no judge is asked them (R47).

Each check reads the text of the answer and nothing else. Action and refusal are no checks: every case states
them (``expected_action``, ``must_refuse``), and code compares them already.
"""

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evalsite.schema import bounds
from evalsite.schema.base import ShortText, StrictModel, Text

CheckName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,47}$")]
#: A number of an answer as decimal text: signed bytes hold no floats, and 0.1 is meant exactly.
Number = Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?$")]
#: ``order.items[0].price``: names and indices, from the root of a JSON answer.
JsonPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}(\.[A-Za-z_][A-Za-z0-9_-]{0,63}|\[[0-9]{1,4}\]){0,16}$"),
]

_PIECE = re.compile(
    r"""(?P<atom> \\[dDwWsSbB] | \\[^A-Za-z0-9] | \[\^?(?:\\[dDwWsS]|\\[^A-Za-z0-9]|[^\]\\\[])+\]
               | [^\\\[\](){}*+?|] )
        (?P<count> [*+?] | \{(?P<least>[0-9]{1,3})(?:,(?P<most>[0-9]{1,3}))?\} )?(?![*+?{])""",
    re.VERBOSE | re.DOTALL,
)


def pattern_work(pattern: str) -> int:
    r"""Return how many ways there are to try a pattern on the longest answer, at most.

    Patterns are alternatives (``|``) of single characters, classes (``[a-z]``, ``\d``) and anchors, each with a
    count or without one. There are no groups, so that counts cannot nest, and no references back: what an engine
    that goes back can try is bounded by the product of its choices.

    Raises:
        ValueError: Something else stands in the pattern.
    """
    return sum(_work_of(alternative) for alternative in re.split(r"(?<!\\)\|", pattern))


def _work_of(alternative: str) -> int:
    work, at = bounds.MAX_RESPONSE_CHARS, 0  # a match can begin anywhere
    while at < len(alternative):
        piece = _PIECE.match(alternative, at)
        if piece is None:
            message = f"expected characters, classes and counts, found {alternative[at : at + 10]!r} (no groups)"
            raise ValueError(message)
        at, count = piece.end(), piece["count"]
        if count in {"*", "+"}:
            work *= bounds.MAX_RESPONSE_CHARS
        elif count == "?":
            work *= 2
        elif piece["most"] is not None:
            work *= max(int(piece["most"]) - int(piece["least"]) + 1, 1)
    return work


def _cheap(pattern: str) -> str:
    if pattern_work(pattern) > bounds.MAX_PATTERN_WORK:
        message = "expected a pattern with one unbounded count at most: this one may take too long to try"
        raise ValueError(message)
    try:
        re.compile(pattern)
    except re.error as exc:
        message = f"expected a pattern that compiles: {exc}"
        raise ValueError(message) from exc
    return pattern


Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(_cheap)]


class ExactCheck(StrictModel):
    """The answer is one of these texts, but for blanks around it."""

    kind: Literal["exact"]
    name: CheckName
    expected: Annotated[tuple[Text, ...], Field(min_length=1, max_length=32)]


class PatternCheck(StrictModel):
    """A pattern occurs in the answer, or must not (``found`` false); see `pattern_work` for what it may hold."""

    kind: Literal["pattern"]
    name: CheckName
    pattern: Pattern
    found: bool
    ignore_case: bool


class NumberCheck(StrictModel):
    """The answer's only number is the expected one, within a tolerance, both inclusive and exact."""

    kind: Literal["number"]
    name: CheckName
    expected: Number
    tolerance: Number

    @model_validator(mode="after")
    def _not_negative(self) -> "NumberCheck":
        if self.tolerance.startswith("-"):
            message = "expected a tolerance of 0 or more"
            raise ValueError(message)
        return self


class JsonField(StrictModel):
    """A field of a JSON answer and what must stand in it; type and value both count."""

    path: JsonPath
    expected: str | int | bool | None


class JsonCheck(StrictModel):
    """The answer is one strict JSON value that holds these fields; others may be there."""

    kind: Literal["json"]
    name: CheckName
    fields: Annotated[tuple[JsonField, ...], Field(min_length=1, max_length=64)]


class SetCheck(StrictModel):
    """The answer lists exactly these items, in any order; case and blanks around an item do not count."""

    kind: Literal["set"]
    name: CheckName
    separator: Annotated[str, StringConstraints(min_length=1, max_length=8)]
    expected: Annotated[tuple[ShortText, ...], Field(min_length=1, max_length=64)]


CodeCheck: TypeAlias = Annotated[
    ExactCheck | PatternCheck | NumberCheck | JsonCheck | SetCheck, Field(discriminator="kind")
]


def _named_once(checks: tuple[CodeCheck, ...]) -> tuple[CodeCheck, ...]:
    names = [check.name for check in checks]
    if len(set(names)) != len(names):
        message = "expected every check of a case under a name of its own"
        raise ValueError(message)
    return checks


CodeChecks = Annotated[tuple[CodeCheck, ...], Field(min_length=1, max_length=32), AfterValidator(_named_once)]
