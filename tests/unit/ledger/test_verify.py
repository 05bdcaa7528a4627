# SPDX-License-Identifier: Apache-2.0
"""What a verification tells of a record that holds, is open, is missing, or has odd files in it."""

import os
import shutil

import pytest
from support.ledgers import (
    LATER,
    LEDGER,
    NOW,
    REPLY,
    RUN,
    SNAPSHOT,
    begin_run,
    close_run,
    fixed_key,
    make_ledger,
    make_sealed_run,
    record_call,
    reopen,
    run_trials,
    small_plan,
    start_trial,
)
from support.verdicts import ENTRIES, EVENTS, codes, places, refused

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.dsse import parse_envelope
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.verify import ledger_names, verify_project, verify_run
from evalsite.schema.checks import Area, Level


class TestWhatHolds:
    def test_every_step_counts_what_it_looked_at(self, project):
        report = verify_run(project, RUN, pins={})
        assert [check.step for check in report.checks] == list(range(1, 18))
        assert all(check.checked > 0 and check.holds for check in report.checks)
        whole = verify_project(project, pins={})
        assert [check.step for check in whole.checks] == [18, 19, 20]
        assert all(whole.holds(area) for area in Area)

    def test_levels_follow_from_the_pin(self, project):
        fingerprint = fixed_key("root").key_id
        assert verify_run(project, RUN, pins={}).run.level is Level.A0
        assert verify_run(project, RUN, pins={"other": "sha256:00"}).run.level is Level.A0
        assert verify_run(project, RUN, pins={LEDGER: fingerprint}).run.level is Level.A1
        ledger = verify_project(project, pins={LEDGER: fingerprint}).ledgers[0]
        assert (ledger.level, ledger.minimum_level, ledger.size) == (Level.A1, Level.A0, 4)
        assert ledger.root_fingerprint == fingerprint
        assert ledger.holds(Area.INTEGRITY)

    def test_what_an_authentic_run_tells(self, project):
        run = verify_run(project, RUN, pins={}).run
        statement = parse_envelope((project / "runs" / RUN / "statement.dsse.json").read_bytes())
        assert (run.opened_index, run.closed_index, run.size, run.sealed) == (2, 3, 5, True)
        assert run.statement_digest == digest_bytes(statement.payload)
        assert run.minimum_level is Level.A0
        assert run.root.startswith("sha256:")
        call = run.events[2].call
        assert run.blob(call.reply) == REPLY
        with pytest.raises(ValueError, match="5"):
            run.line(5)

    def test_files_that_change_after_the_verification_are_noticed_on_every_read(self, project):
        run = verify_run(project, RUN, pins={}).run
        path = project / EVENTS
        path.write_bytes(path.read_bytes().replace(b"Passed", b"passed"))
        with pytest.raises(IntegrityError, match="line that was verified"):
            run.line(3)
        path.write_bytes(b"")
        with pytest.raises(IntegrityError):
            run.line(3)
        digest = run.events[0].plan.corpus.snapshot
        blob = project / "runs" / RUN / "blobs" / digest[7:9] / digest[7:]
        blob.write_bytes(blob.read_bytes() + b" ")
        with pytest.raises(IntegrityError, match="other bytes"):
            run.blob(digest)
        blob.unlink()
        with pytest.raises(UndecidedError, match="found none"):
            run.blob(digest)

    def test_two_ledgers_stand_side_by_side(self, project):
        make_ledger(project, "other", make_key=lambda role: fixed_key(f"other {role}"))
        make_sealed_run(project, "run-2", "other")
        report = verify_project(project, pins={"other": fixed_key("other root").key_id})
        assert {run: found.level for run, found in report.authentic().items()} == {RUN: Level.A0, "run-2": Level.A1}
        assert ledger_names(project) == [LEDGER, "other"]
        assert all(report.holds(area) for area in Area)

    def test_a_broken_ledger_does_not_take_the_other_with_it(self, project):
        make_ledger(project, "other", make_key=lambda role: fixed_key(f"other {role}"))
        make_sealed_run(project, "run-2", "other")
        (project / ENTRIES).write_bytes(b"")
        assert list(verify_project(project, pins={}).authentic()) == ["run-2"]

    def test_a_missing_blob_is_a_matter_of_availability(self, project):
        run = verify_run(project, RUN, pins={}).run
        digest = run.events[2].call.reply
        (project / "runs" / RUN / "blobs" / digest[7:9] / digest[7:]).unlink()
        report = verify_run(project, RUN, pins={})
        assert report.run is not None
        assert report.holds(Area.INTEGRITY)
        assert not report.holds(Area.AVAILABILITY)


