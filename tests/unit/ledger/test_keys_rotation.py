# SPDX-License-Identifier: Apache-2.0
"""Keys that are replaced and revoked: what was signed before holds, what another key signs does not."""

import base64
import json
import os
import shutil
import stat
import subprocess

import pytest
from support.ledgers import (
    LATER,
    LEDGER,
    NOW,
    begin_run,
    close_run,
    finish_run,
    fixed_key,
    keystore_of,
    make_ledger,
    make_sealed_run,
    reopen,
    run_trials,
)

from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError
from evalsite.ledger import rotation
from evalsite.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from evalsite.ledger.dsse import parse_envelope, sign_envelope
from evalsite.ledger.ed25519 import _LOW_ORDER, Signer
from evalsite.ledger.keyexport import export_keys
from evalsite.ledger.keys import load_key, read_pins
from evalsite.ledger.layout import log_origin
from evalsite.ledger.note import parse_note
from evalsite.ledger.rotation import Place, add_key, finish_change, revoke, rotate
from evalsite.ledger.sshsig import sign_detached
from evalsite.ledger.trust import KEYRING_TYPE, SECOND, SSH_NAMESPACE, open_keyring
from evalsite.ledger.verify import verify_project
from evalsite.ledger.writer import verified_ledger
from evalsite.schema.checks import Area, Level
from evalsite.schema.entries import Keyring


@pytest.fixture
def desk(tmp_path):
    project = tmp_path / "project"
    make_ledger(project)
    return Place(project=project, keystore=keystore_of(project), ledger=LEDGER)


def report_of(place, pin=None):
    return verify_project(place.project, pins={} if pin is None else {LEDGER: pin})


def holds(place, pin=None):
    report = report_of(place, pin)
    assert [str(finding) for finding in report.findings()] == []
    return all(report.holds(area) for area in Area)


def codes(place):
    return {finding.code for finding in report_of(place).findings()}


class TestRotation:
    @pytest.mark.parametrize("role", ["log", "runner", "root"])
    def test_runs_before_and_after_hold_each_under_its_own_key(self, desk, role):
        make_sealed_run(desk.project, "before")
        old = load_key(desk.keystore, LEDGER, role)
        assert rotate(desk, role, now=LATER).version == 2
        make_sealed_run(desk.project, "after")
        assert holds(desk)
        assert load_key(desk.keystore, LEDGER, role).public_key != old.public_key
        kept = desk.box / f"{role}-until-2.pem"
        assert Signer.from_pem(kept.read_bytes()).public_key == old.public_key
        assert {stat.S_IMODE(path.stat().st_mode) for path in desk.box.iterdir()} == {0o600}

    @pytest.mark.parametrize("role", ["log", "runner", "root"])
    def test_a_run_that_is_open_goes_on_under_the_new_key(self, desk, role):
        with reopen(desk.project) as writer:
            begin_run(writer)
        rotate(desk, role, now=LATER)
        with reopen(desk.project) as writer:
            finish_run(writer)
        assert holds(desk)

    def test_every_role_in_turn(self, desk):
        for number, role in enumerate(("log", "root", "runner", "log", "root"), start=2):
            assert rotate(desk, role, now=LATER).version == number
            make_sealed_run(desk.project, f"run-{number}")
        assert holds(desk)

    def test_both_the_old_and_the_new_pin_are_led_to_the_newest_root(self, desk):
        make_sealed_run(desk.project)
        old = read_pins(desk.keystore)[LEDGER]
        new = rotate(desk, "root", now=LATER).root_fingerprint
        assert read_pins(desk.keystore)[LEDGER] == new != old
        for pin in (old, new):
            assert holds(desk, pin)
            assert report_of(desk, pin).ledgers[0].level is Level.A1
        assert "keyring.pin" in {item.code for item in report_of(desk, "sha256:" + "1" * 64).findings()}

    def test_keys_list_when_they_began_and_ended(self, desk):
        rotate(desk, "log", now=LATER)
        keys = [item for item in verified_ledger(desk.project, LEDGER).keys.keyring.keys if item.role == "log"]
        assert [(item.not_before, item.not_after) for item in keys] == [(NOW, LATER), (LATER, None)]

    def test_a_run_that_waits_for_its_seal_stops_it(self, desk):
        with reopen(desk.project) as writer:
            run, plan = begin_run(writer)
            run_trials(run, plan)
            close_run(run, plan)
        with pytest.raises(RefusedError, match="to be sealed"):
            rotate(desk, "log", now=LATER)
        rotate(desk, "root", now=LATER)
        with reopen(desk.project) as writer:
            finish_run(writer)
        rotate(desk, "log", now=LATER)
        assert holds(desk)

    def test_left_unfinished_it_stays_authentic_and_open(self, desk):
        with reopen(desk.project) as writer:
            run, plan = begin_run(writer)
            run_trials(run, plan)
            close_run(run, plan)
        rotate(desk, "log", now=LATER, leave_unfinished=True)
        report = report_of(desk)
        assert report.holds(Area.INTEGRITY)
        assert not report.holds(Area.COMPLETENESS)


