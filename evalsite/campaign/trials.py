# SPDX-License-Identifier: Apache-2.0
"""How one trial proceeds, whoever answers.

The same code runs a trial against an endpoint and re-derives it from a record: only `Ask` differs.
A verification that finds another result than the recorded one has found a false record.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from evalsite.campaign.casebook import CaseBook, Question
from evalsite.judging.reading import Unread, read_answer, read_verdict
from evalsite.judging.results import binary_result, control_result, given_up, scored_control_result, scored_result
from evalsite.schema.entries import Call
from evalsite.schema.outcome import Protocol, Result, Stage, Status, Trial, TrialKind
from evalsite.schema.plan import Plan, PlannedCase, PlannedControl


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A recorded call: its index in the run, its facts, and the raw bytes that came back."""

    seq: int
    call: Call
    raw: bytes | None


#: Asks a question at a stage; raises `GaveUpError` when there is no reply to read.
Ask: TypeAlias = Callable[[Question, Stage], Awaitable[Answered]]


class GaveUpError(Exception):
    """A call that has no reply to read: cancelled, or an unexpected exception on the host (R42)."""

    def __init__(self, status: Status, error_type: str) -> None:
        super().__init__(error_type)
        self.status = status
        self.error_type = error_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a trial ended and which calls it made."""

    result: Result
    candidate_call: int | None = None
    judge_call: int | None = None


class Expectations:
    """What the host expects of every planned trial, by its key."""

    def __init__(self, plan: Plan) -> None:
        self._cases = {case.case_id: case for case in plan.cases}
        self._controls = {control.trial: control for control in plan.controls or ()}

    def of(self, trial: Trial) -> PlannedCase | PlannedControl:
        """Return what is expected: of its case, or of a control that is none of a case."""
        return self._controls[trial] if trial in self._controls else self._cases[trial.case_id]


async def run_trial(trial: Trial, planned: PlannedCase | PlannedControl, book: CaseBook, ask: Ask) -> Ending:
    """Proceed through one trial: each role is asked at most once (R23).

    Args:
        trial: Which trial.
        planned: The expectations, as fixed in the plan.
        book: The questions of the corpus.
        ask: Asks a question and returns the recorded call.
    """
    if isinstance(planned, PlannedControl):
        return await _scored(trial, book, ask, planned)
    if trial.kind is TrialKind.CONTROL:
        return await _control(trial, book, ask)
    if book.protocol is Protocol.BINARY:
        return await _binary(trial, planned, book, ask)
    return await _scored(trial, book, ask)


async def _binary(trial: Trial, planned: PlannedCase, book: CaseBook, ask: Ask) -> Ending:
    try:
        asked = await ask(book.candidate_question(trial), Stage.CANDIDATE)
    except GaveUpError as exc:
        return Ending(result=given_up(exc.status, Stage.CANDIDATE, exc.error_type))
    answer = read_answer(asked.call, asked.raw)
    if isinstance(answer, Unread):
        return Ending(result=binary_result(planned, answer, None), candidate_call=asked.seq)
    try:
        judged = await ask(book.judge_question(trial, answer), Stage.JUDGE)
    except GaveUpError as exc:
        return Ending(result=given_up(exc.status, Stage.JUDGE, exc.error_type), candidate_call=asked.seq)
    verdict = read_verdict(book.protocol, judged.call, judged.raw)
    return Ending(result=binary_result(planned, answer, verdict), candidate_call=asked.seq, judge_call=judged.seq)


async def _control(trial: Trial, book: CaseBook, ask: Ask) -> Ending:
    if trial.polarity is None:
        raise ValueError(trial)
    try:
        judged = await ask(book.judge_question(trial, book.control_answer(trial)), Stage.CALIBRATION)
    except GaveUpError as exc:
        return Ending(result=given_up(exc.status, Stage.CALIBRATION, exc.error_type))
    verdict = read_verdict(book.protocol, judged.call, judged.raw)
    return Ending(result=control_result(trial.polarity, verdict), judge_call=judged.seq)


async def _scored(trial: Trial, book: CaseBook, ask: Ask, control: PlannedControl | None = None) -> Ending:
    stage = Stage.JUDGE if control is None else Stage.CALIBRATION
    try:
        judged = await ask(book.judge_question(trial), stage)
    except GaveUpError as exc:
        return Ending(result=given_up(exc.status, stage, exc.error_type))
    count = book.evidence_count(trial)
    verdict = read_verdict(book.protocol, judged.call, judged.raw, evidence_count=count)
    result = scored_result(verdict) if control is None else scored_control_result(control, verdict)
    return Ending(result=result, judge_call=judged.seq)
