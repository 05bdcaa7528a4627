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

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evalsite.errors import IntegrityError
from evalsite.ledger.light import AnyEvent, LightAttempt, LightEnded, LightRecorded, LightStarted, LightTrial
from evalsite.ledger.planned import PlannedTrials
from evalsite.ledger.totals import Tally
from evalsite.schema.entries import (
    CallRecorded,
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
    calls: dict[str, int] = field(default_factory=dict)


class RunOrder:
    """Takes a run's events in order and refuses the first that may not stand where it stands.

    Trials are held as numbers: ``_attempts`` counts the starts of each, ``_ended`` marks it.
    """

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.closed: RunClosed | None = None
        self.count = 0
        self.tally = Tally()
        self._planned: PlannedTrials | None = None
        self._attempts = array("L")
        self._ended = bytearray()
        self._ended_count = 0
        self._in_flight: dict[int, _InFlight] = {}

    def take(self, event: AnyEvent) -> None:
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

    def take_attempt(self, whole: LightAttempt) -> bool:
        """Take the events of one attempt at once; false leaves them, and nothing was taken.

        What is taken here would be taken one by one: the rules 2 to 4 of this module hold.
        """
        number = None if self.closed is not None else self._number(whole.trial)
        if number is None or self._ended[number] or number in self._in_flight:
            return False
        calls = {role: whole.seq + place for place, (role, _, _) in enumerate(whole.calls, start=1)}
        found = (whole.candidate_call, whole.judge_call)
        if (
            whole.attempt != self._attempts[number] + 1
            or len(calls) != len(whole.calls)
            or found != (calls.get(Role.CANDIDATE), calls.get(Role.JUDGE))
        ):
            return False
        self._attempts[number] = whole.attempt
        self._ended[number] = 1
        self._ended_count += 1
        self.count += len(whole.calls) + 2
        self.tally.count_attempt(whole)
        return True

    def finished(self, trial: Trial) -> bool:
        """Return whether ``trial`` has ended."""
        number = self._number(trial)
        return number is not None and bool(self._ended[number])

    def _number(self, trial: Trial | LightTrial) -> int | None:
        return None if self._planned is None else self._planned.number(trial)

    def _take(self, event: AnyEvent) -> None:
        if event.type == "trial.started":
            self._start(event)
        elif event.type == "call.recorded":
            self._call(event)
        elif event.type == "trial.ended":
            self._end(event)
        elif isinstance(event, RunOpened):
            self._open(event.plan)
        elif isinstance(event, RunInterrupted):
            if not all(self._number(trial) in self._in_flight for trial in event.in_flight):
                raise IntegrityError("expected trials in flight only", at="in_flight", rule=RULE)
        elif isinstance(event, RunResumed):
            self._resume(event)
        else:
            self._close(event)

    def _open(self, plan: "Plan") -> None:
        self.plan = plan
        self._planned = PlannedTrials(plan)
        self._attempts = array("L", [0]) * self._planned.count
        self._ended = bytearray(self._planned.count)

    def _start(self, event: TrialStarted | LightStarted) -> None:
        trial, number = event.trial, self._number(event.trial)
        if number is None:
            raise IntegrityError(f"expected a planned trial, found {trial.label()}", at="trial", rule=RULE)
        if self._ended[number] or number in self._in_flight:
            raise IntegrityError(f"expected {trial.label()} to start once", at="trial", rule=RULE)
        expected = self._attempts[number] + 1
        if event.attempt != expected:
            raise IntegrityError(f"expected attempt {expected}, found {event.attempt}", at="attempt", rule=RULE)
        self._attempts[number] = expected
        self._in_flight[number] = _InFlight(expected)

    def _current(self, trial: Trial | LightTrial, attempt: int) -> tuple[int, _InFlight]:
        number = self._number(trial)
        current = None if number is None else self._in_flight.get(number)
        if number is None or current is None or current.attempt != attempt:
            raise IntegrityError(f"expected attempt {attempt} of {trial.label()} in flight", at="trial", rule=RULE)
        return number, current

    def _call(self, event: CallRecorded | LightRecorded) -> None:
        call = event.call
        _, current = self._current(call.trial, call.attempt)
        if call.role in current.calls:
            raise IntegrityError(f"expected one {call.role} call in an attempt, found two", at="call.role", rule=RULE)
        current.calls[call.role] = event.seq

    def _end(self, event: TrialEnded | LightEnded) -> None:
        number, current = self._current(event.trial, event.attempt)
        found = (event.candidate_call, event.judge_call)
        if found != (current.calls.get(Role.CANDIDATE), current.calls.get(Role.JUDGE)):
            raise IntegrityError("expected exactly the calls of this attempt", at="candidate_call", rule=RULE)
        del self._in_flight[number]
        self._ended[number] = 1
        self._ended_count += 1

    def _resume(self, event: RunResumed) -> None:
        if event.kept != self.count:
            raise IntegrityError(f"expected {self.count} kept events, found {event.kept}", at="kept", rule=RULE)
        if (event.dropped_bytes > 0) != (event.quarantine is not None):
            raise IntegrityError("expected a quarantine digest exactly for dropped bytes", at="quarantine", rule=RULE)
        self._in_flight.clear()

    def _close(self, event: RunClosed) -> None:
        if self.plan is None or self._planned is None:  # pragma: no cover - run.opened came first
            raise TypeError
        if event.complete != (self._ended_count == self._planned.count):
            raise IntegrityError("expected complete to say whether every planned trial ended", at="complete", rule=RULE)
        if event.totals != self.tally.totals(self.plan):
            raise IntegrityError("expected the totals of the events before", at="totals", rule=RULE)
        self.closed = event


def blobs_of(event: AnyEvent) -> tuple[str, ...]:
    """Return the digests of the blobs that an event names."""
    if isinstance(event, RunOpened):
        roles = [role for role in (event.plan.candidate, event.plan.judge) if role is not None]
        raws = [role.identity.raw for role in roles if role.identity.raw is not None]
        return (event.plan.corpus.snapshot, *raws)
    if event.type == "call.recorded":
        return (event.call.request,) if event.call.reply is None else (event.call.request, event.call.reply)
    return ()
