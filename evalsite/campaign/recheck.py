# SPDX-License-Identifier: Apache-2.0
"""From authentic bytes to trusted facts: derive every result again from the raw replies.

The ledger proves that the bytes are the ones that were signed. This module proves that what they
say follows from what was asked and answered:

21. The corpus snapshot has the fingerprint of the plan, and the plan's case table follows from it.
22. Every prompt is the one that the snapshot yields, and every request carries it.
23. Every result follows from the raw replies, by the code that ran the trial.

Each step is counted; a difference is an integrity finding at the event's line.
"""

from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from evalsite.campaign.casebook import CaseBook, Question
from evalsite.campaign.trials import Answered, Ending, GaveUpError, run_trial
from evalsite.campaign.trusted import Head, TrialRecord, TrustedRun
from evalsite.canonical.digest import digest_text
from evalsite.corpus.load import case_fingerprints, snapshot_fingerprint
from evalsite.endpoint.asked import read_request
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.gates import Observed, decide
from evalsite.judging.prompts import PROMPT_VERSION
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.totals import totals_of
from evalsite.schema import bounds
from evalsite.schema.base import Finding, Severity
from evalsite.schema.checks import Area, Check
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import (
    CallRecorded,
    RunClosed,
    RunInterrupted,
    RunOpened,
    RunResumed,
    TrialEnded,
)
from evalsite.schema.outcome import Stage, Status, Trial, TrialKind
from evalsite.schema.plan import Plan