class TestRefusals:
    def test_a_role_that_does_not_rotate(self, desk):
        with pytest.raises(InputError, match="root, runner or log"):
            rotate(desk, "witness", now=LATER)

    def test_a_ledger_that_is_not_there(self, desk):
        with pytest.raises(InputError, match="expected a ledger other"):
            rotate(Place(project=desk.project, keystore=desk.keystore, ledger="other"), "log", now=LATER)

    def test_a_root_key_that_is_offline(self, desk, tmp_path):
        (desk.box / "root.pem").rename(tmp_path / "stick.pem")
        with pytest.raises(UndecidedError, match="root key"):
            rotate(desk, "log", now=LATER)
        stick = Place(project=desk.project, keystore=desk.keystore, ledger=LEDGER, root_key=tmp_path / "stick.pem")
        assert rotate(stick, "log", now=LATER).version == 2
        assert verified_ledger(desk.project, LEDGER).keys.keyring.version == 2

    def test_a_root_key_of_another_ledger(self, desk):
        (desk.box / "root.pem").write_bytes(fixed_key("other").to_pem())
        with pytest.raises(RefusedError, match="root key, found another"):
            rotate(desk, "log", now=LATER)

    def test_a_key_that_others_may_read(self, desk):
        (desk.box / "root.pem").chmod(0o644)
        with pytest.raises(RefusedError, match="0644"):
            rotate(desk, "log", now=LATER)

    def test_a_log_that_does_not_verify_is_left_alone(self, desk):
        path = desk.project / "runs/log/desk/entries/000.jsonl"
        path.write_bytes(path.read_bytes().replace(NOW.encode(), LATER.encode(), 1))
        with pytest.raises(IntegrityError):
            rotate(desk, "log", now=LATER)
        assert not (desk.box / "pending.json").exists()
        assert not list(desk.box.glob("next-*"))

    @pytest.mark.parametrize("key", [*sorted(_LOW_ORDER)[:3], bytes(31)])
    def test_a_key_that_proves_nothing_is_not_listed(self, desk, key):
        with pytest.raises(IntegrityError):
            add_key(desk, "witness", "w", key, now=LATER)

    def test_a_key_or_name_that_is_listed_is_not_listed_again(self, desk):
        add_key(desk, "witness", "w", fixed_key("w").public_key, now=LATER)
        for name, key in (("other", fixed_key("w")), ("w", fixed_key("v")), ("x", fixed_key("log"))):
            with pytest.raises(IntegrityError, match="each its own"):
                add_key(desk, "witness", name, key.public_key, now=LATER)
        with pytest.raises(InputError, match="approver or witness"):
            add_key(desk, "log", "w", fixed_key("u").public_key, now=LATER)
        assert holds_keys(desk) == ["desk/runner", "desk/log", "desk/witness/w"]

    def test_revoking_the_key_of_a_run_that_waits_for_its_seal(self, desk):
        with reopen(desk.project) as writer:
            run, plan = begin_run(writer)
            run_trials(run, plan)
            close_run(run, plan)
        add_key(desk, "witness", "w", fixed_key("w").public_key, now=LATER)
        with pytest.raises(RefusedError, match="to be sealed"):
            revoke(desk, fixed_key("log").key_id, reason="lost", now=LATER)
        assert revoke(desk, fixed_key("w").key_id, reason="lost", now=LATER).version == 3  # it seals nothing
        assert revoke(desk, fixed_key("log").key_id, reason="lost", now=LATER, leave_unfinished=True).version == 4


def holds_keys(place):
    return [item.name for item in verified_ledger(place.project, LEDGER).keys.keyring.keys]


