# SPDX-License-Identifier: Apache-2.0
"""Anchors that need no witness: git tags and time stamps."""

import importlib.util
import json
import os
import shutil
import subprocess

import pytest
from support.witnesses import StampAuthority

from evalsite.ledger import timestamps

LOG = "runs/log/test"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
readable = pytest.mark.skipif(
    importlib.util.find_spec(timestamps.LIBRARY) is None or shutil.which("openssl") is None,
    reason="time stamps need the extra [timestamps] and the openssl command",
)


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """Keep git away from the settings of whoever runs the tests."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in [name for name in os.environ if name.startswith("GIT_") and "CONFIG" not in name]:
        monkeypatch.delenv(name)


def git(project, *words):
    done = subprocess.run(["git", *words], cwd=project.root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def repository(project):
    git(project, "init", "--quiet")
    git(project, "config", "user.name", "key holder")
    git(project, "config", "user.email", "key-holder@example.org")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "start")


def anchors(project):
    return sorted(path.name for path in (project.root / LOG / "anchors").iterdir())


@needs_git
@pytest.mark.usefixtures("alone")
class TestGitTags:
    def test_the_tags_message_is_the_checkpoint(self, project):
        repository(project)
        outcome = project.ok("anchor", "add", "--git-tag", "heads/test-4")
        assert "git push" in outcome.err
        note = (project.root / LOG / "checkpoint").read_bytes()
        assert git(project, "cat-file", "tag", "heads/test-4").partition(b"\n\n")[2] == note
        (name,) = anchors(project)
        assert name.startswith("4.")
        listed = project.ok("anchor", "list").out
        assert git(project, "rev-parse", "heads/test-4").decode().strip() in listed
        facts = json.loads(project.ok("verify", "--json", "--no-remember").out)
        assert facts["levels"]["test"]["level"] == "A1"  # a tag's time is a claim of whoever made it
        assert project.evalsite("anchor", "add", "--git-tag", "heads/test-4").code == 2

    def test_a_tag_serves_as_a_known_checkpoint_of_whoever_fetched_it(self, project, tmp_path):
        repository(project)
        project.ok("anchor", "add", "--git-tag", "head")
        kept = tmp_path / "kept.note"
        kept.write_bytes(git(project, "cat-file", "tag", "head").partition(b"\n\n")[2])
        facts = json.loads(project.ok("verify", "--json", "--no-remember", "--known-checkpoint", str(kept)).out)
        assert facts["levels"]["test"]["level"] == "A2"

    @pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
    def test_it_is_signed_where_git_is_set_up_to_sign(self, project, tmp_path):
        repository(project)
        key = tmp_path / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        git(project, "config", "gpg.format", "ssh")
        git(project, "config", "user.signingkey", str(key))
        project.ok("anchor", "add", "--git-tag", "signed")
        allowed = tmp_path / "allowed"
        allowed.write_text(f"key-holder@example.org {(tmp_path / 'key.pub').read_text()}")
        git(project, "-c", f"gpg.ssh.allowedSignersFile={allowed}", "verify-tag", "signed")
        project.ok("verify")

    def test_what_is_no_such_tag_is_refused(self, project):
        assert project.evalsite("anchor", "add", "--git-tag", "no-repository").code == 5
        repository(project)
        git(project, "tag", "light")
        git(project, "tag", "--annotate", "--message", "something else", "other")
        for name, code in (("light", 2), ("other", 4), ("-f", 2), ("a..b", 2), ("a b", 2)):
            assert project.evalsite("anchor", "add", f"--git-tag={name}").code == code, name
        assert not (project.root / LOG / "anchors").exists()


@readable
class TestTimeStamps:
    def test_a_stamp_reaches_a3_for_who_trusts_its_root(self, project, tmp_path):
        authority = StampAuthority(tmp_path / "tsa")
        response, chain = tmp_path / "r.tsr", tmp_path / "chain.pem"
        response.write_bytes(authority.stamp((project.root / LOG / "checkpoint").read_bytes()))
        chain.write_bytes(authority.chain)
        assert project.evalsite("anchor", "add", "--rfc3161", str(response)).code == 2
        project.ok("anchor", "add", "--rfc3161", str(response), "--chain", str(chain))
        assert len(anchors(project)) == 2
        assert "time stamp" in project.ok("anchor", "list").out
        root = str(authority.folder / "root.pem")
        for words, level in (((), "A1"), (("--tsa-root", root), "A3")):
            facts = json.loads(project.ok("verify", "--json", "--no-remember", *words).out)
            assert facts["levels"]["test"]["level"] == level
        assert project.evalsite("verify", "--minimum-level", "A4", "--tsa-root", root).code == 5
        shutil.copy(root, project.keystore / "tsa-roots.pem")
        assert "yes" in project.ok("anchor", "list").out
        assert project.evalsite("gate", "first", "--minimum-level", "A3").code == 0
        assert project.evalsite("anchor", "add", "--rfc3161", str(response), "--chain", str(chain)).code == 2

    def test_a_stamp_that_the_second_tool_refuses_is_not_kept(self, project, tmp_path, monkeypatch):
        authority = StampAuthority(tmp_path / "tsa")
        response, chain = tmp_path / "r.tsr", tmp_path / "chain.pem"
        response.write_bytes(authority.stamp((project.root / LOG / "checkpoint").read_bytes()))
        chain.write_bytes(authority.chain)
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "openssl").write_text("#!/bin/sh\nexit 1\n")
        (tools / "openssl").chmod(0o755)
        words = ("anchor", "add", "--rfc3161", str(response), "--chain", str(chain))
        monkeypatch.setenv("PATH", str(tools))
        outcome = project.evalsite(*words)
        assert (outcome.code, "openssl" in outcome.err) == (4, True)
        assert not (project.root / LOG / "anchors").exists()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "one tool only" in project.ok(*words).err

    def test_a_stamp_over_an_older_checkpoint_names_its_size(self, project, tmp_path):
        authority = StampAuthority(tmp_path / "tsa")
        response, chain = tmp_path / "r.tsr", tmp_path / "chain.pem"
        response.write_bytes(authority.stamp((project.root / LOG / "checkpoints" / "3.note").read_bytes()))
        chain.write_bytes(authority.chain)
        words = ("anchor", "add", "--rfc3161", str(response), "--chain", str(chain))
        assert project.evalsite(*words).code == 4
        assert project.evalsite(*words, "--size", "9").code == 2
        project.ok(*words, "--size", "3")
        facts = json.loads(
            project.ok("verify", "--json", "--no-remember", "--tsa-root", str(authority.folder / "root.pem")).out
        )
        assert facts["levels"]["test"]["level"] == "A1"  # it covers the opening of the run, not its end


def test_one_source_at_a_time_and_a_ledger_that_is_there(project):
    assert project.evalsite("anchor", "add").code == 2
    assert project.evalsite("anchor", "add", "--git-tag", "x", "--witness", "y").code == 2
    assert project.evalsite("anchor", "list", "--ledger", "nowhere").code == 2
    project.ok("keys", "init", "--ledger", "second")
    assert project.evalsite("anchor", "list").code == 2
    listed = project.ok("anchor", "list", "--ledger", "second")
    assert listed.out.startswith("head of second: sha256:")
    assert "no anchors yet" in listed.err
