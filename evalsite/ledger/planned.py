# SPDX-License-Identifier: Apache-2.0
"""The planned trials of a run as numbers: a run of a million events need not hold its keys. Pure."""

from evalsite.ledger.light import LightTrial
from evalsite.schema.outcome import Dimension, Mode, Order, Polarity, Protocol, Trial, TrialKind, aspects_of
from evalsite.schema.plan import Plan

_POLARITIES = tuple(Polarity)


class PlannedTrials:
    """Gives every trial of `Plan.case_trials` and `Plan.control_trials` its own number below ``count``."""

    def __init__(self, plan: Plan) -> None:
        self._cases = {case_id: index for index, case_id in enumerate(dict.fromkeys(c.case_id for c in plan.cases))}
        self._repetitions = plan.repetitions
        self._aspects: tuple[tuple[Dimension | str | None, Order | str | None], ...] = aspects_of(plan.protocol)
        self._controls = plan.protocol is Protocol.BINARY and plan.mode is not Mode.FIXTURE
        listed = () if plan.mode is Mode.FIXTURE or self._controls else plan.controls or ()
        keys = dict.fromkeys((control.control_id, control.polarity, control.dimension) for control in listed)
        self._listed: dict[tuple[str, str | None, str | None], int] = {key: index for index, key in enumerate(keys)}
        self._case_trials = len(self._cases) * self._repetitions * len(self._aspects)
        of_cases = len(self._cases) * len(_POLARITIES) if self._controls else 0
        self.count = self._case_trials + of_cases + len(self._listed)

    def number(self, trial: Trial | LightTrial) -> int | None:
        """Return the number of a trial; null if it is not planned."""
        if trial.kind == TrialKind.CONTROL and not self._controls:
            known = trial.repetition is None and trial.polarity is not None and trial.order is None
            index = self._listed.get((trial.case_id, trial.polarity, trial.dimension)) if known else None
            return None if index is None else self._case_trials + index
        case = self._cases.get(trial.case_id)
        if case is None:
            return None
        if trial.kind == TrialKind.CASE:
            repetition, aspect = trial.repetition, (trial.dimension, trial.order)
            known = repetition is not None and repetition <= self._repetitions and aspect in self._aspects
            if not known or repetition is None or trial.polarity is not None:
                return None
            place = (repetition - 1) * len(self._cases) + case
            return place * len(self._aspects) + self._aspects.index(aspect)
        if trial.polarity is None or (trial.repetition, trial.dimension, trial.order) != (None, None, None):
            return None
        return self._case_trials + case * len(_POLARITIES) + _POLARITIES.index(trial.polarity)


def planned_case_trials(plan: Plan) -> int:
    """Return how many trials `Plan.case_trials` has, without making them."""
    return len(plan.cases) * plan.repetitions * len(aspects_of(plan.protocol))


def planned_control_trials(plan: Plan) -> int:
    """Return how many trials `Plan.control_trials` has, without making them."""
    if plan.mode is Mode.FIXTURE:
        return 0
    return len(plan.cases) * len(_POLARITIES) if plan.protocol is Protocol.BINARY else len(plan.controls or ())
