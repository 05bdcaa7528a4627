# SPDX-License-Identifier: Apache-2.0
"""The contracts of what a candidate and a judge must reply (R14-R31).

The JSON schema that is sent to an endpoint and the reader of the reply come from the same class
(`reply_schema`, `StrictModel.parse`), so that they cannot drift apart (R21).

Text of blanks only counts as not empty: a ``pattern`` that would forbid it is ignored or refused by
the grammar engines behind an endpoint, and schema and reader must say the same.
"""

from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from evalsite.schema import bounds
from evalsite.schema.base import StrictModel


class Action(StrEnum):
    """What an answer does (R14)."""

    ASSIST = "assist"
    REFUSE = "refuse"
    CLARIFY = "clarify"
    ABSTAIN = "abstain"


class Winner(StrEnum):
    """Which of two answers is better, by the place where it stood (R97)."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class CandidateAnswer(StrictModel):
    """A candidate's answer; ``refused`` has no default, since its absence is an error (R14-R16)."""

    action: Action
    response: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_RESPONSE_CHARS)]
    refused: bool


class BinaryVerdict(StrictModel):
    """A judge's verdict of the binary protocol (R17, R18)."""

    required_behavior_met: bool
    forbidden_behavior_absent: bool
    explanation: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_EXPLANATION_CHARS)]

    @property
    def compliant(self) -> bool:
        """Return whether both booleans are true."""
        return self.required_behavior_met and self.forbidden_behavior_absent


class EvidenceVerdict(StrictModel):
    """A judge's verdict of the evidence protocol: 0, 1 or null, with citations (R24-R29).

    A null score means: not enough basis to judge. It is neither a zero nor a failure to score.
    That the indices exist is checked by the reader, which knows how many items were supplied.
    """

    score: Annotated[int, Field(ge=0, le=1)] | None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_REASON_CHARS)]
    evidence: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=bounds.MAX_CITATIONS)]

    @model_validator(mode="after")
    def _scored_verdict_cites(self) -> "EvidenceVerdict":
        if self.score is not None and not self.evidence:
            message = "a score needs at least one evidence index (R28)"
            raise ValueError(message)
        return self


class GradedVerdict(StrictModel):
    """A judge's verdict of the graded protocol: whole points from 0 to 100, or null."""

    score: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_REASON_CHARS)]


class GradedVerdictV2(StrictModel):
    """A judge's verdict of the graded protocol since version 2 of its prompts.

    ``end_of_card`` repeats what closes the cards: that it is the right one is checked by the reader. It is a
    sign that the end arrived, and no proof that the judge read what stands before it.
    """

    score: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_REASON_CHARS)]
    end_of_card: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_NONCE_CHARS)]


class PairwiseVerdict(StrictModel):
    """A judge's verdict of the pairwise protocol: the better answer by its place, a tie, or null.

    Null means: not enough basis to judge. It is not a tie.
    """

    winner: Winner | None
    reason: Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_REASON_CHARS)]


#: The verdicts whose decision is a score.
ScoredVerdict: TypeAlias = EvidenceVerdict | GradedVerdict | GradedVerdictV2
Verdict: TypeAlias = BinaryVerdict | EvidenceVerdict | GradedVerdict | GradedVerdictV2 | PairwiseVerdict


def reply_schema(model: type[StrictModel]) -> dict[str, Any]:
    """Return the JSON schema of a reply, as it is sent to an endpoint.

    References are resolved in place and titles and descriptions dropped, since small engines
    support few keywords; what a schema cannot say (a score needs a citation) the reader checks.
    """
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    cleaned = _inline(schema, definitions)
    if not isinstance(cleaned, dict):  # pragma: no cover - a model's schema is an object
        raise TypeError(model)
    return cleaned


def _inline(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions)
    drop = {"title", "description", "default"}
    cleaned = {}
    for key, value in node.items():
        if key in drop and not isinstance(value, dict):
            continue
        if key == "properties":
            cleaned[key] = {name: _inline(sub, definitions) for name, sub in value.items()}
        else:
            cleaned[key] = _inline(value, definitions)
    return cleaned
