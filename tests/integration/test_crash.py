# SPDX-License-Identifier: Apache-2.0
"""A campaign that is killed or interrupted in the middle can be finished, and shows it."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from support.cli import new_project

FIXTURE = "corpora/support-behaviors-v1/campaigns/fixture.yaml"


@pytest.fixture
def project(tmp_path):
    return new_project(tmp_path)


def events(project, run):
    folder = project.root / "runs" / run / "events"
    lines = b"".join(path.read_bytes() for path in sorted(folder.glob("*.jsonl"))).split(b"\n")
    return [json.loads(line) for line in lines if line]


def stop_in_the_middle(project, run, number, *, after=12):
    """Start a campaign as a process of its own and send it a signal after some events."""
    environment = os.environ | {"EVALSITE_KEYS": str(project.keystore)}
    command = [sys.executable, "-m", "evalsite", "run", FIXTURE, "--run-id", run]
    file = project.root / "runs" / run / "events" / "000.jsonl"
    with subprocess.Popen(
        command, cwd=project.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        deadline = time.monotonic() + 60
        while not (file.is_file() and file.read_bytes().count(b"\n") >= after):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(number)
        process.communicate(timeout=60)
    return process.returncode


def check_whole(project, run):
    """Every planned trial ended exactly once, and the record verifies."""
    ended = [json.dumps(event["trial"]) for event in events(project, run) if event["type"] == "trial.ended"]
    assert len(ended) == len(set(ended)) == 16
    project.ok("verify", run)
    project.ok("verify")
    project.ok("gate", run)


def test_kill_9_then_resume_gives_a_whole_record(project):
    assert stop_in_the_middle(project, "killed", signal.SIGKILL) == -signal.SIGKILL
    kept = events(project, "killed")
    assert kept[-1]["type"] != "run.closed"
    opened = project.evalsite("verify", "killed")
    assert opened.code == 5, opened  # intact, and not complete
    assert project.evalsite("gate", "killed").code == 5
    resumed = project.ok("run", FIXTURE, "--resume", "killed")
    assert "sealed" in resumed.out
    assert [event["type"] for event in events(project, "killed")].count("run.resumed") == 1
    check_whole(project, "killed")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_is_exit_130_recorded_and_resumable(project, number):
    assert stop_in_the_middle(project, "stopped", number) == 130
    last = events(project, "stopped")[-1]
    assert last["type"] == "run.interrupted"
    assert last["cause"] == number.name
    assert project.evalsite("verify", "stopped").code == 5
    project.ok("run", FIXTURE, "--resume", "stopped")
    check_whole(project, "stopped")
    attempts = [event["attempt"] for event in events(project, "stopped") if event["type"] == "trial.ended"]
    assert max(attempts) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_before_the_first_case_is_exit_130_and_writes_nothing(project, number):
    environment = os.environ | {"EVALSITE_KEYS": str(project.keystore)}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        host = f"http://127.0.0.1:{silent.getsockname()[1]}"
        role = {"endpoint": {"kind": "ollama", "host": host, "model_name": "stub:latest"}}
        command = [sys.executable, "-m", "evalsite", "run", project.campaign("silent", candidate=role, judge=role)]
        with subprocess.Popen(
            [*command, "--run-id", "silent"], cwd=project.root, env=environment, stderr=subprocess.PIPE
        ) as process:
            connection, _ = silent.accept()  # the server is being asked what it is, and says nothing
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
            connection.close()
    assert (process.returncode, number.name.encode() in told) == (130, True), told
    assert b"Traceback" not in told
    assert not (project.root / "runs" / "silent").exists()


def test_a_torn_line_is_quarantined_and_told(project):
    stop_in_the_middle(project, "torn", signal.SIGKILL)
    file = project.root / "runs" / "torn" / "events" / "000.jsonl"
    with file.open("ab") as stream:
        stream.write(b'{"attempt":1,"format":"evals')
    project.ok("run", FIXTURE, "--resume", "torn")
    resumed = next(event for event in events(project, "torn") if event["type"] == "run.resumed")
    assert resumed["dropped_bytes"] == 28
    assert [path.name for path in (project.root / "runs" / "torn" / "quarantine").iterdir()] == [
        f"{resumed['seq']}.bin"
    ]
    check_whole(project, "torn")


def test_a_sealed_run_cannot_be_resumed_into_anything_else(project):
    project.ok("run", FIXTURE, "--run-id", "done")
    before = events(project, "done")
    again = project.evalsite("run", FIXTURE, "--resume", "done")
    assert events(project, "done") == before
    assert again.code == 2
    assert "is sealed" in again.err
    assert project.evalsite("verify").code == 0


def test_a_changed_campaign_file_is_not_resumed(project):
    stop_in_the_middle(project, "changed", signal.SIGTERM)
    path = project.root / FIXTURE
    path.write_bytes(path.read_bytes() + b"\n# a comment\n")
    refused = project.evalsite("run", FIXTURE, "--resume", "changed")
    assert refused.code == 2
    assert "was planned with" in refused.err


def test_a_blob_whose_event_was_never_written_is_set_aside(project):
    """A blob is stored before its event: a crash between the two must not spoil the record."""
    stop_in_the_middle(project, "between", signal.SIGKILL)
    some = next((project.root / "runs" / "between" / "blobs").glob("*/*"))
    container = some.read_bytes() + b" more"
    digest = hashlib.sha256(container).hexdigest()
    orphan = project.root / "runs" / "between" / "blobs" / digest[:2] / digest
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(container)
    project.ok("run", FIXTURE, "--resume", "between")
    assert not orphan.exists()
    assert (project.root / ".evalsite" / "quarantine" / f"between-{digest}").read_bytes() == container
    check_whole(project, "between")
