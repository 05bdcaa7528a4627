# SPDX-License-Identifier: Apache-2.0
"""Which event may follow which, and the totals that follow from them."""

import pytest
from support.ledgers import NOW, REPLY, ZERO, small_plan
from support.plans import make_plan

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import IntegrityError
from evalsite.ledger.order import RunOrder, blobs_of
from evalsite.ledger.planned import PlannedTrials, planned_control_trials
from evalsite.ledger.totals import totals_of
from evalsite.schema.entries import EVENT
from evalsite.schema.outcome import Dimension, Mode, Polarity, Probe
from evalsite.schema.plan import PlannedControl

PLAN = make_plan(repetitions=1)
A, B = PLAN.case_trials()
QUARANTINE = "sha256:" + "1" * 64
RESULT = {
    "status": "Passed",
    "stage": None,
    "error_type": None,
    "detail": None,
    "answer": None,
    "verdict": None,
}
USAGE = dict.fromkeys(
    (
        "prompt_tokens",
        "output_tokens",
        "total_duration_ms",
        "load_duration_ms",
        "prompt_duration_ms",
        "output_duration_ms",
    )
)


class Tape:
    """Takes events as a run's writer would, without any file."""

    def __init__(self, plan=PLAN, *, opened=True):
        self.plan = plan
        self.order = RunOrder()
        self.events = []
        if opened:
            self.put("run.opened", ledger="desk", plan=plan.plain())

    def put(self, kind, **body):
        frame = {"format": "evalsite/event/v1", "run": "r", "prev": ZERO, "recorded_at": NOW, "type": kind}
        event = EVENT.validate_json(canonical_bytes({**frame, "seq": len(self.events), **body}))
        self.order.take(event)
        self.events.append(event)
        return event.seq

    def start(self, trial, attempt=1):
        return self.put("trial.started", trial=trial.plain(), attempt=attempt)

    def call(self, trial, role="candidate", attempt=1):
        call = {
            "trial": trial.plain(),
            "attempt": attempt,
            "role": role,
            "stage": role,
            "prompt_digest": ZERO,
            "request": ZERO,
            "reply": digest_bytes(REPLY) if role == "judge" else None,
            "reply_format": "text",
            "error_type": None,
            "http_status": None,
            "done_reason": None,
            "model_digest": None,
            "started_at": NOW,
            "wall_ms": 1,
            "usage": USAGE,
        }
        return self.put("call.recorded", call=call)

    def end(self, trial, candidate=None, judge=None, attempt=1):
        return self.put(
            "trial.ended",
            trial=trial.plain(),
            attempt=attempt,
            candidate_call=candidate,
            judge_call=judge,
            result=RESULT,
        )

    def resume(self, **changes):
        body = {"kept": len(self.events), "dropped_bytes": 0, "quarantine": None, "environment_changed": False}
        return self.put("run.resumed", **{**body, **changes})

    def close(self, *, complete=True, **changes):
        totals = {**totals_of(self.plan, self.events).plain(), **changes}
        return self.put("run.closed", complete=complete, totals=totals)


def test_a_whole_run_in_its_order():
    tape = Tape()
    tape.start(A)
    tape.start(B)
    candidate, judge = tape.call(A), tape.call(A, "judge")
    tape.end(B)
    tape.end(A, candidate, judge)
    tape.close()
    assert tape.order.closed is tape.events[-1]
    totals = tape.events[-1].totals
    assert (totals.planned, totals.ended, totals.attempts) == (2, 2, 2)
    assert totals.by_status == {"Passed": 2}
    assert totals.calls_by_role == {"candidate": 1, "judge": 1}
    assert (totals.controls_planned, totals.controls_ended, totals.controls_by_status) == (0, 0, {})


def test_a_trial_in_flight_at_a_crash_begins_again_after_the_resume():
    tape = Tape()
    tape.start(A)
    tape.call(A)
    tape.put("run.interrupted", cause="SIGINT", in_flight=[A.plain()])
    tape.resume(dropped_bytes=7, quarantine=QUARANTINE)
    tape.start(A, attempt=2)
    tape.end(A, tape.call(A, attempt=2), attempt=2)
    tape.close(complete=False)
    assert tape.events[-1].totals.attempts == 2


