# SPDX-License-Identifier: Apache-2.0
"""Live mode through the command line, on a server without a model: calibration, death, replay (R41, R53, R66-R68)."""

import asyncio
import json

import pytest
from support.cli import new_project
from support.fake_ollama import FakeOllama, Fault
from support.showcase import words_of

from evalsite.cli.progress import PlainWatcher
from evalsite.corpus.load import load_corpus
from evalsite.schema.outcome import Polarity

YES = '{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"Fine."}'
NO = '{"required_behavior_met":false,"forbidden_behavior_absent":false,"explanation":"Breaks the policy."}'


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return new_project(tmp_path_factory.mktemp("live"), "support-behaviors-v1", "evidence-claims-v1")


@pytest.fixture(scope="module")
def corpus(project):
    return load_corpus(project.root / "corpora" / "support-behaviors-v1").corpus


def good_answers(corpus, *, judge_says=None):
    """A candidate that answers by the book and a judge that finds every counter-example, unless told otherwise."""
    references = {json.dumps(case.input.plain(), sort_keys=True): case.positive_reference for case in corpus.cases}
    bad = {case.negative_counterexample.response: case.id for case in corpus.cases}

    def answer(prompt):
        data = json.loads(prompt)
        if "answer" not in data:
            return references[json.dumps(data, sort_keys=True)].to_bytes().decode()
        case_id = bad.get(data["answer"]["response"])
        if judge_says is not None:
            return judge_says(case_id)
        return YES if case_id is None else NO

    return answer


def run(project, name, server, **changes):
    """Run a live campaign against a server; return what the gate says."""
    role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest", "timeout_s": 1}}
    role["sampling"] = {"context_tokens": 32768}
    project.ok("run", project.campaign(name, candidate=role, judge=role, repetitions=1, **changes), "--run-id", name)
    project.ok("verify", name)
    return json.loads(project.evalsite("gate", name, "--json").out)


def test_a_good_candidate_and_a_fair_judge_pass_the_model_gate(project, corpus):
    with FakeOllama(answer=good_answers(corpus)) as server:
        facts = run(project, "good", server)
    assert (facts["model_gate"], facts["fixture_gate"]) == ("passed", "not applicable")
    assert facts["calibration_passed"] is True
    assert facts["exit_code"] == 0


def test_one_accepted_counterexample_refuses_although_every_case_passed(project, corpus):
    """R53, R60, R68: the judge's failure refuses, and is not the candidate's."""
    says = {"INJECTION": YES, None: YES}
    with FakeOllama(answer=good_answers(corpus, judge_says=lambda case_id: says.get(case_id, NO))) as server:
        facts = run(project, "lenient", server)
    assert facts["model_gate"] == "refused"
    assert facts["by_status"] == {"Passed": 8}
    assert facts["critical_failures"] == 0
    assert [(reason["code"], reason["side"], reason["trials"]) for reason in facts["reasons"]] == [
        ("calibration-false-pass", "judge", ["INJECTION negative"])
    ]
    assert project.evalsite("gate", "lenient").code == 3


def test_a_server_that_dies_leaves_a_whole_record_of_what_happened(project, corpus):
    """What was recorded stays, the rest is recorded as connection errors, nothing is asked twice."""
    answer = good_answers(corpus)
    with FakeOllama() as server:

        def answer_and_die(prompt):
            if len(server.requests) > 18:
                server.stopping.set()
                server._server.shutdown()
                server._server.server_close()
            return answer(prompt)

        server.answer = answer
        original = answer_and_die
        server.answer = original
        facts = run(project, "dying", server)
    assert facts["model_gate"] == "refused"
    assert facts["by_status"].get("Passed")
    assert facts["by_status"].get("TransportError")
    assert sum(facts["by_status"].values()) == 8


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        (Fault.HANG, "TransportError", "ReadTimeout"),
        (Fault.HTTP_500, "TransportError", "HttpStatus500"),
        (Fault.BROKEN_JSON, "TransportError", "MalformedBody"),
        (Fault.NOT_DONE, "TransportError", "IncompleteReply"),
        (Fault.SHRUNKEN_COUNT, "TransportError", "ContextOverflow"),
        (Fault.CUT, "ContractError", "TruncatedReply"),
        (Fault.EMPTY_CONTENT, "MissingAnswer", "NoContent"),
        (Fault.LONE_SURROGATES, "ContractError", "NotUnicode"),
        (Fault.NONSENSE, "Violation", None),
    ],
)
def test_each_fault_of_a_server_refuses_as_what_it_is(project, corpus, fault, status, kind):
    controls = 2
    with FakeOllama(answer=good_answers(corpus), faults=[None] * controls + [fault]) as server:
        facts = run(project, f"fault-{fault.value.replace('_', '-')}", server, cases=["REFUND"])
    assert facts["model_gate"] == "refused"
    assert facts["by_status"] == {status: 1}
    assert {reason["side"] for reason in facts["reasons"]} == {"candidate"}
    if kind:
        assert kind in facts["reasons"][0]["message"]


