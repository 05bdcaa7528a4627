# SPDX-License-Identifier: Apache-2.0
"""The counts of a run, from its events alone. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from evalsite.ledger.light import AnyEvent, LightAttempt
from evalsite.ledger.planned import planned_case_trials, planned_control_trials
from evalsite.schema.entries import Event, Totals
from evalsite.schema.outcome import TrialKind
from evalsite.schema.plan import Plan


class Tally:
    """Counts events one by one, so that a long run need not be held."""

    def __init__(self) -> None:
        self.ended: dict[str, Counter[str]] = {kind: Counter() for kind in TrialKind}
        self.attempts = 0
        self.calls: Counter[str] = Counter()

    def count(self, event: AnyEvent) -> None:
        """Take one more event."""
        if event.type == "trial.started":
            self.attempts += 1
        elif event.type == "call.recorded":
            self.calls[event.call.role] += 1
        elif event.type == "trial.ended":
            self.ended[event.trial.kind][event.result.status] += 1

    def count_attempt(self, whole: LightAttempt) -> None:
        """Take the events of one whole attempt."""
        self.attempts += 1
        for role, _, _ in whole.calls:
            self.calls[role] += 1
        self.ended[whole.trial.kind][whole.status] += 1

    def totals(self, plan: Plan) -> Totals:
        """Return the counts so far; a status or role that did not occur is left out."""
        cases, controls = self.ended[TrialKind.CASE], self.ended[TrialKind.CONTROL]
        return Totals(
            planned=planned_case_trials(plan),
            ended=cases.total(),
            by_status=_by_name(cases),
            controls_planned=planned_control_trials(plan),
            controls_ended=controls.total(),
            controls_by_status=_by_name(controls),
            attempts=self.attempts,
            calls_by_role=_by_name(self.calls),
        )


def _by_name(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((str(name), count) for name, count in counts.items()))


def totals_of(plan: Plan, events: Iterable[Event]) -> Totals:
    """Return the counts of a run, as its closing event must state them.

    ``attempts`` counts every start of a trial, ``calls_by_role`` every recorded call.
    """
    tally = Tally()
    for event in events:
        tally.count(event)
    return tally.totals(plan)
