# SPDX-License-Identifier: Apache-2.0
"""``evalsite export``: a run and a case are handed over, and a stranger's commands accept them and refuse others."""

import json
import re
import shutil

import pytest
from support.bundles import run_page, tools_missing
from support.cli import new_project
from support.stranger import ask

from evalsite.ledger.pins import PINS_VARIABLE

RUN, OTHER = "first", "second"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = new_project(tmp_path_factory.mktemp("exported"))
    for name in (RUN, OTHER):
        project.ok("run", project.campaign(name), "--run-id", name)
    project.ok("export", "audit", RUN, "--into", "../audit", "--tar")
    return project


@pytest.fixture
def audit(project, tmp_path):
    shutil.copytree(project.root.parent / "audit", tmp_path / "audit")
    return tmp_path / "audit"


@pytest.fixture
def case(project, tmp_path):
    name = json.loads((project.root / "runs" / RUN / "events" / "000.jsonl").read_bytes().split(b"\n")[1])
    project.ok("export", "case", RUN, name["trial"]["case_id"], "--repetition", "1", "--into", str(tmp_path / "case"))
    return tmp_path / "case"


@pytest.fixture
def stranger(project, tmp_path, monkeypatch):
    """A verifier without project, keys and pins."""
    monkeypatch.delenv(PINS_VARIABLE, raising=False)
    (tmp_path / "nowhere").mkdir()
    return type(project)(tmp_path / "nowhere", tmp_path / "no-keys")


needs_tools = pytest.mark.skipif(bool(tools_missing()), reason=f"not installed: {', '.join(tools_missing())}")


def fingerprint(project):
    return "test=" + (project.keystore / "test" / "root.pin").read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("what", ["audit", "audit.tar.gz"])
def test_a_stranger_verifies_folder_and_archive(what, project, stranger):
    outcome = stranger.evalsite("verify", str(project.root.parent / what), "--root-key", fingerprint(project))
    assert outcome.code == 0, outcome
    assert "other runs of this log are not in this bundle: 1" in outcome.out
    assert "A1, " in outcome.out


def test_without_a_pin_the_bundle_is_below_its_level(project, stranger):
    assert stranger.evalsite("verify", str(project.root.parent / "audit")).code == 5


def test_the_notes_are_in_the_json_too(project, stranger):
    path, key = str(project.root.parent / "audit"), fingerprint(project)
    report = json.loads(stranger.ok("verify", path, "--root-key", key, "--json").out)
    assert report["notes"] == ["other runs of this log are not in this bundle: 1"]


@needs_tools
def test_the_commands_of_the_page_accept_the_audit_bundle(audit):
    done = run_page(audit)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Signature Verified Successfully") == 4
    assert 'Good "evalsite-run@v1" signature' in done.stdout


@needs_tools
def test_the_commands_of_the_page_accept_the_case(case):
    done = run_page(case)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"lines/\d+\.json is line", done.stdout)) == len(list((case / "lines").iterdir()))


def edited(path, old, new):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def without_sums(folder):
    """Leave the sums out of the page: what a forger writes anew finds nothing."""
    page = folder / "VERIFY.md"
    page.write_bytes(page.read_bytes().replace(b"sha256sum --check --strict --quiet SHA256SUMS\n", b"true\n"))


AUDIT_FORGERIES = {
    "a result": ("runs/first/events/000.jsonl", b'"status":"Passed"', b'"status":"Failed"'),
    "the signed size": ("runs/first/checkpoint", b"\n", b" \n"),
    "a log entry": ("runs/log/test/entries/000.jsonl", b'"size":', b'"sizf":'),
    "the statement": ("statement.json", b'"complete":true', b'"complete":null'),
    "the signed statement": ("runs/first/statement.dsse.json", b'"payload":"ey', b'"payload":"fy'),
    "the keyring": ("runs/trust/test/keyring/001.dsse.json", b'"payload":"ey', b'"payload":"fy'),
    "the ssh signature": ("statement.json.sig", b"U1NIU0lH", b"U1NIU0lI"),
}


@needs_tools
@pytest.mark.parametrize("what", AUDIT_FORGERIES)
def test_the_commands_refuse_what_was_changed_even_without_the_sums(what, audit):
    name, old, new = AUDIT_FORGERIES[what]
    without_sums(audit)
    edited(audit / name, old, new)
    assert run_page(audit).returncode != 0


@needs_tools
@pytest.mark.parametrize(("one", "other"), [("root", "log"), ("log", "runner"), ("runner", "root")])
def test_the_commands_refuse_a_key_in_the_place_of_another(one, other, audit):
    without_sums(audit)
    trust = audit / "runs" / "trust" / "test"
    shutil.copy(trust / f"{other}.pem", trust / f"{one}.pem")
    assert run_page(audit).returncode != 0


