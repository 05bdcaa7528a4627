# SPDX-License-Identifier: Apache-2.0
"""What a run shows of its judge without labels: outcomes, controls, named weaknesses, repetitions (R61, R62, T5)."""

import pytest
from support.campaigns import control
from support.weighing import NULL, weighed

from evalsite.judging.calibrating import Observation
from evalsite.judging.calibrating_runs import (
    Repeated,
    controls_table,
    findings_of,
    outcome_of,
    repetition_table,
    uniform_finding,
)
from evalsite.judging.gates import Reason
from evalsite.schema.calibration import Criterion, GateOutcome
from evalsite.schema.labels import LabelItem
from evalsite.schema.outcome import Polarity, Result, Stage, Status, Trial, TrialKind, VerdictFacts
from evalsite.schema.tables import Unavailable


def result(status, *, error=None, detail=None, stage=Stage.JUDGE, verdict=None):
    return Result(status=status, stage=stage, error_type=error, detail=detail, answer=None, verdict=verdict)


def trial(number, polarity=None):
    kind = TrialKind.CASE if polarity is None else TrialKind.CONTROL
    repetition = 1 if polarity is None else None
    return Trial(kind=kind, case_id=f"case-{number}", repetition=repetition, polarity=polarity, dimension=None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (result(Status.JUDGED, verdict=VerdictFacts(scored=True, score=0)), 0),
        (result(Status.JUDGED, verdict=VerdictFacts(scored=True, score=77)), 77),
        (result(Status.CANNOT_JUDGE, verdict=VerdictFacts(scored=False)), Unavailable.NULL),
        (result(Status.CONTRACT_ERROR, error="NotJson"), Unavailable.PARSE),
        (result(Status.CONTRACT_ERROR, error="WrongShape", detail="reason [schema: missing]"), Unavailable.PARSE),
        (result(Status.CONTRACT_ERROR, error="WrongShape", detail="score [schema: less]"), Unavailable.VOCABULARY),
        (result(Status.CONTRACT_ERROR, error="TruncatedReply"), Unavailable.TRUNCATED),
        (result(Status.CONTRACT_ERROR, error="UnknownEvidence"), Unavailable.UNKNOWN_EVIDENCE),
        (result(Status.TRANSPORT_ERROR, error="ContextOverflow"), Unavailable.TRUNCATED),
        (result(Status.TRANSPORT_ERROR, error="ReadTimeout"), Unavailable.TRANSPORT),
        (result(Status.MISSING_ANSWER, error="NoContent"), Unavailable.TRANSPORT),
        (result(Status.CANCELLED, error="SIGINT"), Unavailable.NO_VERDICT),
        (result(Status.HOST_ERROR, error="KeyError"), Unavailable.NO_VERDICT),
        (result(Status.CONTRACT_ERROR, error="NotJson", stage=Stage.CANDIDATE), Unavailable.NO_VERDICT),
    ],
)
def test_r61_no_failure_is_a_zero(found, expected):
    assert outcome_of(found) == expected


@pytest.mark.parametrize(("met", "absent", "expected"), [(True, True, 1), (True, False, 0), (False, True, 0)])
def test_a_binary_verdict_passes_with_both_booleans(met, absent, expected):
    verdict = VerdictFacts(required_behavior_met=met, forbidden_behavior_absent=absent)
    assert outcome_of(result(Status.VIOLATION, stage=None, verdict=verdict)) == expected


def test_controls_are_counted_by_kind():
    planned = {trial(number, polarity): polarity.value for number in (1, 2) for polarity in Polarity}
    first, second, third, _ = planned
    results = {
        first: control(Polarity.POSITIVE),
        second: control(Polarity.NEGATIVE, wrong=True),
        third: result(Status.CONTRACT_ERROR, error="NotJson", stage=Stage.CALIBRATION),
    }
    table = controls_table(planned, results)
    assert (table.planned, table.right, table.unavailable, table.passed) == (4, 1, 2, False)
    assert table.by_kind == {"negative": (0, 1), "positive": (1, 2)}
    assert controls_table({}, {}).passed is None


