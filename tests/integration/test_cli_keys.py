# SPDX-License-Identifier: Apache-2.0
"""Keys on the command line: passphrases that stay secret, rotation, revocation, export."""

import io
import os
import stat
import traceback

import pytest
from support.cli import new_project

from evalsite.errors import UndecidedError
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.keys import load_key

CANARY = "canary-correct-horse-battery"


@pytest.fixture
def project(tmp_path):
    return new_project(tmp_path)


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A project whose ledger's keys are under a passphrase."""
    base = new_project(tmp_path)
    monkeypatch.setenv("EVALSITE_PASSPHRASE", CANARY)
    base.ok("keys", "init", "--ledger", "locked", "--passphrase")
    return base


def run(project, run_id, *words):
    return project.evalsite("run", project.campaign(f"for-{run_id}", repetitions=1), "--run-id", run_id, *words)


def with_descriptor(project, passphrase, *words):
    reader, writer = os.pipe()
    os.write(writer, passphrase.encode() + b"\n")
    os.close(writer)
    try:
        return project.evalsite(*words, "--passphrase-fd", str(reader))
    finally:
        os.close(reader)


def test_the_canary_is_in_no_output_file_or_error(locked, monkeypatch):
    said = []
    assert run(locked, "one", "--ledger", "locked").code == 0
    said.append(locked.ok("keys", "rotate", "log", "--ledger", "locked"))
    said.append(locked.ok("keys", "list", "--ledger", "locked"))
    monkeypatch.setenv("EVALSITE_PASSPHRASE", CANARY + "-wrong")
    wrong = locked.evalsite("keys", "rotate", "root", "--ledger", "locked")
    assert wrong.code == 5
    assert "passphrase" in wrong.err
    said.append(wrong)
    with pytest.raises(UndecidedError) as refused:
        load_key(locked.keystore, "locked", "runner")
    text = "".join(traceback.format_exception(refused.value)) + "".join(item.out + item.err for item in said)
    assert CANARY not in text
    files = [path for path in locked.root.parent.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]
    for path in (locked.keystore / "locked").glob("*.pem"):
        assert path.read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_passphrase_a_locked_ledger_is_not_written(locked, monkeypatch):
    monkeypatch.delenv("EVALSITE_PASSPHRASE")
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody to ask
    before = sorted((locked.keystore / "locked").iterdir())
    outcome = locked.evalsite("keys", "rotate", "runner", "--ledger", "locked")
    assert outcome.code == 5
    assert "EVALSITE_PASSPHRASE" in outcome.err
    assert sorted((locked.keystore / "locked").iterdir()) == before
    assert run(locked, "one", "--ledger", "locked").code == 5


def test_a_descriptor_gives_the_passphrase(project):
    assert with_descriptor(project, CANARY, "keys", "init", "--ledger", "piped").code == 0
    assert with_descriptor(project, "other", "keys", "rotate", "log", "--ledger", "piped").code == 5
    done = with_descriptor(project, CANARY, "keys", "rotate", "log", "--ledger", "piped")
    assert done.code == 0, done
    sealed = (project.keystore / "piped/log.pem").read_bytes()
    assert Signer.from_pem(sealed, CANARY.encode()).key_id in project.ok("keys", "list", "--ledger", "piped").out
    for words in (("--passphrase-fd", "987"),):
        assert project.evalsite("keys", "rotate", "log", "--ledger", "piped", *words).code == 2
    assert with_descriptor(project, "", "keys", "rotate", "log", "--ledger", "piped").code == 2


def test_runs_around_a_rotation_verify(project):
    assert run(project, "one").code == 0
    for role in ("log", "runner", "root"):
        assert "version" in project.ok("keys", "rotate", role).out
    assert run(project, "two").code == 0
    project.ok("verify")


def test_the_new_root_key_is_told_for_paper(project):
    told = project.ok("keys", "rotate", "root")
    fingerprint = (project.keystore / "test/root.pin").read_text().strip()
    assert "on paper" in told.err
    assert fingerprint[7:15] in told.err
    assert fingerprint in told.out


def test_revoking_needs_a_reason_and_is_listed(project):
    key = load_key(project.keystore, "test", "log").key_id
    assert project.evalsite("keys", "revoke", key).code == 2
    project.ok("keys", "revoke", key, "--reason", "disk sold")
    listed = project.ok("keys", "list", "--ledger", "test").out
    assert [line.split()[-1] for line in listed.splitlines() if key in line] == ["revoked"]
    assert project.evalsite("keys", "revoke", key, "--reason", "again").code == 3


def test_an_approver_is_added_by_file_or_made_here(project, tmp_path):
    (tmp_path / "public.pem").write_bytes((project.root / "runs/trust/test/log.pem").read_bytes())
    assert project.evalsite("keys", "add", "approver", "qa").code == 2
    same = project.evalsite("keys", "add", "approver", "qa", "--public", str(tmp_path / "public.pem"))
    assert same.code == 4  # one key in two roles
    project.ok("keys", "add", "approver", "qa", "--generate")
    assert stat.S_IMODE((project.keystore / "test/approver-qa.pem").stat().st_mode) == 0o600
    assert "test/approver/qa" in project.ok("keys", "list", "--ledger", "test").out
    (tmp_path / "junk.pem").write_text("junk")
    assert project.evalsite("keys", "add", "witness", "w", "--public", str(tmp_path / "junk.pem")).code == 2
    assert run(project, "one").code == 0
    project.ok("verify")


def test_finish_has_nothing_to_do_by_default(project):
    assert "unfinished" in project.ok("keys", "finish").err


def test_another_ledger_is_refused(project):
    assert project.evalsite("keys", "rotate", "log", "--ledger", "other").code == 2


def test_export_goes_to_a_folder_or_stdout(project, tmp_path):
    project.ok("keys", "rotate", "runner")
    project.ok("keys", "export", "--into", str(tmp_path / "out"))
    printed = project.ok("keys", "export").out
    allowed = tmp_path / "out/allowed_signers"
    assert "# fingerprints" in printed
    assert allowed.read_text().strip() in printed
    assert project.evalsite("keys", "export", "--into", str(tmp_path / "out")).code == 2
