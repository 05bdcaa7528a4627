# SPDX-License-Identifier: Apache-2.0
"""The main job through the command line: campaign, record, verification, gate."""

import json
import os
import shutil
import socket

import pytest
from support import yaml_text
from support.cli import new_project

FIXTURE = "corpora/support-behaviors-v1/campaigns/fixture.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with one sealed fixture run named ``first``."""
    made = new_project(tmp_path_factory.mktemp("loop"))
    made.ok("run", FIXTURE, "--run-id", "first")
    return made


def test_fixture_run_verifies_and_passes_its_gate(project):
    assert "Intact" in project.ok("verify").out
    gate = project.ok("gate", "first")
    assert "fixture gate       passed" in gate.out
    assert "not applicable: no model was asked" in gate.out


def test_gate_json_holds_the_same_facts(project):
    facts = json.loads(project.ok("gate", "first", "--json", "--no-remember").out)
    assert facts["fixture_gate"] == "passed"
    assert facts["model_gate"] == "not applicable"
    assert facts["calibration_passed"] is None
    assert (facts["expected"], facts["observed"]) == (16, 16)
    assert facts["evidence_level"] == "A1"


def test_verify_json_counts_every_step(project):
    facts = json.loads(project.ok("verify", "first", "--json").out)
    assert facts["exit_code"] == 0
    assert all(check["checked"] > 0 for check in facts["checks"] if check["area"] == "integrity")


def test_a_fast_verification_says_what_it_did_not_do(project, tmp_path):
    told = project.ok("verify", "--fast").out
    assert "lines were hashed and not read" in told
    facts = json.loads(project.ok("verify", "first", "--fast", "--json").out)
    assert facts["verdicts"]["availability"] == "nothing checked"
    assert "fast" in facts["notes"][0]
    stranger = type(project)(project.root, tmp_path / "no-keys")
    assert stranger.evalsite("verify", "first", "--fast").code == 5, "below the level that the ledger asks for"
    assert stranger.evalsite("verify", "--fast").code == 5


def test_without_the_pin_the_level_is_below_what_the_ledger_asks(project, tmp_path):
    """A0 is said in words, and is not enough where A1 is asked."""
    stranger = type(project)(project.root, tmp_path / "no-keys")
    verified = stranger.evalsite("verify")
    assert verified.code == 5
    assert "A0" in verified.out
    assert stranger.evalsite("gate", "first").code == 5


def test_a_stated_root_key_pins_and_a_wrong_one_is_an_integrity_failure(project, tmp_path):
    stranger = type(project)(project.root, tmp_path / "no-keys")
    listed = project.ok("keys", "list").out
    fingerprint = next(word for word in listed.split() if word.startswith("sha256:"))
    assert stranger.evalsite("verify", "--root-key", f"test={fingerprint}").code == 0
    assert stranger.evalsite("verify", "--root-key", f"test=sha256:{'0' * 64}").code == 4


SCRIPTED = {
    "contract-error": ({"case_id": "MISSING", "role": "candidate", "text": "Of course!"}, "a reply broke its contract"),
    "missing-answer": (
        {"case_id": "MISSING", "role": "candidate", "fault": "missing"},
        "the endpoint delivered no content",
    ),
    "timeout": ({"case_id": "MISSING", "role": "candidate", "fault": "timeout"}, "no usable reply came (ReadTimeout)"),
    "judge-timeout": (
        {"case_id": "MISSING", "role": "judge", "fault": "timeout"},
        "no usable reply came (ReadTimeout)",
    ),
}


@pytest.mark.parametrize("name", SCRIPTED)
def test_one_failure_refuses_with_its_own_reason(project, name):
    """R50-R57: exit 3, and the reason names the trials."""
    reply, words = SCRIPTED[name]
    role = {"endpoint": {"kind": "fixture", "replies": [reply]}}
    path = project.campaign(name, **{reply["role"]: role})
    project.ok("run", path, "--run-id", name)
    refused = project.evalsite("gate", name)
    assert refused.code == 3
    assert words in refused.out
    assert "MISSING #1, MISSING #2" in refused.out
    side = "Judge (not the candidate's failure)" if reply["role"] == "judge" else "Candidate:"
    assert side in refused.out
    assert project.evalsite("verify", name).code == 0


