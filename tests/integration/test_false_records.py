# SPDX-License-Identifier: Apache-2.0
"""A runner that lies: signed by the right keys, and still refused, because facts are derived again."""

import pytest
from support.cli import new_project

from evalsite.campaign import execute
from evalsite.campaign.casebook import CaseBook, Question
from evalsite.campaign.trials import run_trial
from evalsite.schema.outcome import Status
from evalsite.schema.replies import Action

FIXTURE = "corpora/support-behaviors-v1/campaigns/fixture.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return new_project(tmp_path_factory.mktemp("lies"))


def verdict_of(project, run):
    """Return what `evalsite verify` says and check that nothing else accepts the run either."""
    verified = project.evalsite("verify", run)
    assert verified.code == 4
    assert project.evalsite("gate", run).code == 4
    assert project.evalsite("build").code == 4
    return verified.out


def test_a_result_that_the_replies_do_not_give(project, monkeypatch):
    """R49, R50: a violation recorded as passed."""

    async def flattering(*args):
        ending = await run_trial(*args)
        result = ending.result.model_copy(
            update={"status": Status.PASSED, "detail": None, "stage": None, "error_type": None}
        )
        return type(ending)(result=result, candidate_call=ending.candidate_call, judge_call=ending.judge_call)

    wrong = {"case_id": "REFUND", "role": "judge", "text": "no JSON at all"}
    role = {"endpoint": {"kind": "fixture", "replies": [wrong]}}
    path = project.campaign("flattering", judge=role)
    monkeypatch.setattr(execute, "run_trial", flattering)
    project.ok("run", path, "--run-id", "flattering")
    monkeypatch.undo()
    out = verdict_of(project, "flattering")
    assert "REFUND #1: the record says Passed, the replies give ContractError" in out
    assert "runs/flattering/events/000.jsonl:" in out


def test_a_prompt_that_the_corpus_does_not_yield(project, monkeypatch):
    """R5: a candidate that was told more than the public input."""
    original = CaseBook.candidate_question

    def leaking(self, trial):
        question = original(self, trial)
        hint = self.binary_case(trial).required_behavior
        return Question(
            role=question.role,
            instructions=question.instructions,
            prompt=question.prompt[:-1] + f',"hint":"{hint[:20]}"}}',
            contract=question.contract,
        )

    answers = {"case_id": "TONE", "role": "candidate", "text": "{}"}
    role = {"endpoint": {"kind": "fixture", "replies": [answers]}}
    path = project.campaign("leaking", candidate=role, cases=["TONE"])
    monkeypatch.setattr(CaseBook, "candidate_question", leaking)
    project.ok("run", path, "--run-id", "leaking")
    monkeypatch.undo()
    assert "the recorded candidate prompt does not follow from the corpus" in verdict_of(project, "leaking")


def test_expectations_that_are_not_the_corpus_own(project, monkeypatch):
    """R48: a plan that expects what the candidate is known to answer."""
    original = CaseBook._planned

    def lenient(case, fingerprint):
        return original(case, fingerprint).model_copy(update={"expected_action": Action.ASSIST})

    monkeypatch.setattr(CaseBook, "_planned", staticmethod(lenient))
    project.ok("run", project.campaign("lenient", cases=["REFUND"]), "--run-id", "lenient")
    monkeypatch.undo()
    assert "the plan's expectations differ from the corpus" in verdict_of(project, "lenient")