class TestNothing:
    def test_an_empty_folder_never_holds(self, tmp_path):
        report = verify_project(tmp_path, pins={})
        assert not any(report.holds(area) for area in Area)
        assert {"project.ledgers", "project.runs"} == {item.code for item in report.findings()}

    def test_a_run_that_is_not_there(self, project):
        report = verify_run(project, "nowhere", pins={})
        assert report.run is None
        assert not report.holds(Area.COMPLETENESS)
        assert not report.holds(Area.INTEGRITY)

    def test_a_whole_run_that_was_deleted_is_missed(self, project):
        shutil.rmtree(project / "runs" / RUN)
        make_sealed_run(project, "run-2")
        report = verify_project(project, pins={})
        assert [(item.code, item.at) for item in report.findings()] == [("project.run-missing", f"runs/{RUN}")]
        assert not report.holds(Area.INTEGRITY)

    def test_a_deleted_log_or_trust_folder_is_missed(self, project):
        for folder in ("log", "trust"):
            shutil.move(project / "runs" / folder / LEDGER, project / "aside")
            assert f"runs/{folder}/{LEDGER}" in places(refused(project))
            shutil.move(project / "aside", project / "runs" / folder / LEDGER)

    def test_without_any_ledger_no_run_is_trusted(self, project):
        shutil.rmtree(project / "runs" / "log")
        shutil.rmtree(project / "runs" / "trust")
        assert codes(refused(project)) == {"project.folder"}


class TestFiles:
    @pytest.mark.parametrize("folder", [f"runs/{RUN}", f"runs/log/{LEDGER}", f"runs/trust/{LEDGER}"])
    def test_links_pipes_and_second_names(self, project, folder):
        some = min(path for path in (project / folder).rglob("*") if path.is_file())
        name = some.relative_to(project).as_posix()
        data = some.read_bytes()

        def linked():
            (project / "elsewhere").write_bytes(data)
            some.symlink_to(project / "elsewhere")

        def second_name():
            some.write_bytes(data)
            os.link(some, project / "second-name")

        for make in (linked, second_name, lambda: os.mkfifo(some), some.mkdir):
            some.unlink()
            make()
            report = refused(project)
            assert name in places(report)
            shutil.rmtree(some) if some.is_dir() and not some.is_symlink() else some.unlink()
            some.write_bytes(data)
        assert verify_run(project, RUN, pins={}).run is not None

    def test_case_twins_and_odd_names(self, project):
        folder = project / "runs" / RUN
        (folder / "Checkpoint").write_bytes(b"")
        (folder / ".git").mkdir()
        report = refused(project)
        assert codes(report) >= {"tree.twin", "tree.name", "run.unknown"}

    def test_a_linked_run_folder(self, project):
        shutil.move(project / "runs" / RUN, project / "elsewhere")
        (project / "runs" / RUN).symlink_to(project / "elsewhere")
        assert codes(refused(project)) >= {"tree.missing"}
        assert "project.unknown" in {item.code for item in verify_project(project, pins={}).findings()}

    def test_strangers_in_the_runs_folder(self, project):
        (project / "runs" / "readme.txt").write_bytes(b"")
        (project / "runs" / "Run 2").mkdir()
        (project / "runs" / "log" / "file").write_bytes(b"")
        found = {(item.code, item.at) for item in verify_project(project, pins={}).findings()}
        assert found == {
            ("project.unknown", "runs/readme.txt"),
            ("project.name", "runs/Run 2"),
            ("project.unknown", "runs/log/file"),
        }

    def test_an_unnamed_blob_and_an_unnamed_quarantine(self, project):
        folder = project / "runs" / RUN
        container = b"evalsite-blob/v1\n" + b"0" * 64 + b"\nx"
        digits = digest_bytes(container)[7:]
        (folder / "blobs" / digits[:2]).mkdir(exist_ok=True)
        (folder / "blobs" / digits[:2] / digits).write_bytes(container)
        (folder / "quarantine").mkdir()
        (folder / "quarantine" / "5.bin").write_bytes(b"x")
        report = refused(project)
        assert {f"runs/{RUN}/blobs/{digits[:2]}/{digits}", f"runs/{RUN}/quarantine/5.bin"} <= places(report)


