# SPDX-License-Identifier: Apache-2.0
"""Every ended trial of a run once more, by the code that ran it: does its result follow from the raw replies?

A span of events can be looked at alone, since the end of a trial names its calls; several processes
share a long run that way.
"""

from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evalsite.campaign.casebook import CaseBook, Question
from evalsite.campaign.trials import Answered, Ending, Expectations, GaveUpError, run_trial
from evalsite.campaign.trusted import TrialRecord
from evalsite.canonical.digest import digest_text
from evalsite.endpoint.asked import read_request
from evalsite.errors import InputError
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.parallel import processes
from evalsite.schema.base import Finding, Severity
from evalsite.schema.bounds import SEGMENT_LINES
from evalsite.schema.entries import CallRecorded, Framing, RunResumed, TrialEnded
from evalsite.schema.outcome import Stage, Status
from evalsite.schema.plan import Plan

_T = TypeVar("_T")
_UNDERIVABLE = (Status.CANCELLED, Status.HOST_ERROR)
_SPAN = 4 * SEGMENT_LINES  # events that a process looks at in one go


@dataclass(frozen=True, slots=True)
class Derived:
    """What was found in a span of events: how many calls and trials, and what differs."""

    calls: int
    trials: int
    prompt_findings: list[Finding]
    result_findings: list[Finding]


def finding_at(run: AuthenticRun, code: str, seq: int, message: str) -> Finding:
    """Return what is wrong at one event."""
    return Finding(code=code, severity=Severity.ERROR, at=run.path_of_event(seq), message=message)


def derive(run: AuthenticRun, plan: Plan, book: CaseBook, *, workers: int = 1) -> Derived:
    """Derive every trial again and keep none.

    Args:
        run: A run whose bytes were verified.
        plan: Its plan.
        book: The questions of its corpus.
        workers: Processes for a long run.

    Raises:
        UndecidedError: A blob is not there.
        IntegrityError: A file changed since the verification.
    """
    spans = [(first, min(first + _SPAN, run.size)) for first in range(0, run.size, _SPAN)]
    with processes(workers if len(spans) > 1 else 1, _begin, (run, plan, book)) as executor:
        if executor is None:
            return _join([_derive_span(Rederivation(run, plan, book), 0, run.size)])
        return _join(list(executor.map(_derive_part, *zip(*spans, strict=True))))


def _join(parts: list[Derived]) -> Derived:
    return Derived(
        calls=sum(part.calls for part in parts),
        trials=sum(part.trials for part in parts),
        prompt_findings=[finding for part in parts for finding in part.prompt_findings],
        result_findings=[finding for part in parts for finding in part.result_findings],
    )


def _derive_span(again: "Rederivation", first: int, end: int) -> Derived:
    for _ in again.records(first, end):
        pass
    return again.derived()


_shared: tuple[AuthenticRun, Plan, CaseBook]  # of a process that does nothing else


def _begin(run: AuthenticRun, plan: Plan, book: CaseBook) -> None:
    global _shared  # noqa: PLW0603 - a process has no other place for what all its jobs share
    _shared = (run, plan, book)


def _derive_part(first: int, end: int) -> Derived:
    return _derive_span(Rederivation(*_shared), first, end)


