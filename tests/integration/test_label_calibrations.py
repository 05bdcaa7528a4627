# SPDX-License-Identifier: Apache-2.0
"""Recorded calibrations of a live judge: derived again by every verification, in the order of the log."""

import json

import pytest
from support.cli import new_project
from support.fake_ollama import FakeOllama

from evalsite.campaign.labelling import load_labels
from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.ledger.writer import open_ledger

CORPUS = "evidence-claims-v1"
LATER = "2026-12-31T00:00:00Z"


def says_yes(_prompt):
    return '{"score":1,"reason":"Fine.","evidence":[0]}'


@pytest.fixture
def project(tmp_path):
    """A project with sealed labels of two annotators' worth: 1 and 0 in turn."""
    made = new_project(tmp_path, CORPUS)
    made.ok("label", "sheet", "--corpus", CORPUS, "--into", "a.yaml")
    path = made.root / "a.yaml"
    sheet = read_sheet(path).sheet
    items = [item.model_copy(update={"label": number % 2}) for number, item in enumerate(sheet.items)]
    write_sheet(path, sheet.model_copy(update={"items": tuple(items)}))
    made.ok("label", "commit", "a.yaml", "--name", "human-a", "--level", "human-blind-anchored")
    return made


def judged(project, run_id, server):
    """Let a live judge that always says yes judge the corpus, with the labels named."""
    role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 1}}
    calibration = {"commitments": {"human-a": "sealed"}, "gates": [{"criterion": "evidence", "run": None}]}
    path = project.campaign(run_id, corpus=CORPUS, candidate=None, judge=role, calibration=calibration)
    project.ok("run", path, "--run-id", run_id)


def lie(project, **changes):
    """Log a calibration as a holder of the keys could: the newest one, changed."""
    keys = project.keystore
    with open_ledger(project.root, keys, "test") as writer:
        entry = writer.labels.book.calibrations[-1].plain()
        body = {name: entry[name] for name in ("run", "commitment", "lock", "attempt", "seal")}
        writer._desk.log.append("calibration.recorded", {**body, **changes}, now=LATER)
        writer._desk.log.sign()


def test_a_recorded_calibration_is_derived_again(project) -> None:
    with FakeOllama(answer=says_yes) as server:
        judged(project, "run-1", server)
        judged(project, "run-2", server)
    project.ok("label", "reveal", "human-a")
    for run_id in ("run-1", "run-2"):
        project.evalsite("calibrate", run_id, "--record")
    project.ok("verify")
    book = load_labels(project.root, "test", pins={})
    assert [(entry.run, entry.attempt) for entry in book.calibrations] == [("run-1", 1), ("run-2", 2)]
    seal = book.calibrations[0].seal
    assert (seal.labeled, seal.agreed, seal.false_pass, seal.false_fail) == (32, 16, 16, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"agreed": 32, "false_pass": 0},
        {"outcome": "PASS"},
        {"labeled": 16, "judged": 16, "agreed": 16, "false_pass": 0},
    ],
    ids=["counts", "outcome", "fewer labels"],
)
def test_a_recorded_calibration_that_says_more_is_refused(project, change) -> None:
    with FakeOllama(answer=says_yes) as server:
        judged(project, "run-1", server)
    project.ok("label", "reveal", "human-a")
    project.evalsite("calibrate", "run-1", "--record")
    project.ok("verify")
    seal = load_labels(project.root, "test", pins={}).calibrations[0].seal.plain()
    lie(project, seal={**seal, **change})
    outcome = project.evalsite("verify", "--json")
    assert outcome.code == 4
    findings = [finding for check in json.loads(outcome.out)["checks"] for finding in check["findings"]]
    assert {finding["code"] for finding in findings} == {"labels.calibration"}
