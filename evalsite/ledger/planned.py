# SPDX-License-Identifier: Apache-2.0
"""The planned trials of a run as numbers: a run of a million events need not hold its keys. Pure."""

from evalsite.ledger.light import LightTrial
from evalsite.schema.outcome import Dimension, Mode, Polarity, Protocol, Trial, TrialKind
from evalsite.schema.plan import Plan

_POLARITIES = tuple(Polarity)
_DIMENSIONS = tuple(Dimension)


class PlannedTrials:
    """Gives every trial of `Plan.case_trials` and `Plan.control_trials` its own number below ``count``."""

    def __init__(self, plan: Plan) -> None:
        self._cases = {case_id: index for index, case_id in enumerate(dict.fromkeys(c.case_id for c in plan.cases))}
        self._repetitions = plan.repetitions
        graded = plan.protocol is Protocol.GRADED
        self._dimensions: tuple[Dimension | None, ...] = _DIMENSIONS if graded else (None,)
        self._controls = plan.protocol is Protocol.BINARY and plan.mode is not Mode.FIXTURE
        self._case_trials = len(self._cases) * self._repetitions * len(self._dimensions)
        self.count = self._case_trials + (len(self._cases) * len(_POLARITIES) if self._controls else 0)

    def number(self, trial: Trial | LightTrial) -> int | None:
        """Return the number of a trial; null if it is not planned."""
        case = self._cases.get(trial.case_id)
        if case is None:
            return None
        if trial.kind == TrialKind.CASE:
            repetition, dimension = trial.repetition, trial.dimension
            known = repetition is not None and repetition <= self._repetitions and dimension in self._dimensions
            if not known or repetition is None or trial.polarity is not None:
                return None
            place = (repetition - 1) * len(self._cases) + case
            return place * len(self._dimensions) + self._dimensions.index(dimension)
        if not self._controls or trial.polarity is None or trial.repetition is not None or trial.dimension is not None:
            return None
        return self._case_trials + case * len(_POLARITIES) + _POLARITIES.index(trial.polarity)


def planned_case_trials(plan: Plan) -> int:
    """Return how many trials `Plan.case_trials` has, without making them."""
    return len(plan.cases) * plan.repetitions * (len(_DIMENSIONS) if plan.protocol is Protocol.GRADED else 1)


def planned_control_trials(plan: Plan) -> int:
    """Return how many trials `Plan.control_trials` has, without making them."""
    controls = plan.protocol is Protocol.BINARY and plan.mode is not Mode.FIXTURE
    return len(plan.cases) * len(_POLARITIES) if controls else 0