class Rederivation:
    """Runs every ended trial again, with recorded calls in the endpoint's place.

    Args:
        run: A run whose bytes were verified.
        plan: Its plan.
        book: The questions of its corpus.
    """

    def __init__(self, run: AuthenticRun, plan: Plan, book: CaseBook) -> None:
        self.run = run
        self.book = book
        self.expected = Expectations(plan)
        self._told = book.told()
        self.prompt_findings: list[Finding] = []
        self.result_findings: list[Finding] = []
        self.calls_seen = 0
        self.trials_seen = 0
        self._in_flight: dict[int, CallRecorded] = {}  # calls whose trial has not ended yet, by their index

    def records(self, first: int = 0, end: int | None = None) -> Iterator[TrialRecord]:
        """Yield one record per trial that ended in a span of events, noting every difference on the way.

        Args:
            first: Index of the span's first event.
            end: Index behind its last event; null means the end of the run.
        """
        for seq in range(first, len(self.run.events) if end is None else end):
            event = self.run.events[seq]
            if isinstance(event, CallRecorded):
                self.calls_seen += 1
                self._in_flight[seq] = event
                self._check_request(event)
            elif isinstance(event, RunResumed):
                self._in_flight.clear()  # their trials began anew
            if not isinstance(event, TrialEnded):
                continue
            self.trials_seen += 1
            calls = self._calls_of(event)
            asker = _Recorded(self, event, iter(calls))
            ending = _drive(run_trial(event.trial, self.expected.of(event.trial), self.book, asker))
            recorded = Ending(result=event.result, candidate_call=event.candidate_call, judge_call=event.judge_call)
            if _durable(ending) != _durable(recorded):
                said, given = event.result.status.value, ending.result.status.value
                message = f"{event.trial.label()}: the record says {said}, the replies give {given}"
                self.result_findings.append(finding_at(self.run, "result", event.seq, message))
            yield _record(event, calls)

    def derived(self) -> Derived:
        """Return what was found so far."""
        return Derived(self.calls_seen, self.trials_seen, self.prompt_findings, self.result_findings)

    def _calls_of(self, event: TrialEnded) -> list[CallRecorded]:
        """Return the calls that the end of an attempt names: all of them, as the ledger has verified."""
        named = (seq for seq in (event.candidate_call, event.judge_call) if seq is not None)
        calls = (self._in_flight.pop(seq) if seq in self._in_flight else self.run.events[seq] for seq in sorted(named))
        return [call for call in calls if isinstance(call, CallRecorded)]

    def _check_request(self, event: CallRecorded) -> None:
        call = event.call
        request = self.run.blob(call.request)
        if not request and call.reply is None:
            return  # nothing was sent: the endpoint saw beforehand that the question could not fit
        try:
            asked = read_request(request)
        except InputError as exc:
            self.prompt_findings.append(
                finding_at(self.run, "request", event.seq, f"the request cannot be read: {exc}")
            )
            return
        if asked.instructions not in self._told:
            message = "the request carries other instructions than the corpus gives"
            self.prompt_findings.append(finding_at(self.run, "instructions", event.seq, message))
        told, sent = call.framing, len(asked.prompt)
        if told is not None and told.sent_chars != sent:
            message = f"the record says that {told.sent_chars} characters were sent, the request carries {sent}"
            self.prompt_findings.append(finding_at(self.run, "framing", event.seq, message))
        if digest_text(asked.prompt) != call.prompt_digest and not (told is not None and told.cut):
            self.prompt_findings.append(
                finding_at(self.run, "request", event.seq, "the request carries another prompt than recorded")
            )


def _record(event: TrialEnded, calls: list[CallRecorded]) -> TrialRecord:
    by_seq = {found.seq: found.call for found in calls}
    return TrialRecord(
        trial=event.trial,
        attempts=event.attempt,
        result=event.result,
        candidate_call=None if event.candidate_call is None else by_seq.get(event.candidate_call),
        candidate_seq=event.candidate_call,
        judge_call=None if event.judge_call is None else by_seq.get(event.judge_call),
        judge_seq=event.judge_call,
        ended_seq=event.seq,
        ended_at=event.recorded_at,
    )


def _durable(ending: Ending) -> Ending:
    """Return what is compared: all but the wording of a broken contract's place, which is a library's."""
    if ending.result.status is not Status.CONTRACT_ERROR:
        return ending
    return replace(ending, result=ending.result.model_copy(update={"detail": None}))


class _Recorded:
    """Answers a question with the next recorded call of a trial's attempt."""

    def __init__(self, rederivation: Rederivation, event: TrialEnded, calls: Iterator[CallRecorded]) -> None:
        self.rederivation = rederivation
        self.event = event
        self.calls = calls

    async def __call__(self, question: Question, stage: Stage) -> Answered:
        run = self.rederivation.run
        recorded = next(self.calls, None)
        if recorded is None:
            result = self.event.result
            if result.status in _UNDERIVABLE and result.error_type is not None:
                raise GaveUpError(result.status, result.error_type)
            raise GaveUpError(Status.HOST_ERROR, "NotRecorded")
        call = recorded.call
        if (call.prompt_digest, call.role, call.stage) != (question.prompt_digest, question.role, stage):
            message = f"{self.event.trial.label()}: the recorded {call.role} prompt does not follow from the corpus"
            self.rederivation.prompt_findings.append(finding_at(run, "prompt", recorded.seq, message))
        if not _framed(call.framing, question.framing):
            message = f"{self.event.trial.label()}: the recorded framing does not follow from the corpus"
            self.rederivation.prompt_findings.append(finding_at(run, "framing", recorded.seq, message))
        raw = None if call.reply is None else run.blob(call.reply)
        return Answered(seq=recorded.seq, call=call, raw=raw)


def _framed(told: Framing | None, rendered: Framing | None) -> bool:
    """Return whether a framing follows from what was rendered; records before there was any tell none.

    A prompt that is closed has one, since the reply cannot be read without it.
    """
    if told is None or rendered is None:
        return told is None and (rendered is None or rendered.nonce is None)
    return told.model_copy(update={"sent_chars": rendered.sent_chars}) == rendered


def _drive(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits for anything, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: _T = done.value
        return value
    coroutine.close()  # pragma: no cover - recorded calls are there at once
    raise RuntimeError(coroutine)  # pragma: no cover
