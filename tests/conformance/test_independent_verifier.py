# SPDX-License-Identifier: Apache-2.0
"""A verifier that was written from the specification alone agrees with ours: on what stands, and on what was forged."""

import ast
import base64
import json
import shutil
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support import ledgers, stranger
from support.bundles import audit_bundle, example_project
from support.cli import Project
from support.labels import Desk, calibration
from support.ledgers import (
    LATER,
    begin_run,
    end_trial,
    finish_run,
    fixed_second,
    keystore_of,
    make_ledger,
    make_sealed_run,
    record_call,
    reopen,
    start_trial,
)
from support.witnesses import anchor

from evalsite.ledger.rotation import Place, revoke, rotate
from evalsite.ledger.verify import verify_project
from evalsite.schema.checks import Area

LEDGER = "showcase-2026-12"
RUN = "2026-12-01-support-behaviors-v1-fixture"
EVENTS = f"{RUN}/events/000.jsonl"
MAX_LINES = 300  # of the verifier, all in all; the formats of others stand in a file of their own


@pytest.fixture
def copy(repository, tmp_path):
    """The committed records in a project of their own, and the pins that the verifiers hold, by ledger."""
    root = tmp_path / "project"
    shutil.copytree(repository / "runs", root / "runs")
    (root / "mkdocs.yml").write_text("site_name: copy\n", encoding="utf-8")
    rings = {path.parts[-3]: json.loads(path.read_bytes()) for path in root.glob("runs/trust/*/keyring/001.dsse.json")}
    return Project(root, tmp_path / "keys"), {name: ring["signatures"][0]["keyid"] for name, ring in rings.items()}


def pinned(pins):
    """Return the options of `evalsite verify` for pins."""
    return [word for ledger, pin in pins.items() for word in ("--root-key", f"{ledger}={pin}")]


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


def add_a_note_of_more_lines(runs):
    shutil.copy(runs / RUN / "checkpoint", runs / RUN / "checkpoints" / "9999.note")


def add_a_cosignature_that_nobody_made(runs):
    folder = runs / "log" / LEDGER / "anchors"
    folder.mkdir()
    key = base64.b64encode(b"\x04" + Ed25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    line = base64.b64encode(bytes(4 + 8 + 64)).decode()
    (folder / "2.w1-00000000.cosig").write_text(f"w1+00000000+{key}\n\u2014 w1 {line}\n", encoding="utf-8")


def add_a_time_stamp_under_another_digest(runs):
    folder = runs / "log" / LEDGER / "anchors"
    folder.mkdir()
    (folder / "2.0000000000000000.tsr").write_bytes(b"0")
    (folder / "2.0000000000000000.tsr.chain.pem").write_bytes(b"-----BEGIN CERTIFICATE-----\n")


def put_the_key_of_another_role(runs):
    folder = runs / "trust" / LEDGER
    shutil.copy(folder / "log.pem", folder / "runner.pem")


def hide_a_file_among_the_keys(runs):
    (runs / "trust" / LEDGER / "more.pem").write_bytes(b"")


def name_a_label_file_that_no_entry_reveals(runs):
    folder = runs / "log" / LEDGER / "labels"
    folder.mkdir()
    (folder / "human-a.json").write_bytes(b"{}\n")


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
    add_a_note_of_more_lines,
    add_a_cosignature_that_nobody_made,
    add_a_time_stamp_under_another_digest,
    put_the_key_of_another_role,
    hide_a_file_among_the_keys,
    name_a_label_file_that_no_entry_reveals,
]


def test_it_accepts_the_committed_records(repository, copy):
    _, pins = copy
    code, said = stranger.ask(repository / "runs", *pins.values())
    assert code == 0, said
    assert "A1" in said


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_both_refuse_a_forgery(forge, repository, copy):
    project, pins = copy
    forge(project.root / "runs")
    code, said = stranger.ask(project.root, *pins.values())
    assert code == 4, said
    assert "Traceback" not in said
    assert project.evalsite("verify", *pinned(pins)).code == 4


