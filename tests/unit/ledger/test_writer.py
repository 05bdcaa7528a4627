# SPDX-License-Identifier: Apache-2.0
"""Writing: founding, locking, beginning, appending, sealing; and what is refused on the way."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import support.ledgers
from support.ledgers import (
    LATER,
    LEDGER,
    NOW,
    RUN,
    SNAPSHOT,
    FixedSalts,
    begin_run,
    close_run,
    end_trial,
    finish_run,
    fixed_key,
    keystore_of,
    make_ledger,
    make_sealed_run,
    record_call,
    reopen,
    run_trials,
    small_plan,
    start_trial,
)

from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError
from evalsite.ledger import runwriter
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.lines import read_segments
from evalsite.ledger.verify import verify_project
from evalsite.ledger.writer import open_ledger
from evalsite.schema.checks import Area


@pytest.fixture
def project(tmp_path):
    make_ledger(tmp_path / "project")
    return tmp_path / "project"


def snapshot_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_holds(project):
    report = verify_project(project, pins={})
    assert [(finding.code, finding.at, finding.message) for finding in report.findings()] == []
    assert all(report.holds(area) for area in Area)
    return report


class TestFounding:
    def test_nothing_private_stands_in_the_project(self, project):
        for name, data in snapshot_of(project).items():
            assert b"PRIVATE" not in data, name
            for role in ("root", "runner", "log"):
                assert fixed_key(role).to_pem().splitlines()[1] not in data

    def test_random_keys_by_default(self, tmp_path):
        (tmp_path / "project").mkdir()
        names = ("one", "two")
        pins = [found_ledger(tmp_path / "project", tmp_path / "keys", name, now=NOW) for name in names]
        assert len(set(pins)) == 2
        assert [finding.code for finding in verify_project(tmp_path / "project", pins={}).findings()] == [
            "project.runs"
        ]

    def test_a_ledger_is_founded_once(self, project):
        before = snapshot_of(project.parent)
        with pytest.raises(InputError, match="no ledger desk in this project yet"):
            make_ledger(project)
        assert snapshot_of(project.parent) == before

    def test_keys_of_the_same_name_from_elsewhere_are_not_overwritten(self, project, tmp_path):
        with pytest.raises(InputError, match="no keys of the ledger desk yet"):
            found_ledger(tmp_path / "another", keystore_of(project), LEDGER, now=NOW)

    @pytest.mark.parametrize("name", ["", "Desk", "de/sk", "..", "-desk", "log", "trust", "d" * 65, "desk.", "dé"])
    def test_other_names_are_refused(self, project, name):
        with pytest.raises(InputError, match="ledger name"):
            found_ledger(project, keystore_of(project), name, now=NOW)

    @pytest.mark.parametrize("level", ["A5", "", "a1"])
    def test_other_levels_are_refused(self, project, level):
        with pytest.raises(InputError, match="evidence level"):
            found_ledger(project, keystore_of(project), "new", now=NOW, minimum_level=level)


class TestOpening:
    def test_an_unknown_ledger_is_told(self, project):
        with pytest.raises(InputError, match="a ledger other"), reopen(project, "other"):
            pytest.fail("opened")

    def test_without_private_keys_nothing_is_signed(self, project, tmp_path):
        with pytest.raises(UndecidedError), open_ledger(project, tmp_path / "none", LEDGER):
            pytest.fail("opened")

    @pytest.mark.parametrize("role", ["log", "runner"])
    def test_keys_of_another_ledger_are_refused(self, project, role):
        (keystore_of(project) / LEDGER / f"{role}.pem").write_bytes(Signer.generate().to_pem())
        with pytest.raises(RefusedError, match=f"keyring's {role} key"), reopen(project):
            pytest.fail("opened")

    def test_one_writer_at_a_time(self, project):
        with reopen(project), pytest.raises(InputError, match="only writer"), reopen(project):
            pytest.fail("two writers")
        with reopen(project):
            pass

    def test_a_writer_in_another_process_is_locked_out_and_changes_nothing(self, project):
        program = (
            "import sys\nsys.path.insert(0, sys.argv[2])\nfrom pathlib import Path\n"
            "from support.ledgers import make_sealed_run\nfrom evalsite.errors import InputError\n"
            "try:\n    make_sealed_run(Path(sys.argv[1]), 'other')\n"
            "except InputError as error:\n    print(error.message)\n"
        )
        tests = str(Path(support.ledgers.__file__).parent.parent)
        with reopen(project) as ledger:
            begin_run(ledger)
            before = snapshot_of(project)
            done = subprocess.run(
                [sys.executable, "-c", program, str(project), tests], capture_output=True, text=True, check=True
            )
            assert "another process holds the lock" in done.stdout
            assert snapshot_of(project) == before

    def test_the_lock_stands_outside_the_evidence(self, project):
        with reopen(project):
            pass
        assert (project / ".evalsite" / "desk.lock").is_file()
        assert not list((project / "runs").rglob("*.lock"))


class TestRecording:
    def test_a_sealed_run_holds_and_its_lines_are_canonical(self, project):
        make_sealed_run(project)
        run = assert_holds(project).authentic()[RUN]
        assert run.sealed
        for event in run.events:
            assert event.to_bytes() == run.line(event.seq)
        assert run.blob(run.events[0].plan.corpus.snapshot) == SNAPSHOT

    def test_the_same_keys_salts_and_times_give_the_same_bytes(self, project, tmp_path):
        (tmp_path / "again").mkdir()
        make_ledger(tmp_path / "again" / "project")
        for folder in (project, tmp_path / "again" / "project"):
            make_sealed_run(folder)
        assert snapshot_of(project / "runs") == snapshot_of(tmp_path / "again" / "project" / "runs")

    def test_the_plan_is_logged_before_the_first_trial(self, project):
        with reopen(project) as ledger:
            begin_run(ledger)
            last = (project / "runs/log/desk/entries/000.jsonl").read_bytes().splitlines()[-1]
            assert json.loads(last)["type"] == "run.opened"
            assert (project / "runs" / RUN / "proofs/run-opened.tlog-proof").is_file()

    def test_a_refused_run_leaves_no_folder(self, project):
        with reopen(project) as ledger:
            run = ledger.create_run(RUN)
            run.put_blob(b"a reply of the server")
        assert not (project / "runs" / RUN).exists()

    @pytest.mark.parametrize("name", ["", "Run", "a/b", "..", ".hidden", "trust", "log", "x" * 65, "run."])
    def test_other_run_names_are_refused(self, project, name):
        with reopen(project) as ledger, pytest.raises(InputError, match="run name"):
            ledger.create_run(name)

    def test_a_run_name_is_used_once(self, project):
        make_sealed_run(project)
        with reopen(project) as ledger, pytest.raises(InputError, match="no run run-1 yet"):
            ledger.create_run(RUN)

    def test_events_before_begin_or_out_of_order_are_bugs_and_write_nothing(self, project):
        with reopen(project) as ledger:
            run = ledger.create_run(RUN)
            plan = small_plan(run.put_blob(SNAPSHOT))
            trial = plan.case_trials()[0]
            with pytest.raises(ValueError, match="begin"):
                start_trial(run, trial)
            run.begin(plan, now=NOW)
            with pytest.raises(ValueError, match="begins once"):
                run.begin(plan, now=NOW)
            before = snapshot_of(project / "runs")
            with pytest.raises(ValueError, match="in flight"):
                end_trial(run, trial)
            with pytest.raises(ValueError, match=r"run\.closed"):
                run.seal(now=NOW)
            assert snapshot_of(project / "runs") == before
            start_trial(run, trial)

    def test_a_body_that_does_not_fit_is_refused_and_the_frame_is_the_writers(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            trial = plan.case_trials()[0].plain()
            with pytest.raises(InputError, match="missing"):
                run.append("trial.started", {"trial": trial}, now=NOW)
            with pytest.raises(InputError):
                run.append("trial.started", {"trial": trial, "attempt": 1, "more": 1}, now=NOW)
            with pytest.raises(InputError):
                run.append("no.such.type", {}, now=NOW)
            with pytest.raises(InputError):
                run.append("trial.started", {"trial": trial, "attempt": 1}, now="yesterday")
            assert run.append("trial.started", {"trial": trial, "attempt": 1, "seq": 77}, now=NOW) == 1

    def test_a_plan_that_fits_in_no_line_is_refused_before_anything_is_written(self, project, monkeypatch):
        monkeypatch.setattr(runwriter, "MAX_EVENT_BYTES", 1000)
        with reopen(project) as ledger, pytest.raises(InputError, match="at most 1000 bytes"):
            begin_run(ledger)
        assert not (project / "runs" / RUN).exists()

    def test_a_blob_beyond_its_bound_is_refused(self, project, monkeypatch):
        monkeypatch.setattr(runwriter, "MAX_BLOB_OF_CORPUS_BYTES", 100)
        with reopen(project) as ledger, pytest.raises(InputError, match="at most 100 bytes"):
            ledger.create_run(RUN).put_blob(b"x" * 100)

    def test_files_are_for_everyone_to_read(self, project):
        make_sealed_run(project)
        for path in (project / "runs").rglob("*"):
            expected = 0o755 if path.is_dir() else 0o644
            assert stat.S_IMODE(path.stat().st_mode) == expected, path

    def test_a_checkpoint_at_least_every_32_events(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, repetitions=20)
            run_trials(run, plan)
        sizes = sorted(int(path.stem) for path in (project / "runs" / RUN / "checkpoints").iterdir())
        assert sizes == [1, 33]
        report = verify_project(project, pins={})
        assert report.authentic()[RUN].size == 33
        with reopen(project) as ledger:
            finish_run(ledger)
        assert_holds(project)

    def test_an_interruption_is_signed_at_once(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            trial = plan.case_trials()[0]
            start_trial(run, trial)
            run.append("run.interrupted", {"cause": "SIGINT", "in_flight": [trial.plain()]}, now=NOW)
        assert verify_project(project, pins={}).authentic()[RUN].size == 3

    def test_a_full_disk_stops_the_run_and_it_can_be_resumed(self, project, monkeypatch):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            trial = plan.case_trials()[0]

            def refuse(handle, data):
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(os, "write", refuse)
                with pytest.raises(UndecidedError, match="No space left"):
                    start_trial(run, trial)
            with pytest.raises(UndecidedError, match="an earlier write failed"):
                run.append("run.interrupted", {"cause": "ENOSPC", "in_flight": []}, now=NOW)
        with reopen(project) as ledger:
            recovery = finish_run(ledger)
        assert recovery.plain() == {"kept": 1, "dropped_bytes": 0, "quarantine": None}
        assert_holds(project)


class TestSealing:
    def test_sealing_again_changes_nothing(self, project):
        make_sealed_run(project)
        before = snapshot_of(project / "runs")
        with reopen(project) as ledger:
            run, events, recovery = ledger.resume_run(RUN, now=LATER)
            assert run.closed
            assert len(events) == recovery.kept == 5
            run.seal(now=LATER)
        assert snapshot_of(project / "runs") == before

    def test_a_log_that_holds_another_close_is_refused(self, project):
        make_sealed_run(project)
        with reopen(project) as ledger:
            run, _, _ = ledger.resume_run(RUN, now=LATER)
            held = run._desk.log.closed[RUN]
            run._desk.log.closed[RUN] = held.model_copy(update={"size": 4})
            with pytest.raises(IntegrityError, match="what this run says"):
                run.seal(now=LATER)

    def test_bytes_behind_run_closed_are_refused_on_resume(self, project):
        make_sealed_run(project)
        with (project / "runs" / RUN / "events" / "000.jsonl").open("ab") as file:
            file.write(b"x")
        with reopen(project) as ledger, pytest.raises(IntegrityError, match=r"behind run\.closed"):
            ledger.resume_run(RUN, now=LATER)

    def test_blobs_that_no_event_names_are_moved_out_of_the_record(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            run.put_blob(b"the reply of a call that was cancelled")
            run_trials(run, plan)
            close_run(run, plan)
            run.seal(now=LATER)
        assert_holds(project)
        assert len(list((project / ".evalsite" / "quarantine").iterdir())) == 1


class TestResuming:
    def test_peeking_changes_nothing(self, project):
        with reopen(project) as ledger:
            begin_run(ledger)
        with (project / "runs" / RUN / "events" / "000.jsonl").open("ab") as file:
            file.write(b'{"torn')
        before = snapshot_of(project / "runs")
        with reopen(project) as ledger:
            events = ledger.peek_run(RUN)
            assert ledger.peek_blob(RUN, events[0].plan.corpus.snapshot) == SNAPSHOT
        assert len(events) == 1
        assert snapshot_of(project / "runs") == before

    def test_a_run_of_another_ledger_is_told_by_name(self, project):
        make_sealed_run(project)
        make_ledger(project, "other")
        with reopen(project, "other") as ledger, pytest.raises(InputError, match="run-1 names desk"):
            ledger.resume_run(RUN, now=LATER)

    def test_a_missing_run_is_told(self, project):
        with reopen(project) as ledger, pytest.raises(InputError, match="found none"):
            ledger.resume_run("nowhere", now=LATER)

    def test_a_tail_over_two_segments_is_set_aside_whole(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            run_trials(run, plan)
        folder = project / "runs" / RUN / "events"
        whole = (folder / "000.jsonl").read_bytes()
        (folder / "000.jsonl").write_bytes(whole + b"{}\n" * 1020)
        (folder / "001.jsonl").write_bytes(b"{}\n{")
        with reopen(project) as ledger:
            _, events, recovery = ledger.resume_run(RUN, now=LATER)
        assert (len(events), recovery.kept, recovery.dropped_bytes) == (4, 4, 3 * 1021 + 1)
        assert (folder / "000.jsonl").read_bytes() == whole
        assert not (folder / "001.jsonl").exists()

    def test_lines_of_another_spelling_are_never_signed(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            start_trial(run, plan.case_trials()[0])
        path = project / "runs" / RUN / "events" / "000.jsonl"
        first, second = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(first + second.replace(b'{"', b'{ "', 1))
        with reopen(project) as ledger:
            _, events, recovery = ledger.resume_run(RUN, now=LATER)
        assert len(events) == 1
        assert recovery.dropped_bytes == len(second) + 1


class TestManyLines:
    def test_a_run_over_two_segments(self, project, monkeypatch):
        monkeypatch.setattr(os, "fsync", lambda _: None)
        monkeypatch.setattr(os, "fdatasync", lambda _: None)
        monkeypatch.setattr(runwriter, "CHECKPOINT_EVERY", 500)
        plan_changes = {"repetitions": 100, "cases": many_cases(7)}
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, **plan_changes)
            for trial in plan.case_trials():
                start_trial(run, trial)
                end_trial(run, trial)
            refuse_one_more(run, plan)
            close_run(run, plan)
            run.seal(now=LATER)
        assert_holds(project)
        names = sorted(path.name for path in (project / "runs" / RUN / "events").iterdir())
        assert names == ["000.jsonl", "001.jsonl"]
        sizes = [len(segment.lines) for segment in read_segments(project / "runs" / RUN / "events", names)]
        assert sizes == [1024, 1 + 2 * 700 + 1 - 1024]
        report = verify_project(project, pins={})
        run = report.authentic()[RUN]
        assert run.line(1024) == run.events[1024].to_bytes()
        assert run.path_of_event(1024) == "runs/run-1/events/001.jsonl:1"
        damage_one_line_of_the_first_segment(project)
        at = {finding.at for finding in verify_project(project, pins={}).findings()}
        assert "runs/run-1/events/000.jsonl" in at
        assert "runs/run-1/events/001.jsonl" not in at


def many_cases(count):
    return [{**small_plan().cases[0].plain(), "case_id": f"C{number}"} for number in range(count)]


def refuse_one_more(run, plan):
    """All trials have ended: another start is a bug."""
    trial = plan.case_trials()[0]
    with pytest.raises(ValueError, match="to start once"):
        start_trial(run, trial)
    with pytest.raises(ValueError, match="in flight"):
        record_call(run, trial)


def damage_one_line_of_the_first_segment(project):
    path = project / "runs" / RUN / "events" / "000.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[700] = lines[700].replace(b"2026-12-01T09:00:00Z", b"2026-12-01T09:00:01Z")
    path.write_bytes(b"".join(lines))


def test_salts_are_random_by_default(project):
    digests = []
    for name in ("one", "two"):
        with open_ledger(project, keystore_of(project), LEDGER) as ledger:
            run = ledger.create_run(name)
            digests.append(run.put_blob(b"yes"))
    assert len(set(digests)) == 2
    assert FixedSalts()() == FixedSalts()()