REFUSED = {
    "a second opening": lambda t: t.put("run.opened", ledger="desk", plan=PLAN.plain()),
    "a trial that was not planned": lambda t: t.start(A.model_copy(update={"case_id": "C"})),
    "a first attempt with number two": lambda t: t.start(A, attempt=2),
    "a start of a trial in flight": lambda t: (t.start(A), t.start(A, attempt=2)),
    "a start of an ended trial": lambda t: (t.start(A), t.end(A), t.start(A, attempt=2)),
    "a start of an ended trial after a resume": lambda t: (t.start(A), t.end(A), t.resume(), t.start(A, attempt=2)),
    "an attempt that is skipped": lambda t: (t.start(A), t.resume(), t.start(A, attempt=3)),
    "the same attempt again": lambda t: (t.start(A), t.resume(), t.start(A)),
    "a call of a trial that did not start": lambda t: t.call(A),
    "a call of another attempt": lambda t: (t.start(A), t.call(A, attempt=2)),
    "a call from before the resume": lambda t: (t.start(A), t.resume(), t.call(A)),
    "a call of an ended trial": lambda t: (t.start(A), t.end(A), t.call(A)),
    "a second call of one role": lambda t: (t.start(A), t.call(A), t.call(A)),
    "an end without a start": lambda t: t.end(A),
    "an end that leaves out a call": lambda t: (t.start(A), t.call(A), t.end(A)),
    "an end that names a call that is none": lambda t: (t.start(A), t.end(A, 1)),
    "an end that swaps the roles": lambda t: (t.start(A), t.end(A, None, t.call(A))),
    "an end with another trial's call": lambda t: (t.start(A), t.start(B), t.end(B, t.call(A))),
    "a second end": lambda t: (t.start(A), t.end(A), t.end(A)),
    "an interruption of what is not in flight": lambda t: t.put("run.interrupted", cause="x", in_flight=[A.plain()]),
    "a resume that miscounts": lambda t: t.resume(kept=2),
    "dropped bytes without a quarantine": lambda t: t.resume(dropped_bytes=3),
    "a quarantine without dropped bytes": lambda t: t.resume(quarantine=QUARANTINE),
    "a close that claims to be complete": lambda t: t.close(complete=True),
    "a close with other totals": lambda t: t.close(complete=False, ended=1),
    "a close with other statuses": lambda t: t.close(complete=False, by_status={"Passed": 1}),
    "a close that hides being complete": lambda t: (
        t.start(A),
        t.end(A),
        t.start(B),
        t.end(B),
        t.close(complete=False),
    ),
    "anything after the close": lambda t: (t.close(complete=False), t.start(A)),
    "a second close": lambda t: (t.close(complete=False), t.close(complete=False)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_not_stand_where_it_stands_is_refused(name):
    tape = Tape()
    with pytest.raises(IntegrityError) as refused:
        REFUSED[name](tape)
    assert refused.value.rule == "run-record §4"
    assert tape.order.count == len(tape.events)  # what was refused was not taken


def test_any_other_first_event_is_refused():
    with pytest.raises(IntegrityError, match=r"run\.opened first"):
        Tape(opened=False).start(A)


def test_what_has_ended_is_known():
    tape = Tape()
    tape.start(A)
    assert not tape.order.finished(A)
    tape.end(A)
    assert tape.order.finished(A)
    assert not tape.order.finished(B)


def test_an_empty_plan_closes_complete_with_zeros():
    plan = small_plan()
    plan = plan.model_copy(update={"cases": ()})
    tape = Tape(plan)
    tape.close()
    assert tape.events[-1].totals.planned == 0


def test_controls_count_apart():
    plan = make_plan(repetitions=1, mode="live")
    tape = Tape(plan)
    for trial in plan.control_trials():
        tape.start(trial)
        tape.end(trial)
    totals = totals_of(plan, tape.events)
    assert (totals.controls_planned, totals.controls_ended, totals.ended) == (4, 4, 0)
    assert totals.controls_by_status == {"Passed": 4}


def test_controls_of_a_plan_without_a_candidate_are_planned_by_their_own_keys():
    """Evidence and graded protocols: a control is none of a case, and each is shown once."""
    base = make_plan(repetitions=1, mode="live", protocol="graded")
    keys = [(name, polarity, dimension) for name in ("c1", "c2") for polarity in Polarity for dimension in Dimension]
    controls = tuple(
        PlannedControl(
            control_id=name,
            fingerprint=ZERO,
            polarity=polarity,
            dimension=dimension,
            probe=Probe.KNOWN,
            place=None,
            lowest=0,
            highest=33,
        )
        for name, polarity, dimension in keys
    )
    plan = base.model_copy(update={"controls": controls})
    trials = (*plan.control_trials(), *plan.case_trials())
    numbers = PlannedTrials(plan)
    assert {numbers.number(trial) for trial in trials} == set(range(numbers.count)) == set(range(len(trials)))
    assert planned_control_trials(plan) == len(keys)
    for changes in ({"case_id": "c3"}, {"dimension": None}, {"polarity": None}, {"repetition": 1}):
        assert numbers.number(controls[0].trial.model_copy(update=changes)) is None
    fixture = plan.model_copy(update={"mode": Mode.FIXTURE})
    assert (planned_control_trials(fixture), PlannedTrials(fixture).number(controls[0].trial)) == (0, None)


def test_blobs_are_named_by_the_plan_and_by_calls():
    tape = Tape()
    tape.start(A)
    tape.call(A)
    tape.call(A, "judge")
    assert [blobs_of(event) for event in tape.events] == [
        (PLAN.corpus.snapshot,),
        (),
        (ZERO,),
        (ZERO, digest_bytes(REPLY)),
    ]
    raw = QUARANTINE
    judge = PLAN.judge.model_copy(update={"identity": PLAN.judge.identity.model_copy(update={"raw": raw})})
    opened = tape.events[0].model_copy(update={"plan": PLAN.model_copy(update={"judge": judge, "candidate": None})})
    assert blobs_of(opened) == (PLAN.corpus.snapshot, raw)
