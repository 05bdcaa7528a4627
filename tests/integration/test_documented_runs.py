# SPDX-License-Identifier: Apache-2.0
"""What the pages about several runs tell a reader to type is typed here, in the order of the page."""

import json

import pytest
from support.cli import new_project
from support.fake_ollama import FakeOllama
from support.sheets import CLAIM, fill
from support.shell import Shell, blocks

VERDICT = '{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"Fine."}'


def play(prompt: str) -> str:
    """Answer as a candidate that assists, and judge as a judge that is content."""
    if "answer" in json.loads(prompt):
        return VERDICT
    return json.dumps({"action": "assist", "response": "Gladly.", "refused": False})


@pytest.fixture
def project(tmp_path):
    """A project with a ledger."""
    return new_project(tmp_path)


@pytest.fixture
def shell(project):
    """A reader in the project."""
    return Shell(project.root, project.keystore)


def test_recorded_answers_are_judged_again_as_the_page_says(repository, project, shell) -> None:
    again, repeated, other, labelled = blocks(repository / "docs/how-to/rejudge-a-run.md")[:4]
    with FakeOllama(answer=play) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 5}}
        role["sampling"] = {"context_tokens": 32768}
        path = project.campaign("live", candidate=role, judge=role, cases=["DELIVERY", "TONE"], repetitions=1)
        project.ok("run", path, "--run-id", "asked")
        project.ok("label", "freeze", "--run", "asked")
        project.ok("label", "sheet", "--run", "asked", "--into", "answers.yaml")
        fill(project, "answers.yaml", lambda _: 1)
        project.ok("label", "commit", "answers.yaml", "--name", "human-a", *CLAIM)
        # The page leaves the name of the new run to the command, which makes one out of the day.
        named = (
            again
            + repeated.replace("--repetitions 5", "--repetitions 5 --run-id five").replace("<new run>", "five")
            + other.replace("<name>", "stub --run-id other").replace("<new run>", "other")
            + labelled
        )
        done = shell.type(named.replace("<run>", "asked"))
    assert done.returncode == 0, done.stderr
    assert "judge repeats itself" in done.stdout
    assert "judge.endpoint.model_name: stub:latest -> stub" in done.stdout
    assert "binary against human-a" in done.stdout
    assert project.ok("verify").code == 0


def test_runs_are_compared_as_the_page_says(repository, project, shell) -> None:
    compare, gate, power = blocks(repository / "docs/how-to/compare-two-runs.md")
    for run in ("first", "second"):
        project.ok("run", project.campaign(run), "--run-id", run)
    done = shell.type((compare + gate + power).replace("<before>", "first").replace("<after>", "second"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("No case regressed.") == 2
    assert "answers needed" in done.stdout
    assert "labels needed" in done.stdout
