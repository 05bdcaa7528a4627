# SPDX-License-Identifier: Apache-2.0
"""Two runs by case and repetition: what got worse, what could not be compared, and whose doing it was."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.compared import OTHER, rejudged, run_of, scored_run, with_plan, with_role

from evalsite.errors import UndecidedError
from evalsite.judging.comparability import Variable
from evalsite.judging.comparing import compare
from evalsite.judging.comparison import Cause, Change, Outcome
from evalsite.schema.calibration import Criterion
from evalsite.schema.outcome import Mode, Protocol

#: Modelled on MISSING, prompt v1 to v2: the whole gets better, one case does not.
V1 = {"MISSING": "PP", "TONE": "VV", "DELIVERY": "PV", "REFUND": "PP"}
V2 = {"MISSING": "VP", "TONE": "PP", "DELIVERY": "PP", "REFUND": "PP"}


def changes(comparison):
    return {row.name: row.change for row in comparison.cases}


def test_r93_runs_are_compared_by_case_and_repetition():
    found = compare(run_of(V1), run_of(V2, run="b"))
    flips = {pair.trial.label(): pair.change for pair in found.pairs if pair.change is not Change.SAME}
    assert flips == {
        "MISSING #1": Change.DOWN,
        "TONE #1": Change.UP,
        "TONE #2": Change.UP,
        "DELIVERY #2": Change.UP,
    }


def test_r94_one_case_that_got_worse_is_a_regression_though_the_whole_got_better():
    found = compare(run_of(V1), run_of(V2, run="b"))
    before, after, of = found.passed
    assert (before, after, of) == (5, 7, 8)
    assert [row.name for row in found.regressions] == ["MISSING"]
    assert [row.name for row in found.up] == ["TONE", "DELIVERY"]
    assert found.outcome is Outcome.REGRESSED


def test_a_case_gets_worse_by_the_number_of_repetitions_that_pass():
    found = compare(run_of({"A": "PVP", "B": "PVV"}), run_of({"A": "VPP", "B": "VVV"}, run="b"))
    assert changes(found) == {"A": Change.SAME, "B": Change.DOWN}
    assert len(found.cases[0].flips) == 2, "flips are told though the case as a whole is the same"


def test_what_is_unavailable_is_set_apart_with_whose_failure_it_was():
    found = compare(run_of({"A": "PPPP", "B": "PPPP"}), run_of({"A": "TCP-", "B": "TTTT"}, run="b"))
    assert found.by_change == {
        Change.SAME: 1,
        Change.DOWN: 0,
        Change.UP: 0,
        Change.EXCLUDED: 7,
        Change.BREAK: 0,
    }
    assert [pair.after.side for pair in found.cases[0].pairs] == ["judge", "candidate", None, "campaign"]
    assert found.by_side == {"campaign": 1, "candidate": 1, "judge": 5}
    assert changes(found) == {"A": Change.SAME, "B": Change.EXCLUDED}
    assert found.regressions == ()
    assert found.outcome is Outcome.UNDECIDED, "that nothing regressed is not shown"


def test_pass_power_is_null_while_a_repetition_is_missing():
    found = compare(run_of({"A": "PP", "B": "PP", "C": "PV"}), run_of({"A": "PP", "B": "PT", "C": "PV"}, run="b"))
    assert [row.before.every for row in found.cases] == [1, None, 0]


def test_r95_runs_that_differ_are_refused_and_the_fields_are_named():
    other = with_role(run_of(V2, run="b"), "judge", instructions_digest=OTHER)
    with pytest.raises(UndecidedError, match=r"judge\.instructions_digest: .*\[rubric\]") as refused:
        compare(run_of(V1), other)
    assert refused.value.exit_code == 5
    assert "--variable rubric" in refused.value.advice
    assert compare(run_of(V1), other, Variable.RUBRIC).variable is Variable.RUBRIC


def test_two_variables_at_once_are_refused_whatever_is_declared():
    other = with_role(run_of(V2, run="b"), "judge", instructions_digest=OTHER)
    other = with_role(other, "candidate", sampling={"seed": 8})
    for declared in (None, *Variable):
        with pytest.raises(UndecidedError) as refused:
            compare(run_of(V1), other, declared)
        assert "one thing at a time" in refused.value.advice


def test_many_differing_fields_are_named_and_very_many_are_counted():
    cases = {f"C{number}": "P" for number in range(40)}
    plan = run_of(cases, run="b")
    changed = tuple(case.model_copy(update={"fingerprint": OTHER}) for case in plan.plan.cases)
    with pytest.raises(
        UndecidedError, match=r"cases\[C6\].fingerprint, .*cases\[C29\].fingerprint, and 10 more"
    ) as told:
        compare(run_of(cases), with_plan(plan, cases=changed))
    assert "C30" not in str(told.value)
    few = tuple(case if number >= 8 else changed[number] for number, case in enumerate(plan.plan.cases))
    with pytest.raises(UndecidedError, match=r"; and cases\[C6\]\.fingerprint, cases\[C7\]\.fingerprint \["):
        compare(run_of(cases), with_plan(plan, cases=few))


def test_r96_no_regression_does_not_change_a_refused_run():
    found = compare(run_of({"A": "V"}), run_of({"A": "V"}, run="b"))
    assert found.outcome is Outcome.HOLDS
    assert found.after.decision.model_gate == "refused"


GRADED = {"A faithfulness #1": 90, "A groundedness #1": 50, "B faithfulness #1": 10, "B groundedness #1": 70}


def newer_construct(facts):
    return with_plan(facts, constructs={Criterion.FAITHFULNESS: "2", Criterion.GROUNDEDNESS: "1"})


def test_r98_another_construct_breaks_the_series_instead_of_a_regression():
    lower = newer_construct(scored_run(GRADED | {"A faithfulness #1": 10, "A groundedness #1": 10}, run="b"))
    with pytest.raises(UndecidedError, match=r"constructs\.faithfulness: 1 -> 2 \[rubric\]"):
        compare(scored_run(GRADED), lower)
    found = compare(scored_run(GRADED), lower, Variable.RUBRIC)
    assert changes(found) == {
        "A faithfulness": Change.BREAK,
        "A groundedness": Change.DOWN,
        "B faithfulness": Change.BREAK,
        "B groundedness": Change.SAME,
    }
    assert found.mcnemar.compared == 2, "only the series that did not break is tested"
    assert found.outcome is Outcome.UNDECIDED


def test_r107_scores_under_a_replaced_construct_stay_beside_the_new_ones():
    lower = newer_construct(scored_run(GRADED | {"A faithfulness #1": 10}, run="b"))
    [pair] = compare(scored_run(GRADED), lower, Variable.RUBRIC).cases[0].pairs
    assert (pair.before.value, pair.after.value, pair.cause) == (2, 0, None)


def test_a_construct_of_the_binary_protocol_breaks_its_series_too():
    after = with_plan(run_of({"A": "V"}, run="b"), constructs={Criterion.BINARY: "2"})
    found = compare(run_of({"A": "P"}), after, Variable.RUBRIC)
    assert changes(found) == {"A": Change.BREAK}
    assert found.regressions == ()
    assert found.outcome is Outcome.UNDECIDED


def test_grades_are_compared_by_bin_and_a_null_is_no_low_grade():
    after = scored_run(GRADED | {"A faithfulness #1": 70, "A groundedness #1": None}, run="b")
    found = compare(scored_run(GRADED), after)
    assert changes(found)["A faithfulness"] is Change.SAME
    [null] = found.cases[1].pairs
    assert (null.change, null.after.status, null.after.side) == (Change.EXCLUDED, "CannotJudge", "judge")


def test_without_a_candidate_scores_go_down_and_nothing_regresses():
    before = scored_run({"A #1": 1, "B #1": 0}, protocol=Protocol.EVIDENCE)
    after = scored_run({"A #1": 0, "B #1": 1}, protocol=Protocol.EVIDENCE, run="b")
    found = compare(before, after)
    assert changes(found) == {"A": Change.DOWN, "B": Change.UP}
    assert found.regressions == ()
    assert found.by_cause[Cause.JUDGE] == 2, "the corpus's text is the same: only the judge can have changed"
    assert found.outcome is Outcome.UNDECIDED


def test_flips_are_laid_to_the_answer_the_judge_or_the_case():
    before = run_of({"A": "PP", "B": "PP"}, answers={"A": "xx", "B": "xx"})
    after = run_of({"A": "VV", "B": "VP"}, answers={"A": "xy", "B": "xx"}, run="b")
    cases = (after.plan.cases[0], after.plan.cases[1].model_copy(update={"fingerprint": OTHER}))
    found = compare(before, with_plan(after, cases=cases), Variable.CORPUS_TEXT)
    assert {pair.trial.label(): pair.cause for pair in found.pairs} == {
        "A #1": Cause.JUDGE,
        "A #2": Cause.ANSWER,
        "B #1": Cause.CASE,
        "B #2": None,
    }
    assert found.by_cause == {Cause.ANSWER: 1, Cause.JUDGE: 1, Cause.CASE: 1}


def test_the_judge_is_retested_on_identical_questions_only():
    before = run_of({"A": "PPPT"}, answers={"A": "xxxx"})
    after = run_of({"A": "PPPP"}, answers={"A": "xxyx"}, run="b")
    retest = compare(before, after).retest
    assert (retest.asked_twice, retest.said_the_same, retest.same_judge) == (2, 2, True)
    other = with_role(after, "judge", identity={"model_digest": OTHER})
    assert not compare(before, other, Variable.JUDGE).retest.same_judge


def test_a_judge_that_says_otherwise_about_a_lost_case_is_seen_though_nothing_flips():
    before, after = run_of({"A": "V"}), run_of({"A": "V"}, run="b")
    [(trial, result)] = after.results.items()
    assert result.verdict is not None
    other = result.model_copy(update={"verdict": result.verdict.model_copy(update={"required_behavior_met": False})})
    retest = compare(before, replace(after, results={trial: other})).retest
    assert (retest.asked_twice, retest.said_the_same) == (1, 0)


def test_a_rejudged_run_is_compared_with_the_run_whose_answers_it_read():
    before = run_of({"A": "P"})
    again = with_role(rejudged(run_of({"A": "V"}, run="b"), "a"), "candidate", identity={"model_digest": OTHER})
    found = compare(before, again)
    assert found.differences == ()
    assert found.pairs[0].cause is Cause.JUDGE
    assert found.regressions == (), "the candidate was not asked again"
    assert not found.has_candidate


def test_a_rejudged_run_is_not_compared_with_a_run_of_another_candidate():
    again = with_role(rejudged(run_of({"A": "V"}, run="b"), "c"), "candidate", instructions_digest=OTHER)
    with pytest.raises(UndecidedError, match=r"candidate\.instructions_digest"):
        compare(run_of({"A": "P"}), again)


def test_an_answer_that_was_judged_several_times_faces_the_run_each_time():
    before = run_of({"A": "PV"}, answers={"A": "xy"})
    again = rejudged(run_of({"A": "PVVV"}, answers={"A": "xyxy"}, run="b"), "a", repetitions=2)
    for found in (compare(before, again), compare(again, before)):
        flipped = [(pair.trial.label(), pair.cause) for pair in found.pairs if pair.change is not Change.SAME]
        assert flipped == [("A #3", Cause.JUDGE)]
        assert (found.retest.asked_twice, found.by_change[Change.SAME]) == (4, 3)


def test_trials_of_one_run_only_are_told_and_decide_nothing():
    fewer = run_of({"A": "P", "C": "P"}, run="b")
    found = compare(run_of({"A": "P", "B": "P"}), fewer, Variable.CORPUS_TEXT)
    assert [trial.label() for trial in (*found.only_before, *found.only_after)] == ["B #1", "C #1"]
    assert changes(found) == {"A": Change.SAME}
    assert found.outcome is Outcome.UNDECIDED


def test_runs_without_a_common_trial_show_nothing():
    found = compare(run_of({"A": "P"}), run_of({"B": "P"}, run="b"), Variable.CORPUS_TEXT)
    assert (found.pairs, found.passed, found.mcnemar.visible) == ((), (0, 0, 0), None)
    assert "the runs share no trial" in found.open_points


def test_a_judge_that_failed_its_calibration_shows_no_absence_of_regressions():
    after = run_of({"A": "P"}, run="b")
    after = replace(after, decision=replace(after.decision, calibration_passed=False))
    found = compare(run_of({"A": "P"}), after)
    assert found.open_points == ("the judge of b did not pass its calibration",)
    assert found.outcome is Outcome.UNDECIDED


def test_fixture_is_compared_with_fixture():
    found = compare(run_of({"A": "P"}, mode=Mode.FIXTURE), run_of({"A": "P"}, run="b", mode=Mode.FIXTURE))
    assert found.outcome is Outcome.HOLDS


def test_five_cases_that_all_got_worse_are_within_chance_and_six_are_not():
    for count, p in ((5, Fraction(1, 16)), (6, Fraction(1, 32))):
        cases = [f"C{number}" for number in range(count)]
        found = compare(run_of(dict.fromkeys(cases, "PP")), run_of(dict.fromkeys(cases, "VV"), run="b"))
        assert found.mcnemar.p == p, "repetitions of a case are not counted as cases"
        assert found.mcnemar.conclusive is (count == 6)
        assert found.mcnemar.needed == 6
        assert found.outcome is Outcome.REGRESSED, "each is a regression, beyond chance or not"


def test_verdicts_without_better_and_worse_are_not_compared():
    pairs = with_plan(run_of({"A": "P"}), protocol=Protocol.PAIRWISE)
    with pytest.raises(UndecidedError, match="better and worse, got pairwise"):
        compare(pairs, replace(pairs, run="b"))
