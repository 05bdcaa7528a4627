# SPDX-License-Identifier: Apache-2.0
"""Heads that a verifier holds: a log extends them, or was rolled back or forked."""

import shutil

import pytest
from support.ledgers import LATER, LEDGER, NOW, RUN, fixed_key, keystore_of, make_ledger, make_sealed_run
from support.witnesses import PIN, TIME_S, anchor, fork_log, ledger_of, open_log, trusting

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.anchors import cosig_bytes, cosig_name
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.cosignature import WitnessKey, cosign
from evalsite.ledger.evidence import Policy
from evalsite.ledger.heads import HeldHead, head_words, parse_expected, parse_known, remember_head, remembered_head
from evalsite.ledger.layout import log_folder
from evalsite.ledger.note import parse_note
from evalsite.ledger.policy import require_ledgers
from evalsite.ledger.rotation import Place, rotate
from evalsite.ledger.verify import check_ledgers, verify_project, verify_run
from evalsite.schema.checks import Area, Level

ROOT_KEY = fixed_key("root").key_id


def note_of(project, size):
    return (project / log_folder(LEDGER) / "checkpoints" / f"{size}.note").read_bytes()


def known(project, size):
    return parse_known(note_of(project, size), "--known-checkpoint kept.note")


def findings(report):
    return [finding for check in report.checks if check.step == 25 for finding in check.findings]


class TestStatedHeads:
    def test_a_log_that_extends_them_reaches_a2(self, project):
        for size in (2, 3, 4):
            report = ledger_of(project, Policy(heads=(known(project, size),)))
            assert (report.level, report.holds(Area.INTEGRITY)) == (Level.A2, True)
            assert [check.checked for check in report.checks if check.step == 25] == [1]
        run = verify_run(project, RUN, pins=PIN, policy=Policy(heads=(known(project, 2),))).run
        assert run.level is Level.A2

    def test_without_a_pin_it_stays_a0(self, project):
        assert ledger_of(project, Policy(heads=(known(project, 4),)), pins={}).level is Level.A0

    def test_a_head_that_was_written_down(self, project):
        head = known(project, 4)
        text = head_words(4, head.root)
        for words in (text, f"{LEDGER}={text}"):
            assert ledger_of(project, Policy(heads=(parse_expected(words),))).level is Level.A2
        wrong = parse_expected(head_words(4, bytes(32)))
        report = ledger_of(project, Policy(heads=(wrong,)))
        (finding,) = findings(report)
        assert head_words(4, head.root) in finding.message
        assert head_words(4, bytes(32)) in finding.message

    def test_a_rolled_back_log_is_an_integrity_failure_that_names_both_heads(self, project, tmp_path):
        old = tmp_path / "old"
        shutil.copytree(project.parent, old)
        make_sealed_run(project, "run-2")
        head = known(project, 6)
        report = ledger_of(old / "project", Policy(heads=(head,)))
        (finding,) = findings(report)
        assert head_words(6, head.root) in finding.message
        assert head_words(4, known(project, 4).root) in finding.message
        assert "rolled back" in finding.message
        assert not report.holds(Area.INTEGRITY)
        assert verify_run(old / "project", RUN, pins=PIN, policy=Policy(heads=(head,))).run is None

    def test_a_forked_log_is_an_integrity_failure_and_both_notes_are_kept(self, project):
        head = known(project, 3)
        fork_log(project, keep=2)
        report = ledger_of(project, Policy(heads=(head,)))
        (finding,) = findings(report)
        assert "forked" in finding.message
        (kept,) = (project / ".evalsite").glob("fork-*.txt")
        assert kept.name in finding.message
        assert head.note in kept.read_bytes()
        assert note_of(project, 3) in kept.read_bytes()

    def test_a_fork_is_told_even_if_it_cannot_be_kept(self, project):
        head = known(project, 3)
        fork_log(project, keep=2)
        shutil.rmtree(project / ".evalsite")
        (project / ".evalsite").write_text("in the way")
        (finding,) = findings(ledger_of(project, Policy(heads=(head,))))
        assert "could not be kept" in finding.message

    def test_a_head_under_another_key_is_not_of_this_log(self, project):
        head = known(project, 3)
        forged = sign_checkpoint(Checkpoint(f"{LEDGER}/log", 3, head.root), f"{LEDGER}/log", fixed_key("runner"))
        report = ledger_of(project, Policy(heads=(parse_known(forged, "file"),)))
        assert len(findings(report)) == 1

    def test_every_head_is_checked_not_only_the_first(self, project):
        heads = (known(project, 3), HeldHead("written", LEDGER, 4, bytes(32)))
        assert len(findings(ledger_of(project, Policy(heads=heads)))) == 1

    def test_a_ledger_that_is_gone_is_an_integrity_failure(self):
        head = HeldHead("file", "gone", 4, bytes(32))
        with pytest.raises(IntegrityError, match="gone"):
            require_ledgers(Policy(heads=(head,)), [LEDGER])
        nameless = parse_expected(head_words(4, bytes(32)))
        require_ledgers(Policy(heads=(nameless,)), [LEDGER])
        with pytest.raises(InputError, match="LEDGER="):
            require_ledgers(Policy(heads=(nameless,)), [LEDGER, "second"])

    def test_a_head_of_one_ledger_does_not_lift_another(self, project):
        make_ledger(project, "second", now=NOW, make_key=lambda role: fixed_key(f"second {role}"))
        pins = {**PIN, "second": fixed_key("second root").key_id}
        checked = check_ledgers(project, pins=pins, policy=Policy(heads=(known(project, 4),)))
        levels = {name: item.report.level for name, item in checked.items()}
        assert levels == {LEDGER: Level.A2, "second": Level.A1}

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "sha256:00@4",
            f"sha256:{'0' * 64}",
            f"sha256:{'0' * 64}@0",
            f"sha256:{'0' * 64}@04",
            f"=sha256:{'0' * 64}@4",
        ],
    )
    def test_other_forms_are_refused(self, text):
        with pytest.raises(InputError):
            parse_expected(text)

    def test_only_heads_of_logs_can_be_kept(self):
        for origin, size in (("desk/run/run-1", 3), ("elsewhere", 3), ("desk/log", 0)):
            note = sign_checkpoint(Checkpoint(origin, size, bytes(32)), "desk/log", fixed_key("log"))
            with pytest.raises(InputError):
                parse_known(note, "file")


