# SPDX-License-Identifier: Apache-2.0
"""What the operating system refuses to read is not decided: exit 5 at every door, with the path, never 4 or 0."""

import errno
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.cli import new_project

FILES = {
    "keyring": "runs/trust/test/keyring/001.dsse.json",
    "derived key file": "runs/trust/test/log.pem",
    "log entries": "runs/log/test/entries/000.jsonl",
    "log note": "runs/log/test/checkpoints/2.note",
    "events": "runs/one/events/000.jsonl",
    "run note": "runs/one/checkpoints/1.note",
    "newest note": "runs/one/checkpoint",
    "statement": "runs/one/statement.dsse.json",
    "proof": "runs/one/proofs/run-closed.tlog-proof",
}
FOLDERS = ("runs/one", "runs/one/events", "runs/one/blobs", "runs/log/test/checkpoints", "runs/trust/test/keyring")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = new_project(tmp_path_factory.mktemp("unreadable"))
    project.ok("run", project.campaign("one", repetitions=1), "--run-id", "one")
    return project


@contextmanager
def refused(path):
    """Let the system refuse one path, as it does to a user without the right to read it (root has every right)."""

    def guard(call):
        def guarded(asked, *words, **options):
            if isinstance(asked, str | os.PathLike) and Path(asked) == path:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(asked))
            return call(asked, *words, **options)

        return guarded

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", guard(os.open))
        patch.setattr(os, "scandir", guard(os.scandir))
        patch.setattr(os, "listdir", guard(os.listdir))
        yield


def blob(project):
    return next(path for path in sorted((project.root / "runs/one/blobs").rglob("*")) if path.is_file())


@pytest.mark.parametrize("name", [*FILES, "blob", *FOLDERS])
def test_verify_does_not_decide_and_names_the_path(project, name):
    path = blob(project) if name == "blob" else project.root / FILES.get(name, name)
    with refused(path):
        whole, one = project.evalsite("verify"), project.evalsite("verify", "one")
        facts = json.loads(project.evalsite("verify", "--json").out)
    for outcome in (whole, one):
        assert outcome.code == 5, outcome
        assert str(path.relative_to(project.root)) in outcome.out + outcome.err
        assert "Permission denied" in outcome.out + outcome.err
        assert "INTEGRITY FAILURE" not in outcome.out
    assert facts["verdicts"]["integrity"] == "not decided"
    assert facts["exit_code"] == 5
    project.ok("verify")


NEEDED = {
    "gate": ("keyring", "log entries", "events", "statement", "blob"),
    "build": ("keyring", "log entries", "events", "statement", "blob"),
    "export": ("keyring", "log entries", "events", "statement", "blob"),
    "anchor": ("keyring", "log entries"),
    "run": ("keyring", "log entries", "events"),
    "keys": ("keyring", "log entries"),
}


@pytest.mark.parametrize(("door", "name"), [(door, name) for door, names in NEEDED.items() for name in names])
def test_no_door_opens_that_needs_the_file(project, tmp_path, door, name):
    path = blob(project) if name == "blob" else project.root / FILES[name]
    words = {
        "gate": ("gate", "one"),
        "build": ("build", "--into", str(tmp_path / "site")),
        "export": ("export", "audit", "one", "--into", str(tmp_path / "bundle")),
        "anchor": ("anchor", "list"),
        "run": ("run", project.campaign("one", repetitions=1), "--resume", "one"),
        "keys": ("keys", "list", "--ledger", "test"),
    }[door]
    with refused(path):
        outcome = project.evalsite(*words)
    assert (outcome.code, outcome.out) == (5, "")
    assert "Permission denied" in outcome.err
    assert path.name in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_failure_that_was_found_before_stays_one(project, tmp_path):
    """A file that nobody may read is no cover for a log that does not check out."""
    path = project.root / "runs/log/test/entries/000.jsonl"
    kept = path.read_bytes()
    path.write_bytes(kept.replace(b"run.opened", b"run.opEned", 1))
    try:
        with refused(project.root / "runs/one/events/000.jsonl"):
            assert project.evalsite("verify").code == 4
    finally:
        path.write_bytes(kept)


def test_a_bundle(project, tmp_path):
    project.ok("export", "audit", "one", "--into", str(tmp_path / "audit"))
    project.ok("export", "case", "one", "MISSING", "--into", str(tmp_path / "case"))
    for kind in ("audit", "case"):
        project.ok("verify", str(tmp_path / kind))
        for name in ("SHA256SUMS", "runs/trust/test/keyring/001.dsse.json"):
            with refused(tmp_path / kind / name):
                outcome = project.evalsite("verify", str(tmp_path / kind))
            assert (outcome.code, "Permission denied" in outcome.err) == (5, True), outcome


@pytest.mark.parametrize("name", ["runs", "runs/log", "runs/trust"])
def test_a_link_in_the_place_of_a_folder_of_records_is_no_record_at_any_door(tmp_path, name):
    """Nothing is read through it, and nothing is written through it."""
    project = new_project(tmp_path)
    project.ok("run", project.campaign("one", repetitions=1), "--run-id", "one")
    (project.root / name).rename(tmp_path / "elsewhere")
    (project.root / name).symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    for words in (("verify",), ("verify", "one"), ("verify", "--fast"), ("gate", "one"), ("build",)):
        outcome = project.evalsite(*words)
        assert (outcome.code, "found a link" in outcome.out + outcome.err) == (4, True), (words, outcome)
    writing = (
        ("run", project.campaign("two", repetitions=1), "--run-id", "two"),
        ("keys", "rotate", "log"),
        ("keys", "init", "--ledger", "new"),
    )
    for words in writing:
        assert project.evalsite(*words).code in (2, 4), words
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before