def test_an_empty_campaign_is_recorded_and_refused(project):
    """R51."""
    project.ok("run", project.campaign("nothing", cases=[]), "--run-id", "nothing")
    refused = project.evalsite("gate", "nothing")
    assert refused.code == 3
    assert "the campaign planned no case [R51]" in refused.out


def test_an_unreachable_server_is_exit_7_and_writes_nothing(project):
    role = {"endpoint": {"kind": "ollama", "host": "http://127.0.0.1:9", "model_name": "none"}}
    before = sorted(path.name for path in (project.root / "runs").iterdir())
    failed = project.evalsite("run", project.campaign("unreachable", candidate=role, judge=role))
    assert failed.code == 7
    assert sorted(path.name for path in (project.root / "runs").iterdir()) == before
    assert project.evalsite("verify").code == 0


def test_an_unknown_run_is_an_input_error(project):
    assert project.evalsite("gate", "no-such-run").code == 2
    assert project.evalsite("verify", "no-such-run").code == 2


def test_change_of_private_fields_leaves_the_candidate_messages_alone(project):
    """R7, through the command line: digests of what the candidate is sent stay equal."""
    corpus = project.root / "corpora" / "support-behaviors-v1" / "corpus.yaml"
    before = json.loads(project.ok("corpus", "show", "support-behaviors-v1", "--json").out)
    original = corpus.read_bytes()
    try:
        changed = original.decode("utf-8")
        for case in before["cases"]:
            changed = changed.replace(f"id: {case['case_id']}\n", f"id: {case['case_id']}-CHANGED\n")
        changed = changed.replace("expected_action: clarify", "expected_action: abstain")
        changed = changed.replace("critical: true", "critical: false")
        corpus.write_bytes(changed.encode("utf-8"))
        after = json.loads(project.ok("corpus", "show", "support-behaviors-v1", "--json").out)
    finally:
        corpus.write_bytes(original)
    assert after["fingerprint"] != before["fingerprint"]
    messages = [[case["candidate_message"] for case in facts["cases"]] for facts in (before, after)]
    assert messages[0] == messages[1]


def test_a_caller_can_ask_for_more_than_the_ledger_does(tmp_path):
    """A ledger that asks for A0 does not lower what a pipeline asks for."""
    project = new_project(tmp_path)
    project.ok("keys", "init", "--ledger", "lax", "--minimum-level", "A0")
    project.ok("run", FIXTURE, "--run-id", "first", "--ledger", "lax")
    stranger = type(project)(project.root, tmp_path / "no-keys")
    assert stranger.evalsite("gate", "first").code == 0
    assert stranger.evalsite("gate", "first", "--minimum-level", "A1").code == 5
    assert stranger.evalsite("verify", "first", "--minimum-level", "A1").code == 5


def test_a_project_without_runs_is_never_in_order_and_builds_an_empty_site(tmp_path):
    """Nothing to verify is not decided; a newcomer's first build works and claims nothing."""
    project = new_project(tmp_path)
    assert project.evalsite("verify").code == 5
    project.ok("build")
    assert "Qualified</" not in (project.root / "site" / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["keys", "runs/keys", "."])
def test_private_keys_are_never_written_into_the_project(project, place):
    inside = type(project)(project.root, project.root / place)
    refused = inside.evalsite("keys", "init", "--ledger", "inside")
    assert refused.code == 2
    assert "outside the project" in refused.err
    assert not (project.root / place / "inside").exists()
    assert not (project.root / "runs" / "trust" / "inside").exists()