def test_a_judge_that_always_says_the_same_is_named():
    always_yes = weighed((1, 1, 5), (0, 1, 5))
    always_no = weighed((1, 0, 5), (0, 0, 5))
    always_high = weighed((90, 95, 5), (10, 95, 5), criterion=Criterion.FAITHFULNESS)
    found = [uniform_finding(one) for one in (always_yes, always_no, always_high)]
    assert [one.code for one in found] == ["constant-pass", "constant-fail", "constant-high"]
    assert found[2].criterion is Criterion.FAITHFULNESS
    assert all(one.effect is GateOutcome.FAIL for one in found)


@pytest.mark.parametrize(("accepts", "code"), [(True, "constant-pass"), (False, "constant-fail")])
def test_a_judge_that_classifies_all_controls_alike_is_named_without_labels(accepts, code):
    results = {
        trial(number, polarity): control(polarity, wrong=(polarity is Polarity.POSITIVE) is not accepts)
        for number in range(3)
        for polarity in Polarity
    }
    assert [one.code for one in findings_of([], results)] == [code]
    negative = {one: found for one, found in results.items() if one.polarity is Polarity.NEGATIVE}
    assert findings_of([], negative) == ()
    few = dict(list(results.items())[:4])
    assert findings_of([], few) == ()


@pytest.mark.parametrize(
    "column",
    [weighed((1, 1, 9)), weighed((1, 1, 2), (0, 1, 2)), weighed((1, 1, 5), (0, 0, 5)), weighed((0, NULL, 9))],
)
def test_t7_a_column_that_may_be_right_is_not_named(column):
    assert uniform_finding(column) is None


def test_broken_verdicts_have_names_of_their_own():
    results = {
        trial(1): result(Status.CONTRACT_ERROR, error="UnknownEvidence"),
        trial(2): result(Status.CONTRACT_ERROR, error="EndOfCardNotSeen"),
        trial(3): result(Status.CONTRACT_ERROR, error="NotJson"),
    }
    found = findings_of([], results)
    assert [(one.code, one.items) for one in found] == [
        ("phantom-evidence", ("case-1 #1",)),
        ("end-of-card-unseen", ("case-2 #1",)),
    ]


def test_failed_controls_of_the_decision_are_findings():
    reasons = [
        Reason(code="calibration-false-pass", side="judge", message="m", rule="R68", trials=("A negative",)),
        Reason(code="judge-contract-error", side="judge", message="m", rule="R19", trials=("A #1",)),
    ]
    assert [one.code for one in findings_of(reasons, {})] == ["calibration-false-pass"]


def test_a_uniform_column_is_a_finding_about_its_own_criterion_only():
    """One dimension's column says nothing about the other's gate; a failed control does."""
    trials = ("A groundedness #1", "B groundedness #1")
    reasons = [
        Reason(code="calibration-uniform-low", side="judge", message="m", rule="R88", trials=trials),
        Reason(code="calibration-tail-missed", side="judge", message="m", rule="R83", trials=("t faithfulness",)),
    ]
    assert [one.criterion for one in findings_of(reasons, {})] == [Criterion.GROUNDEDNESS, None]


def test_repetitions_and_the_judges_own_test_and_retest():
    cases = [
        Repeated(case_id="A", dimension=None, passes=(True, True)),
        Repeated(case_id="B", dimension=None, passes=(True, False)),
        Repeated(case_id="C", dimension=None, passes=(None, True)),
    ]
    one = LabelItem(case_id="A", repetition=None, dimension=None)
    seen = [
        Observation(item=one, repetition=number, outcome=said, question=question)
        for number, said, question in ((1, 1, "a"), (2, 1, "a"), (1, 1, "b"), (2, 0, "b"), (1, 1, "c"), (2, NULL, "c"))
    ]
    table = repetition_table("right", cases, seen)
    assert [(row.case_id, row.trials, row.passes, row.unavailable) for row in table.cases] == [
        ("A", 2, 2, 0),
        ("B", 2, 1, 0),
        ("C", 1, 1, 1),
    ]
    assert table.flaky == ("B",)
    assert (table.retested, table.unanimous.count, table.unanimous.of) == (2, 1, 2)
    assert table.pass_power[0].all_pass.value == f"{2.5 / 3:.6f}"
    assert table.pass_power[1].all_pass.reason == "1 of 3 cases have no value"
