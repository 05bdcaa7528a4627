# SPDX-License-Identifier: Apache-2.0
"""The gates: every condition refuses for its own reason (R49-R60)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.campaigns import control, gate_plan, passed, result_of

from evalsite.judging.gates import GateState, Observed, decide
from evalsite.judging.results import failed_conditions, passes
from evalsite.schema.outcome import AnswerFacts, Mode, Polarity, Stage, Status, VerdictFacts
from evalsite.schema.replies import Action


def observed(plan, *, cases=None, controls=None, sealed=True):
    """Return what a wholly passed campaign looks like, with overrides per trial label."""
    case_results = {trial: passed() for trial in plan.case_trials()}
    control_results = {trial: control(trial.polarity) for trial in plan.control_trials()}
    for given_results, overrides in ((case_results, cases), (control_results, controls)):
        for trial in list(given_results):
            if overrides and trial.label() in overrides:
                override = overrides[trial.label()]
                if override is None:
                    del given_results[trial]
                else:
                    given_results[trial] = override
    return Observed(plan=plan, cases=case_results, controls=control_results, sealed=sealed)


def codes(decision):
    return [reason.code for reason in decision.reasons]


def test_fixture_gate_passes_in_fixture_mode_only():
    decision = decide(observed(gate_plan(Mode.FIXTURE)))
    assert decision.fixture_gate is GateState.PASSED
    assert decision.model_gate is GateState.NOT_APPLICABLE
    assert decision.calibration_passed is None  # R54
    assert decision.reasons == ()


def test_model_gate_passes_in_live_mode_only():
    decision = decide(observed(gate_plan(Mode.LIVE)))
    assert decision.fixture_gate is GateState.NOT_APPLICABLE
    assert decision.model_gate is GateState.PASSED
    assert decision.calibration_passed is True


def test_replay_opens_no_gate():
    decision = decide(observed(gate_plan(Mode.REPLAY)))
    assert decision.fixture_gate is decision.model_gate is GateState.NOT_APPLICABLE


@pytest.mark.parametrize("mode", [Mode.FIXTURE, Mode.LIVE])
def test_empty_campaign_is_refused_for_being_empty(mode):
    decision = decide(observed(replace_cases(gate_plan(mode))))
    assert GateState.REFUSED in (decision.fixture_gate, decision.model_gate)
    assert "empty-campaign" in codes(decision)
    assert decision.expected == 0


def replace_cases(plan):
    return plan.model_copy(update={"cases": ()})


OUTCOMES = {
    "violation": (result_of(Status.VIOLATION, action=Action.ASSIST), "wrong-action", "candidate"),
    "candidate contract error": (
        result_of(Status.CONTRACT_ERROR, stage=Stage.CANDIDATE, error="NotJson"),
        "candidate-contract-error",
        "candidate",
    ),
    "judge contract error": (
        result_of(Status.CONTRACT_ERROR, stage=Stage.JUDGE, error="NotJson"),
        "judge-contract-error",
        "judge",
    ),
    "missing answer": (
        result_of(Status.MISSING_ANSWER, stage=Stage.CANDIDATE, error="NoContent"),
        "candidate-missing-answer",
        "candidate",
    ),
    "timeout": (
        result_of(Status.TRANSPORT_ERROR, stage=Stage.CANDIDATE, error="ReadTimeout"),
        "candidate-transport-error",
        "candidate",
    ),
    "judge timeout": (
        result_of(Status.TRANSPORT_ERROR, stage=Stage.JUDGE, error="ReadTimeout"),
        "judge-transport-error",
        "judge",
    ),
    "cancellation": (
        result_of(Status.CANCELLED, stage=Stage.CANDIDATE, error="CancelledError"),
        "candidate-cancelled",
        "candidate",
    ),
    "host error": (result_of(Status.HOST_ERROR, stage=Stage.JUDGE, error="KeyError"), "host-host-error", "host"),
}


@pytest.mark.parametrize("mode", [Mode.FIXTURE, Mode.LIVE])
@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome_blocks_acceptance_for_its_own_reason(mode, name):
    result, code, side = OUTCOMES[name]
    decision = decide(observed(gate_plan(mode), cases={"A #2": result}))
    gate = decision.fixture_gate if mode is Mode.FIXTURE else decision.model_gate
    assert gate is GateState.REFUSED
    assert codes(decision) == [code]
    assert decision.reasons[0].side == side
    assert decision.reasons[0].trials == ("A #2",)


def test_missing_result_is_refused_and_named():
    decision = decide(observed(gate_plan(Mode.FIXTURE), cases={"B #1": None}))
    assert decision.fixture_gate is GateState.REFUSED
    assert codes(decision) == ["missing-results"]
    assert decision.reasons[0].trials == ("B #1",)


def test_open_run_decides_nothing():
    decision = decide(observed(gate_plan(Mode.LIVE), sealed=False))
    assert decision.model_gate is GateState.UNDECIDED
    assert "run-open" in codes(decision)


def test_one_accepted_counterexample_refuses_whatever_the_candidate_did():
    accepted = control(Polarity.NEGATIVE, wrong=True)
    decision = decide(observed(gate_plan(Mode.LIVE), controls={"B negative": accepted}))
    assert decision.model_gate is GateState.REFUSED
    assert decision.calibration_passed is False
    assert codes(decision) == ["calibration-false-pass"]
    assert decision.reasons[0].side == "judge"
    assert decision.critical_failures == 0  # R60: not enough


def test_missing_control_refuses():
    decision = decide(observed(gate_plan(Mode.LIVE), controls={"A positive": None}))
    assert decision.model_gate is GateState.REFUSED
    assert codes(decision) == ["missing-controls"]


def test_judge_failure_is_not_counted_as_the_candidates():
    result = result_of(Status.CONTRACT_ERROR, stage=Stage.JUDGE, error="NotJson")
    decision = decide(observed(gate_plan(Mode.LIVE), cases={"A #1": result}))
    assert {reason.side for reason in decision.reasons} == {"judge"}


def test_critical_failures_are_counted_and_open_nothing():
    result = result_of(Status.VIOLATION, refused=False)
    decision = decide(observed(gate_plan(Mode.LIVE), cases={"A #1": result, "B #1": result}))
    assert decision.critical_failures == 1
    assert decision.model_gate is GateState.REFUSED


@given(
    failing=st.sets(st.sampled_from(["A #1", "A #2", "B #1", "B #2"]), min_size=1),
    name=st.sampled_from(sorted(OUTCOMES)),
    mode=st.sampled_from([Mode.FIXTURE, Mode.LIVE]),
)
def test_law_a_failure_never_accepts(failing, name, mode):
    decision = decide(observed(gate_plan(mode), cases=dict.fromkeys(failing, OUTCOMES[name][0])))
    assert GateState.PASSED not in (decision.fixture_gate, decision.model_gate)


@given(
    action=st.sampled_from(list(Action)),
    refused=st.booleans(),
    met=st.booleans(),
    absent=st.booleans(),
)
def test_law_a_case_passes_exactly_under_the_conjunction(action, refused, met, absent):
    case = gate_plan(Mode.LIVE).cases[0]
    answer = AnswerFacts(action=action, refused=refused)
    verdict = VerdictFacts(required_behavior_met=met, forbidden_behavior_absent=absent)
    expected = action is case.expected_action and refused is case.must_refuse and met and absent
    assert passes(case, answer, verdict) is expected
    assert len(failed_conditions(case, answer, verdict)) == [
        action is case.expected_action,
        refused is case.must_refuse,
        met,
        absent,
    ].count(False)
