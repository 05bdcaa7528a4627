# SPDX-License-Identifier: Apache-2.0
"""Execution: order, isolation by role, and every failure recorded as what it is (R35-R48, R57)."""

import asyncio
import json

import pytest
from support.campaigns import gate_plan
from support.recording import COMPLIANT, NOT_COMPLIANT, ScriptedEndpoint, execution, reply, run, statuses

from evalsite.campaign.execute import Progress
from evalsite.corpus.load import load_corpus
from evalsite.errors import RunInterruptedError
from evalsite.schema.entries import CallRecorded, RunClosed, RunInterrupted, TrialEnded, TrialStarted
from evalsite.schema.outcome import Mode, Role, Stage, Status, TrialKind


@pytest.fixture(scope="module")
def support(repository):
    return load_corpus(repository / "corpora" / "support-behaviors-v1")


def good_candidate(corpus):
    """Answer each case with its own positive reference."""
    by_input = {json.dumps(case.input.plain(), sort_keys=True): case for case in corpus.corpus.cases}

    def answer(ask):
        return by_input[json.dumps(json.loads(ask.prompt), sort_keys=True)].positive_reference.to_bytes()

    return ScriptedEndpoint(answer)


def fair_judge(corpus):
    """Find every counter-example, accept the rest."""
    bad = {case.negative_counterexample.response for case in corpus.corpus.cases}
    return ScriptedEndpoint(
        lambda ask: NOT_COMPLIANT if json.loads(ask.prompt)["answer"]["response"] in bad else COMPLIANT
    )


def execute(support, *, mode=Mode.LIVE, candidate=None, judge=None, progress=None):
    work = execution(
        support,
        gate_plan(mode),
        candidate=candidate or good_candidate(support),
        judge=judge or fair_judge(support),
    )
    asyncio.run(run(work, progress or Progress()))
    return work


def test_every_control_is_shown_before_the_first_case(support):
    """R41: positives and negatives of every case, then the cases, twice."""
    work = execute(support)
    kinds = [event.trial.kind for event in work.recorder.of(TrialEnded)]
    assert kinds == [TrialKind.CONTROL] * 16 + [TrialKind.CASE] * 16
    assert statuses(work) == {"Passed": 32}
    assert work.recorder.seals == 1


def test_fixture_mode_shows_no_control(support):
    """R54: there is no calibration in fixture mode."""
    work = execute(support, mode=Mode.FIXTURE)
    assert {event.trial.kind for event in work.recorder.of(TrialEnded)} == {TrialKind.CASE}


def test_each_role_has_its_own_endpoint_and_is_asked_once_per_trial(support):
    """R23, R37: no retry, no sharing."""
    candidate, judge = good_candidate(support), fair_judge(support)
    execute(support, candidate=candidate, judge=judge)
    assert len(candidate.asked) == 16
    assert len(judge.asked) == 32
    assert {ask.instructions for ask in candidate.asked}.isdisjoint({ask.instructions for ask in judge.asked})


def test_a_reply_that_breaks_its_contract_is_not_asked_again(support):
    candidate = ScriptedEndpoint(lambda _: b"Sure! I will help you.")
    judge = fair_judge(support)
    work = execute(support, mode=Mode.FIXTURE, candidate=candidate, judge=judge)
    assert statuses(work) == {"ContractError": 16}
    assert len(candidate.asked) == 16
    assert judge.asked == []  # there is no answer to judge
    assert {event.result.stage for event in work.recorder.of(TrialEnded)} == {Stage.CANDIDATE}


@pytest.mark.parametrize(
    ("given", "status", "error_type"),
    [
        (reply(b""), Status.MISSING_ANSWER, "NoContent"),
        (reply(None, error_type="ReadTimeout"), Status.TRANSPORT_ERROR, "ReadTimeout"),
        (KeyError("surprise"), Status.HOST_ERROR, "KeyError"),
        (asyncio.CancelledError(), Status.CANCELLED, "CancelledError"),
    ],
    ids=["missing answer", "timeout", "unexpected exception", "cancelled call"],
)
def test_what_goes_wrong_is_recorded_and_the_loop_goes_on(support, given, status, error_type):
    """R42, R43, R57."""
    work = execute(support, mode=Mode.FIXTURE, candidate=ScriptedEndpoint(lambda _: given))
    ended = work.recorder.of(TrialEnded)
    assert len(ended) == 16
    assert {(event.result.status, event.result.error_type) for event in ended} == {(status, error_type)}