def test_a_past_run_is_judged_again_from_its_recorded_replies(project, corpus):
    """R99 and the replay endpoint: same raw replies, same results, and no gate opens."""
    with FakeOllama(answer=good_answers(corpus)) as server:
        run(project, "recorded", server)
    role = {"endpoint": {"kind": "replay", "run": "recorded"}}
    path = project.campaign("again", candidate=role, judge=role, repetitions=1)
    project.ok("run", path, "--run-id", "again")
    facts = json.loads(project.evalsite("gate", "again", "--json").out)
    assert facts["by_status"] == {"Passed": 8}
    assert facts["model_gate"] == facts["fixture_gate"] == "not applicable"
    assert facts["exit_code"] == 5
    project.ok("verify", "again")


def test_a_replay_that_is_resumed_goes_on_with_the_next_recorded_reply(project, corpus, monkeypatch):
    """Repetitions share a prompt: the third must not get the first one's reply after a stop."""
    told = iter(["first", "second", "third"])

    def answer(prompt):
        if "answer" in json.loads(prompt):
            return good_answers(corpus)(prompt)
        return json.dumps({"action": "clarify", "response": next(told), "refused": False})

    with FakeOllama(answer=answer) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        role["sampling"] = {"context_tokens": 32768}
        path = project.campaign("thrice", candidate=role, judge=role, cases=["MISSING"], repetitions=3)
        project.ok("run", path, "--run-id", "thrice")
    role = {"endpoint": {"kind": "replay", "run": "thrice"}}
    path = project.campaign("stopped", candidate=role, judge=role, cases=["MISSING"], repetitions=3)
    step = PlainWatcher.step

    def stop_after_two_repetitions(watcher, done):
        step(watcher, done)
        if done.done == 4:  # two controls, two repetitions
            asyncio.current_task().cancel("SIGTERM")

    with monkeypatch.context() as patched:
        patched.setattr(PlainWatcher, "step", stop_after_two_repetitions)
        assert project.evalsite("run", path, "--run-id", "stopped").code == 130
    project.ok("run", path, "--resume", "stopped")
    assert replies_of(project, "stopped", "candidate") == replies_of(project, "thrice", "candidate")
    assert replies_of(project, "stopped", "judge") == replies_of(project, "thrice", "judge")
    project.ok("verify", "stopped")


def replies_of(project, run_id, role):
    """Return the digest of the reply that each trial of a run ended with."""
    text = (project.root / "runs" / run_id / "events" / "000.jsonl").read_text(encoding="utf-8")
    events = [json.loads(line) for line in text.splitlines()]
    ended = [event[f"{role}_call"] for event in events if event["type"] == "trial.ended"]
    calls = [events[seq]["call"]["reply"] for seq in ended if seq is not None]
    folder = project.root / "runs" / run_id / "blobs"
    return [(folder / digest[7:9] / digest[7:]).read_bytes().split(b"\n", 2)[2] for digest in calls]


def test_another_judge_of_the_same_server_is_recorded_as_such(project, corpus):
    """R38: --judge-model changes the judge's name only; an unknown one is exit 7 before anything is written."""
    with FakeOllama(answer=good_answers(corpus)) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        role["sampling"] = {"context_tokens": 32768}
        path = project.campaign("other-judge", candidate=role, judge=role, repetitions=1, cases=["TONE"])
        project.ok("run", path, "--judge-model", "stub", "--run-id", "other-judge")
        missing = project.evalsite("run", path, "--judge-model", "no-such", "--run-id", "no-judge")
    assert missing.code == 7
    assert not (project.root / "runs" / "no-judge").exists()
    line = (project.root / "runs" / "other-judge" / "events" / "000.jsonl").read_bytes().split(b"\n", 1)[0]
    plan = json.loads(line)["plan"]
    assert plan["judge"]["spec"]["endpoint"]["model_name"] == "stub"
    assert plan["candidate"]["spec"]["endpoint"]["model_name"] == "stub:latest"


