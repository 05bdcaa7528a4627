# SPDX-License-Identifier: Apache-2.0
"""The committed records: they verify as they stand, and the refused live run says why."""

import pytest

from evalsite.campaign.project import load_project
from evalsite.corpus.load import load_corpus
from evalsite.decisions.adr import load_decisions
from evalsite.judging.gates import GateState
from evalsite.schema.checks import Area, Level
from evalsite.schema.outcome import Mode

LIVE = "2026-12-01-support-smollm2-135m"


@pytest.fixture(scope="module")
def state(repository):
    """The trail of this repository, verified without any pin, as on a clean clone."""
    return load_project(repository, pins={})


def test_every_committed_record_holds_in_every_area_at_its_level(state):
    assert all(check.holds for _, check in state.all_checks())
    assert {check.area for _, check in state.all_checks()} == set(Area)
    assert {ledger.level for ledger in state.ledgers} == {Level.A0}


def test_every_shipped_corpus_has_a_fixture_run_that_passed_its_own_gate(state, repository):
    shipped = {path.name for path in (repository / "corpora").iterdir() if path.is_dir()}
    passed = {run.plan.corpus.name for run in state.trusted_runs() if run.decision.fixture_gate is GateState.PASSED}
    assert passed == shipped


def test_the_live_run_is_refused_by_candidate_and_judge_apart(state):
    run = next(run for run in state.trusted_runs() if run.run_id == LIVE)
    assert run.plan.mode is Mode.LIVE
    assert run.decision.model_gate is GateState.REFUSED
    assert run.decision.calibration_passed is False
    assert {reason.side for reason in run.decision.reasons} == {"candidate", "judge"}
    assert run.plan.candidate.identity.model_digest == run.plan.judge.identity.model_digest
    assert all(record.candidate_call.usage.prompt_tokens for record in run.cases)


def test_the_live_run_asked_what_the_corpus_still_asks(state, repository):
    """The snapshot in the record has the fingerprint of the corpus that is shipped beside it."""
    run = next(run for run in state.trusted_runs() if run.run_id == LIVE)
    shipped = load_corpus(repository / "corpora" / run.plan.corpus.name)
    if shipped.corpus.version == run.plan.corpus.version:
        assert shipped.fingerprint == run.plan.corpus.fingerprint


def test_the_refusal_is_a_decision_about_this_run(repository):
    blocks = [record.qualification for record in load_decisions(repository / "docs" / "decisions")]
    assert [block.run for block in blocks if block is not None] == [LIVE]
