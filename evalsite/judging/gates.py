# SPDX-License-Identifier: Apache-2.0
"""The decision over a campaign, by host code alone (R49-R62)."""

from dataclasses import dataclass
from enum import StrEnum


class GateState(StrEnum):
    """What a gate says."""

    PASSED = "passed"
    REFUSED = "refused"
    UNDECIDED = "undecided"  # the record is not complete
    NOT_APPLICABLE = "not applicable"  # the other mode's gate, or a protocol without a candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One condition that refused a gate, with every trial that it concerns (R105).

    ``side`` tells whose failure it is: the candidate's, the judge's (calibration included), the
    campaign's (nothing planned, something missing) or the host's.
    """

    code: str
    side: str
    message: str
    rule: str
    trials: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What host code decides about one run, recomputed from its records."""

    fixture_gate: GateState
    model_gate: GateState
    calibration_passed: bool | None
    expected: int
    observed: int
    by_status: dict[str, int]
    critical_failures: int
    contract_errors: int
    reasons: tuple[Reason, ...]
