# SPDX-License-Identifier: Apache-2.0
"""What makes two runs incomparable, field by field, and which declaration makes up for it (R95, R98)."""

import pytest
from support.campaigns import ZERO
from support.compared import OTHER, plan_of, run_of, with_plan, with_role

from evalsite.judging.comparability import (
    Variable,
    declarable,
    differences,
    same_judge,
    series_breaks,
    undeclared,
)
from evalsite.judging.constructs import constructs_of, planned_constructs
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.judging.prompts import CONSTRUCT_VERSIONS
from evalsite.schema.calibration import CalibrationPlan, Criterion
from evalsite.schema.outcome import Dimension, Mode, Protocol
from evalsite.schema.plan import Plan

BASE = run_of({"A": "PP", "B": "PP"})
NEW_SERVER = {"server_version": "2"}


def differing(changed):
    return {one.field: one.variable for one in differences(BASE.plan, changed.plan)}


def test_a_run_does_not_differ_from_itself():
    assert differences(BASE.plan, BASE.plan) == ()


CHANGES = {
    "candidate model": (
        with_role(BASE, "candidate", identity={"model_digest": OTHER}),
        {"candidate.identity.model_digest": Variable.CANDIDATE},
    ),
    "candidate name": (
        with_role(BASE, "candidate", endpoint={"model_name": "other"}),
        {"candidate.endpoint.model_name": Variable.CANDIDATE},
    ),
    "candidate prompt": (
        with_role(BASE, "candidate", instructions_digest=OTHER),
        {"candidate.instructions_digest": Variable.CANDIDATE_PROMPT},
    ),
    "candidate seed": (
        with_role(BASE, "candidate", sampling={"seed": 8}),
        {"candidate.sampling.seed": Variable.CANDIDATE_SAMPLING},
    ),
    "judge model": (
        with_role(BASE, "judge", identity={"model_digest": OTHER}),
        {"judge.identity.model_digest": Variable.JUDGE},
    ),
    "judge temperature": (
        with_role(BASE, "judge", sampling={"temperature": "1"}),
        {"judge.sampling.temperature": Variable.JUDGE_SAMPLING},
    ),
    "rubric": (
        with_role(BASE, "judge", instructions_digest=OTHER, prompt_version="2", contract_digest=OTHER),
        dict.fromkeys(("judge.instructions_digest", "judge.prompt_version", "judge.contract_digest"), Variable.RUBRIC),
    ),
    "construct": (
        with_plan(BASE, constructs={Criterion.BINARY: "2"}),
        {"constructs.binary": Variable.RUBRIC},
    ),
    "server": (
        with_role(
            with_role(BASE, "judge", identity={"server_version": "2"}), "candidate", identity={"server_version": "2"}
        ),
        dict.fromkeys(("candidate.identity.server_version", "judge.identity.server_version"), Variable.SERVER),
    ),
    "text of a case": (
        with_plan(
            BASE,
            cases=tuple(c.model_copy(update={"fingerprint": OTHER}) for c in BASE.plan.cases[:1]) + BASE.plan.cases[1:],
        ),
        {"cases[A].fingerprint": Variable.CORPUS_TEXT},
    ),
    "expected action": (
        with_plan(BASE, cases=(BASE.plan.cases[0].model_copy(update={"must_refuse": False}), BASE.plan.cases[1])),
        {"cases[A].must_refuse": Variable.CORPUS_TEXT},
    ),
    "repetitions": (with_plan(BASE, repetitions=3), {"repetitions": None}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_field_that_can_change_an_outcome_is_named_with_its_variable(name):
    changed, expected = CHANGES[name]
    assert differing(changed) == expected


@pytest.mark.parametrize("name", CHANGES)
def test_the_right_declaration_covers_it_and_no_other_does(name):
    found = differences(BASE.plan, CHANGES[name][0].plan)
    variable = declarable(found)
    for declared in (None, *Variable):
        covered = variable is not None and declared is variable
        assert undeclared(found, declared) == (() if covered else found)


def test_two_variables_are_explained_by_none():
    both = with_role(CHANGES["judge model"][0], "candidate", sampling={"seed": 8})
    found = differences(BASE.plan, both.plan)
    assert declarable(found) is None
    assert [one.field for one in undeclared(found, Variable.JUDGE)] == ["candidate.sampling.seed"]


def test_what_changes_no_outcome_is_not_compared():
    corpus = BASE.plan.corpus.model_copy(
        update={"name": "other", "version": "9", "fingerprint": OTHER, "snapshot": OTHER}
    )
    environment = BASE.plan.environment.model_copy(update={"evalsite_version": "9", "code_digest": OTHER})
    changed = with_plan(
        BASE, corpus=corpus, environment=environment, profile="other", campaign_name="other", campaign_digest=OTHER
    )
    changed = with_role(changed, "judge", endpoint={"host": "http://127.0.0.1:2"})
    assert differing(changed) == {}


def test_a_fixture_is_never_compared_with_a_model():
    fixture = plan_of(("A", "B"), repetitions=2, mode=Mode.FIXTURE)
    found = {one.field: one for one in differences(BASE.plan, fixture)}
    assert (found["mode"].before, found["mode"].after, found["mode"].variable) == ("live", "fixture", None)
    assert all(found["mode"] in undeclared(found.values(), declared) for declared in Variable)


def test_a_case_of_one_run_only_is_another_corpus_text():
    fewer = with_plan(BASE, cases=BASE.plan.cases[:1])
    found = {one.field: (one.before, one.after, one.variable) for one in differences(BASE.plan, fewer.plan)}
    assert found == {"cases[B].fingerprint": (ZERO, "(none)", Variable.CORPUS_TEXT)}


def test_other_bins_are_another_reading_of_grades():
    graded = plan_of(("A",), protocol=Protocol.GRADED)
    assert "bins" not in {one.field for one in differences(graded, graded)}
    lock = DEFAULT_LOCK.model_copy(update={"bins": (20, 80)})
    other = graded.model_copy(update={"calibration": CalibrationPlan(design_lock=lock, commitments=(), gates=())})
    [found] = differences(graded, other)
    assert (found.field, found.before, found.after, found.variable) == ("bins", "33, 66", "20, 80", None)


def test_a_construct_of_another_version_breaks_its_own_series_only():
    graded = plan_of(("A",), protocol=Protocol.GRADED)
    newer = graded.model_copy(update={"constructs": {Criterion.FAITHFULNESS: "2", Criterion.GROUNDEDNESS: "1"}})
    [found] = series_breaks(graded, newer)
    assert (found.criterion, found.before, found.after) == ("faithfulness", "1", "2")
    assert series_breaks(newer, newer) == ()


def test_the_judge_is_another_when_anything_of_it_is():
    assert same_judge(differences(BASE.plan, CHANGES["candidate seed"][0].plan))
    for name in ("judge model", "judge temperature", "rubric", "construct", "server"):
        assert not same_judge(differences(BASE.plan, CHANGES[name][0].plan)), name


def test_a_difference_in_words_cuts_digests():
    [found] = differences(BASE.plan, CHANGES["judge model"][0].plan)
    assert str(found) == f"judge.identity.model_digest: (not told) -> {OTHER[:40]}..."


def test_a_plan_without_stated_constructs_means_version_1_of_each():
    graded = plan_of(("A",), protocol=Protocol.GRADED)
    assert "constructs" not in graded.plain(), "records made before constructs were stated keep their bytes"
    assert constructs_of(graded) == {Criterion.FAITHFULNESS: "1", Criterion.GROUNDEDNESS: "1"}
    assert constructs_of(BASE.plan) == {Criterion.BINARY: "1"}


def test_a_new_plan_states_its_constructs_once_one_is_newer(monkeypatch):
    assert planned_constructs(Protocol.GRADED) is None
    monkeypatch.setitem(CONSTRUCT_VERSIONS, Dimension.FAITHFULNESS, "2")
    stated = planned_constructs(Protocol.GRADED)
    assert stated == {Criterion.FAITHFULNESS: "2", Criterion.GROUNDEDNESS: "1"}
    plan = plan_of(("A",), protocol=Protocol.GRADED).model_copy(update={"constructs": stated})
    assert constructs_of(Plan.parse(plan.to_bytes(), max_bytes=100_000)) == stated