@needs_tools
def test_the_commands_refuse_a_log_key_that_the_root_key_did_not_sign(case):
    """Whoever signs the roots anew with a key of their own has to put it into the keyring, and can't."""
    without_sums(case)
    page = case / "VERIFY.md"
    text = page.read_text(encoding="utf-8")
    found = re.search(r"grep -qF '([A-Za-z0-9+/=]{44})'", text)
    page.write_text(text.replace(found[1], "A" * 43 + "="), encoding="utf-8")
    assert run_page(case).returncode != 0


@needs_tools
def test_the_commands_refuse_a_changed_blob_and_a_changed_line(audit, case):
    for folder in (audit, case):
        without_sums(folder)
    blob = next(iter((audit / "runs" / RUN / "blobs").glob("*/*")))
    blob.write_bytes(blob.read_bytes() + b" ")
    line = next(iter((case / "lines").iterdir()))
    line.write_bytes(line.read_bytes() + b" ")
    assert run_page(audit).returncode != 0
    assert run_page(case).returncode != 0


def test_a_stranger_verifies_a_case(case, project, stranger):
    outcome = stranger.evalsite("verify", str(case), "--root-key", fingerprint(project))
    assert outcome.code == 0, outcome
    assert "seen in the whole run only" in outcome.out


def test_a_case_tells_nothing_of_other_cases(case, project):
    others = {line["trial"]["case_id"] for line in _trials(project)} - {_case_of(case)}
    assert others
    for path in (path for path in case.rglob("*") if path.is_file()):
        assert not [name for name in others if name.encode() in path.read_bytes()], path


def _trials(project):
    lines = (project.root / "runs" / RUN / "events" / "000.jsonl").read_bytes().splitlines()
    return [value for value in map(json.loads, lines) if "trial" in value]


def _case_of(folder):
    return json.loads((folder / "evalsite-bundle.json").read_bytes())["case_id"]


def test_private_keys_stay_at_home(project, audit):
    private = [path.read_bytes() for path in project.keystore.rglob("*.pem")]
    assert private
    for path in (path for path in audit.rglob("*") if path.is_file()):
        assert path.read_bytes() not in private
        assert b"PRIVATE KEY" not in path.read_bytes()


def test_without_the_runner_key_there_is_no_ssh_signature_and_the_page_says_so_by_silence(project, tmp_path):
    stranger = type(project)(project.root, tmp_path / "no-keys")
    outcome = stranger.ok("export", "audit", RUN, "--into", str(tmp_path / "b"))
    assert "not signed for ssh-keygen" in outcome.err
    assert not (tmp_path / "b" / "statement.json.sig").exists()
    assert b"ssh-keygen" not in (tmp_path / "b" / "VERIFY.md").read_bytes()


def test_what_cannot_be_exported_is_refused(project, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_bytes(b"")
    assert project.evalsite("export", "audit", RUN, "--into", str(tmp_path / "full")).code == 2
    assert project.evalsite("export", "audit", "nothing", "--into", str(tmp_path / "a")).code == 2
    assert project.evalsite("export", "case", RUN, "NO-CASE", "--into", str(tmp_path / "b")).code == 2
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()
    (tmp_path / "c.tar.gz").write_bytes(b"")
    assert project.evalsite("export", "audit", RUN, "--into", str(tmp_path / "c"), "--tar").code == 2


def test_a_run_that_was_changed_is_not_exported(project, tmp_path):
    shutil.copytree(project.root, tmp_path / "project")
    edited(tmp_path / "project" / "runs" / RUN / "checkpoint", b"\n", b" \n")
    changed = type(project)(tmp_path / "project", project.keystore)
    assert changed.evalsite("export", "audit", RUN, "--into", str(tmp_path / "a")).code == 4


@needs_tools
def test_runs_from_before_and_after_a_rotation_are_handed_over(tmp_path, stranger):
    project = new_project(tmp_path)
    project.ok("run", project.campaign(RUN), "--run-id", RUN)
    for role in ("log", "runner"):
        project.ok("keys", "rotate", role)
    project.ok("run", project.campaign(OTHER), "--run-id", OTHER)
    key = fingerprint(project)
    for run in (RUN, OTHER):
        folder = tmp_path / f"audit-{run}"
        project.ok("export", "audit", run, "--into", str(folder))
        assert (folder / "keys").exists() == (run == RUN)
        done = run_page(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert stranger.evalsite("verify", str(folder), "--root-key", key).code == 0
        code, said = ask(folder, key.partition("=")[2])
        assert code == 0, said
    case = _trials(project)[0]["trial"]["case_id"]
    project.ok("export", "case", RUN, case, "--into", str(tmp_path / "old"))
    assert run_page(tmp_path / "old").returncode == 0
    assert stranger.evalsite("verify", str(tmp_path / "old"), "--root-key", key).code == 0
