# SPDX-License-Identifier: Apache-2.0
"""The counts of a run, from its events alone. Pure."""

from collections import Counter
from collections.abc import Iterable

from evalsite.schema.entries import CallRecorded, Event, Totals, TrialEnded, TrialStarted
from evalsite.schema.outcome import TrialKind
from evalsite.schema.plan import Plan


class Tally:
    """Counts events one by one, so that a long run need not be held."""

    def __init__(self) -> None:
        self.ended = {kind: Counter[str]() for kind in TrialKind}
        self.attempts = 0
        self.calls: Counter[str] = Counter()

    def count(self, event: Event) -> None:
        """Take one more event."""
        if isinstance(event, TrialStarted):
            self.attempts += 1
        elif isinstance(event, CallRecorded):
            self.calls[event.call.role.value] += 1
        elif isinstance(event, TrialEnded):
            self.ended[event.trial.kind][event.result.status.value] += 1

    def totals(self, plan: Plan) -> Totals:
        """Return the counts so far; a status or role that did not occur is left out."""
        cases, controls = self.ended[TrialKind.CASE], self.ended[TrialKind.CONTROL]
        return Totals(
            planned=len(plan.case_trials()),
            ended=cases.total(),
            by_status=dict(sorted(cases.items())),
            controls_planned=len(plan.control_trials()),
            controls_ended=controls.total(),
            controls_by_status=dict(sorted(controls.items())),
            attempts=self.attempts,
            calls_by_role=dict(sorted(self.calls.items())),
        )


def totals_of(plan: Plan, events: Iterable[Event]) -> Totals:
    """Return the counts of a run, as its closing event must state them.

    ``attempts`` counts every start of a trial, ``calls_by_role`` every recorded call.
    """
    tally = Tally()
    for event in events:
        tally.count(event)
    return tally.totals(plan)
