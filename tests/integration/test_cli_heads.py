# SPDX-License-Identifier: Apache-2.0
"""Heads on the command line: given by hand, written down, and remembered from one verification to the next."""

import json
import shutil

from support.cli import Project, new_project

LOG = "runs/log/test"


def level(project, *words):
    facts = json.loads(project.ok("verify", "--json", *words).out)
    return facts["levels"]["test"]["level"]


def older(project, pristine):
    """Return the state before the second run, under the keystore of the project."""
    return Project(pristine.root, project.keystore)


class TestRemembering:
    def test_the_second_look_finds_that_the_log_grew(self, project):
        assert level(project) == "A1"
        project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second")
        assert level(project) == "A2"
        assert project.evalsite("gate", "second", "--minimum-level", "A2").code == 0

    def test_a_rollback_is_an_integrity_failure_that_names_both(self, project, pristine):
        project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second")
        project.ok("verify")
        outcome = older(project, pristine).evalsite("verify")
        assert outcome.code == 4
        assert "rolled back" in outcome.out
        assert "@6 (remembered)" in outcome.out
        assert "@4" in outcome.out
        for words in (("verify", "first"), ("gate", "first")):
            assert older(project, pristine).evalsite(*words).code == 4
            assert older(project, pristine).evalsite(*words, "--no-remember").code == 0

    def test_a_fork_is_an_integrity_failure_and_leaves_evidence(self, project, tmp_path):
        shutil.copytree(project.root, tmp_path / "other")
        project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second")
        project.ok("verify")
        other = Project(tmp_path / "other", project.keystore)
        other.ok("run", other.campaign("three", repetitions=1), "--run-id", "third")
        outcome = other.evalsite("verify")
        assert (outcome.code, "forked" in outcome.out) == (4, True)
        (kept,) = (other.root / ".evalsite").glob("fork-*.txt")
        assert kept.read_bytes().count("— test/log ".encode()) == 2

    def test_nothing_is_remembered_that_did_not_hold_or_was_not_asked(self, project):
        words = ("verify", "--no-remember")
        project.ok(*words)
        assert not (project.keystore / ".heads").exists()
        checkpoint = project.root / LOG / "checkpoint"
        checkpoint.write_bytes(checkpoint.read_bytes().replace(b"test", b"best"))
        assert project.evalsite("verify").code == 4
        assert not (project.keystore / ".heads").exists()

    def test_a_keystore_that_cannot_be_written_is_said_and_changes_no_verdict(self, project):
        (project.keystore / ".heads").write_text("in the way")
        outcome = project.evalsite("verify")
        assert (outcome.code, "could not be remembered" in outcome.err) == (0, True)

    def test_a_ledger_that_was_begun_anew_is_told(self, project, tmp_path):
        project.ok("verify")
        assert "another root key" not in project.ok("verify").err
        (tmp_path / "anew").mkdir()
        anew = new_project(tmp_path / "anew")
        anew.ok("run", anew.campaign("one", repetitions=1), "--run-id", "first")
        looking = Project(anew.root, project.keystore)
        outcome = looking.evalsite(
            "verify", "--root-key", f"test={(anew.keystore / 'test/root.pin').read_text().strip()}"
        )
        assert (outcome.code, "another root key" in outcome.err) == (0, True)

    def test_one_run_alone_reads_the_memory_and_does_not_write_it(self, project):
        project.ok("verify", "first")
        assert not (project.keystore / ".heads").exists()


class TestStated:
    def test_a_kept_checkpoint_and_a_written_head(self, project, tmp_path):
        kept = tmp_path / "kept.note"
        shutil.copy(project.root / LOG / "checkpoints" / "3.note", kept)
        assert level(project, "--no-remember", "--known-checkpoint", str(kept)) == "A2"
        head = project.ok("anchor", "list").out.split()[3]
        assert level(project, "--no-remember", "--expect-head", head) == "A2"
        assert level(project, "--no-remember", "--expect-head", f"test={head}") == "A2"
        wrong = head.replace("@4", "@3")
        outcome = project.evalsite("verify", "--expect-head", wrong)
        assert (outcome.code, "forked" in outcome.out) == (4, True)
        assert project.evalsite("verify", "--expect-head", "junk").code == 2
        assert project.evalsite("verify", "--expect-head", f"gone={head}").code == 4

    def test_an_older_genuine_copy_is_found_by_who_kept_a_later_head(self, project, pristine, tmp_path):
        project.ok("run", project.campaign("two", repetitions=1), "--run-id", "second")
        kept = tmp_path / "kept.note"
        shutil.copy(project.root / LOG / "checkpoint", kept)
        copy = older(project, pristine)
        assert copy.evalsite("verify", "--no-remember").code == 0  # without the head nothing shows
        outcome = copy.evalsite("verify", "--no-remember", "--known-checkpoint", str(kept))
        assert (outcome.code, "rolled back" in outcome.out) == (4, True)
        assert copy.evalsite("verify", "first", "--no-remember", "--known-checkpoint", str(kept)).code == 4

    def test_a_file_that_is_no_checkpoint_of_a_log(self, project, tmp_path):
        for data in (b"junk", (project.root / "runs" / "first" / "checkpoint").read_bytes()):
            (tmp_path / "file").write_bytes(data)
            assert project.evalsite("verify", "--known-checkpoint", str(tmp_path / "file")).code == 2

    def test_below_the_asked_level_says_what_raises_it(self, project):
        for asked, words in (("A2", "--known-checkpoint"), ("A3", "anchor add"), ("A4", "--quorum")):
            outcome = project.evalsite("verify", "--no-remember", "--minimum-level", asked)
            assert (outcome.code, words in outcome.out) == (5, True)
