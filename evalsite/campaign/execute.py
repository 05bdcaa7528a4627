# SPDX-License-Identifier: Apache-2.0
"""Execute the planned trials and record each one as what it was.

Controls come first (R41), then the cases, one after another: temperature 0 and a seed do not make
parallel calls repeatable. Events wait for the disk together for `SYNC_EVERY_S` at most; the bytes of
a call are on the disk before its event is written.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from evalsite.campaign.casebook import CaseBook, Question
from evalsite.campaign.trials import Answered, Ending, Expectations, GaveUpError, run_trial
from evalsite.campaign.trials import Ask as TrialAsk
from evalsite.endpoint.asked import read_request
from evalsite.endpoint.base import Ask, Endpoint
from evalsite.errors import RunInterruptedError
from evalsite.schema.entries import Call, Event, Framing, RunClosed, TrialEnded, TrialStarted
from evalsite.schema.outcome import Role, Stage, Status, Trial
from evalsite.schema.plan import Plan
from evalsite.schema.replies import reply_schema

SYNC_EVERY_S = 1  # how long an event may wait for the disk


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The host's clock, handed down from the command line.

    ``now`` gives UTC as RFC 3339 with ``Z``; ``elapsed_ms`` a monotonic count of milliseconds.
    """

    now: Callable[[], str]
    elapsed_ms: Callable[[], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One trial that ended, for whoever watches."""

    done: int
    planned: int
    trial: Trial
    status: Status


class Recorder(Protocol):
    """Where events and blobs go: a run that is open for writing."""

    def put_blob(self, raw: bytes) -> str:
        """Store bytes and return the digest that the record names them by."""
        ...

    def append(self, event_type: str, body: Mapping[str, object], *, now: str) -> int:
        """Append one event and return its index."""
        ...

    def sync(self) -> None:
        """Wait until the disk has every event."""
        ...

    def checkpoint(self) -> None:
        """Sign the head as it stands."""
        ...

    def seal(self, *, now: str) -> None:
        """Sign the statement and close the run in the project's log."""
        ...


@dataclass(slots=True)
class Progress:
    """What already happened in a run: attempts per trial, and the trials that ended."""

    attempts: Counter[Trial] = field(default_factory=Counter)
    ended: set[Trial] = field(default_factory=set)
    closed: bool = False

    @classmethod
    def of(cls, events: list[Event]) -> "Progress":
        """Return the progress that a list of events shows."""
        progress = cls()
        for event in events:
            if isinstance(event, TrialStarted):
                progress.attempts[event.trial] += 1
            elif isinstance(event, TrialEnded):
                progress.ended.add(event.trial)
            elif isinstance(event, RunClosed):
                progress.closed = True
        return progress


@dataclass(slots=True, kw_only=True)
class Execution:
    """One sitting of a run, from its first or next trial to its seal.

    Args:
        plan: The plan that was logged.
        book: The questions of the corpus.
        recorder: The open run.
        endpoints: One endpoint per role.
        clock: The host's clock.
        watch: Called after each trial.
    """

    plan: Plan
    book: CaseBook
    recorder: Recorder
    endpoints: Mapping[Role, Endpoint]
    clock: Clock
    watch: Callable[[Step], None]

    async def run(self, progress: Progress, totals: Callable[[], Mapping[str, object]]) -> None:
        """Run what is left, close and seal.

        Args:
            progress: What earlier sittings did.
            totals: Gives the counts for the closing event.

        Raises:
            RunInterruptedError: The task was cancelled; the record is whole and can be resumed.
            UndecidedError: The disk refused; the run can be resumed.
        """
        ticking = asyncio.create_task(self._keep_syncing())
        try:
            await self._run(progress, totals)
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)

    async def _keep_syncing(self) -> None:
        """Bound how long events wait for the disk; after a failure the recorder refuses all that follows."""
        while True:
            await asyncio.sleep(SYNC_EVERY_S)
            self.recorder.sync()

    async def _run(self, progress: Progress, totals: Callable[[], Mapping[str, object]]) -> None:
        planned = (*self.plan.control_trials(), *self.plan.case_trials())
        expected = Expectations(self.plan)
        for trial in planned:
            if trial in progress.ended:
                continue
            attempt = progress.attempts[trial] + 1
            self._append("trial.started", {"trial": trial.plain(), "attempt": attempt})
            try:
                ending = await run_trial(trial, expected.of(trial), self.book, self._asker(trial, attempt))
            except asyncio.CancelledError as exc:
                self._interrupted(trial, exc)
            self._ended(trial, attempt, ending)
            progress.ended.add(trial)
            self.watch(Step(done=len(progress.ended), planned=len(planned), trial=trial, status=ending.result.status))
        if not progress.closed:
            self._append("run.closed", {"complete": True, "totals": totals()})
        self.recorder.seal(now=self.clock.now())

    def _append(self, event_type: str, body: Mapping[str, object]) -> int:
        return self.recorder.append(event_type, body, now=self.clock.now())

    def _ended(self, trial: Trial, attempt: int, ending: Ending) -> None:
        self._append(
            "trial.ended",
            {
                "trial": trial.plain(),
                "attempt": attempt,
                "candidate_call": ending.candidate_call,
                "judge_call": ending.judge_call,
                "result": ending.result.plain(),
            },
        )

    def _interrupted(self, trial: Trial, exc: asyncio.CancelledError) -> NoReturn:
        cause = str(exc.args[0]) if exc.args else "CancelledError"
        command = "run CAMPAIGN" if self.plan.answers is None else f"rejudge {self.plan.answers.run}"
        self._append("run.interrupted", {"cause": cause, "in_flight": [trial.plain()]})
        self.recorder.checkpoint()
        raise RunInterruptedError(
            f"interrupted by {cause} during {trial.label()}; everything recorded so far is whole",
            rule="R36",
            advice=f"Go on with: evalsite {command} --resume RUN",
        ) from exc

    def _asker(self, trial: Trial, attempt: int) -> TrialAsk:
        async def ask(question: Question, stage: Stage) -> Answered:
            return await self._ask(question, stage, trial, attempt)

        return ask

    async def _ask(self, question: Question, stage: Stage, trial: Trial, attempt: int) -> Answered:
        role = self.plan.judge if question.role is Role.JUDGE or self.plan.candidate is None else self.plan.candidate
        ask = Ask(
            instructions=question.instructions,
            prompt=question.prompt,
            schema=reply_schema(question.contract),
            sampling=role.spec.sampling,
        )
        started_at, started_ms = self.clock.now(), self.clock.elapsed_ms()
        try:
            await asyncio.sleep(0)  # an endpoint that never waits must not keep a signal from being heard
            reply = await self.endpoints[question.role].ask(ask)
            framing = _framing(question, reply.request)
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the host was told to stop
            raise GaveUpError(Status.CANCELLED, "CancelledError") from exc
        except MemoryError:
            raise
        except Exception as exc:
            # The one boundary where any exception becomes data (R42): the loop goes on.
            raise GaveUpError(Status.HOST_ERROR, type(exc).__name__) from exc
        call = Call(
            trial=trial,
            attempt=attempt,
            role=question.role,
            stage=stage,
            prompt_digest=question.prompt_digest,
            request=self.recorder.put_blob(reply.request),
            reply=None if reply.raw is None else self.recorder.put_blob(reply.raw),
            reply_format=reply.reply_format,
            error_type=reply.error_type,
            http_status=reply.http_status,
            done_reason=_plain(reply.done_reason),
            model_digest=reply.model_digest,
            started_at=started_at,
            wall_ms=self.clock.elapsed_ms() - started_ms,
            usage=reply.usage,
            framing=framing,
        )
        seq = self._append("call.recorded", {"call": call.plain()})
        return Answered(seq=seq, call=call, raw=reply.raw)


def _framing(question: Question, request: bytes) -> Framing | None:
    """Return what of a judge's question the request carries: counted in the bytes that went out, not assumed."""
    if question.framing is None:
        return None
    sent = len(read_request(request).prompt) if request else None
    return question.framing.model_copy(update={"sent_chars": sent})


def _plain(text: str | None) -> str | None:
    """Bound a short text of a server: ASCII, at most 64 characters, null when empty."""
    return ascii(text)[1:-1][:64] if text else None
