# SPDX-License-Identifier: Apache-2.0
"""Recorded answers before a judge again: who is asked, what is recorded, and what a verification compares (R97, T6)."""

import asyncio
import json
import re
import shutil
from pathlib import Path

import pytest
from support.cli import Project, new_project
from support.fake_ollama import FakeOllama, Fault
from support.showcase import words_of

from evalsite.campaign import rejudge
from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.cli.progress import PlainWatcher
from evalsite.endpoint.replay import ReplayEndpoint

CORPUS = "support-behaviors-v1"
CASES = ["DELIVERY", "TONE"]
YES = '{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"Fine."}'
NO = '{"required_behavior_met":false,"forbidden_behavior_absent":false,"explanation":"Breaks the policy."}'


class Desk:
    """A server that plays both roles, and counts whom it was asked for."""

    def __init__(self) -> None:
        self.answers = self.judged = 0
        self.verdict = lambda: YES

    def __call__(self, prompt: str) -> str:
        data = json.loads(prompt)
        if "answer" not in data:
            self.answers += 1
            return json.dumps({"action": "assist", "response": f"Answer {self.answers}.", "refused": False})
        self.judged += 1
        return self.verdict()


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A project with the sealed fixture run ``played`` and the sealed evidence run ``claims``."""
    project = new_project(tmp_path_factory.mktemp("rejudge"), CORPUS, "evidence-claims-v1")
    project.ok("run", project.campaign("one", cases=CASES, repetitions=2), "--run-id", "played")
    claims = project.campaign("few", corpus="evidence-claims-v1", cases=None, repetitions=1)
    project.ok("run", claims, "--run-id", "claims")
    return project


@pytest.fixture
def project(pristine, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(pristine.root.parent, tmp_path / "copy")
    return Project(tmp_path / "copy" / "project", tmp_path / "copy" / "keys")


@pytest.fixture
def desk():
    """A server for both roles."""
    return Desk()


@pytest.fixture
def server(desk):
    """The server, running."""
    with FakeOllama(answer=desk) as running:
        yield running


@pytest.fixture
def answered(project, server):
    """A project with the sealed live run ``asked``: two answers to each of two cases, each unlike the others."""
    role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 5}}
    role["sampling"] = {"context_tokens": 32768}
    path = project.campaign("live", candidate=role, judge=role, cases=CASES, repetitions=2)
    project.ok("run", path, "--run-id", "asked")
    return project


def events(project, run):
    """Return the events of a run."""
    text = (project.root / "runs" / run / "events" / "000.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def statuses(project, run):
    """Return status and stage of each case trial that ended."""
    ended = [event for event in events(project, run) if event["type"] == "trial.ended"]
    return [(e["result"]["status"], e["result"]["stage"]) for e in ended if e["trial"]["kind"] == "case"]


def judged_answers(project, run):
    """Return the answer that the judge was shown in each case trial, in order."""
    found = []
    for event in events(project, run):
        if event["type"] == "call.recorded" and event["call"]["stage"] == "judge":
            digest = event["call"]["request"]
            raw = (project.root / "runs" / run / "blobs" / digest[7:9] / digest[7:]).read_bytes().split(b"\n", 2)[2]
            prompt = json.loads(raw)["messages"][-1]["content"]
            found.append(json.loads(prompt)["answer"]["response"])
    return found


def step(project, *words, code=0):
    """Return how many items step 30 looked at, and what it found."""
    outcome = project.evalsite("verify", *words, "--json")
    assert outcome.code == code, outcome
    checks = [check for check in json.loads(outcome.out)["checks"] if check["step"] == 30]
    return sum(check["checked"] for check in checks), [one["message"] for check in checks for one in check["findings"]]


class TestOnlyTheJudgeIsAsked:
    """A live judge over recorded answers."""

    def test_answers_come_in_their_order_and_nobody_gives_new_ones(self, answered, desk) -> None:
        before, judged = desk.answers, desk.judged
        answered.ok("rejudge", "asked", "--run-id", "again")
        assert desk.answers == before == 4
        assert desk.judged - judged == 2 * len(CASES) + 4, "both controls of each case, then every answer"
        assert judged_answers(answered, "again") == judged_answers(answered, "asked")
        stages = [event["call"]["stage"] for event in events(answered, "again") if event["type"] == "call.recorded"]
        assert stages[:4] == ["calibration"] * 4
        assert step(answered) == (5, [])

    def test_the_plan_names_the_run_and_no_gate_opens(self, answered, desk) -> None:
        controls = [YES, NO] * len(CASES)
        desk.verdict = lambda: controls.pop(0) if controls else YES
        answered.ok("rejudge", "asked", "--run-id", "again")
        plan = events(answered, "again")[0]["plan"]
        closed = [entry for entry in log(answered) if entry["type"] == "run.closed" and entry["run"] == "asked"]
        assert plan["answers"] == {
            "run": "asked",
            "root": closed[0]["root"],
            "statement": closed[0]["statement"],
            "repetitions": 2,
        }
        assert plan["mode"] == "live"
        assert plan["candidate"]["identity"]["replayed_run"] == "asked"
        outcome = answered.evalsite("gate", "again")
        assert outcome.code == 5
        assert "recorded answers of asked were judged again, no candidate was asked" in outcome.out
        facts = json.loads(answered.evalsite("gate", "again", "--json").out)
        assert (facts["model_gate"], facts["fixture_gate"]) == ("not applicable", "not applicable")
        assert facts["calibration_passed"] is True

    def test_every_answer_is_judged_as_often_as_wanted(self, answered, desk) -> None:
        verdicts = [YES] * 4 + [YES, YES, YES, YES, NO, YES, YES, YES]
        desk.verdict = lambda: verdicts.pop(0)
        answered.ok("rejudge", "asked", "--repetitions", "2", "--run-id", "twice")
        once = judged_answers(answered, "asked")
        assert judged_answers(answered, "twice") == once * 2
        assert step(answered, "twice") == (9, [])
        report = json.loads(answered.ok("calibrate", "twice", "--json").out)["repetition"]
        assert report["retested"] == 4
        assert (report["unanimous"]["count"], report["unanimous"]["of"]) == (3, 4)
        assert report["flaky"] == ["DELIVERY #1"]

    def test_another_model_or_another_campaign_gives_the_judge(self, answered, server) -> None:
        answered.ok("rejudge", "asked", "--judge-model", "stub", "--run-id", "other")
        plan = events(answered, "other")[0]["plan"]
        assert plan["judge"]["spec"]["endpoint"]["model_name"] == "stub"
        assert plan["campaign_name"] == "live"
        judge = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 5}}
        judge["sampling"] = {"context_tokens": 32768, "seed": 11}
        path = answered.campaign("judge-only", candidate=judge, judge=judge)
        answered.ok("rejudge", "asked", "--campaign", path, "--run-id", "stated")
        plan = events(answered, "stated")[0]["plan"]
        assert plan["judge"]["spec"]["sampling"]["seed"] == 11
        assert plan["candidate"]["spec"]["sampling"]["seed"] == 7
        assert plan["campaign_name"] == "judge-only"
        assert [case["case_id"] for case in plan["cases"]] == CASES
        answered.ok("compare", "asked", "other", "--variable", "judge")

    def test_a_stop_is_gone_on_with(self, answered, desk, monkeypatch) -> None:
        step_of = PlainWatcher.step

        def stop_after_one_answer(watcher, done):
            step_of(watcher, done)
            if done.done == 2 * len(CASES) + 1:
                asyncio.current_task().cancel("SIGTERM")

        with monkeypatch.context() as patched:
            patched.setattr(PlainWatcher, "step", stop_after_one_answer)
            stopped = answered.evalsite("rejudge", "asked", "--run-id", "stopped")
        assert stopped.code == 130
        assert "evalsite rejudge asked --resume stopped" in stopped.err
        refused = answered.evalsite("run", f"corpora/{CORPUS}/campaigns/live.yaml", "--resume", "stopped")
        assert refused.code == 2
        assert "evalsite rejudge asked --resume stopped" in refused.err
        wrong = answered.evalsite("rejudge", "played", "--resume", "stopped")
        assert wrong.code == 2
        before = desk.answers
        answered.ok("rejudge", "asked", "--resume", "stopped")
        assert desk.answers == before
        assert judged_answers(answered, "stopped") == judged_answers(answered, "asked")
        assert step(answered, "stopped") == (5, [])


class TestFailures:
    """What failed when the candidate was asked stays what it was."""

    def test_a_candidate_that_did_not_answer_is_not_judged_now(self, project, desk) -> None:
        faults = [None] * 4 + [Fault.HTTP_500, None, None, Fault.CUT]
        with FakeOllama(answer=desk, faults=faults) as server:
            role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 5}}
            role["sampling"] = {"context_tokens": 32768}
            path = project.campaign("failing", candidate=role, judge=role, cases=CASES, repetitions=2)
            project.ok("run", path, "--run-id", "failing")
            project.ok("rejudge", "failing", "--run-id", "again")
        assert statuses(project, "again") == statuses(project, "failing")
        assert [status for status, stage in statuses(project, "again") if stage == "candidate"] == [
            "TransportError",
            "ContractError",
        ]
        assert step(project, "again") == (5, [])


class TestLabels:
    """Labels of the answers, committed before the judge reads them."""

    def test_from_answers_to_counts(self, answered, desk) -> None:
        answered.ok("label", "freeze", "--run", "asked")
        answered.ok("label", "sheet", "--run", "asked", "--into", "a.yaml")
        path = answered.root / "a.yaml"
        sheet = read_sheet(path).sheet
        by_answer = {f"Answer {number}.": number % 2 for number in (1, 2, 3, 4)}
        label = {
            item.key: next(by_answer[text.text] for text in item.texts if text.title == "Answer")
            for item in sheet.items
        }
        items = tuple(item.model_copy(update={"label": label[item.key]}) for item in sheet.items)
        write_sheet(path, sheet.model_copy(update={"items": items}))
        answered.ok("label", "commit", "a.yaml", "--name", "human-a", "--level", "human-blind-anchored")
        desk.verdict = lambda: YES
        answered.ok(
            "rejudge", "asked", "--commitments", "human-a=sealed", "--repetitions", "2", "--run-id", "calibrated"
        )
        answered.ok("label", "reveal", "human-a")
        [criterion] = json.loads(answered.ok("calibrate", "calibrated", "--json").out)["criteria"]
        counts = criterion["counts"]
        assert (counts["labeled"], counts["judged"], counts["agreed"], counts["false_pass"]) == (4, 4, 2, 2)
        answered.ok("calibrate", "calibrated", "--record")
        answered.ok("verify")
        relying = {"commitments": {}, "gates": [{"criterion": "binary", "run": "calibrated"}]}
        role = events(answered, "asked")[0]["plan"]["judge"]["spec"]
        path = answered.campaign("relying", candidate=role, judge=role, cases=CASES, calibration=relying)
        answered.ok("run", path, "--run-id", "relying")
        [gate] = json.loads(answered.evalsite("gate", "relying", "--json").out)["calibration_gates"]
        assert (gate["run"], gate["labels"]) == ("calibrated", "human-a")
        assert gate["standing"] != "stale"
        assert gate["outcome"] != "PASS"

    def test_labels_of_other_answers_are_refused(self, answered) -> None:
        answered.ok("label", "freeze", "--run", "played")
        answered.ok("label", "freeze", "--run", "asked")
        answered.ok("label", "sheet", "--run", "played", "--into", "a.yaml")
        path = answered.root / "a.yaml"
        sheet = read_sheet(path).sheet
        write_sheet(
            path, sheet.model_copy(update={"items": tuple(i.model_copy(update={"label": 1}) for i in sheet.items)})
        )
        answered.ok("label", "commit", "a.yaml", "--name", "human-a", "--level", "human-blind-anchored")
        refused = answered.evalsite("rejudge", "asked", "--commitments", "human-a=sealed", "--run-id", "no")
        assert refused.code == 2
        assert "other texts" in refused.err
        assert not (answered.root / "runs/no").exists()


class TestVerification:
    """The answers are those of the run that the plan names, or the run is refused."""

    def test_answers_that_nobody_gave(self, project, monkeypatch) -> None:
        original = rejudge.answers_endpoint

        def swapped(source, times):
            endpoint = original(source, times)
            recorded = {key: list(replies) for key, replies in endpoint._waiting.items()}
            values = list(recorded.values())
            return ReplayEndpoint(endpoint._identity, dict(zip(recorded, reversed(values), strict=True)))

        monkeypatch.setattr(rejudge, "answers_endpoint", swapped)
        project.ok("rejudge", "played", "--run-id", "swapped")
        monkeypatch.undo()
        checked, found = step(project, "swapped", code=4)
        assert checked == 5
        assert len(found) == 4
        assert "the answer is not the one that played recorded" in found[0]
        assert step(project, code=4) == (checked, found)
        assert project.evalsite("gate", "swapped").code == 4

    def test_a_run_that_was_sealed_otherwise(self, project, monkeypatch) -> None:
        reference = rejudge._reference
        wrong = "sha256:" + "0" * 64
        monkeypatch.setattr(rejudge, "_reference", lambda run: reference(run).model_copy(update={"root": wrong}))
        project.ok("rejudge", "played", "--run-id", "other")
        monkeypatch.undo()
        _, found = step(project, "other", code=4)
        assert "played as it was sealed" in found[0]

    def test_a_run_that_is_gone_is_not_decided(self, project) -> None:
        project.ok("rejudge", "played", "--run-id", "again")
        shutil.rmtree(project.root / "runs/played")
        _, found = step(project, "again", code=5)
        assert "expected the run played" in found[0]
        assert project.evalsite("gate", "again").code == 5

    def test_the_record_is_checked_alone_by_whom_it_is_handed_to(self, project) -> None:
        project.ok("rejudge", "played", "--run-id", "again")
        project.ok("export", "audit", "again", "--into", "audit")
        fingerprint = re.search(r"sha256:[0-9a-f]{64}", project.ok("keys", "list").out)
        assert fingerprint is not None
        said = project.ok("verify", "audit", "--root-key", f"test={fingerprint.group()}").out
        assert "said to be those of the run played, which is not in this bundle" in said


REFUSED = {
    "evidence": (("claims",), 2, "Run its campaign again"),
    "no such run": (("nothing",), 2, "expected a run"),
    "a judge of a model over a fixture's answers": (("played", "--judge-model", "stub"), 2, "Ollama server"),
    "too often": (("played", "--repetitions", "51"), 2, "at most 100 verdicts"),
    "never": (("played", "--repetitions", "0"), 2, "--repetitions"),
    "labels without a split": (("played", "--commitments", "human-a"), 2, "NAME=sealed"),
    "labels with another split": (("played", "--commitments", "human-a=all"), 2, "--commitments"),
    "labels that nobody committed": (("played", "--commitments", "human-a=dev"), 2, "label freeze"),
    "a name that is none": (("played", "--run-id", ""), 2, "empty"),
    "a name that is taken": (("played", "--run-id", "played"), 2, "played"),
    "resume and more": (("played", "--resume", "x", "--repetitions", "2"), 2, "--resume alone"),
    "resume what is sealed": (("played", "--resume", "played"), 2, "sealed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_judged_again_is_refused_before_anything_is_written(pristine, name) -> None:
    words, code, said = REFUSED[name]
    before = sorted(path.name for path in (pristine.root / "runs").iterdir())
    outcome = pristine.evalsite("rejudge", *words)
    assert outcome.code == code, outcome
    assert said in outcome.err
    assert sorted(path.name for path in (pristine.root / "runs").iterdir()) == before


def test_answers_that_were_judged_again_are_not_judged_from_there(project) -> None:
    project.ok("rejudge", "played", "--run-id", "again")
    outcome = project.evalsite("rejudge", "again")
    assert outcome.code == 2
    assert "Judge the answers of played." in outcome.err


def test_a_campaign_over_other_texts_is_no_judge_of_these_answers(project) -> None:
    path = project.campaign("few", corpus="evidence-claims-v1")
    outcome = project.evalsite("rejudge", "played", "--campaign", path)
    assert outcome.code == 2
    assert "R95" in outcome.err


def test_its_page_says_what_it_is_and_it_decides_no_profile(project) -> None:
    project.ok("rejudge", "played", "--run-id", "again")
    project.ok("build")
    site = Path(project.root / "site")
    assert "The answers that played recorded were put before the judge again" in words_of(
        site / "runs/again/index.html"
    )
    assert "Candidate, as played recorded it" in words_of(site / "runs/again/index.html")
    assert "runs/played" in (site / "index.html").read_text(encoding="utf-8")


def log(project):
    """Return the entries of the project's log."""
    text = (project.root / "runs/log/test/entries/000.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
