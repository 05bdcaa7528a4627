# SPDX-License-Identifier: Apache-2.0
"""The ``evalsite:`` block in the front matter of a qualification decision.

The prose stays MADR; this block holds what machines need: which run was decided upon, how, under
which conditions, with which reservations, until when. It binds nothing until it is signed.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evalsite.schema.base import CaseId, Day, FolderName, ShortText, StrictModel, Text

MAX_ITEMS = 64  # reservations or conditions in one decision


class Outcome(StrEnum):
    """How a qualification was decided."""

    APPROVED = "approved"
    REJECTED = "rejected"
    APPROVED_WITH_CONDITIONS = "approved-with-conditions"
    DEFERRED = "deferred"
    WITHDRAWN = "withdrawn"


class Reservation(StrictModel):
    """A doubt that stays visible until it is closed; it never blocks silently and never vanishes."""

    id: CaseId
    text: Text
    state: Literal["open", "closed"]


class Condition(StrictModel):
    """Something that must be done for the decision to hold; ``owner`` is a role, ``due`` a day."""

    id: CaseId
    text: Text
    owner: ShortText
    due: Day
    state: Literal["open", "closed"]


class QualificationBlock(StrictModel):
    """A qualification as decided. Days are UTC calendar days; the last day still counts."""

    format: Literal["evalsite/decision/v1"]
    kind: Literal["qualification"]
    outcome: Outcome
    run: FolderName
    profile: FolderName
    reservations: Annotated[tuple[Reservation, ...], Field(max_length=MAX_ITEMS)] = ()
    conditions: Annotated[tuple[Condition, ...], Field(max_length=MAX_ITEMS)] = ()
    review_by: Day | None = None
    expires: Day | None = None

    @model_validator(mode="after")
    def _is_coherent(self) -> "QualificationBlock":
        if (self.outcome is Outcome.APPROVED_WITH_CONDITIONS) != bool(self.conditions):
            message = "conditions belong to the outcome approved-with-conditions, and to no other"
            raise ValueError(message)
        if self.review_by is not None and self.expires is not None and self.review_by > self.expires:
            message = "review_by lies after expires"
            raise ValueError(message)
        ids = [item.id for item in self.reservations] + [item.id for item in self.conditions]
        if len(set(ids)) != len(ids):
            message = "two reservations or conditions share an id"
            raise ValueError(message)
        return self

    def open_items(self) -> tuple[str, ...]:
        """Return the ids of reservations and conditions that are still open."""
        reservations = [item.id for item in self.reservations if item.state == "open"]
        return (*reservations, *(item.id for item in self.conditions if item.state == "open"))
