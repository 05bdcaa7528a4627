# SPDX-License-Identifier: Apache-2.0
"""Judges of the other protocols, live: controls first, framing, guards; checks by code (R47, R83, R88)."""

import json
from dataclasses import replace

import pytest
from support import yaml_text
from support.cli import new_project
from support.fake_ollama import FakeOllama

from evalsite.campaign import execute, planning
from evalsite.corpus.load import load_corpus
from evalsite.endpoint.ollama import OllamaEndpoint

GRADED, EVIDENCE, BINARY = "card-rules-v1", "evidence-claims-v1", "support-behaviors-v1"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return new_project(tmp_path_factory.mktemp("controls"), GRADED, EVIDENCE, BINARY)


@pytest.fixture(scope="module")
def graded(project):
    return load_corpus(project.root / "corpora" / GRADED)


@pytest.fixture(scope="module")
def evidence(project):
    return load_corpus(project.root / "corpora" / EVIDENCE)


def grader(loaded, *, grade=None, nonce=None):
    """A judge that knows labels and controls by heart; ``grade`` overrides by (shown, text, best)."""
    labels = {label.dimension: {} for one in loaded.label_sets for label in one.labels}
    for one in loaded.label_sets:
        for label in one.labels:
            labels[label.dimension][label.case_id] = label.value
    best = {}
    for case in loaded.corpus.cases:
        for dimension, values in labels.items():
            best[case.answer, dimension.value == "faithfulness"] = values[case.id]
    for control in loaded.corpus.controls:
        high = control.polarity.value == "positive"
        best[control.answer, control.dimension.value == "faithfulness"] = 100 if high else 0

    def answer(prompt):
        shown = json.loads(prompt)
        score = best[shown["answer"], "rules" in shown["cards"][0]]
        if grade is not None:
            score = grade(shown, score)
        end = shown["end_of_cards"] if nonce is None else nonce
        return json.dumps({"score": score, "reason": "By heart.", "end_of_card": end})

    return answer


def scorer(loaded, *, score=None):
    """The same for the evidence protocol; cites the last record."""
    labels = {label.case_id: label.value for one in loaded.label_sets for label in one.labels}
    best = {case.explanation: labels[case.id] for case in loaded.corpus.cases}
    best |= {control.explanation: int(control.polarity.value == "positive") for control in loaded.corpus.controls}

    def answer(prompt):
        shown = json.loads(prompt)
        given = best[shown["explanation"]] if score is None else score(shown, best[shown["explanation"]])
        cited = [len(shown["evidence"]) - 1] if shown["evidence"] else []
        return json.dumps({"score": given if cited else None, "reason": "By heart.", "evidence": cited})

    return answer


def run(project, corpus, name, answer, *, verified=0, **changes):
    """Run a live campaign; return what the gate says, if the record verifies."""
    with FakeOllama(answer=answer) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 5}}
        role["sampling"] = {"context_tokens": 32768}
        path = project.campaign(name, corpus=corpus, candidate=None, judge=role, **changes)
        project.ok("run", path, "--run-id", name)
    outcome = project.evalsite("verify", name, "--json")
    assert outcome.code == verified, outcome
    if verified:
        return {finding["code"] for check in json.loads(outcome.out)["checks"] for finding in check["findings"]}
    return json.loads(project.evalsite("gate", name, "--json").out)


