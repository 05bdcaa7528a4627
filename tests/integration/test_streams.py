# SPDX-License-Identifier: Apache-2.0
"""Whoever reads the output may go away: the verdict's exit code stays, and a run goes on to its seal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import new_project

FULL = Path("/dev/full")


@pytest.fixture
def project(tmp_path):
    project = new_project(tmp_path)
    project.ok("run", project.campaign("one", repetitions=1), "--run-id", "one")
    return project


def unread(project, *words, both=False):
    """Call the command in a process of its own, into a pipe whose reader is gone; return its code and messages."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "evalsite", *words],
            cwd=project.root,
            env={**os.environ, "EVALSITE_KEYS": str(project.keystore)},
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=writer if both else subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def tampered(project):
    path = project.root / "runs/one/events/000.jsonl"
    path.write_bytes(path.read_bytes().replace(b"case", b"cAse", 1))


@pytest.mark.parametrize("both", [False, True])
class TestABrokenPipe:
    def test_a_verdict_that_holds_ends_with_0(self, project, both):
        for words in (("verify",), ("gate", "one"), ("verify", "--json"), ("--help",), ("corpus", "check")):
            code, messages = unread(project, *words, both=both)
            assert (code, b"Traceback" in (messages or b"")) == (0, False), words

    def test_a_verdict_of_an_integrity_failure_ends_with_4(self, project, both):
        tampered(project)
        assert unread(project, "verify", both=both)[0] == 4
        assert unread(project, "gate", "one", both=both)[0] == 4

    def test_a_verdict_that_is_not_decided_ends_with_5(self, project, both):
        assert unread(project, "verify", "--minimum-level", "A4", both=both)[0] == 5
        assert unread(project, "gate", "one", "--minimum-level", "A4", both=both)[0] == 5

    def test_an_input_error_ends_with_2(self, project, both):
        assert unread(project, "verify", "none", both=both)[0] == 2

    def test_a_run_goes_on_to_its_seal(self, project, both):
        campaign = project.campaign("two", repetitions=1)
        assert unread(project, "run", campaign, "--run-id", "two", both=both)[0] == 0
        project.ok("verify", "two")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
def test_results_that_could_not_be_written_are_told_and_hide_no_failure(project):
    def into_a_full_disk(*words):
        with FULL.open("w", encoding="utf-8") as full:
            return subprocess.run(
                [sys.executable, "-m", "evalsite", *words],
                cwd=project.root,
                env={**os.environ, "EVALSITE_KEYS": str(project.keystore)},
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )

    lost = into_a_full_disk("verify")
    assert (lost.returncode, b"No space left on device" in lost.stderr) == (5, True)
    assert b"Traceback" not in lost.stderr
    tampered(project)
    assert into_a_full_disk("verify").returncode == 4
