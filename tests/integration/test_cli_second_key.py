# SPDX-License-Identifier: Apache-2.0
"""A ledger with a post-quantum key, by the commands: founded with it or given it later, handed over and verified."""

import json
import shutil
import stat

import pytest
from support.bundles import run_page, tools_missing
from support.cli import Project, new_project

SECOND = "log-ml-dsa-44"
needs_tools = pytest.mark.skipif(bool(tools_missing()), reason=f"not installed: {', '.join(tools_missing())}")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A project whose only ledger was founded with ``--post-quantum``, with one sealed run."""
    base = new_project(tmp_path_factory.mktemp("second"))
    shutil.rmtree(base.root / "runs")
    shutil.rmtree(base.keystore)
    base.ok("keys", "init", "--ledger", "pq", "--post-quantum")
    base.ok("run", base.campaign("one", repetitions=1), "--run-id", "first")
    return base


@pytest.fixture
def project(pristine, tmp_path):
    shutil.copytree(pristine.root.parent, tmp_path / "copy")
    return Project(tmp_path / "copy" / "project", tmp_path / "copy" / "keys")


def signatures(project, name):
    return (project.root / name).read_text(encoding="utf-8").count("\u2014 ")


def strip(project, name):
    path = project.root / name
    text, blank, lines = path.read_text(encoding="utf-8").partition("\n\n")
    path.write_text(text + blank + lines.splitlines(keepends=True)[0], encoding="utf-8")


def test_it_is_founded_with_and_verifies(project):
    assert stat.S_IMODE((project.keystore / f"pq/{SECOND}.pem").stat().st_mode) == 0o600
    assert signatures(project, "runs/log/pq/checkpoint") == 2
    assert signatures(project, "runs/first/checkpoint") == 2
    assert SECOND in project.ok("keys", "list", "--ledger", "pq").out
    for words in (("verify",), ("verify", "--fast"), ("verify", "first"), ("gate", "first"), ("build",)):
        project.ok(*words)
    project.ok("keys", "export", "--into", str(project.root.parent / "exported"))


def test_a_stripped_signature_is_told_at_every_door(project):
    strip(project, "runs/log/pq/checkpoints/3.note")
    outcome = project.evalsite("verify")
    assert (outcome.code, "two signatures" in outcome.out) == (4, True)
    for words in (("verify", "first"), ("gate", "first"), ("build",), ("keys", "rotate", "log")):
        assert project.evalsite(*words).code == 4, words


def test_a_ledger_without_one_gets_it_and_its_earlier_checkpoints_stay(tmp_path):
    project = new_project(tmp_path)
    project.ok("run", project.campaign("one", repetitions=1), "--run-id", "first")
    before = (project.root / "runs/log/test/checkpoints/4.note").read_bytes()
    assert "version 2" in project.ok("keys", "rotate", SECOND).out
    project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second")
    project.ok("verify")
    assert (project.root / "runs/log/test/checkpoints/4.note").read_bytes() == before
    assert signatures(project, "runs/log/test/checkpoints/4.note") == 1
    assert signatures(project, "runs/log/test/checkpoint") == 2
    strip(project, "runs/log/test/checkpoints/5.note")
    assert project.evalsite("verify").code == 4


def test_its_private_key_is_under_the_passphrase_of_the_others(project, monkeypatch):
    monkeypatch.setenv("EVALSITE_PASSPHRASE", "a passphrase")
    project.ok("keys", "init", "--ledger", "locked", "--passphrase", "--post-quantum")
    for role in ("root", "runner", "log", SECOND):
        assert b"ENCRYPTED" in (project.keystore / f"locked/{role}.pem").read_bytes()
    project.ok("keys", "rotate", SECOND, "--ledger", "locked")
    assert b"ENCRYPTED" in (project.keystore / f"locked/{SECOND}.pem").read_bytes()
    project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second", "--ledger", "locked")
    project.ok("verify", "second")


def test_bundles_hold_and_lose_nothing(project, tmp_path):
    case = json.loads((project.root / "runs/first/events/000.jsonl").read_bytes().split(b"\n")[1])["trial"]["case_id"]
    project.ok("export", "audit", "first", "--into", str(tmp_path / "audit"), "--tar")
    project.ok("export", "case", "first", case, "--into", str(tmp_path / "case"))
    for bundle in ("audit", "audit.tar.gz", "case"):
        project.ok("verify", str(tmp_path / bundle))


@needs_tools
def test_the_commands_for_strangers_check_the_first_signature(project, tmp_path):
    project.ok("export", "audit", "first", "--into", str(tmp_path / "audit"))
    done = run_page(tmp_path / "audit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Signature Verified Successfully") == 4


def test_a_witness_cosigns_it(project, tmp_path):
    person = Project(tmp_path, tmp_path / "nobody")
    vkey = person.ok("witness", "init", "--state", "w", "--name", "w1").out.strip()
    person.ok("witness", "watch", "--state", "w", str(project.root / "runs/trust/pq/log.vkey"))
    (tmp_path / "request").write_text(project.ok("anchor", "request", "--vkey", vkey).out)
    (project.root / "answer").write_text(person.ok("witness", "cosign", "--state", "w", "request").out)
    project.ok("anchor", "add", "--witness", "answer", "--vkey", vkey)
    project.ok("verify", "--witness", vkey, "--minimum-level", "A3")
