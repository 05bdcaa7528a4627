# SPDX-License-Identifier: Apache-2.0
"""A ledger whose log has a second key: both signatures are needed from its publication on, and before it neither is."""

import contextlib
import errno
import shutil

import pytest
from support.crashes import assert_whole
from support.faults import failing
from support.ledgers import (
    LATER,
    LEDGER,
    RUN,
    begin_run,
    close_run,
    finish_run,
    fixed_key,
    fixed_second,
    keystore_of,
    make_ledger,
    make_sealed_run,
    reopen,
    run_trials,
)
from support.verdicts import codes, refused
from support.witnesses import PIN, anchor, trusting

from evalsite.errors import IntegrityError, RefusedError, UndecidedError
from evalsite.ledger.dsse import parse_envelope, sign_envelope
from evalsite.ledger.keyexport import exported_keys
from evalsite.ledger.keys import load_second
from evalsite.ledger.note import parse_note
from evalsite.ledger.rotation import Place, finish_change, revoke, rotate
from evalsite.ledger.trust import KEYRING_TYPE, SECOND, open_keyring
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.ledger.writer import verified_ledger
from evalsite.schema.checks import Level
from evalsite.schema.entries import Keyring
from evalsite.storage import PRIVATE_FILE, replace

LOG = f"runs/log/{LEDGER}"


@pytest.fixture(scope="module")
def founded(tmp_path_factory):
    """A ledger that was founded with a second key, and a sealed run."""
    project = tmp_path_factory.mktemp("second") / "project"
    make_ledger(project, second=fixed_second())
    make_sealed_run(project)
    return project


@pytest.fixture
def project(founded, tmp_path):
    shutil.copytree(founded.parent, tmp_path / "copy")
    return tmp_path / "copy" / "project"


@pytest.fixture
def plain(tmp_path):
    """A ledger without a second key, and a sealed run."""
    project = tmp_path / "plain" / "project"
    project.mkdir(parents=True)
    make_ledger(project)
    make_sealed_run(project)
    return project


def place_of(project):
    return Place(project=project, keystore=keystore_of(project), ledger=LEDGER)


def lines_of(path):
    return len(parse_note(path.read_bytes()).signatures)


def notes_under(project, *folders):
    return sorted(path for folder in folders for path in (project / folder / "checkpoints").iterdir())


def strip(path):
    """Take the second signature away from a note."""
    note = parse_note(path.read_bytes())
    path.write_bytes(type(note)(note.text, note.signatures[:1]).to_bytes())


def test_every_checkpoint_has_both_signatures_and_the_trail_holds(project):
    notes = notes_under(project, LOG, f"runs/{RUN}")
    assert [lines_of(path) for path in notes] == [2] * len(notes)
    assert lines_of(project / LOG / "checkpoint") == 2
    assert_whole(project)
    make_sealed_run(project, "run-2")
    assert_whole(project)


def test_a_stripped_second_signature_of_the_log_is_refused_at_any_size(project):
    for path in notes_under(project, LOG):
        kept = path.read_bytes()
        strip(path)
        assert refused(project).run is None
        path.write_bytes(kept)
    assert_whole(project)


def test_both_copies_of_the_newest_stripped_checkpoint_are_refused(project):
    newest = max(notes_under(project, LOG), key=lambda path: int(path.stem))
    strip(newest)
    shutil.copy(newest, project / LOG / "checkpoint")
    assert "checkpoint.note" in codes(refused(project))
    with pytest.raises(IntegrityError), reopen(project):
        pytest.fail("opened")


def test_a_stripped_last_checkpoint_of_a_run_is_refused(project):
    newest = max(notes_under(project, f"runs/{RUN}"), key=lambda path: int(path.stem))
    strip(newest)
    shutil.copy(newest, project / f"runs/{RUN}/checkpoint")
    assert "checkpoint.note" in codes(refused(project))