def events(project, name):
    text = (project.root / "runs" / name / "events" / "000.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def codes(facts):
    return {reason["code"] for reason in facts["reasons"]}


def test_controls_come_first_and_every_judge_call_says_what_was_shown(project, graded):
    facts = run(project, GRADED, "fair", grader(graded))
    assert (facts["calibration_passed"], codes(facts)) == (True, set())
    found = events(project, "fair")
    kinds = [event["trial"]["kind"] for event in found if event["type"] == "trial.ended"]
    controls = len(graded.corpus.controls)
    assert kinds == ["control"] * controls + ["case"] * 2 * len(graded.corpus.cases)
    assert [one["control_id"] for one in found[0]["plan"]["controls"]] == [one.id for one in graded.corpus.controls]
    for event in found:
        if event["type"] == "call.recorded":
            framing, dimension = event["call"]["framing"], event["call"]["trial"]["dimension"]
            assert framing["rendered_chars"] == framing["sent_chars"] > 0
            assert framing["mode"] == ("full" if dimension == "faithfulness" else "head")
            assert len(framing["nonce"]) == 8
    assert "there was no candidate" in facts["independence"]


def test_a_judge_that_never_sees_the_end_has_no_grade_at_all(project, graded):
    facts = run(project, GRADED, "no-end", grader(graded, nonce="00000000"))
    assert facts["by_status"] == {"ContractError": 2 * len(graded.corpus.cases)}
    assert all("EndOfCardNotSeen" in reason["message"] for reason in facts["reasons"])
    assert facts["calibration_passed"] is False


def test_r129_a_judge_that_is_shown_heads_only_is_caught_by_tail_controls_and_by_the_guard(project, graded):
    """The mutation: rules that are cut away cannot be seen broken, and everything looks faithful."""

    def without_rules(shown, best):
        return 100 if "rules" in shown["cards"][0] else best

    facts = run(project, GRADED, "heads", grader(graded, grade=without_rules))
    assert {"calibration-tail-missed", "calibration-uniform-high", "calibration-injection-obeyed"} <= codes(facts)
    assert facts["calibration_passed"] is False
    assert {reason["side"] for reason in facts["reasons"]} == {"judge"}


def test_the_evidence_protocol_has_controls_of_its_own(project, evidence):
    facts = run(project, EVIDENCE, "fair-evidence", scorer(evidence))
    assert (facts["calibration_passed"], codes(facts)) == (True, set())

    def reads_three(shown, best):
        asks = any("score of 1" in text for text in (shown["explanation"], *shown["evidence"]))
        return 1 if len(shown["evidence"]) > 5 or asks else best

    facts = run(project, EVIDENCE, "short-sighted", scorer(evidence, score=reads_three))
    assert {"calibration-tail-missed", "calibration-injection-obeyed"} == codes(facts)


def test_a_prompt_that_was_cut_on_the_way_is_recorded_as_cut_and_yields_no_score(project, evidence, monkeypatch):
    whole = OllamaEndpoint.ask

    async def ask(endpoint, question):
        return await whole(endpoint, replace(question, prompt=question.prompt[:60]))

    monkeypatch.setattr(OllamaEndpoint, "ask", ask)
    facts = run(project, EVIDENCE, "cut", lambda _: '{"score":1,"reason":"Fine.","evidence":[0]}')
    assert facts["by_status"] == {"TransportError": len(evidence.corpus.cases)}
    assert all("TruncatedPrompt" in reason["message"] for reason in facts["reasons"])


@pytest.mark.parametrize("field", ["sent_chars", "rendered_chars", "nonce", "mode"])
def test_a_framing_that_says_something_else_is_refused(project, graded, monkeypatch, field):
    honest = execute._framing
    wrong = {"sent_chars": 7, "rendered_chars": 7, "nonce": "00000000", "mode": "evidence"}[field]

    def lie(question, request):
        told = honest(question, request)
        return told if told is None else told.model_copy(update={field: wrong})

    monkeypatch.setattr(execute, "_framing", lie)
    assert "framing" in run(project, GRADED, f"lie-{field.replace('_', '-')}", grader(graded), verified=4)


def test_a_closed_prompt_cannot_go_without_its_framing(project, graded, monkeypatch):
    monkeypatch.setattr(execute, "_framing", lambda *_: None)
    assert "framing" in run(project, GRADED, "untold", grader(graded), verified=4)


def test_a_plan_that_leaves_the_controls_out_is_refused(project, evidence, monkeypatch):
    monkeypatch.setattr(planning, "planned_controls", lambda *_: None)
    assert run(project, EVIDENCE, "uncontrolled", scorer(evidence), verified=4) == {"control-table"}


def test_a_plan_that_expects_anything_of_its_controls_is_refused(project, evidence, monkeypatch):
    honest = planning.planned_controls

    def lenient(book, mode, calibration):
        return tuple(one.model_copy(update={"lowest": 0, "highest": 1}) for one in honest(book, mode, calibration))

    monkeypatch.setattr(planning, "planned_controls", lenient)
    assert run(project, EVIDENCE, "lenient", scorer(evidence), verified=4) == {"control-table"}


def test_code_decides_what_no_judge_is_asked(project):
    """R47: the judge's stand-in accepts, code does not; the record is derived again with the same check."""
    folder = project.root / "corpora" / BINARY
    value = yaml_text.load(folder / "corpus.yaml")
    case = value["cases"][0]
    word = case["positive_reference"]["response"].split()[0].strip(".,")
    check = {"kind": "pattern", "name": "first-word", "pattern": f"^{word}", "found": True, "ignore_case": False}
    case["checks"] = [check]
    value["name"] = "checked"
    checked = project.root / "corpora" / "checked"
    (checked / "campaigns").mkdir(parents=True)
    yaml_text.dump(value, checked / "corpus.yaml")
    yaml_text.dump(yaml_text.load(folder / "campaigns" / "fixture.yaml"), checked / "campaigns" / "fixture.yaml")
    project.ok("run", "corpora/checked/campaigns/fixture.yaml", "--run-id", "checked")
    project.ok("gate", "checked")
    reply = {**case["positive_reference"], "response": "Something else."}
    fixture = {"kind": "fixture", "replies": [{"case_id": case["id"], "role": "candidate", "text": json.dumps(reply)}]}
    path = project.campaign("unchecked", corpus="checked", candidate={"endpoint": fixture})
    project.ok("run", path, "--run-id", "unchecked")
    project.ok("verify", "unchecked")
    outcome = project.evalsite("gate", "unchecked")
    assert outcome.code == 3
    assert "the answer does not fulfil the check by code first-word [R47]" in outcome.out


def test_the_site_shows_such_runs_with_their_controls(tmp_path, graded, evidence):
    """Controls have no case of their own: their pages say what they try."""
    project = new_project(tmp_path, GRADED, EVIDENCE)
    run(project, GRADED, "shown-cards", grader(graded))
    run(project, EVIDENCE, "shown-evidence", scorer(evidence, score=lambda *_: 1))
    project.ok("build", "--into", "shown")
    page = (project.root / "shown" / "runs" / "shown-evidence" / "calibration.html").read_text("utf-8")
    for control in evidence.corpus.controls:
        assert control.id in page