class TestRememberedHeads:
    def test_trust_on_first_use_then_rollback_and_fork(self, project, tmp_path):
        memory = tmp_path / "memory"
        first = ledger_of(project, Policy(memory=memory))
        assert first.level is Level.A1
        assert remember_head(memory, LEDGER, first.head.founding_root, first.head.note)
        assert ledger_of(project, Policy(memory=memory)).level is Level.A2
        fork_log(project, keep=2)
        (finding,) = findings(ledger_of(project, Policy(memory=memory)))
        assert "rolled back" in finding.message
        remember_smaller = first.head.note
        assert remember_head(memory, LEDGER, ROOT_KEY, remember_smaller)
        shutil.rmtree(memory)
        assert ledger_of(project, Policy(memory=memory)).level is Level.A1

    def test_a_head_is_never_replaced_by_a_smaller_one(self, project, tmp_path):
        for size in (4, 2, 3):
            assert remember_head(tmp_path, LEDGER, ROOT_KEY, note_of(project, size))
            assert remembered_head(tmp_path, LEDGER, ROOT_KEY).size == 4

    def test_ledgers_of_one_name_under_other_keys_do_not_meet(self, project, tmp_path):
        remember_head(tmp_path, LEDGER, ROOT_KEY, note_of(project, 4))
        assert remembered_head(tmp_path, LEDGER, fixed_key("other root").key_id) is None

    def test_a_damaged_memory_is_told(self, project, tmp_path):
        remember_head(tmp_path, LEDGER, ROOT_KEY, note_of(project, 4))
        (path,) = (tmp_path / ".heads").iterdir()
        for data in (b"junk", note_of(project, 4).replace(b"desk/log\n4", b"dusk/log\n4")):
            path.write_bytes(data)
            report = ledger_of(project, Policy(memory=tmp_path))
            assert [finding.code for finding in findings(report)] == ["head.memory"]

    def test_what_cannot_be_remembered_is_said(self, project, tmp_path):
        blocked = tmp_path / "file"
        blocked.write_text("no folder")
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys" / ".heads").write_text("no folder")
        assert remember_head(tmp_path / "keys", LEDGER, ROOT_KEY, note_of(project, 4)) is False

    def test_a_broken_ledger_has_no_head_to_remember(self, project):
        (project / log_folder(LEDGER) / "checkpoint").unlink()
        report = verify_project(project, pins=PIN).ledgers[0]
        assert report.head is None


def test_a_head_and_a_witness_together_reach_a3(project):
    anchor(project, "w1")
    policy = trusting("w1", heads=(known(project, 2),))
    assert ledger_of(project, policy).level is Level.A3


class TestAfterARotation:
    """A log that replaced its keys is still the log that was held, and no key that it ever had is a witness."""

    @pytest.fixture
    def rotated(self, project):
        held = known(project, 4)
        place = Place(project=project, keystore=keystore_of(project), ledger=LEDGER)
        for role in ("log", "root", "runner"):
            rotate(place, role, now=LATER)
        return project, held

    def test_a_head_under_the_old_key_is_extended_and_the_memory_goes_on(self, rotated, tmp_path):
        project, held = rotated
        report = ledger_of(project, Policy(heads=(held,)))
        assert (report.level, report.size) == (Level.A2, 7)
        assert report.head.founding_root == ROOT_KEY
        remember_head(tmp_path, LEDGER, ROOT_KEY, held.note)
        assert ledger_of(project, Policy(memory=tmp_path)).level is Level.A2

    @pytest.mark.parametrize("role", ["root", "runner", "log"])
    def test_a_key_that_was_replaced_is_no_witness(self, rotated, role):
        project, _ = rotated
        log = open_log(project)
        key = WitnessKey("once-ours", fixed_key(role).public_key)
        signature = cosign(parse_note(log.note).text, key.name, fixed_key(role), time_s=TIME_S)
        log._keep(cosig_name(log.size, key), cosig_bytes(key, signature))
        assert ledger_of(project, Policy(witnesses=(key,), quorum=1)).level is Level.A1