class TestRevocation:
    @pytest.mark.parametrize("role", ["log", "runner"])
    def test_what_came_before_holds_with_a_note_and_a_successor_goes_on(self, desk, role):
        make_sealed_run(desk.project, "before")
        revoke(desk, fixed_key(role).key_id, reason="laptop lost", now=LATER)
        make_sealed_run(desk.project, "after")
        assert holds(desk)
        names = {run.run_id: {check.name for check in run.checks} for run in report_of(desk).runs}
        noted = {run for run, steps in names.items() if any("revoked later" in step for step in steps)}
        assert noted == ({"before"} if role == "runner" else set())
        assert b'"reason":"laptop lost"' in (desk.project / "runs/log/desk/entries/000.jsonl").read_bytes()

    def test_a_log_checkpoint_by_the_revoked_key_behind_the_revocation_fails(self, desk):
        revoke(desk, fixed_key("log").key_id, reason="lost", now=LATER)
        resign(desk.project / "runs/log/desk", 4, fixed_key("log"))
        assert "checkpoint.key" in codes(desk)

    def test_a_log_checkpoint_by_the_new_key_before_the_change_fails(self, desk):
        rotate(desk, "log", now=LATER)
        resign(desk.project / "runs/log/desk", 2, load_key(desk.keystore, LEDGER, "log"), newest=False)
        assert codes(desk) >= {"checkpoint.key"}

    def test_a_run_checkpoint_by_the_old_key_fails(self, desk):
        rotate(desk, "log", now=LATER)
        make_sealed_run(desk.project)
        run = desk.project / "runs/run-1"
        size = max(int(path.stem) for path in (run / "checkpoints").iterdir())
        resign(run, size, fixed_key("log"))
        assert codes(desk) == {"checkpoint.key"}

    def test_a_statement_by_the_old_key_fails(self, desk):
        rotate(desk, "runner", now=LATER)
        make_sealed_run(desk.project)
        path = desk.project / "runs/run-1/statement.dsse.json"
        envelope = parse_envelope(path.read_bytes())
        path.write_bytes(sign_envelope(envelope.payload_type, envelope.payload, fixed_key("runner")).to_bytes())
        assert codes(desk) == {"statement"}

    def test_it_is_refused_twice_for_the_root_for_strangers_and_without_a_reason(self, desk):
        key = fixed_key("log").key_id
        for reason in ("", "  ", "two\nlines", "x" * 201):
            with pytest.raises(InputError, match="reason"):
                revoke(desk, key, reason=reason, now=LATER)
        with pytest.raises(InputError, match="root key"):
            revoke(desk, fixed_key("root").key_id, reason="lost", now=LATER)
        with pytest.raises(InputError, match="key id"):
            revoke(desk, fixed_key("stranger").key_id, reason="lost", now=LATER)
        revoke(desk, key, reason="lost", now=LATER)
        with pytest.raises(RefusedError, match="not revoked yet"):
            revoke(desk, key, reason="lost", now=LATER)

    def test_a_key_that_was_replaced_can_be_revoked_still(self, desk):
        make_sealed_run(desk.project)
        rotate(desk, "runner", now=LATER)
        assert revoke(desk, fixed_key("runner").key_id, reason="found on a disk", now=LATER).version == 3
        assert holds(desk)
        assert not list(desk.box.glob("runner-until-3.pem"))


def resign(folder, size, signer, *, newest=True):
    path = folder / "checkpoints" / f"{size}.note"
    checkpoint = parse_checkpoint(parse_note(path.read_bytes()).text)
    path.write_bytes(sign_checkpoint(checkpoint, log_origin(LEDGER), signer))
    if newest:
        (folder / "checkpoint").write_bytes(path.read_bytes())


class TestSuccession:
    """A later version can't rewrite an earlier one, even with the root key."""

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda keys: keys[1:], "as it was"),
            (lambda keys: [{**keys[0], "not_after": None}, keys[1], {**keys[2], "not_after": LATER}], "stay ended"),
            (lambda keys: [{**keys[0], "not_before": LATER}, *keys[1:]], "as it was"),
            (lambda keys: [{**keys[0], "not_after": "2027-01-01T00:00:00Z"}, *keys[1:]], "stay ended"),
        ],
    )
    def test_it_is_refused(self, desk, change, message):
        rotate(desk, "runner", now=LATER)
        before = verified_ledger(desk.project, LEDGER).keys
        value = before.keyring.plain()
        value |= {"version": 3, "keys": change(value["keys"])}
        data = sign_envelope(KEYRING_TYPE, Keyring.from_value(value).to_bytes(), fixed_key("root")).to_bytes()
        with pytest.raises(IntegrityError, match=message):
            open_keyring(data, ledger=LEDGER, previous=before)


class _CutError(Exception):
    pass


