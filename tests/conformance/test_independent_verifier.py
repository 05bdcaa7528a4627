# SPDX-License-Identifier: Apache-2.0
"""A verifier that was written from the specification alone agrees with ours: on what stands, and on what was forged."""

import ast
import base64
import json
import shutil
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.bundles import audit_bundle, example_project
from support.cli import Project

LEDGER = "showcase-2026-12"
RUN = "2026-12-01-support-behaviors-v1-fixture"
EVENTS = f"{RUN}/events/000.jsonl"
MAX_CODE_LINES = 300


@pytest.fixture
def copy(repository, tmp_path):
    """The committed records in a project of their own, and the pin that the verifiers hold."""
    root = tmp_path / "project"
    shutil.copytree(repository / "runs", root / "runs")
    (root / "mkdocs.yml").write_text("site_name: copy\n", encoding="utf-8")
    keyring = json.loads((root / "runs" / "trust" / LEDGER / "keyring" / "001.dsse.json").read_bytes())
    return Project(root, tmp_path / "keys"), keyring["signatures"][0]["keyid"]


def independent(repository, folder, *words):
    """Run the independent verifier, with Python's isolated mode: it finds nothing of this project."""
    script = str(repository / "examples" / "verify_without_evalsite.py")
    done = subprocess.run(
        [sys.executable, "-I", script, str(folder), *words], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


def edited(path, old, new, count=1):
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, count))


def change_a_result(runs):
    edited(runs / EVENTS, b'"status":"Passed"', b'"status":"Failed"')


def drop_a_line(runs):
    lines = (runs / EVENTS).read_bytes().splitlines(keepends=True)
    (runs / EVENTS).write_bytes(b"".join(lines[:3] + lines[4:]))


def swap_two_lines(runs):
    lines = (runs / EVENTS).read_bytes().splitlines(keepends=True)
    lines[2], lines[3] = lines[3], lines[2]
    (runs / EVENTS).write_bytes(b"".join(lines))


def cut_the_end(runs):
    lines = (runs / EVENTS).read_bytes().splitlines(keepends=True)
    (runs / EVENTS).write_bytes(b"".join(lines[:-1]))


def roll_a_run_back(runs):
    """To its first checkpoint, which is genuine."""
    lines = (runs / EVENTS).read_bytes().splitlines(keepends=True)
    (runs / EVENTS).write_bytes(lines[0])
    notes = runs / RUN / "checkpoints"
    for path in notes.iterdir():
        if path.name != "1.note":
            path.unlink()
    shutil.copy(notes / "1.note", runs / RUN / "checkpoint")


def sign_the_statement_with_another_key(runs):
    path = runs / RUN / "statement.dsse.json"
    envelope = json.loads(path.read_bytes())
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signature = base64.b64encode(Ed25519PrivateKey.generate().sign(signed))
    edited(path, envelope["signatures"][0]["sig"].encode(), signature)


def strip_the_signature(runs):
    edited(runs / RUN / "statement.dsse.json", b'"signatures":[{', b'"signatures":[],"dropped":[{')


def change_a_blob(runs):
    path = next(iter(sorted((runs / RUN / "blobs").glob("*/*"))))
    path.write_bytes(path.read_bytes() + b" ")


def add_a_blob(runs):
    path = runs / RUN / "blobs" / "00" / ("00" + "0" * 62)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"evalsite-blob/v1\n" + b"0" * 64 + b"\n")


def link_a_blob(runs):
    path = next(iter(sorted((runs / RUN / "blobs").glob("*/*"))))
    path.rename(runs.parent / "elsewhere")
    path.symlink_to(runs.parent / "elsewhere")


def remove_a_run(runs):
    shutil.rmtree(runs / RUN)


def swap_the_proofs(runs):
    one, two = (runs / RUN / "proofs" / f"run-{name}.tlog-proof" for name in ("opened", "closed"))
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def truncate_the_log(runs):
    path = runs / "log" / LEDGER / "entries" / "000.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


def sign_the_log_root_with_another_key(runs):
    path = runs / "log" / LEDGER / "checkpoint"
    text, _, line = path.read_bytes().partition(b"\n\n")
    name, encoded = line.rsplit(b" ", 1)
    own = Ed25519PrivateKey.generate().sign(text + b"\n")
    path.write_bytes(text + b"\n\n" + name + b" " + base64.b64encode(base64.b64decode(encoded)[:4] + own) + b"\n")
    size = text.split(b"\n")[1].decode()
    shutil.copy(path, runs / "log" / LEDGER / "checkpoints" / f"{size}.note")


def check_out_with_carriage_returns(runs):
    path = runs / EVENTS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def allow_another_signer(runs):
    edited(runs / "trust" / LEDGER / "allowed_signers", b"runner@", b"anyone@")


FORGERIES = [
    change_a_result,
    drop_a_line,
    swap_two_lines,
    cut_the_end,
    roll_a_run_back,
    sign_the_statement_with_another_key,
    strip_the_signature,
    change_a_blob,
    add_a_blob,
    link_a_blob,
    remove_a_run,
    swap_the_proofs,
    truncate_the_log,
    sign_the_log_root_with_another_key,
    check_out_with_carriage_returns,
    allow_another_signer,
]


def test_it_accepts_the_committed_records(repository, copy):
    _, pin = copy
    code, said = independent(repository, repository / "runs", pin)
    assert code == 0, said
    assert "A1" in said


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_both_refuse_a_forgery(forge, repository, copy):
    project, pin = copy
    forge(project.root / "runs")
    code, said = independent(repository, project.root, pin)
    assert code == 4, said
    assert "Traceback" not in said
    assert project.evalsite("verify", "--root-key", f"{LEDGER}={pin}").code == 4


def test_both_refuse_another_root_key_than_the_pinned_one(repository, copy):
    project, _ = copy
    other = "sha256:" + "0" * 64
    assert independent(repository, project.root, other)[0] == 4
    assert project.evalsite("verify", "--root-key", f"{LEDGER}={other}").code == 4


def test_both_call_a_missing_blob_not_decided(repository, copy):
    project, pin = copy
    next(iter((project.root / "runs" / RUN / "blobs").glob("*/*"))).unlink()
    code, said = independent(repository, project.root, pin)
    assert code == 5, said
    assert project.evalsite("verify", "--root-key", f"{LEDGER}={pin}").code == 5


def test_it_accepts_a_bundle(repository, tmp_path):
    audit_bundle(example_project(tmp_path), tmp_path / "audit")
    code, said = independent(repository, tmp_path / "audit")
    assert code == 0, said


def test_it_is_short_and_stands_alone(repository):
    text = (repository / "examples" / "verify_without_evalsite.py").read_text(encoding="utf-8")
    tree, prose = ast.parse(text), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            prose |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    code = [
        line
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#") and number not in prose
    ]
    assert len(code) <= MAX_CODE_LINES
    modules = {
        name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    modules |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules - {"cryptography"} <= sys.stdlib_module_names