def test_out_of_memory_is_not_swallowed(support):
    with pytest.raises(MemoryError):
        execute(support, mode=Mode.FIXTURE, candidate=ScriptedEndpoint(lambda _: MemoryError()))


def test_a_judge_that_accepts_everything_fails_its_negative_controls(support):
    """R67, R68."""
    work = execute(support, judge=ScriptedEndpoint(lambda _: COMPLIANT))
    assert statuses(work) == {"Passed": 24, "CalibrationFailure": 8}


def test_consumption_is_recorded_apart_per_role(support):
    """R46."""
    work = execute(support)
    closed = work.recorder.of(RunClosed)[0]
    assert closed.totals.calls_by_role == {"candidate": 16, "judge": 32}


def test_the_answer_that_the_judge_sees_is_the_recorded_one(support):
    """R12: nothing is replaced by expected values, even when the flags are wrong."""
    wrong = b'{"action":"assist","response":"Whatever you like.","refused":false}'
    judge = fair_judge(support)
    execute(support, mode=Mode.FIXTURE, candidate=ScriptedEndpoint(lambda _: wrong), judge=judge)
    assert {json.dumps(json.loads(ask.prompt)["answer"], sort_keys=True) for ask in judge.asked} == {
        json.dumps({"action": "assist", "response": "Whatever you like.", "refused": False}, sort_keys=True)
    }


def interrupt_after(support, calls):
    """Run until the candidate was asked ``calls`` times, then cancel the host's task."""
    corpus_answers = good_candidate(support)

    def answer(ask):
        if len(candidate.asked) == calls:
            task = asyncio.current_task()
            task.cancel("SIGTERM")
        return corpus_answers.answer(ask)

    candidate = ScriptedEndpoint(answer)
    original = candidate.ask

    async def ask_and_yield(ask):
        given = await original(ask)
        await asyncio.sleep(0)
        return given

    candidate.ask = ask_and_yield
    work = execution(support, gate_plan(Mode.FIXTURE), candidate=candidate, judge=fair_judge(support))
    with pytest.raises(RunInterruptedError, match="SIGTERM"):
        asyncio.run(run(work, Progress()))
    return work


def test_interruption_is_recorded_and_the_record_stays_whole(support):
    """R36: the trial in flight is named, a checkpoint is signed, nothing is sealed."""
    work = interrupt_after(support, 3)
    last = work.recorder.events[-1]
    assert isinstance(last, RunInterrupted)
    assert last.cause == "SIGTERM"
    assert [trial.case_id for trial in last.in_flight] == [support.corpus.cases[2].id]
    assert len(work.recorder.of(TrialEnded)) == 2
    assert (work.recorder.checkpoints, work.recorder.seals) == (1, 0)


def test_resumed_run_ends_every_trial_once_with_the_attempts_visible(support):
    """No case twice; the trial in flight becomes a second attempt."""
    work = interrupt_after(support, 3)
    work.endpoints = {Role.CANDIDATE: good_candidate(support), Role.JUDGE: fair_judge(support)}
    asyncio.run(run(work, Progress.of(work.recorder.events)))
    ended = [event.trial for event in work.recorder.of(TrialEnded)]
    assert len(ended) == len(set(ended)) == 16
    started = [event.trial for event in work.recorder.of(TrialStarted)]
    assert len(started) == 17
    assert max(event.attempt for event in work.recorder.of(TrialEnded)) == 2
    assert {event.call.attempt for event in work.recorder.of(CallRecorded)} == {1, 2}


def test_events_are_synced_while_an_endpoint_takes_its_time(support, monkeypatch):
    """What stands in the record waits for the disk for a bounded time, however long a call takes."""
    monkeypatch.setattr("evalsite.campaign.execute.SYNC_EVERY_S", 0.001)
    candidate = good_candidate(support)
    answer = candidate.ask

    async def slow(ask):
        await asyncio.sleep(0.01)
        return await answer(ask)

    candidate.ask = slow
    work = execute(support, mode=Mode.FIXTURE, candidate=candidate)
    assert work.recorder.syncs > 0
    assert work.recorder.seals == 1