_T = TypeVar("_T")
_FIRST_STEP = 21  # the ledger's verification numbers its steps from 1 to 20
_UNDERIVABLE = (Status.CANCELLED, Status.HOST_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """The outcome for one run: trusted, or the checks that say why not."""

    trusted: TrustedRun | None
    checks: tuple[Check, ...]


def recheck(run: AuthenticRun) -> Rechecked:
    """Derive a run's facts again and compare.

    Args:
        run: A run whose bytes were verified.

    Returns:
        The trusted run when all steps hold; the checks in any case.
    """
    try:
        return _recheck(run)
    except UndecidedError as exc:
        finding = Finding(code="blob.missing", severity=Severity.ERROR, at=exc.at, message=exc.message, rule=exc.rule)
        check = Check(
            step=_FIRST_STEP, name="facts derived again", area=Area.AVAILABILITY, checked=1, findings=(finding,)
        )
        return Rechecked(trusted=None, checks=(*run.checks, check))


def _recheck(run: AuthenticRun) -> Rechecked:
    opened = run.events[0]
    if not isinstance(opened, RunOpened):  # pragma: no cover - the ledger verified the order
        raise TypeError(type(opened).__name__)
    snapshot, corpus_findings = _snapshot(run, opened.plan)
    checks = [_check(_FIRST_STEP, "corpus snapshot and case table follow", 1 + len(opened.plan.cases), corpus_findings)]
    if snapshot is None or corpus_findings:
        return Rechecked(trusted=None, checks=(*run.checks, *checks))
    replay = _Rederivation(run, opened.plan, CaseBook(snapshot))
    records = tuple(replay.records())
    calls = sum(isinstance(event, CallRecorded) for event in run.events)
    if calls or replay.prompt_findings:
        checks.append(_check(_FIRST_STEP + 1, "prompts follow from the corpus", calls, replay.prompt_findings))
    if records or replay.result_findings:
        checks.append(_check(_FIRST_STEP + 2, "results follow from raw replies", len(records), replay.result_findings))
    if any(check.findings for check in checks):
        return Rechecked(trusted=None, checks=(*run.checks, *checks))
    trusted = _trusted(run, opened, snapshot, records, (*run.checks, *checks))
    return Rechecked(trusted=trusted, checks=trusted.checks)


def _check(step: int, name: str, checked: int, findings: list[Finding]) -> Check:
    return Check(step=step, name=name, area=Area.INTEGRITY, checked=checked, findings=tuple(findings))


def _finding(run: AuthenticRun, code: str, seq: int, message: str) -> Finding:
    at = f"{run.path_of_event(seq)}"
    return Finding(code=code, severity=Severity.ERROR, at=at, message=message)


def _snapshot(run: AuthenticRun, plan: Plan) -> tuple[CorpusSnapshot | None, list[Finding]]:
    if plan.judge.prompt_version != PROMPT_VERSION:
        raise UndecidedError(
            f"expected prompts of version {PROMPT_VERSION}, this run has {plan.judge.prompt_version}",
            at=run.path_of_event(0),
            rule="R111",
        )
    try:
        snapshot = CorpusSnapshot.parse(run.blob(plan.corpus.snapshot), max_bytes=bounds.MAX_BLOB_OF_CORPUS_BYTES)
    except InputError as exc:
        return None, [_finding(run, "corpus-snapshot", 0, f"the corpus snapshot cannot be read: {exc}")]
    findings: list[Finding] = []
    if snapshot_fingerprint(snapshot) != plan.corpus.fingerprint:
        findings.append(_finding(run, "corpus-fingerprint", 0, "the corpus snapshot has another fingerprint"))
    known = case_fingerprints(snapshot.corpus)
    selection = tuple(case.case_id for case in plan.cases)
    unknown = [case_id for case_id in selection if case_id not in known]
    if unknown:
        findings.append(_finding(run, "unknown-case", 0, f"the corpus has no case {', '.join(unknown)}"))
    elif CaseBook(snapshot).planned_cases(selection, known) != plan.cases:
        findings.append(_finding(run, "case-table", 0, "the plan's expectations differ from the corpus"))
    if snapshot.corpus.name != plan.corpus.name or snapshot.corpus.protocol != plan.protocol:
        findings.append(_finding(run, "corpus-name", 0, "the plan names another corpus or protocol"))
    return snapshot, findings


class _Rederivation:
    """Run every ended trial again, with recorded calls in the endpoint's place."""

    def __init__(self, run: AuthenticRun, plan: Plan, book: CaseBook) -> None:
        self.run = run
        self.book = book
        self.cases = {case.case_id: case for case in plan.cases}
        self.prompt_findings: list[Finding] = []
        self.result_findings: list[Finding] = []
        self.calls: dict[tuple[Trial, int], list[CallRecorded]] = {}
        for event in run.events:
            if isinstance(event, CallRecorded):
                self.calls.setdefault((event.call.trial, event.call.attempt), []).append(event)
                self._check_request(event)

    def records(self) -> Iterator[TrialRecord]:
        """Yield one record per ended trial, noting every difference on the way."""
        for event in self.run.events:
            if not isinstance(event, TrialEnded):
                continue
            ending = _drive(run_trial(event.trial, self.cases[event.trial.case_id], self.book, self._asker(event)))
            recorded = Ending(result=event.result, candidate_call=event.candidate_call, judge_call=event.judge_call)
            if _durable(ending) != _durable(recorded):
                said, given = event.result.status.value, ending.result.status.value
                message = f"{event.trial.label()}: the record says {said}, the replies give {given}"
                self.result_findings.append(_finding(self.run, "result", event.seq, message))
            yield self._record(event)

    def _asker(self, event: TrialEnded) -> "_Recorded":
        return _Recorded(self, event, iter(self.calls.get((event.trial, event.attempt), [])))

    def _check_request(self, event: CallRecorded) -> None:
        call = event.call
        request = self.run.blob(call.request)
        if not request and call.reply is None:
            return  # nothing was sent: the endpoint saw beforehand that the question could not fit
        try:
            asked = read_request(request)
        except InputError as exc:
            self.prompt_findings.append(_finding(self.run, "request", event.seq, f"the request cannot be read: {exc}"))
            return
        if digest_text(asked.prompt) != call.prompt_digest:
            self.prompt_findings.append(
                _finding(self.run, "request", event.seq, "the request carries another prompt than recorded")
            )

    def _record(self, event: TrialEnded) -> TrialRecord:
        by_seq = {found.seq: found.call for found in self.calls.get((event.trial, event.attempt), [])}
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

    def __init__(self, rederivation: _Rederivation, event: TrialEnded, calls: Iterator[CallRecorded]) -> None:
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
            self.rederivation.prompt_findings.append(_finding(run, "prompt", recorded.seq, message))
        raw = None if call.reply is None else run.blob(call.reply)
        return Answered(seq=recorded.seq, call=call, raw=raw)


def _drive(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine that never waits for anything, without an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        value: _T = done.value
        return value
    coroutine.close()  # pragma: no cover - recorded calls are there at once
    raise RuntimeError(coroutine)  # pragma: no cover


def _trusted(
    run: AuthenticRun,
    opened: RunOpened,
    snapshot: CorpusSnapshot,
    records: tuple[TrialRecord, ...],
    checks: tuple[Check, ...],
) -> TrustedRun:
    plan = opened.plan
    cases = {record.trial: record for record in records if record.trial.kind is TrialKind.CASE}
    controls = {record.trial: record for record in records if record.trial.kind is TrialKind.CONTROL}
    planned = (*plan.control_trials(), *plan.case_trials())
    last = run.events[-1]
    decision = decide(
        Observed(
            plan=plan,
            cases={trial: record.result for trial, record in cases.items()},
            controls={trial: record.result for trial, record in controls.items()},
            sealed=run.sealed,
        )
    )
    return TrustedRun(
        run_id=run.run_id,
        ledger=run.ledger,
        root_fingerprint=run.root_fingerprint,
        plan=plan,
        snapshot=snapshot,
        opened_at=opened.recorded_at,
        closed_at=last.recorded_at if isinstance(last, RunClosed) else None,
        sealed=run.sealed,
        cases=tuple(cases[trial] for trial in plan.case_trials() if trial in cases),
        controls=tuple(controls[trial] for trial in plan.control_trials() if trial in controls),
        missing=tuple(trial for trial in planned if trial not in cases and trial not in controls),
        interruptions=tuple(event for event in run.events if isinstance(event, RunInterrupted | RunResumed)),
        totals=totals_of(plan, run.events),
        decision=decision,
        head=Head(
            size=run.size,
            root=run.root,
            opened_index=run.opened_index,
            closed_index=run.closed_index,
            statement_digest=run.statement_digest,
        ),
        level=run.level,
        minimum_level=run.minimum_level,
        vouched=run.vouched,
        checks=checks,
        blob=run.blob,
        line=run.line,
    )