class TestProofs:
    def test_a_proof_of_another_entry_or_run(self, project):
        make_sealed_run(project, "run-2")
        proofs = project / "runs" / RUN / "proofs"
        opened, closed = proofs / "run-opened.tlog-proof", proofs / "run-closed.tlog-proof"
        good = opened.read_bytes()
        for wrong in (
            closed.read_bytes(),
            (project / "runs/run-2/proofs/run-opened.tlog-proof").read_bytes(),
            good.replace(b"v1\nindex", b"v1\nextra AAAA\nindex"),
            good.replace(b"index 2", b"index 1"),
            good.replace(b"index 2", b"index 3"),
        ):
            opened.write_bytes(wrong)
            assert places(refused(project)) == {f"runs/{RUN}/proofs/run-opened.tlog-proof"}

    def test_a_checkpoint_that_the_log_does_not_hold(self, project):
        path = project / f"runs/{RUN}/proofs/run-opened.tlog-proof"
        head, _, _ = path.read_bytes().partition(b"\n\n")
        for origin, signer in ((f"{LEDGER}/log", fixed_key("log")), (f"{LEDGER}/log", Signer.generate())):
            note = sign_checkpoint(Checkpoint(origin, 9, bytes(32)), f"{LEDGER}/log", signer)
            path.write_bytes(head + b"\n\n" + note)
            assert codes(refused(project)) == {"proof"}


class TestOpenRuns:
    def test_an_open_run_is_authentic_as_far_as_it_is_signed_and_not_complete(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, "run-2")
            trial = plan.case_trials()[0]
            start_trial(run, trial)
            record_call(run, trial)
        report = verify_run(project, "run-2", pins={})
        assert report.holds(Area.INTEGRITY)
        assert not report.holds(Area.COMPLETENESS)
        assert (report.run.size, report.run.sealed, report.run.closed_index) == (1, False, None)
        assert report.run.statement_digest is None

    def test_a_run_closed_before_every_trial_ended_is_sealed_and_not_complete(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, "run-2")
            close_run(run, plan, complete=False)
            run.seal(now=LATER)
        report = verify_run(project, "run-2", pins={})
        assert codes(report) == {"run.incomplete"}
        assert report.run.sealed

    def test_a_closed_run_that_was_not_sealed(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, "run-2")
            run_trials(run, plan)
            close_run(run, plan)
        report = verify_run(project, "run-2", pins={})
        assert codes(report) == {"run.unsealed"}
        assert not report.run.sealed

    def test_a_proof_that_is_missing_is_told_and_made_again(self, project):
        path = project / f"runs/{RUN}/proofs/run-closed.tlog-proof"
        data = path.read_bytes()
        path.unlink()
        report = verify_run(project, RUN, pins={})
        assert codes(report) == {"proof.missing"}
        assert not report.run.sealed
        with reopen(project) as ledger:
            run, _, _ = ledger.resume_run(RUN, now=LATER)
            run.seal(now=LATER)
        assert path.read_bytes() == data

    def test_an_open_run_may_hold_blobs_that_its_unsigned_events_name(self, project):
        with reopen(project) as ledger:
            run = ledger.create_run("run-2")
            run.begin(small_plan(run.put_blob(SNAPSHOT)), now=NOW)
            run.put_blob(b"a request that is under way")
        assert verify_run(project, "run-2", pins={}).holds(Area.INTEGRITY)
