# SPDX-License-Identifier: Apache-2.0
"""Audit bundles of ledgers that have been through everything: real anchors, a new root key, keys under a passphrase."""

import importlib.util
import json
import os
import shutil
import subprocess

import pytest
from support import stranger
from support.bundles import run_page, tools_missing
from support.cli import Project, new_project
from support.witnesses import StampAuthority

from evalsite.ledger import timestamps
from evalsite.ledger.pins import PINS_VARIABLE

RUN, LOG = "first", "runs/log/test"
MISSING = tools_missing("git", "openssl", "ssh-keygen", "sha256sum", "bash")
needs_tools = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
readable = pytest.mark.skipif(
    importlib.util.find_spec(timestamps.LIBRARY) is None, reason="time stamps need the extra [timestamps]"
)


def pin_of(project: Project, ledger: str = "test") -> str:
    return (project.keystore / ledger / "root.pin").read_text(encoding="utf-8").strip()


def git(project, *words):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=key holder", "-c", "user.email=key-holder@example.org")
    done = subprocess.run(["git", *who, *words], cwd=project.root, capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()


def cosign_by_file(project, folder):
    """Let a second person cosign the newest checkpoint; return their verifier key."""
    folder.mkdir()
    person = Project(folder, folder / "keys")
    vkey = person.ok("witness", "init", "--state", "w", "--name", "qa.example/w1").out.strip()
    person.ok("witness", "watch", "--state", "w", str(project.root / "runs/trust/test/log.vkey"))
    (folder / "request").write_text(project.ok("anchor", "request", "--vkey", vkey).out, encoding="utf-8")
    (folder / "answer").write_text(person.ok("witness", "cosign", "--state", "w", "request").out, encoding="utf-8")
    project.ok("anchor", "add", "--witness", str(folder / "answer"), "--vkey", vkey)
    return vkey


def stamp(project, authority):
    """Keep a time stamp of the newest checkpoint, by the authority's own commands."""
    response, chain = authority.folder / "kept.tsr", authority.folder / "chain.pem"
    response.write_bytes(authority.stamp((project.root / LOG / "checkpoint").read_bytes()))
    chain.write_bytes(authority.chain)
    project.ok("anchor", "add", "--rfc3161", str(response), "--chain", str(chain))


@pytest.fixture
def nobody(tmp_path, monkeypatch):
    """A verifier without project, keys, pins and memory."""
    monkeypatch.delenv(PINS_VARIABLE, raising=False)
    (tmp_path / "nowhere").mkdir()
    return Project(tmp_path / "nowhere", tmp_path / "no-keys")


@needs_tools
@readable
class TestABundleWithEveryKindOfAnchor:
    @pytest.fixture
    def anchored(self, project, tmp_path, monkeypatch):
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        git(project, "init", "--quiet")
        git(project, "config", "user.name", "key holder")
        git(project, "config", "user.email", "key-holder@example.org")
        git(project, "commit", "--quiet", "--allow-empty", "--message", "start")
        project.ok("anchor", "add", "--git-tag", "heads/test")
        vkey = cosign_by_file(project, tmp_path / "person")
        authority = StampAuthority(tmp_path / "tsa")
        stamp(project, authority)
        project.ok("export", "audit", RUN, "--into", str(tmp_path / "audit"))
        (tmp_path / "trusted").write_text(vkey + "\n", encoding="utf-8")
        return tmp_path / "audit", tmp_path / "trusted", authority.folder / "root.pem"

    def test_it_holds_all_of_them_and_reaches_the_level_of_whom_the_verifier_trusts(self, anchored, project, nobody):
        folder, trusted, root = anchored
        kinds = sorted(path.name.partition(".")[2].rpartition(".")[2] for path in (folder / LOG / "anchors").iterdir())
        assert kinds == ["cosig", "git-tag", "pem", "tsr"]
        verify = ("verify", str(folder), "--root-key", f"test={pin_of(project)}", "--json")
        vkey = trusted.read_text(encoding="utf-8").strip()
        for words, level in (
            ((), "A1"),
            (("--tsa-root", str(root)), "A3"),
            (("--witness", vkey), "A3"),
            (("--witness", vkey, "--quorum", "1"), "A4"),
        ):
            facts = json.loads(nobody.ok(*verify, *words).out)
            assert facts["levels"]["test"]["level"] == level, words

    def test_the_independent_verifier_accepts_it_and_says_what_it_did_not_check(self, anchored, project):
        folder, trusted, _ = anchored
        code, said = stranger.ask(folder, pin_of(project))
        assert code == 0, said
        assert said.count(f"by {trusted.read_text(encoding='utf-8').strip()}") == 1
        unread = [line for line in said.splitlines() if "NOT CHECKED HERE but for its digest" in line]
        assert sorted(line.rpartition(".")[2] for line in unread) == ["git-tag", "pem", "tsr"]

    def test_the_commands_of_its_page_accept_it(self, anchored):
        folder, _, _ = anchored
        done = run_page(folder)
        assert done.returncode == 0, done.stdout + done.stderr

    @pytest.mark.parametrize("kind", ["cosig", "git-tag", "tsr", "pem"])
    def test_both_refuse_a_changed_byte_of_any_anchor(self, kind, anchored, nobody, project):
        folder, _, _ = anchored
        (path,) = (path for path in (folder / LOG / "anchors").iterdir() if path.name.endswith(kind))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
        assert nobody.evalsite("verify", str(folder), "--root-key", f"test={pin_of(project)}").code == 4
        assert stranger.ask(folder, pin_of(project))[0] == 4


@needs_tools
@pytest.mark.parametrize("changed", ["root", "runner", "log"])
def test_a_bundle_behind_a_rotation_under_a_passphrase(changed, tmp_path, monkeypatch, nobody):
    monkeypatch.setenv("EVALSITE_PASSPHRASE", "correct horse battery staple")
    project = new_project(tmp_path)
    project.ok("keys", "init", "--ledger", "locked", "--passphrase")
    first = pin_of(project, "locked")
    words = ("--ledger", "locked", "--run-id")
    project.ok("run", project.campaign("before", repetitions=1), *words, "before")
    project.ok("keys", "rotate", changed, "--ledger", "locked")
    project.ok("run", project.campaign("after", repetitions=1), *words, "after")
    second = pin_of(project, "locked")
    assert (first == second) == (changed != "root")
    for run in ("before", "after"):
        folder = tmp_path / f"audit-{run}"
        exported = project.ok("export", "audit", run, "--into", str(folder))
        assert "not signed" not in exported.err
        assert not [path for path in folder.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
        done = run_page(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        for pin in {first, second}:
            nobody.ok("verify", str(folder), "--root-key", f"locked={pin}")
            code, said = stranger.ask(folder, pin)
            assert code == 0, said
        assert nobody.evalsite("verify", str(folder), "--root-key", f"locked=sha256:{'0' * 64}").code == 4
    shutil.rmtree(tmp_path / "audit-after" / "runs/trust/locked/keyring")
    assert stranger.ask(tmp_path / "audit-after")[0] == 4


def test_keys_that_cannot_be_opened_leave_the_bundle_unsigned_and_say_so(tmp_path, monkeypatch, nobody):
    monkeypatch.setenv("EVALSITE_PASSPHRASE", "correct horse battery staple")
    project = new_project(tmp_path)
    project.ok("keys", "init", "--ledger", "locked", "--passphrase")
    project.ok("run", project.campaign("one", repetitions=1), "--ledger", "locked", "--run-id", "one")
    monkeypatch.setenv("EVALSITE_PASSPHRASE", "wrong")
    outcome = project.ok("export", "audit", "one", "--into", str(tmp_path / "audit"))
    assert "not signed for ssh-keygen: expected the passphrase of this key, found another" in outcome.err
    assert not (tmp_path / "audit" / "statement.json.sig").exists()
    nobody.ok("verify", str(tmp_path / "audit"), "--root-key", f"locked={pin_of(project, 'locked')}")
