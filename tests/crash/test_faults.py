# SPDX-License-Identifier: Apache-2.0
"""The operating system refuses, at any call: a clear error, nothing signed lost, and the run can be finished."""

import contextlib
import errno
import os
import shutil

import pytest
from support.crashes import assert_whole, blamed, finish_or_begin
from support.faults import READING, failing
from support.ledgers import LATER, RUN, begin_run, close_run, finish_run, make_sealed_run, reopen, run_trials

from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.verify import verify_project
from evalsite.schema.checks import Area


def signed_size(project):
    notes = (project / "runs" / RUN).glob("checkpoints/*.note")
    return max((int(path.stem) for path in notes), default=0)


@pytest.mark.parametrize(
    ("number", "for_good"),
    [(errno.ENOSPC, False), (errno.EIO, True)],
    ids=["no-space-once", "io-error-from-then-on"],
)
def test_refused_at_any_call_of_the_system_the_run_can_be_finished(founded, tmp_path, number, for_good):
    moment, fired = 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with failing(moment, number, for_good=for_good) as fault, contextlib.suppress(UndecidedError):
            make_sealed_run(project)
        fired = fault.fired
        signed = signed_size(project)
        assert blamed(project) == set(), moment
        finish_or_begin(project)
        assert assert_whole(project).authentic()[RUN].sealed
        assert signed_size(project) >= signed
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert moment > 100


def test_a_run_that_fails_before_its_first_event_leaves_no_folder(founded, tmp_path):
    """One call fails, at any place: there is no run's folder, or one with a whole first event."""
    left, moment, fired = set(), 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with reopen(project) as ledger, failing(moment, errno.ENOSPC) as fault, contextlib.suppress(UndecidedError):
            begin_run(ledger)
        fired = fault.fired
        left.add((project / "runs" / RUN).is_dir())
        assert "run.never-began" not in {finding.code for finding in verify_project(project, pins={}).findings()}
        finish_or_begin(project)
        assert_whole(project)
        assert not (project / ".evalsite/abandoned").exists()
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert left == {True, False}
    assert moment > 20


def test_a_run_that_could_not_even_be_taken_away_is_told_and_begun_anew(founded, tmp_path):
    """Every call fails from some place on, the clearing up as well."""
    told, moment, fired = 0, 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with (
            reopen(project) as ledger,
            failing(moment, errno.EIO, for_good=True) as fault,
            contextlib.suppress(UndecidedError),
        ):
            begin_run(ledger)
        fired = fault.fired
        report = verify_project(project, pins={})
        assert report.holds(Area.INTEGRITY) or not report.runs
        found = {finding.code: finding.message for finding in report.findings()}
        if "run.never-began" in found:
            told += 1
            assert "--run-id" in found["run.never-began"]
        finish_or_begin(project)
        assert_whole(project)
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert told > 3


def test_a_seal_that_failed_is_finished_by_sealing_again(founded, tmp_path):
    """Without a new process: whatever call failed, the second seal leaves a whole record."""
    moment, fired = 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            run_trials(run, plan)
            close_run(run, plan)
            with failing(moment, errno.ENOSPC) as fault:
                try:
                    run.seal(now=LATER)
                except UndecidedError:
                    assert fault.fired
            fired = fault.fired
            run.seal(now=LATER)
        report = verify_project(project, pins={})
        assert [(moment, finding.code, finding.at) for finding in report.findings()] == []
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert moment > 20


def test_an_entry_whose_signing_failed_is_signed_before_the_next_one(founded, tmp_path):
    """Every size of a log has its note: one that was skipped could never be made good."""
    moment, fired = 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with reopen(project) as ledger:
            with failing(moment, errno.ENOSPC) as fault:
                try:
                    begin_run(ledger, "run-2")
                except UndecidedError:
                    assert fault.fired
            fired = fault.fired
            run, plan = begin_run(ledger)
            run_trials(run, plan)
            close_run(run, plan)
            run.seal(now=LATER)
        codes = {finding.code for finding in verify_project(project, pins={}).findings()}
        assert codes <= {"run.open", "run.never-began", "run.tail", "run.unlogged", "run.unsigned"} | {
            "proof.missing",
            "tree.leftover",
        }, moment
        assert verify_project(project, pins={}).authentic()[RUN].sealed
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert moment > 20


@pytest.mark.parametrize("call", READING)
def test_a_file_or_folder_that_cannot_be_read_is_never_a_traceback(founded, tmp_path, call):
    """A record that cannot be read does not hold; a writer that cannot read changes nothing."""
    shutil.copytree(founded.parent, tmp_path / "copy")
    project = tmp_path / "copy" / "project"
    make_sealed_run(project)
    told = set()
    moment, fired = 0, True
    while fired:
        with failing(moment, errno.EIO, calls=(call,)) as fault:
            try:
                report = verify_project(project, pins={})
                held = report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS)
            except UndecidedError:
                held = False
        assert not (held and fault.fired), moment
        with failing(moment, errno.EIO, calls=(call,)) as writing:
            try:
                with reopen(project) as ledger:
                    ledger.peek_run(RUN)
            except (UndecidedError, IntegrityError) as exc:
                told.add(exc.message.partition(": ")[2])
        fired = fault.fired or writing.fired
        moment += 1
    assert moment > 2
    assert os.strerror(errno.EIO) in told or call == "listdir"  # which only verifying needs


def test_an_interrupt_in_the_middle_of_a_write_leaves_no_torn_line(project, monkeypatch):
    """Ctrl-C between two calls of the system; the next write must not take the rest for another writer's."""
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        write = os.write

        def interrupted(handle, data):
            write(handle, bytes(data)[:9])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                run_trials(run, plan)
    with reopen(project) as ledger:
        recovery = finish_run(ledger)
    assert recovery.plain() == {"kept": 1, "dropped_bytes": 0, "quarantine": None}
    finished_report = verify_project(project, pins={})
    assert all(finished_report.holds(area) for area in Area)