def test_both_refuse_another_root_key_than_the_pinned_one(repository, copy):
    project, pins = copy
    others = {**pins, LEDGER: "sha256:" + "0" * 64}
    assert stranger.ask(project.root, *others.values())[0] == 4
    assert project.evalsite("verify", *pinned(others)).code == 4


def test_both_call_a_missing_blob_not_decided(repository, copy):
    project, pins = copy
    next(iter((project.root / "runs" / RUN / "blobs").glob("*/*"))).unlink()
    code, said = stranger.ask(project.root, *pins.values())
    assert code == 5, said
    assert project.evalsite("verify", *pinned(pins)).code == 5


def test_it_accepts_a_bundle(repository, tmp_path):
    audit_bundle(example_project(tmp_path), tmp_path / "audit")
    code, said = stranger.ask(tmp_path / "audit")
    assert code == 0, said


@pytest.fixture
def made(tmp_path):
    """A project whose ledger changed its keys between runs, and holds cosignatures."""
    project = tmp_path / "made" / "project"
    project.mkdir(parents=True)
    make_ledger(project)
    place = Place(project=project, keystore=keystore_of(project), ledger=ledgers.LEDGER)
    make_sealed_run(project, "run-1")
    rotate(place, "log", now=LATER)
    make_sealed_run(project, "run-2")
    rotate(place, "root", now=LATER)
    revoke(place, ledgers.fixed_key("runner").key_id, reason="lost", now=LATER)
    rotate(place, "log-ml-dsa-44", now=LATER)
    make_sealed_run(project, "run-3")
    anchor(project, "w1", "w2")
    assert all(verify_project(project, pins={}).holds(area) for area in Area)
    return project


def test_both_accept_rotated_revoked_and_second_keys_and_cosignatures(made):
    first = ledgers.fixed_key("root").key_id
    code, said = stranger.ask(made, first)
    assert code == 0, said
    assert said.count("cosigned at") == 2
    assert said.count("was revoked later") == 2
    assert "A1" in said


def strip_a_second_signature(runs):
    path = runs / "log" / ledgers.LEDGER / "checkpoint"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    size = path.read_bytes().split(b"\n")[1].decode()
    shutil.copy(path, path.parent / "checkpoints" / f"{size}.note")


def change_a_second_signature(runs):
    for path in sorted((runs / "run-3" / "checkpoints").iterdir()):
        text, _, last = path.read_bytes()[:-1].rpartition(b" ")
        signed = bytearray(base64.b64decode(last))
        signed[2000] ^= 1
        path.write_bytes(text + b" " + base64.b64encode(signed) + b"\n")
        shutil.copy(path, runs / "run-3" / "checkpoint")


def change_a_cosignature(runs):
    path = next((runs / "log" / ledgers.LEDGER / "anchors").glob("*.w1-*"))
    key, _, line = path.read_bytes()[:-1].partition(b"\n")
    start, _, last = line.rpartition(b" ")
    signed = bytearray(base64.b64decode(last))
    signed[20] ^= 1
    path.write_bytes(key + b"\n" + start + b" " + base64.b64encode(signed) + b"\n")


def call_a_cosignature_one_of_a_smaller_log(runs):
    path = next((runs / "log" / ledgers.LEDGER / "anchors").glob("*.w1-*"))
    path.rename(path.with_name("2." + path.name.partition(".")[2]))


def lose_a_keyring_version(runs):
    folder = runs / "trust" / ledgers.LEDGER / "keyring"
    (folder / "002.dsse.json").unlink()


def lose_the_newest_keyring_version(runs):
    max((runs / "trust" / ledgers.LEDGER / "keyring").iterdir()).unlink()


