# SPDX-License-Identifier: Apache-2.0
"""Keys on the command line: passphrases that stay secret, rotation, revocation, export."""

import errno
import io
import os
import stat
import traceback

import pytest
from support.cli import new_project

from evalsite.errors import UndecidedError
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.keys import load_key
from evalsite.storage import replace

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


class TestEveryCommandThatSignsTakesTheDescriptor:
    def test_a_run_and_its_resumption(self, project, monkeypatch):
        assert with_descriptor(project, CANARY, "keys", "init", "--ledger", "piped").code == 0
        monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody to ask
        campaign = project.campaign("piped", repetitions=1)
        words = ("run", campaign, "--ledger", "piped", "--run-id")
        refused = project.evalsite(*words, "none")
        assert (refused.code, "--passphrase-fd" in refused.err) == (5, True)
        assert with_descriptor(project, "other", *words, "none").code == 5
        assert not (project.root / "runs/none").exists()
        assert with_descriptor(project, CANARY, *words, "one").code == 0
        resumed = with_descriptor(project, CANARY, "run", campaign, "--ledger", "piped", "--resume", "one")
        assert (resumed.code, "sealed" in resumed.err) == (2, True)  # its key was opened: it looked at the run
        project.ok("verify", "one")

    def test_an_export_that_is_signed_for_other_tools(self, project, tmp_path, monkeypatch):
        assert with_descriptor(project, CANARY, "keys", "init", "--ledger", "piped").code == 0
        campaign = project.campaign("piped", repetitions=1)
        assert with_descriptor(project, CANARY, "run", campaign, "--ledger", "piped", "--run-id", "one").code == 0
        monkeypatch.setattr("sys.stdin", io.StringIO())
        assert "not signed" in project.ok("export", "audit", "one", "--into", str(tmp_path / "plain")).err
        signed = with_descriptor(project, CANARY, "export", "audit", "one", "--into", str(tmp_path / "signed"))
        assert (signed.code, "not signed" in signed.err) == (0, False)
        assert (tmp_path / "signed/statement.json.sig").is_file()

    def test_a_witness(self, project, tmp_path, monkeypatch):
        state = str(tmp_path / "w")
        made = with_descriptor(project, CANARY, "witness", "init", "--state", state, "--name", "w1")
        assert made.code == 0
        assert (tmp_path / "w/witness.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY-----")
        project.ok("witness", "watch", "--state", state, str(project.root / "runs/trust/test/log.vkey"))
        (tmp_path / "request").write_text(project.ok("anchor", "request", "--vkey", made.out.strip()).out)
        words = ("witness", "cosign", "--state", state, str(tmp_path / "request"))
        monkeypatch.setattr("sys.stdin", io.StringIO())
        assert project.evalsite(*words).code == 5
        assert with_descriptor(project, CANARY, *words).out.startswith("\u2014 w1 ")
        asked = project.evalsite("witness", "init", "--state", f"{state}2", "--name", "w2", "--passphrase")
        assert (asked.code, "EVALSITE_PASSPHRASE" in asked.err) == (5, True)  # nobody to ask
        assert not (tmp_path / "w2/witness.vkey").exists()


class TestRevokingWhileARunWaitsForItsSeal:
    @pytest.fixture
    def half_sealed(self, project, monkeypatch):
        def stop(*_, **__):
            raise UndecidedError("stopped before the seal")

        with monkeypatch.context() as patch:
            patch.setattr("evalsite.ledger.runwriter.RunWriter.seal", stop)
            stopped = run(project, "one")
        assert (stopped.code, "--resume one goes on with it" in stopped.err) == (5, True)
        return project

    def test_it_is_refused_until_it_is_sealed_or_left(self, half_sealed):
        for role in ("runner", "log"):
            words = ("keys", "revoke", load_key(half_sealed.keystore, "test", role).key_id, "--reason", "lost")
            refused = half_sealed.evalsite(*words)
            assert (refused.code, "--leave-unfinished" in refused.err) == (3, True)
        campaign = half_sealed.campaign("for-one", repetitions=1)
        half_sealed.ok("run", campaign, "--resume", "one")
        half_sealed.ok(*words)
        half_sealed.ok("verify")

    def test_left_unfinished_it_stays_open_for_good(self, half_sealed):
        key = load_key(half_sealed.keystore, "test", "log").key_id
        half_sealed.ok("keys", "revoke", key, "--reason", "lost", "--leave-unfinished")
        assert half_sealed.evalsite("verify").code == 5


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
    (tmp_path / "junk.pem").write_text("-----BEGIN PUBLIC KEY-----\njunk\n-----END PUBLIC KEY-----\n")
    assert project.evalsite("keys", "add", "witness", "w", "--public", str(tmp_path / "junk.pem")).code == 2
    assert run(project, "one").code == 0
    project.ok("verify")


@pytest.mark.parametrize("fault", ["root offline", "another root", "wrong passphrase", "no disk"])
def test_a_key_that_was_made_here_and_not_listed_leaves_no_file(locked, monkeypatch, fault):
    box = locked.keystore / "locked"
    stick = box / "root.pem"
    if fault == "root offline":
        stick.rename(locked.keystore / "root.pem")
    elif fault == "another root":
        replace(stick, Signer.generate().to_pem(), mode=0o600)
    elif fault == "wrong passphrase":
        monkeypatch.setenv("EVALSITE_PASSPHRASE", CANARY + "-wrong")
    before = {path.name: path.read_bytes() for path in box.iterdir()}
    words = ("keys", "add", "approver", "qa", "--generate", "--ledger", "locked")
    if fault == "no disk":
        with monkeypatch.context() as patch:
            refuse_writing(patch, "pending.json")
            outcome = locked.evalsite(*words)
    else:
        outcome = locked.evalsite(*words)
    assert outcome.code == (3 if fault == "another root" else 5), outcome
    assert "private key" not in outcome.out
    assert {path.name: path.read_bytes() for path in box.iterdir()} == before


def refuse_writing(patch, refused):
    """Let the disk be full for one file."""
    link = os.link

    def guarded(source, target, **options):
        if target == refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        link(source, target, **options)

    patch.setattr(os, "link", guarded)


def test_a_key_that_was_made_here_is_encrypted_if_the_others_are(locked):
    locked.ok("keys", "add", "approver", "qa", "--generate", "--ledger", "locked")
    sealed = (locked.keystore / "locked/approver-qa.pem").read_bytes()
    assert Signer.from_pem(sealed, CANARY.encode()).key_id in locked.ok("keys", "list", "--ledger", "locked").out


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