def test_a_note_of_a_proof_that_was_stripped_is_refused(project):
    path = project / f"runs/{RUN}/proofs/run-closed.tlog-proof"
    head, _, note = path.read_bytes().partition(b"\n\n")
    found = parse_note(note)
    path.write_bytes(head + b"\n\n" + type(found)(found.text, found.signatures[:1]).to_bytes())
    assert codes(refused(project)) == {"proof"}


def test_a_ledger_gets_one_later_and_what_stood_before_stays_byte_for_byte(plain):
    before = {path: path.read_bytes() for path in (plain / "runs").rglob("*") if path.is_file()}
    assert rotate(place_of(plain), SECOND, now=LATER).version == 2
    make_sealed_run(plain, "run-2")
    assert_whole(plain)
    kept = [path for path in before if "/checkpoints/" in str(path) or f"/{RUN}/" in str(path)]
    assert all(path.read_bytes() == before[path] for path in kept)
    sizes = {int(path.stem): lines_of(path) for path in notes_under(plain, LOG)}
    assert sizes == {2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 2}
    strip(plain / LOG / "checkpoints/5.note")
    assert codes(refused(plain)) == {"checkpoint.key"}


def test_a_run_that_was_open_goes_on_under_both(plain):
    with reopen(plain) as writer:
        begin_run(writer, "run-2")
    rotate(place_of(plain), SECOND, now=LATER)
    with reopen(plain) as writer:
        finish_run(writer, "run-2")
    assert_whole(plain)
    strip(max(notes_under(plain, "runs/run-2"), key=lambda path: int(path.stem)))
    assert "checkpoint.key" in codes(refused(plain, "run-2"))


def test_a_run_that_waits_for_its_seal_stops_the_first_second_key(plain):
    with reopen(plain) as writer:
        run, plan = begin_run(writer, "run-2")
        run_trials(run, plan)
        close_run(run, plan)
    with pytest.raises(RefusedError, match="to be sealed"):
        rotate(place_of(plain), SECOND, now=LATER)


@pytest.mark.parametrize("role", ["log", "runner", "root", SECOND])
def test_each_key_is_replaced_alone(project, role):
    assert rotate(place_of(project), role, now=LATER).version == 2
    make_sealed_run(project, "run-2")
    assert_whole(project)
    kept = keystore_of(project) / LEDGER / f"{role}-until-2.pem"
    assert kept.is_file()


def test_a_revoked_second_key_gets_a_successor_and_signs_no_more(project):
    revoke(place_of(project), fixed_second().key_id, reason="disk sold", now=LATER)
    make_sealed_run(project, "run-2")
    assert_whole(project)
    keys = verified_ledger(project, LEDGER).keys
    assert keys.revoked(fixed_second().key_id)
    assert keys.log_key.second.public_key != fixed_second().public_key


def test_the_second_key_must_be_there_and_be_the_keyrings(project):
    path = keystore_of(project) / LEDGER / f"{SECOND}.pem"
    before = sorted((project / "runs").rglob("*"))
    replace(path, fixed_second("other").to_pem(), mode=PRIVATE_FILE)
    for act in (lambda: make_sealed_run(project, "run-2"), lambda: rotate(place_of(project), "log", now=LATER)):
        with pytest.raises(RefusedError, match="second log key"):
            act()
    path.unlink()
    for act in (lambda: make_sealed_run(project, "run-2"), lambda: rotate(place_of(project), "log", now=LATER)):
        with pytest.raises(UndecidedError, match="second log key"):
            act()
    assert sorted((project / "runs").rglob("*")) == before
    assert rotate(place_of(project), SECOND, now=LATER).version == 2  # a lost one is replaced