@pytest.mark.parametrize(
    "forge",
    [
        strip_a_second_signature,
        change_a_second_signature,
        change_a_cosignature,
        call_a_cosignature_one_of_a_smaller_log,
        lose_a_keyring_version,
        lose_the_newest_keyring_version,
    ],
    ids=lambda forge: forge.__name__,
)
def test_both_refuse_a_forgery_among_changed_keys_and_anchors(forge, made):
    forge(made / "runs")
    code, said = stranger.ask(made)
    assert code == 4, said
    assert not verify_project(made, pins={}).holds(Area.INTEGRITY)


def test_a_log_with_two_keys_from_the_beginning_is_accepted(tmp_path):
    project = tmp_path / "two" / "project"
    project.mkdir(parents=True)
    make_ledger(project, second=fixed_second())
    make_sealed_run(project)
    code, said = stranger.ask(project)
    assert code == 0, said


def leave_open(project):
    with reopen(project) as writer:
        run, plan = begin_run(writer)
        for trial in plan.case_trials()[:1]:
            start_trial(run, trial)
            end_trial(run, trial, call=record_call(run, trial))


def tear_and_resume(project):
    leave_open(project)
    with (project / "runs" / "run-1" / "events" / "000.jsonl").open("ab") as file:
        file.write(b'{"torn":')
    with reopen(project) as writer:
        assert finish_run(writer, "run-1").dropped_bytes == 8


def lose_a_proof(project):
    make_sealed_run(project)
    (project / "runs" / "run-1" / "proofs" / "run-closed.tlog-proof").unlink()


def leave_a_temporary_file(project):
    make_sealed_run(project)
    (project / "runs" / "run-1" / ".evalsite-tmp-0").write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "code"), [(leave_open, 5), (tear_and_resume, 0), (lose_a_proof, 5), (leave_a_temporary_file, 5)]
)
def test_both_say_the_same_of_what_a_crash_leaves(make, code, tmp_path):
    project = tmp_path / "project"
    make_ledger(project)
    make(project)
    report = verify_project(project, pins={})
    assert report.holds(Area.INTEGRITY)
    assert report.holds(Area.COMPLETENESS) is (code == 0)
    found, said = stranger.ask(project)
    assert found == code, said


@pytest.fixture
def labelled(tmp_path):
    """A ledger in which labels were committed, named by a run, and revealed."""
    project = tmp_path / "labelled" / "project"
    project.parent.mkdir()
    make_ledger(project)
    desk = Desk(project)
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.reveal()
    desk.record("run-1")
    return project


def test_of_labels_it_checks_the_revealed_file_and_says_that_it_does_not_check_their_order(labelled):
    code, said = stranger.ask(labelled)
    assert code == 0, said
    assert said.count("NOT CHECKED HERE") == 5
    path = labelled / "runs" / "log" / ledgers.LEDGER / "labels" / "human-a.json"
    edited(path, b'"value":1', b'"value":0')
    assert stranger.ask(labelled)[0] == 4
    path.unlink()
    assert stranger.ask(labelled)[0] == 5


@pytest.mark.parametrize("mode", ["fixture", "live"])
@pytest.mark.parametrize("protocol", ["binary", "evidence", "graded"])
def test_it_plans_the_same_trials(protocol, mode, tmp_path):
    project = tmp_path / "project"
    make_ledger(project)
    make_sealed_run(project, protocol=protocol, mode=mode)
    assert all(verify_project(project, pins={}).holds(area) for area in Area)
    code, said = stranger.ask(project)
    assert code == 0, said


def test_it_is_short_and_stands_alone():
    modules = set()
    for name in stranger.FILES:
        text = (stranger.EXAMPLES / name).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                modules |= {item.name.split(".")[0] for item in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module.split(".")[0])
    assert modules - {"cryptography", "plain_formats"} <= sys.stdlib_module_names
    assert len((stranger.EXAMPLES / stranger.FILES[0]).read_text(encoding="utf-8").splitlines()) <= MAX_LINES
