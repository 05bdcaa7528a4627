# SPDX-License-Identifier: Apache-2.0
"""Pairs through the command line: a judge with a habit, an order that failed, a runner that swaps (R97)."""

import json

import pytest
from support.cli import new_project
from support.fake_ollama import FakeOllama, Fault
from support.showcase import words_of

from evalsite.judging import prompts
from evalsite.schema.outcome import Order

CORPUS = "answer-pairs-v1"
FIXTURE = f"corpora/{CORPUS}/campaigns/fixture.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the sealed fixture run ``played``."""
    project = new_project(tmp_path_factory.mktemp("pairs"), CORPUS)
    project.ok("run", FIXTURE, "--run-id", "played")
    return project


def live(project, name, answer, *, faults=(), **changes):
    """Run a live campaign over pairs and return T4."""
    with FakeOllama(answer=answer, faults=list(faults)) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 1}}
        role["sampling"] = {"context_tokens": 32768}
        project.ok("run", project.campaign(name, corpus=CORPUS, judge=role, **changes), "--run-id", name)
    project.ok("verify", name)
    return position(project, name)


def position(project, name):
    return json.loads(project.ok("calibrate", name, "--json").out)["position"]


def says(winner):
    return lambda _: json.dumps({"winner": winner, "reason": "Because."})


def test_the_stand_in_says_in_both_orders_what_the_labels_say(project) -> None:
    table = position(project, "played")
    assert (table["pairs"], table["both_decided"], table["unavailable"]) == (14, 14, 0)
    assert (table["wins_a"], table["wins_b"], table["ties"]) == (5, 5, 4)
    assert (table["flips_first"], table["flips_second"], table["half_ties"]) == (0, 0, 0)


def test_a_judge_that_prefers_a_place_wins_nothing_for_anybody(project) -> None:
    table = live(project, "habit", says("first"))
    assert (table["wins_a"], table["wins_b"], table["ties"]) == (0, 0, 0)
    assert (table["flips_first"], table["flips_second"]) == (14, 0)
    assert table["exact_p"]["value"] == "0.000122"
    said = project.ok("calibrate", "habit").out
    assert "flips to first" in said
    gate = project.evalsite("gate", "habit")
    assert gate.code == 5
    assert "there is no candidate" in gate.out


def test_an_order_that_failed_makes_its_pair_unavailable(project) -> None:
    table = live(project, "errored", says("tie"), faults=[None, Fault.HTTP_500], cases=["opening-hours", "seed-depth"])
    assert (table["pairs"], table["both_decided"], table["unavailable"], table["ties"]) == (2, 1, 1, 1)


def test_cannot_judge_is_no_tie(project) -> None:
    table = live(project, "null", says(None), cases=["opening-hours"])
    assert (table["unavailable"], table["ties"]) == (1, 0)


def test_the_judge_is_told_neither_ids_nor_labels(project) -> None:
    prompts_seen = []

    def answer(prompt):
        prompts_seen.append(json.loads(prompt))
        return says("tie")(prompt)

    live(project, "seen", answer)
    assert len(prompts_seen) == 28
    assert {frozenset(prompt) for prompt in prompts_seen} == {frozenset({"question", "first", "second"})}


def test_a_runner_that_swaps_the_orders_is_refused(project, monkeypatch) -> None:
    original = prompts.pairwise_judge_prompt

    def swapped(case, order):
        return original(case, Order.BA if order is Order.AB else Order.AB)

    with monkeypatch.context() as patched:
        patched.setattr(prompts, "pairwise_judge_prompt", swapped)
        project.ok("run", FIXTURE, "--run-id", "swapped")
    verified = project.evalsite("verify", "swapped")
    assert verified.code == 4
    assert "opening-hours ab #1: the recorded judge prompt does not follow from the corpus" in verified.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("rejudge", "played"), 2, "Run its campaign again"),
        (("label", "sheet", "--corpus", CORPUS, "--into", "a.yaml"), 2, "labels of this protocol decide nothing"),
        (("label", "freeze", "--corpus", CORPUS), 2, "labels of this protocol decide nothing"),
    ],
)
def test_what_pairs_have_no_use_for_is_refused(project, words, code, said) -> None:
    outcome = project.evalsite(*words)
    assert outcome.code == code
    assert said in outcome.err


def test_two_runs_of_pairs_are_not_compared_as_better_or_worse(project) -> None:
    project.ok("run", FIXTURE, "--run-id", "played-again")
    outcome = project.evalsite("compare", "played", "played-again")
    assert outcome.code == 5
    assert "better and worse, got pairwise" in outcome.err


def test_its_pages_are_built_and_say_what_the_judge_said(tmp_path) -> None:
    project = new_project(tmp_path, CORPUS)
    project.ok("run", FIXTURE, "--run-id", "played")
    project.ok("build")
    site = project.root / "site"
    assert "opening-hours" in words_of(site / "runs/played/index.html")
    [case] = (site / "runs/played/cases").glob("opening-hours-*.html")
    said = words_of(case)
    assert "answers shown a, then b winner, by place first" in said
    assert "answers shown b, then a winner, by place second" in said
