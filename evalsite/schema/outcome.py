# SPDX-License-Identifier: Apache-2.0
"""A failure is data: the closed set of statuses and stages (R20, R42, R57, T14)."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from evalsite.schema import bounds
from evalsite.schema.base import CaseId, StrictModel
from evalsite.schema.replies import Action


class Mode(StrEnum):
    """What a run asks: a stand-in, a model, or the recorded replies of an earlier run (R39)."""

    FIXTURE = "fixture"
    LIVE = "live"
    REPLAY = "replay"


class Protocol(StrEnum):
    """The three verdict protocols; none is ever converted into another (T1)."""

    BINARY = "binary"
    EVIDENCE = "evidence"
    GRADED = "graded"


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
    of the evidence or graded protocol ends as ``Judged`` or ``CannotJudge``: whether the judge
    agrees with a label is calibration's business, not a status.
    """

    PASSED = "Passed"
    VIOLATION = "Violation"  # valid answer and verdict, conjunction false
    JUDGED = "Judged"  # a valid, non-null score of the evidence or graded protocol
    CANNOT_JUDGE = "CannotJudge"  # a valid null score
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


class Dimension(StrEnum):
    """The gated dimensions of the graded protocol (R63)."""

    FAITHFULNESS = "faithfulness"
    GROUNDEDNESS = "groundedness"


class Trial(StrictModel):
    """The key of one planned observation: every key is observed exactly once (T5).

    ``repetition`` counts from 1 and is null for a control; ``polarity`` is set for a control only;
    ``dimension`` for the graded protocol only.
    """

    kind: TrialKind
    case_id: CaseId
    repetition: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)] | None
    polarity: Polarity | None
    dimension: Dimension | None

    def label(self) -> str:
        """Return a short readable name, such as ``MISSING #2`` or ``REFUND negative``."""
        parts = [self.case_id]
        if self.dimension is not None:
            parts.append(self.dimension.value)
        if self.polarity is not None:
            parts.append(self.polarity.value)
        if self.repetition is not None:
            parts.append(f"#{self.repetition}")
        return " ".join(parts)


class AnswerFacts(StrictModel):
    """What a record keeps of an answer: its flags, never its prose (that is in the blob)."""

    action: Action
    refused: bool


class VerdictFacts(StrictModel):
    """What a record keeps of a verdict: its decisions, never its prose.

    The two booleans are set for the binary protocol only, ``score`` and ``evidence`` for the
    others; ``scored`` tells a null score from an absent one.
    """

    required_behavior_met: bool | None = None
    forbidden_behavior_absent: bool | None = None
    scored: bool | None = None
    score: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | None = None
    evidence: tuple[Annotated[int, Field(ge=0)], ...] | None = None


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