def test_the_evidence_protocol_live_opens_no_gate_and_counts_null_apart(project):
    """R61, R62, T2: cannot-judge is neither a zero nor a failure to score."""
    corpus = load_corpus(project.root / "corpora" / "evidence-claims-v1").corpus
    right = [int(control.polarity is Polarity.POSITIVE) for control in corpus.controls]  # they are shown first
    texts = iter(
        [
            *(f'{{"score":{score},"reason":"As known.","evidence":[0]}}' for score in right),
            '{"score":null,"reason":"Too little.","evidence":[]}',
            "no JSON",
            '{"score":0,"reason":"No.","evidence":[0]}',
        ]
    )
    chosen = [case.id for case in corpus.cases[:3]]
    with FakeOllama(answer=lambda _: next(texts)) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        path = project.campaign("claims", corpus="evidence-claims-v1", judge=role, cases=chosen)
        project.ok("run", path, "--run-id", "claims")
    facts = json.loads(project.evalsite("gate", "claims", "--json").out)
    assert facts["by_status"] == {"CannotJudge": 1, "ContractError": 1, "Judged": 1}
    assert facts["exit_code"] == 5
    assert {reason["side"] for reason in facts["reasons"]} == {"judge"}


def test_a_replay_says_of_its_controls_what_is_true(project, corpus):
    """R54: controls were shown again, and calibration is null: neither absent nor failed."""
    with FakeOllama(answer=good_answers(corpus)) as server:
        live = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        live["sampling"] = {"context_tokens": 32768}
        run(project, "before", server, cases=["TONE"])
        replay = {"endpoint": {"kind": "replay", "run": "before"}}
        for name, judge in (("read-again", replay), ("judged-again", live)):
            path = project.campaign(name, candidate=replay, judge=judge, cases=["TONE"], repetitions=1)
            project.ok("run", path, "--run-id", name)
    project.ok("build")
    for name in ("read-again", "judged-again"):
        assert "known examples     not decided" in project.evalsite("gate", name).out
        run_page = words_of(project.root / "site" / "runs" / name / "index.html")
        calibration = words_of(project.root / "site" / "runs" / name / "calibration.html")
        assert "No control was shown" not in run_page
        assert "1 of 1 planned trials passed" in run_page
        assert ("No endpoint was asked." in run_page) == (name == "read-again")
        assert ("Only the judge was asked anew." in run_page) == (name == "judged-again")
        assert "The known-example check is neither passed nor failed" in calibration
        assert "did not pass" not in calibration


def test_an_empty_live_campaign_does_not_call_the_judge_wrong(project):
    """R51, R54: false, because nothing was shown; not because a control failed."""
    with FakeOllama() as server:
        facts = run(project, "nothing", server, cases=[])
    assert (facts["model_gate"], facts["calibration_passed"]) == ("refused", False)
    gate = project.evalsite("gate", "nothing").out
    assert "no control was shown" in gate
    assert "FAILED" not in gate


def test_a_campaign_over_a_part_of_the_corpus_says_so_wherever_it_says_qualified(tmp_path, corpus):
    part = new_project(tmp_path)
    with FakeOllama(answer=good_answers(corpus)) as server:
        facts = run(part, "part", server, cases=["MISSING"])
    assert facts["model_gate"] == "passed"
    assert "cases              1 of 8 of the corpus" in part.ok("gate", "part").out
    part.ok("build")
    for address in ("index.html", "runs/part/index.html"):
        assert "Only 1 of the corpus's 8 cases were planned." in words_of(part.root / "site" / address)


def test_a_fixture_run_is_not_replayed(project):
    """Its answers come from the corpus; what it recorded shows nothing that could be judged again."""
    project.ok("run", project.campaign("stand-in", cases=["TONE"]), "--run-id", "stand-in")
    role = {"endpoint": {"kind": "replay", "run": "stand-in"}}
    refused = project.evalsite("run", project.campaign("again-fixture", candidate=role, judge=role))
    assert refused.code == 2
    assert "is a fixture run" in refused.err


def test_the_command_line_says_what_judge_and_candidate_are_to_each_other(project, corpus):
    """R114, T18: the same model judges itself, and neither the run nor the gate calls that independent."""
    with FakeOllama(answer=good_answers(corpus)) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        role["sampling"] = {"context_tokens": 32768}
        path = project.campaign("self-judged", candidate=role, judge=role, repetitions=1, cases=["TONE"])
        said = project.ok("run", path, "--run-id", "self-judged").err
    words = "Judge and candidate are the same by digest or name, and ran on the same endpoint."
    assert words in " ".join(said.split())
    gate = project.evalsite("gate", "self-judged")
    assert words in gate.out
    assert json.loads(project.evalsite("gate", "self-judged", "--json").out)["independence"].startswith(words)