class TestInterruption:
    """Every write of a change is a place where the power can go; afterwards the change is finished, once."""

    @pytest.mark.parametrize(
        ("kind", "first"), [("log", 0), ("runner", 1), ("root", 0), ("revoke", 1), ("add", 0), (SECOND, 1)]
    )
    def test_a_change_cut_short_anywhere_can_be_finished(self, desk, kind, first, monkeypatch, tmp_path):
        make_sealed_run(desk.project, "before")
        finished = 0
        for allowed in range(first, 60, 2):
            copy = tmp_path / f"copy-{allowed}"
            shutil.copytree(tmp_path / "project", copy / "project")
            shutil.copytree(tmp_path / "keys", copy / "keys")
            place = Place(project=copy / "project", keystore=copy / "keys", ledger=LEDGER)
            with monkeypatch.context() as patch:
                cut(patch, allowed)
                try:
                    change(place, kind)
                except _CutError:
                    pass
                else:
                    break
            if (place.box / "pending.json").exists():
                with pytest.raises(UndecidedError, match="unfinished"), reopen(place.project):
                    pass
                with pytest.raises(UndecidedError, match="unfinished"):
                    rotate(place, "log", now=LATER)
                assert finish_change(place, now=LATER).version == 2
                finished += 1
            assert (place.box / "approver-qa.pem").exists() is ("desk/approver/qa" in holds_keys(place))
            make_sealed_run(place.project, "after")
            assert holds(place)
            assert finish_change(place, now=LATER) is None
            assert not list(place.box.glob("next-*"))
            shutil.rmtree(copy)
        assert finished > 2


def change(place, kind):
    if kind == "revoke":
        revoke(place, fixed_key("log").key_id, reason="lost", now=LATER)
    elif kind == "add":
        add_key(place, "approver", "qa", None, now=LATER)
    else:
        rotate(place, kind, now=LATER)


def cut(patch, allowed):
    """Let a number of renames and links through, then the power goes."""
    left = [allowed]
    for name in ("rename", "link", "unlink"):
        real = getattr(os, name)

        def guarded(*args, _real=real, **options):
            if left[0] <= 0:
                raise _CutError
            left[0] -= 1
            return _real(*args, **options)

        patch.setattr(os, name, guarded)


class TestExport:
    def test_the_history_stands_in_it(self, desk, tmp_path):
        rotate(desk, "runner", now=LATER)
        rotate(desk, "log", now=LATER)
        names = export_keys(desk.project, LEDGER, tmp_path / "out")
        assert sorted(names) == [
            "allowed_signers",
            "fingerprints",
            *(f"keyring/00{number}.dsse.json" for number in (1, 2, 3)),
            "log-vkeys",
        ]
        signers = (tmp_path / "out/allowed_signers").read_text().splitlines()
        assert 'valid-after="20261201090000Z",valid-before="20261201090500Z"' in signers[0]
        assert "valid-before" not in signers[1]
        assert len((tmp_path / "out/log-vkeys").read_text().splitlines()) == 2
        assert fixed_key("root").key_id in (tmp_path / "out/fingerprints").read_text()

    @pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
    @pytest.mark.parametrize(
        ("time", "old", "new"), [("20261201090200Z", True, False), ("20261201091000Z", False, True)]
    )
    def test_ssh_keygen_takes_each_runner_key_in_its_time(self, desk, tmp_path, time, old, new):
        rotate(desk, "runner", now=LATER)
        export_keys(desk.project, LEDGER, tmp_path)
        for signer, expected in ((fixed_key("runner"), old), (load_key(desk.keystore, LEDGER, "runner"), new)):
            (tmp_path / "sig").write_bytes(sign_detached(b"statement", SSH_NAMESPACE, signer))
            command = ["ssh-keygen", "-Y", "verify", "-f", "allowed_signers", "-I", f"runner@{LEDGER}", "-s", "sig"]
            command += ["-n", SSH_NAMESPACE, f"-Overify-time={time}"]
            done = subprocess.run(command, cwd=tmp_path, input=b"statement", capture_output=True, check=False)
            assert (done.returncode == 0) is expected, done.stderr

    def test_nothing_of_a_private_key_is_pending_in_the_open(self, desk):
        rotate(desk, "log", now=LATER)
        secrets = [path.read_bytes().splitlines()[1] for path in desk.box.glob("*.pem")]
        for path in desk.project.rglob("*"):
            if path.is_file():
                assert not any(secret in path.read_bytes() for secret in secrets)


def test_pending_holds_no_private_key(desk, monkeypatch):
    def stop(*_, **__):
        raise _CutError

    monkeypatch.setattr(rotation, "_carry_out", stop)
    with pytest.raises(_CutError):
        rotate(desk, "log", now=LATER)
    pending = json.loads((desk.box / "pending.json").read_bytes())
    assert set(pending) == {"envelope", "revoked"}
    assert b"PRIVATE" not in base64.b64decode(pending["envelope"])
