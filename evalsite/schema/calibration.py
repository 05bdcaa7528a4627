# SPDX-License-Identifier: Apache-2.0
"""The constants of calibration gates, frozen before the first label, and what a plan declares of them (R63, R64)."""

from decimal import Decimal as Number
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evalsite.schema import bounds
from evalsite.schema.base import Count, DigestText, FolderName, ShortText, StrictModel
from evalsite.schema.outcome import Dimension


class Criterion(StrEnum):
    """What a calibration is about: the verdict of a protocol, or one dimension of the graded one."""

    BINARY = "binary"
    EVIDENCE = "evidence"
    FAITHFULNESS = "faithfulness"
    GROUNDEDNESS = "groundedness"


class Split(StrEnum):
    """What labels may be used for: a gate needs sealed ones, a prompt is improved on the others."""

    SEALED = "sealed"
    DEV = "dev"


def _below_one(text: str) -> str:
    if not 0 < Number(text) < 1:
        message = "expected a decimal between 0 and 1, both excluded"
        raise ValueError(message)
    return text


#: A rate as decimal text between 0 and 1, both excluded: signed bytes hold no floats.
RateText = Annotated[str, StringConstraints(pattern=r"^0\.[0-9]{1,6}$"), AfterValidator(_below_one)]


def rate_of(text: str) -> Fraction:
    """Return a rate's exact value."""
    return Fraction(text)


class GateConstants(StrictModel):
    """The constants of one criterion's gate.

    For the graded criteria a false pass is a judge's bin above the human's, a false fail one below it.
    ``minimum_agreement`` is asked of the graded criteria only (null elsewhere).
    """

    criterion: Criterion
    false_pass_tolerance: RateText
    false_fail_tolerance: RateText
    max_unavailable: RateText
    minimum_agreement: RateText | None


class DesignLock(StrictModel):
    """Every constant that a calibration gate decides with (R64).

    ``bins`` are the upper edges of the low and middle bin of a graded score. ``decision`` names the
    decision record that fixed the constants; changing one needs another record.
    """

    format: Literal["evalsite/design-lock/v1"]
    name: FolderName
    decision: ShortText
    alpha: RateText
    minimum_human_alpha: RateText
    bins: tuple[
        Annotated[int, Field(ge=0, lt=bounds.MAX_GRADE)],
        Annotated[int, Field(ge=0, lt=bounds.MAX_GRADE)],
    ]
    gated_dimensions: tuple[Dimension, ...]
    gates: tuple[GateConstants, ...]

    @model_validator(mode="after")
    def _consistent(self) -> "DesignLock":
        if self.bins[0] >= self.bins[1]:
            message = "expected the edge of the low bin below the edge of the middle bin"
            raise ValueError(message)
        if set(self.gated_dimensions) != set(Dimension) or len(self.gated_dimensions) != len(Dimension):
            message = "expected exactly the two gated dimensions, faithfulness and groundedness (R63)"
            raise ValueError(message)
        criteria = [gate.criterion for gate in self.gates]
        if len(set(criteria)) != len(criteria):
            message = "expected each criterion once"
            raise ValueError(message)
        return self

    def bin_of(self, grade: int) -> int:
        """Return the bin of a grade: 0 low, 1 middle, 2 high."""
        return sum(grade > edge for edge in self.bins)

    def gate(self, criterion: Criterion) -> GateConstants | None:
        """Return the constants of a criterion; null if the lock has none for it."""
        return next((gate for gate in self.gates if gate.criterion is criterion), None)


class CommitmentRef(StrictModel):
    """Labels that were committed before the run: their name in the log, their root, and what they are for."""

    name: FolderName
    root: DigestText
    split: Split


class DeclaredGate(StrictModel):
    """A calibration gate that a qualification depends on.

    ``run`` names the sealed run whose verdicts are compared with labels; null means this run itself.
    """

    criterion: Criterion
    run: FolderName | None


class CalibrationPlan(StrictModel):
    """What a plan fixes of its calibration before the first control: constants, labels, gates."""

    design_lock: DesignLock
    commitments: tuple[CommitmentRef, ...]
    gates: tuple[DeclaredGate, ...]


class CalibrationSpec(StrictModel):
    """The ``calibration`` part of a campaign file.

    ``commitments`` name labels in the project's log; ``split`` says what each is for. ``gates`` are
    the calibration gates that the qualification depends on; the constants stand in the corpus's
    ``design-lock.yaml``, or are those of this software.
    """

    commitments: dict[FolderName, Split]
    gates: tuple[DeclaredGate, ...]


class GateOutcome(StrEnum):
    """What a calibration gate says; too few labels are neither a pass nor a failure."""

    PASS = "PASS"  # noqa: S105 - a state, not a password
    FAIL = "FAIL"
    INSUFFICIENT = "INSUFFICIENT"


class CalibrationSeal(StrictModel):
    """The counts of one recorded calibration, as they stand in the log; recomputed by every verification."""

    criterion: Criterion
    labeled: Count
    judged: Count
    agreed: Count
    false_pass: Count
    false_fail: Count
    outcome: GateOutcome