def test_a_pinned_ledger_that_is_gone_is_not_decided(tmp_path, monkeypatch):
    """Whoever takes a ledger away and puts one of their own there that asks for nothing is noticed."""
    made = new_project(tmp_path)
    made.ok("keys", "init", "--ledger", "other", "--minimum-level", "A0")
    made.ok("run", FIXTURE, "--run-id", "theirs", "--ledger", "other")
    shutil.rmtree(made.root / "runs" / "trust" / "test")
    shutil.rmtree(made.root / "runs" / "log" / "test")
    stranger = type(made)(made.root, tmp_path / "no-keys")
    assert stranger.evalsite("verify").code == 0
    pin = f"test=sha256:{'0' * 64}"
    stated = stranger.evalsite("verify", "--root-key", pin)
    assert (stated.code, "ledger test: pinned by you, not in this project" in stated.out) == (5, True)
    monkeypatch.setenv("EVALSITE_ROOT_KEYS", pin)
    assert stranger.evalsite("verify", "--json").code == 5


LONG = "a" * 5000


@pytest.mark.parametrize(
    "words",
    [
        ("init", "mkdocs.yml/below"),
        ("demo", "--into", "mkdocs.yml/below"),
        ("build", "--into", "mkdocs.yml"),
        ("build", "--into", "mkdocs.yml/below"),
        ("gate", LONG),
        ("corpus", "show", LONG),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_a_path_that_the_system_refuses_is_an_input_error(project, words):
    refused = project.evalsite(*words)
    assert refused.code == 2, refused
    assert refused.err.count("evalsite: ") == 1


def test_a_taken_port_is_an_input_error(project):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = project.evalsite("serve", "--port", str(taken.getsockname()[1]))
    assert refused.code == 2
    assert "--port 0" in refused.err


@pytest.mark.parametrize("stated", ["9" * 17, "\u00b2", "-1", ""])
def test_an_epoch_that_is_no_time_is_an_input_error(project, monkeypatch, stated):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", stated)
    refused = project.evalsite("build")
    assert (refused.code, "SOURCE_DATE_EPOCH" in refused.err) == (2, True)


@pytest.mark.parametrize("name", ["2026", "null", "a: b", "#x", "[l", '{{ "x" }}', "it's", "caf\u00e9", "\udcff"])
def test_a_new_project_keeps_its_folders_name_and_is_a_project(project, tmp_path, name):
    outside = type(project)(tmp_path, project.keystore)
    outside.ok("init", name)
    settings = yaml_text.load(tmp_path / name / "mkdocs.yml")
    assert settings["site_name"] == name.replace("\udcff", "\\udcff")


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nIntact.", b"\x1b[2J\x1b[32mok", "pass\u202e".encode()])
def test_a_file_name_can_neither_break_nor_forge_a_report(project, name):
    strange = project.root / "runs" / "first" / os.fsdecode(name)
    strange.touch()
    try:
        told = project.evalsite("verify", "first")
        report = project.evalsite("verify", "--json")
    finally:
        strange.unlink()
    assert (told.code, report.code) == (4, 4)
    assert all(line.isprintable() and not line.startswith("Intact") for line in told.out.splitlines())
    assert any(finding["at"] for check in json.loads(report.out)["checks"] for finding in check["findings"])
    assert json.loads(report.out)["exit_code"] == 4


@pytest.mark.parametrize("option", ["--resume", "--run-id"])
def test_an_empty_name_starts_no_run(project, option):
    before = sorted(path.name for path in (project.root / "runs").iterdir())
    refused = project.evalsite("run", FIXTURE, option, "")
    assert (refused.code, option in refused.err) == (2, True)
    assert sorted(path.name for path in (project.root / "runs").iterdir()) == before


def test_corpus_check_reads_the_policy_as_the_build_does(tmp_path):
    made = new_project(tmp_path)
    made.ok("corpus", "check")
    policy = made.root / "corpora" / "support-behaviors-v1" / "policy.yaml"
    policy.write_bytes(policy.read_bytes() + b"extra: 1\n")
    refused = made.evalsite("corpus", "check")
    assert refused.code == 2
    assert "policy.yaml" in refused.err