def test_a_change_cut_short_is_finished_with_the_new_second_key(project, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("evalsite.ledger.rotation._switch", stop)
        with pytest.raises(KeyboardInterrupt):
            rotate(place_of(project), SECOND, now=LATER)
    assert finish_change(place_of(project), now=LATER).version == 2
    key = verified_ledger(project, LEDGER).keys.log_key.second
    assert load_second(keystore_of(project), LEDGER, key).public_key == key.public_key
    make_sealed_run(project, "run-2")
    assert_whole(project)


def test_a_seal_that_failed_anywhere_is_finished_by_sealing_again(tmp_path):
    """A second signature is another one each time: the one that stands is kept, in this process and in the next."""
    pristine = tmp_path / "pristine" / "project"
    pristine.mkdir(parents=True)
    make_ledger(pristine, second=fixed_second())
    moment, fired = 0, True
    while fired:
        shutil.copytree(pristine.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            run_trials(run, plan)
            close_run(run, plan)
            with failing(moment, errno.ENOSPC) as fault, contextlib.suppress(UndecidedError):
                run.seal(now=LATER)
            fired = fault.fired
            if moment % 2:
                run.seal(now=LATER)
        if not moment % 2 and fired:
            with reopen(project) as ledger:
                finish_run(ledger)
        assert_whole(project)
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert moment > 20


def test_a_witness_cosigns_and_the_level_is_reached(project):
    anchor(project, "w1")
    assert verify_run(project, RUN, pins=PIN, policy=trusting("w1")).run.level is Level.A3
    assert_whole(project)


class TestKeyrings:
    def envelope(self, project, change):
        value = verified_ledger(project, LEDGER).keys.keyring.plain()
        change(value["keys"])
        return sign_envelope(KEYRING_TYPE, Keyring.from_value(value).to_bytes(), fixed_key("root")).to_bytes()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda keys: keys[0].update(algorithm="ml-dsa-44"), "for a key of the log only"),
            (lambda keys: keys[1].update(algorithm="ml-dsa-44"), "1312 bytes"),
            (lambda keys: keys[2].update(algorithm="ed25519"), "32 bytes"),
            (lambda keys: keys[2].update(name="desk/log/second"), "key name"),
            (lambda keys: keys.append({**keys[2], "key_id": fixed_second("b").key_id}), "SHA-256 of the key"),
        ],
    )
    def test_what_it_may_not_say(self, project, change, message):
        with pytest.raises(IntegrityError, match=message):
            open_keyring(self.envelope(project, change), ledger=LEDGER, previous=None)

    def test_two_second_keys_in_force(self, plain):
        rotate(place_of(plain), SECOND, now=LATER)
        before = verified_ledger(plain, LEDGER).keys
        rotate(place_of(plain), SECOND, now=LATER)
        value = verified_ledger(plain, LEDGER).keys.keyring.plain()
        assert [key["algorithm"] for key in value["keys"]] == ["ed25519", "ed25519", "ml-dsa-44", "ml-dsa-44"]
        value["keys"][2]["not_after"] = None
        data = sign_envelope(KEYRING_TYPE, Keyring.from_value(value).to_bytes(), fixed_key("root")).to_bytes()
        with pytest.raises(IntegrityError, match="each its own"):
            open_keyring(data, ledger=LEDGER, previous=before)

    def test_old_keyrings_stay_as_they_were(self, plain):
        payload = parse_envelope((plain / f"runs/trust/{LEDGER}/keyring/001.dsse.json").read_bytes()).payload
        assert b"ml-dsa" not in payload
        names = {path.name for path in (plain / f"runs/trust/{LEDGER}").iterdir()}
        assert not [name for name in names if name.startswith(SECOND)]

    def test_the_files_for_others_follow(self, project):
        trust = project / f"runs/trust/{LEDGER}"
        assert (trust / f"{SECOND}.pem").read_text().startswith("-----BEGIN PUBLIC KEY-----")
        vkey = (trust / f"{SECOND}.vkey").read_text()
        assert vkey.startswith(f"{LEDGER}/log+")
        exported = exported_keys(project, LEDGER)
        assert vkey in exported["log-vkeys"].decode()
        assert "desk/log (ml-dsa-44)" in exported["fingerprints"].decode()
        (trust / f"{SECOND}.vkey").unlink()
        report = verify_project(project, pins={})
        assert {finding.code for finding in report.findings()} == {"keys.derived"}
