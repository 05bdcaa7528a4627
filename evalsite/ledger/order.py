# SPDX-License-Identifier: Apache-2.0
"""Which event may follow which: the state machine of a run. Pure.

Structure only. Whether a result follows from its calls is for a higher floor.

1. The first event is ``run.opened`` and no other is; nothing follows ``run.closed``.
2. ``trial.started`` names a planned trial that has not ended; its attempt is one more than the
   attempts before; a second attempt needs a ``run.resumed`` since the first began.
3. ``call.recorded`` belongs to a trial in flight, to its current attempt, and is the attempt's only
   call of its role.
4. ``trial.ended`` ends a trial in flight, once, and names exactly the calls of its attempt.
5. ``run.interrupted`` names trials in flight only.
6. ``run.resumed`` counts the events before it, names quarantined bytes exactly if there were some,
   and puts every trial in flight back.
7. ``run.closed`` says complete exactly if every planned trial ended, and states the totals.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalsite.errors import IntegrityError
from evalsite.ledger.totals import Tally
from evalsite.schema.entries import (
    CallRecorded,
    Event,
    RunClosed,
    RunInterrupted,
    RunOpened,
    RunResumed,
    TrialEnded,
    TrialStarted,
)
from evalsite.schema.outcome import Role, Trial

if TYPE_CHECKING:
    from evalsite.schema.plan import Plan

RULE = "run-record §4"


@dataclass(slots=True)
class _InFlight:
    attempt: int
    calls: dict[Role, int] = field(default_factory=dict)


class RunOrder:
    """Takes a run's events in order and refuses the first that may not stand where it stands."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.closed: RunClosed | None = None
        self.count = 0
        self.tally = Tally()
        self._planned: frozenset[Trial] = frozenset()
        self._attempts: dict[Trial, int] = {}
        self._in_flight: dict[Trial, _InFlight] = {}
        self._ended: set[Trial] = set()

    def take(self, event: Event) -> None:
        """Take one more event.

        Raises:
            IntegrityError: It may not stand here; nothing was taken.
        """
        if self.closed is not None:
            raise IntegrityError("expected nothing after run.closed", rule=RULE)
        if isinstance(event, RunOpened) != (self.count == 0):
            raise IntegrityError("expected run.opened first, and once", rule=RULE)
        self._take(event)
        self.count += 1
        self.tally.count(event)

    def finished(self, trial: Trial) -> bool:
        """Return whether ``trial`` has ended."""
        return trial in self._ended

    def _take(self, event: Event) -> None:
        if isinstance(event, RunOpened):
            self.plan = event.plan
            self._planned = frozenset((*event.plan.control_trials(), *event.plan.case_trials()))
        elif isinstance(event, TrialStarted):
            self._start(event)
        elif isinstance(event, CallRecorded):
            self._call(event)
        elif isinstance(event, TrialEnded):
            self._end(event)
        elif isinstance(event, RunInterrupted):
            if not set(event.in_flight) <= set(self._in_flight):
                raise IntegrityError("expected trials in flight only", at="in_flight", rule=RULE)
        elif isinstance(event, RunResumed):
            self._resume(event)
        else:
            self._close(event)

    def _start(self, event: TrialStarted) -> None:
        trial = event.trial
        if trial not in self._planned:
            raise IntegrityError(f"expected a planned trial, found {trial.label()}", at="trial", rule=RULE)
        if trial in self._ended or trial in self._in_flight:
            raise IntegrityError(f"expected {trial.label()} to start once", at="trial", rule=RULE)
        expected = self._attempts.get(trial, 0) + 1
        if event.attempt != expected:
            raise IntegrityError(f"expected attempt {expected}, found {event.attempt}", at="attempt", rule=RULE)
        self._attempts[trial] = expected
        self._in_flight[trial] = _InFlight(expected)

    def _current(self, trial: Trial, attempt: int) -> _InFlight:
        current = self._in_flight.get(trial)
        if current is None or current.attempt != attempt:
            raise IntegrityError(f"expected attempt {attempt} of {trial.label()} in flight", at="trial", rule=RULE)
        return current

    def _call(self, event: CallRecorded) -> None:
        call = event.call
        current = self._current(call.trial, call.attempt)
        if call.role in current.calls:
            raise IntegrityError(f"expected one {call.role} call in an attempt, found two", at="call.role", rule=RULE)
        current.calls[call.role] = event.seq

    def _end(self, event: TrialEnded) -> None:
        calls = self._current(event.trial, event.attempt).calls
        found = (event.candidate_call, event.judge_call)
        if found != (calls.get(Role.CANDIDATE), calls.get(Role.JUDGE)):
            raise IntegrityError("expected exactly the calls of this attempt", at="candidate_call", rule=RULE)
        del self._in_flight[event.trial]
        self._ended.add(event.trial)

    def _resume(self, event: RunResumed) -> None:
        if event.kept != self.count:
            raise IntegrityError(f"expected {self.count} kept events, found {event.kept}", at="kept", rule=RULE)
        if (event.dropped_bytes > 0) != (event.quarantine is not None):
            raise IntegrityError("expected a quarantine digest exactly for dropped bytes", at="quarantine", rule=RULE)
        self._in_flight.clear()

    def _close(self, event: RunClosed) -> None:
        if self.plan is None:  # pragma: no cover - run.opened came first
            raise TypeError
        if event.complete != (self._ended == self._planned):
            raise IntegrityError("expected complete to say whether every planned trial ended", at="complete", rule=RULE)
        if event.totals != self.tally.totals(self.plan):
            raise IntegrityError("expected the totals of the events before", at="totals", rule=RULE)
        self.closed = event


def blobs_of(event: Event) -> tuple[str, ...]:
    """Return the digests of the blobs that an event names."""
    if isinstance(event, RunOpened):
        roles = [role for role in (event.plan.candidate, event.plan.judge) if role is not None]
        raws = [role.identity.raw for role in roles if role.identity.raw is not None]
        return (event.plan.corpus.snapshot, *raws)
    if isinstance(event, CallRecorded):
        return (event.call.request,) if event.call.reply is None else (event.call.request, event.call.reply)
    return ()
