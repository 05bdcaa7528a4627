# SPDX-License-Identifier: Apache-2.0
"""A failure is data: the closed set of statuses and stages (R20, R42, R57, T14)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from evalsite.schema import bounds
from evalsite.schema.base import CaseId, Later, ShortText, StrictModel
from evalsite.schema.replies import Action, Winner


class Mode(StrEnum):
    """What a run asks: a stand-in, a model, or the recorded replies of an earlier run (R39)."""

    FIXTURE = "fixture"
    LIVE = "live"
    REPLAY = "replay"


class Protocol(StrEnum):
    """The verdict protocols; none is ever converted into another (T1)."""

    BINARY = "binary"
    EVIDENCE = "evidence"
    GRADED = "graded"
    PAIRWISE = "pairwise"


class Role(StrEnum):
    """Who is asked."""

    CANDIDATE = "candidate"
    JUDGE = "judge"


class Stage(StrEnum):
    """Where something happened (R20)."""

    CANDIDATE = "candidate"
    JUDGE = "judge"
    CALIBRATION = "calibration"


class Status(StrEnum):
    """How a trial ended.

    ``Passed``, ``ContractError`` and ``CalibrationFailure`` keep the spelling of the source. A trial
    of the other protocols ends as ``Judged`` or ``CannotJudge``: whether the judge
    agrees with a label is calibration's business, not a status.
    """

    PASSED = "Passed"
    VIOLATION = "Violation"  # valid answer and verdict, conjunction false
    JUDGED = "Judged"  # a valid verdict of another protocol than the binary one, and not null
    CANNOT_JUDGE = "CannotJudge"  # a valid null verdict
    CALIBRATION_FAILURE = "CalibrationFailure"  # a control was classified wrongly
    CONTRACT_ERROR = "ContractError"  # the reply breaks its contract
    MISSING_ANSWER = "MissingAnswer"  # the endpoint delivered no content
    TRANSPORT_ERROR = "TransportError"  # no usable reply: timeout, connection, HTTP status, cut context
    CANCELLED = "Cancelled"  # a call was cancelled and the trial given up
    HOST_ERROR = "HostError"  # an unexpected exception, recorded by its type name (R42)


class TrialKind(StrEnum):
    """A trial of a case, or of a control shown to the judge."""

    CASE = "case"
    CONTROL = "control"


class Polarity(StrEnum):
    """Which control: a positive reference or a negative counter-example."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


class Probe(StrEnum):
    """What a control of the evidence or graded protocol tries the judge with (docs/reference/calibration.md)."""

    KNOWN = "known"  # a plain example of known classification
    REACH = "reach"  # what decides stands at one place of a text as long as the longest
    INJECTION = "injection"  # the text asks for a score
    PHANTOM = "phantom"  # the text rests on evidence that is not there


class Place(StrEnum):
    """Where in its text the deciding part of a control stands."""

    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"


class Dimension(StrEnum):
    """The gated dimensions of the graded protocol (R63)."""

    FAITHFULNESS = "faithfulness"
    GROUNDEDNESS = "groundedness"


class Order(StrEnum):
    """In which order a judge is shown the two answers of a pair (R97)."""

    AB = "ab"
    BA = "ba"


class Trial(StrictModel):
    """The key of one planned observation: every key is observed exactly once (T5).

    ``repetition`` counts from 1 and is null for a control; ``polarity`` is set for a control only;
    ``dimension`` for the graded protocol only, ``order`` for the pairwise one only. A control of the binary
    protocol has the id of its case, one of the others an id of its own.
    """

    kind: TrialKind
    case_id: CaseId
    repetition: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)] | None
    polarity: Polarity | None
    dimension: Dimension | None
    order: Later[Order] = None

    def label(self) -> str:
        """Return a short readable name, such as ``MISSING #2`` or ``REFUND negative``."""
        parts = [self.case_id]
        if self.dimension is not None:
            parts.append(self.dimension.value)
        if self.order is not None:
            parts.append(self.order.value)
        if self.polarity is not None:
            parts.append(self.polarity.value)
        if self.repetition is not None:
            parts.append(f"#{self.repetition}")
        return " ".join(parts)


def aspects_of(protocol: Protocol) -> tuple[tuple[Dimension | None, Order | None], ...]:
    """Return what a case is judged by in each repetition: its dimensions, or both orders of its answers."""
    if protocol is Protocol.GRADED:
        return tuple((dimension, None) for dimension in Dimension)
    if protocol is Protocol.PAIRWISE:
        return tuple((None, order) for order in Order)
    return ((None, None),)


class AnswerFacts(StrictModel):
    """What a record keeps of an answer: its flags, never its prose (that is in the blob).

    ``failed_checks`` names the checks by code that it does not fulfil; absent where all hold.
    """

    action: Action
    refused: bool
    failed_checks: Later[tuple[ShortText, ...]] = None


class VerdictFacts(StrictModel):
    """What a record keeps of a verdict: its decisions, never its prose.

    The two booleans are set for the binary protocol only, ``score`` and ``evidence`` for the
    others, ``winner`` for the pairwise one; ``scored`` tells a null verdict from an absent one.
    """

    required_behavior_met: bool | None = None
    forbidden_behavior_absent: bool | None = None
    scored: bool | None = None
    score: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | None = None
    evidence: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    winner: Later[Winner] = None


class Result(StrictModel):
    """How one trial ended.

    ``stage`` and ``error_type`` say where and why, for every status but the plain ones;
    ``detail`` is a place or rule inside a broken contract, never text of a reply.
    """

    status: Status
    stage: Stage | None
    error_type: str | None
    detail: str | None
    answer: AnswerFacts | None
    verdict: VerdictFacts | None
