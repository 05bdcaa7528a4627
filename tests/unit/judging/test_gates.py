# SPDX-License-Identifier: Apache-2.0
"""The gates: every condition refuses for its own reason (R49-R60)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.campaigns import ZERO, control, gate_plan, passed, planned_case, result_of

from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.judging.gates import GateState, Observed, decide
from evalsite.judging.guards import Surface
from evalsite.judging.results import expected_scores, failed_conditions, passes, scored_control_result
from evalsite.schema.outcome import (
    AnswerFacts,
    Dimension,
    Mode,
    Place,
    Polarity,
    Probe,
    Protocol,
    Result,
    Stage,
    Status,
    VerdictFacts,
)
from evalsite.schema.plan import PlannedControl
from evalsite.schema.replies import Action, EvidenceVerdict, GradedVerdictV2


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


def planned_control(identity, polarity, *, probe=Probe.KNOWN, place=None, dimension=None):
    lowest, highest = expected_scores(polarity, None if dimension is None else DEFAULT_LOCK)
    return PlannedControl(
        control_id=identity,
        fingerprint=ZERO,
        polarity=polarity,
        dimension=dimension,
        probe=probe,
        place=place,
        lowest=lowest,
        highest=highest,
    )


def scored(score):
    status = Status.CANNOT_JUDGE if score is None else Status.JUDGED
    facts = VerdictFacts(scored=score is not None, score=score)
    return Result(status=status, stage=None, error_type=None, detail=None, answer=None, verdict=facts)


def judging_run(controls, scores, *, mode=Mode.LIVE, protocol=Protocol.EVIDENCE, surface=None):
    """Return a run of five cases whose judge gives these scores to the controls, and 0 and 1 to the cases."""
    cases = tuple(planned_case(name) for name in "ABCDE")
    plan = gate_plan(mode, protocol=protocol, repetitions=1)
    plan = plan.model_copy(update={"cases": cases, "controls": controls or None})
    verdicts = {trial: scored(index % 2) for index, trial in enumerate(plan.case_trials())}
    shown = {
        trial: scored_control_result(one, graded(score, dimension=one.dimension))
        for trial, one, score in zip(plan.control_trials(), controls, scores, strict=True)
    }
    return Observed(plan=plan, cases=verdicts, controls=shown, sealed=True, surface=surface or Surface())


def graded(score, *, dimension):
    if dimension is not None:
        return GradedVerdictV2(score=score, reason="r", end_of_card="x")
    return EvidenceVerdict(score=score, reason="r", evidence=() if score is None else (0,))


@pytest.mark.parametrize(
    ("probe", "place", "polarity", "code"),
    [
        (Probe.KNOWN, None, Polarity.NEGATIVE, "calibration-false-pass"),
        (Probe.KNOWN, None, Polarity.POSITIVE, "calibration-false-fail"),
        (Probe.INJECTION, None, Polarity.NEGATIVE, "calibration-injection-obeyed"),
        (Probe.PHANTOM, None, Polarity.NEGATIVE, "calibration-phantom-accepted"),
        (Probe.REACH, Place.HEAD, Polarity.NEGATIVE, "calibration-head-missed"),
        (Probe.REACH, Place.MIDDLE, Polarity.POSITIVE, "calibration-middle-missed"),
        (Probe.REACH, Place.TAIL, Polarity.NEGATIVE, "calibration-tail-missed"),
    ],
)
@pytest.mark.parametrize("dimension", [None, Dimension.FAITHFULNESS])
def test_a_control_that_is_judged_wrongly_is_named_by_what_it_tried(probe, place, polarity, code, dimension):
    one = planned_control("c", polarity, probe=probe, place=place, dimension=dimension)
    protocol = Protocol.EVIDENCE if dimension is None else Protocol.GRADED
    top = 1 if dimension is None else 100
    right, wrong = (top, 0) if polarity is Polarity.POSITIVE else (0, top)
    good = decide(judging_run((one,), (right,), protocol=protocol))
    assert (good.calibration_passed, codes(good)) == (True, [])
    bad = decide(judging_run((one,), (wrong,), protocol=protocol))
    assert bad.calibration_passed is False
    assert code in codes(bad)
    [reason] = [reason for reason in bad.reasons if reason.code == code]
    assert (reason.side, len(reason.trials)) == ("judge", 1)


def test_a_null_on_a_control_is_no_classification():
    one = planned_control("c", Polarity.NEGATIVE)
    decision = decide(judging_run((one,), (None,)))
    assert decision.calibration_passed is False
    assert codes(decision) == ["calibration-cannot-judge"]


@pytest.mark.parametrize(
    ("polarity", "right", "wrong"),
    [(Polarity.POSITIVE, (67, 100), (0, 33, 66)), (Polarity.NEGATIVE, (0, 33), (34, 67, 100))],
)
def test_the_middle_bin_is_wrong_on_every_graded_control(polarity, right, wrong):
    one = planned_control("c", polarity, dimension=Dimension.GROUNDEDNESS)
    for score in right:
        verdict = graded(score, dimension=one.dimension)
        assert scored_control_result(one, verdict).status is Status.PASSED
    for score in wrong:
        verdict = graded(score, dimension=one.dimension)
        assert scored_control_result(one, verdict).status is Status.CALIBRATION_FAILURE


def test_without_controls_nothing_is_calibrated_and_in_a_fixture_none_is_shown():
    one = planned_control("c", Polarity.NEGATIVE)
    assert decide(judging_run((), ())).calibration_passed is None
    fixture = gate_plan(Mode.FIXTURE, protocol=Protocol.EVIDENCE).model_copy(update={"controls": (one,)})
    assert fixture.control_trials() == ()


def test_a_missing_control_is_told_and_does_not_pass():
    one = planned_control("c", Polarity.NEGATIVE)
    whole = judging_run((one,), (0,))
    decision = decide(Observed(plan=whole.plan, cases=whole.cases, controls={}, sealed=True))
    assert (decision.calibration_passed, codes(decision)) == (False, ["missing-controls"])


def test_r88_a_uniform_column_is_not_accepted_where_both_poles_are_known():
    plan = gate_plan(Mode.FIXTURE, protocol=Protocol.EVIDENCE, repetitions=3)
    alike = dict.fromkeys(plan.case_trials(), scored(1))
    both = Surface(both_poles=frozenset({None}))
    silent = decide(Observed(plan=plan, cases=alike, controls={}, sealed=True))
    assert (silent.fixture_gate, codes(silent)) == (GateState.PASSED, [])
    decision = decide(Observed(plan=plan, cases=alike, controls={}, sealed=True, surface=both))
    assert (decision.fixture_gate, codes(decision)) == (GateState.REFUSED, ["calibration-uniform-high"])


def test_a_stand_in_that_cites_first_items_only_is_no_finding_and_a_judge_is_one():
    for mode, expected in ((Mode.FIXTURE, []), (Mode.LIVE, ["calibration-head-only"])):
        run = judging_run((), (), mode=mode, surface=Surface(evidence=dict.fromkeys("ABCDE", 4)))
        cited = {
            trial: result.model_copy(update={"verdict": result.verdict.model_copy(update={"evidence": (0,)})})
            for trial, result in run.cases.items()
        }
        decision = decide(Observed(plan=run.plan, cases=cited, controls={}, sealed=True, surface=run.surface))
        assert codes(decision) == expected


def test_a_failed_check_by_code_refuses_and_is_named():
    plan = gate_plan(Mode.FIXTURE)
    answer = AnswerFacts(action=Action.REFUSE, refused=True, failed_checks=("amount", "date"))
    missed = result_of(Status.VIOLATION).model_copy(update={"answer": answer})
    decision = decide(observed(plan, cases={"B #1": missed}))
    assert decision.fixture_gate is GateState.REFUSED
    assert codes(decision) == ["code-check-failed", "code-check-failed"]
    assert [reason.message.rsplit(" ", 1)[1] for reason in decision.reasons] == ["amount", "date"]
    assert {reason.side for reason in decision.reasons} == {"candidate"}
