# SPDX-License-Identifier: Apache-2.0
"""From trusted runs to what a comparison reads, and which earlier run a run is compared with."""

from dataclasses import replace

import pytest
from support.campaigns import ZERO
from support.sites import binary_corpus
from support.trusted import Scene, make_trusted_run

from evalsite.campaign.compare import compare_with_previous, run_facts
from evalsite.errors import UndecidedError
from evalsite.judging.comparability import Variable
from evalsite.judging.comparing import compare
from evalsite.schema.plan import AnswersRef

ANSWER = '{"action":"assist","response":"%s","refused":false}'


def made(run_id="a", *, day=1, **changes):
    return make_trusted_run(binary_corpus(), Scene(run_id=run_id, opened_at=f"2026-11-{day:02d}T09:00:00Z", **changes))


def test_an_open_run_is_not_compared():
    with pytest.raises(UndecidedError, match="expected a sealed run") as refused:
        run_facts(made(closed_at=None))
    assert "evalsite run --resume a" in refused.value.advice


def test_facts_are_those_of_the_run():
    run = made()
    facts = run_facts(run)
    assert (facts.run, facts.plan, facts.decision, facts.answers_of) == ("a", run.plan, run.decision, None)
    assert set(facts.results) == set(facts.answers) == set(run.plan.case_trials())


def test_answers_are_the_same_by_their_content_whatever_stands_around_it():
    wrapped, bare = run_facts(made()), run_facts(made("b", wrap=False))
    assert wrapped.answers == bare.answers, "times and counters of a body are no part of an answer"
    other = run_facts(made("c", candidate=lambda trial: ANSWER % trial.repetition))
    assert len(set(other.answers.values())) == 2
    assert not set(other.answers.values()) & set(wrapped.answers.values())


def test_an_answer_that_cannot_be_read_has_its_own_bytes_and_none_has_none():
    facts = run_facts(made(candidate=lambda trial: b"\xff" if trial.repetition == 1 else TimeoutError()))
    assert {trial.repetition for trial in facts.answers} == {1}
    assert run_facts(made(candidate=lambda _: b"\xfe", wrap=False)).answers != facts.answers


def test_flips_of_real_runs_are_laid_to_answer_or_judge():
    before = made()
    found = compare(run_facts(before), run_facts(made("b", judge=lambda _: None, candidate=lambda _: ANSWER % "Other")))
    assert [row.case_id for row in found.regressions] == ["DANGER"]
    assert set(found.by_cause.values()) == {0, 2}


def test_the_newest_comparable_run_of_the_series_is_taken():
    runs = [
        made("old", day=1),
        made("other-profile", day=3, profile="other"),
        made("open", day=4, closed_at=None),
        made("two-things", day=5, repetitions=3),
        made("later", day=9),
    ]
    found = compare_with_previous(made("now", day=8), runs)
    assert found is not None
    assert (found.before.run, found.variable) == ("old", None)


def test_a_variable_is_found_where_one_thing_differs():
    digest = "sha256:" + "b" * 64
    found = compare_with_previous(made("now", day=8, identity={"model_digest": digest}), [made("old")])
    assert found is not None
    assert found.variable is Variable.CANDIDATE
    both = made("now", day=8, identity={"model_digest": digest}, judge_identity={"model_digest": digest})
    assert compare_with_previous(both, [made("old")]) is None


def test_an_open_run_and_a_first_run_have_no_previous_one():
    assert compare_with_previous(made(closed_at=None, day=8), [made("old")]) is None
    assert compare_with_previous(made(), []) is None


def rejudging(run, source):
    """Return a run as one that judged another's answers again."""
    answers = AnswersRef(run=source, root=ZERO, statement=ZERO, repetitions=run.plan.repetitions)
    return replace(run, plan=run.plan.model_copy(update={"answers": answers}))


def test_a_run_that_judged_answers_again_is_compared_with_the_run_they_are_of_and_with_no_other():
    again = rejudging(made("again", day=8), "old")
    runs = [made("old", day=1), made("newer", day=3)]
    found = compare_with_previous(again, runs)
    assert found is not None
    assert found.before.run == "old"
    assert compare_with_previous(made("now", day=9), [again]) is None
