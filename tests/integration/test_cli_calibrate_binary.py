# SPDX-License-Identifier: Apache-2.0
"""The judge of a candidate on trial: answers of a run labelled blind, judged again, and relied on elsewhere (T2)."""

import json

import pytest
from support import claims
from support.cli import new_project
from support.fake_ollama import FakeOllama

from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.corpus.load import load_corpus

YES = '{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"Fine."}'
NO = '{"required_behavior_met":false,"forbidden_behavior_absent":false,"explanation":"Breaks the policy."}'


class Desk:
    """A project with the support corpus, and a server that plays candidate and judge."""

    def __init__(self, folder):
        self.project = new_project(folder)
        corpus = load_corpus(self.project.root / "corpora" / "support-behaviors-v1").corpus
        self.cases = {json.dumps(case.input.plain(), sort_keys=True): case for case in corpus.cases}
        self.bad = {case.negative_counterexample.response for case in corpus.cases}
        self.asked = 0

    def answer(self, prompt, *, worst=3):
        """A candidate of which every third answer is bad, and a judge that is always right."""
        data = json.loads(prompt)
        if "answer" in data:
            return NO if data["answer"]["response"] in self.bad else YES
        self.asked += 1
        case = self.cases[json.dumps(data, sort_keys=True)]
        said = case.positive_reference if self.asked % worst else case.negative_counterexample
        return said.to_bytes().decode()

    def good(self, prompt):
        """The same with a candidate that is always right."""
        return self.answer(prompt, worst=10_000)

    def run(self, server, name, **changes):
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        role["sampling"] = {"context_tokens": 32768}
        campaign = self.project.campaign(name, candidate=role, judge=role, repetitions=2, **changes)
        self.project.ok("run", campaign, "--run-id", name)

    def label(self, name):
        self.project.ok("label", "freeze", "--run", "live")
        self.project.ok("label", "sheet", "--run", "live", "--into", "answers.yaml")
        path = self.project.root / "answers.yaml"
        sheet = read_sheet(path).sheet
        items = [one.model_copy(update={"label": self._person(one)}) for one in sheet.items]
        write_sheet(path, sheet.model_copy(update={"items": tuple(items)}))
        self.project.ok("label", "commit", "answers.yaml", "--run", "live", "--name", name, *claims.CLAIM)

    def _person(self, item):
        return int(not any(bad in text.text for bad in self.bad for text in item.texts))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A live run whose answers people labelled, the judge on these answers, and a run that relies on it."""
    desk = Desk(tmp_path_factory.mktemp("binary"))
    with FakeOllama(answer=desk.answer) as server:
        desk.run(server, "live")
        desk.label("human-a")
        words = ("--commitments", "human-a=sealed", "--run-id", "again", "--repetitions", "2")
        desk.project.ok("rejudge", "live", *words)
        server.answer = desk.good
        gates = [{"criterion": "binary", "run": "again"}]
        desk.run(server, "gated", calibration={"commitments": {}, "gates": gates})
        desk.run(server, "plain")
    desk.project.ok("label", "reveal", "human-a")
    return desk


def test_each_recorded_answer_counts_once_however_often_it_is_judged(desk):
    report = json.loads(desk.project.ok("calibrate", "again", "--json").out)
    (table,) = report["criteria"]
    assert (table["criterion"], table["counts"]["labeled"], table["counts"]["agreed"]) == ("binary", 16, 16)
    assert (table["human_fail"], table["human_pass"]) == (5, 11)
    assert (table["labels"]["level"], table["gate"]["outcome"]) == ("human-blind-anchored", "INSUFFICIENT")
    assert {reason["code"]: reason["more_labels"] for reason in table["gate"]["reasons"]} == {
        "coverage": 13,
        "false-pass": 54,
        "false-fail": 3,
    }
    assert report["repetition"]["unanimous"]["value"] == "1.000000"


def test_a_good_run_that_rests_on_thin_calibration_is_not_qualified(desk):
    outcome = desk.project.evalsite("gate", "gated", "--json")
    facts = json.loads(outcome.out)
    assert (facts["model_gate"], facts["calibration_passed"]) == ("passed", True)
    assert (outcome.code, facts["qualification"]) == (5, "undecided")
    said = desk.project.evalsite("gate", "gated").out
    assert "Calibration gate binary, run again, labels human-a:" in said
    assert "54 more of these labels" in said


def test_a_run_that_declares_no_gate_is_decided_as_before(desk):
    facts = json.loads(desk.project.ok("gate", "plain", "--json").out)
    assert (facts["qualification"], facts["calibration_gates"], facts["exit_code"]) == ("passed", [], 0)


def test_the_calibration_is_recorded_and_derived_again(desk):
    assert "recorded: again against human-a, INSUFFICIENT" in desk.project.ok("calibrate", "again", "--record").err
    report = json.loads(desk.project.ok("verify", "--json").out)
    (check,) = [check for check in report["checks"] if check["step"] == 29]
    assert check["checked"] == 2, "the items of the labels, and the calibration"
