# SPDX-License-Identifier: Apache-2.0
"""A crash at any moment, call by call: what was signed stays, what was in flight is told, the run can be finished."""

import os
import shutil

import pytest
from support.crashes import EVENTS, assert_whole, blamed, finish_or_begin
from support.ledgers import (
    LATER,
    NOW,
    RUN,
    begin_run,
    close_run,
    end_trial,
    finish_run,
    make_sealed_run,
    record_call,
    reopen,
    run_trials,
    start_trial,
)

from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area
from evalsite.schema.entries import RunResumed

CALLS = ("write", "fsync", "fdatasync", "link", "unlink", "rename", "mkdir", "open", "ftruncate")


def in_a_child_that_dies(work, moment):
    """Run ``work`` in a child process that ends like a killed one at its n-th call of the system.

    Returns whether the work was done before that.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    left = moment

    def dying(original):
        def call(*args, **options):
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return original(*args, **options)

        return call

    try:
        for name in CALLS:
            setattr(os, name, dying(getattr(os, name)))
        work()
    except BaseException:  # noqa: BLE001 - a child of the test must not go on as the test
        os._exit(8)
    os._exit(0)


def test_killed_before_any_call_of_the_system_the_run_can_be_finished(founded, tmp_path):
    """Every call that touches the disk, from the lock to the last proof, is a moment to die at."""
    moment, done = 0, False
    stages = set()
    while not done:
        copy = tmp_path / "copy"
        shutil.copytree(founded.parent, copy)
        project = copy / "project"
        done = in_a_child_that_dies(lambda project=project: make_sealed_run(project), moment)
        before = verify_project(project, pins={})
        stages.add((before.holds(Area.INTEGRITY), before.holds(Area.COMPLETENESS)))
        assert blamed(project) == set(), moment
        finish_or_begin(project)
        assert assert_whole(project).authentic()[RUN].sealed
        shutil.rmtree(copy)
        moment += 1
    assert moment > 100
    assert {(True, False), (True, True)} <= stages


def test_killed_while_resuming_the_run_can_still_be_finished(project, tmp_path):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        start_trial(run, plan.case_trials()[0])
    with (project / EVENTS).open("ab") as file:
        file.write(b'{"torn":')

    def resume(copy):
        with reopen(copy) as ledger:
            finish_run(ledger)

    moment, done = 0, False
    while not done:
        copy = tmp_path / "again"
        shutil.copytree(project.parent, copy)
        done = in_a_child_that_dies(lambda copy=copy: resume(copy / "project"), moment)
        resume(copy / "project")
        events = assert_whole(copy / "project").authentic()[RUN].events
        dropped = [event.dropped_bytes for event in events if isinstance(event, RunResumed)]
        assert sum(dropped) >= len(b'{"torn":')
        shutil.rmtree(copy)
        moment += 1
    assert moment > 100


@pytest.fixture
def open_run(project):
    """A run whose first event is signed and whose four further events are not."""
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        trial = plan.case_trials()[0]
        start_trial(run, trial)
        end_trial(run, trial, call=record_call(run, trial))
    return project


def tails(data, start):
    """Yield what a crash can leave of a file: cut, zero-filled or garbled from any byte behind ``start`` on."""
    for offset in range(start, len(data)):
        yield offset, data[:offset]
        yield offset, data[:offset] + bytes(len(data) - offset)
        yield offset, data[:offset] + b"\xa5" * (len(data) - offset)


def test_a_torn_unsigned_tail_is_kept_to_the_last_whole_line_and_the_rest_set_aside(open_run):
    path = open_run / EVENTS
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    ends = [index + 1 for index, byte in enumerate(data) if byte == 10]
    whole = shutil.copytree(open_run / "runs", open_run.parent / "runs-before")
    for offset, torn in list(tails(data, first))[::17]:
        shutil.rmtree(open_run / "runs")
        shutil.copytree(whole, open_run / "runs")
        path.write_bytes(torn)
        kept = sum(end <= offset for end in ends)
        with reopen(open_run) as ledger:
            _, events, recovery = ledger.resume_run(RUN, now=LATER)
        assert recovery.kept == len(events) == kept
        assert recovery.dropped_bytes == len(torn) - (ends[kept - 1])
        assert path.read_bytes() == data[: ends[kept - 1]]
        if recovery.quarantine:
            aside = open_run / "runs" / RUN / "quarantine" / f"{kept}.bin"
            assert aside.read_bytes() == torn[ends[kept - 1] :]


def test_any_cut_inside_the_signed_part_is_refused_and_changes_nothing(project):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run_trials(run, plan)
        run.checkpoint()
    path = project / EVENTS
    data = path.read_bytes()
    with reopen(project) as ledger:
        for offset in range(0, len(data), 5):
            path.write_bytes(data[:offset])
            with pytest.raises((IntegrityError, InputError)) as refused:
                ledger.resume_run(RUN, now=LATER)
            assert isinstance(refused.value, IntegrityError), offset
            assert EVENTS.as_posix() in refused.value.at
            assert path.read_bytes() == data[:offset]
        path.write_bytes(data)
        finish_run(ledger)
    assert_whole(project)


def test_a_changed_line_under_the_signature_is_refused_on_resume(open_run):
    path = open_run / EVENTS
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Exercise", b"exercise", 1))
    with reopen(open_run) as ledger, pytest.raises(IntegrityError, match="not the ones that were signed"):
        ledger.resume_run(RUN, now=LATER)
    assert not (open_run / "runs" / RUN / "quarantine").exists()


def test_a_torn_first_event_never_was_a_run_and_its_folder_is_moved_aside(project):
    folder = project / "runs" / RUN
    (folder / "events").mkdir(parents=True)
    (folder / "events" / "000.jsonl").write_bytes(b'{"format":"evalsite/ev')
    with reopen(project) as ledger:
        with pytest.raises(InputError, match="no whole event"):
            ledger.peek_run(RUN)
        run, plan = begin_run(ledger)
        run_trials(run, plan)
        close_run(run, plan)
        run.seal(now=LATER)
    assert_whole(project)
    assert (project / ".evalsite" / "abandoned" / f"{RUN}-1" / "events" / "000.jsonl").is_file()


def test_unsigned_entries_of_the_log_are_set_aside_and_written_again(project):
    entries = project / "runs" / "log" / "desk" / "entries" / "000.jsonl"
    with reopen(project) as ledger:
        begin_run(ledger)
    before = entries.read_bytes()
    entries.write_bytes(before + before.splitlines(keepends=True)[-1] + b'{"torn')
    report = verify_project(project, pins={})
    assert report.holds(Area.INTEGRITY)
    assert "log.tail" in {finding.code for finding in report.findings()}
    with reopen(project) as ledger:
        finish_run(ledger)
    assert_whole(project)
    assert entries.read_bytes().startswith(before)
    assert len(list((project / ".evalsite" / "quarantine").glob("desk-3-*.bin"))) == 1


def test_a_crash_in_the_middle_of_a_trial_leads_to_a_second_attempt_and_both_stay_visible(open_run):
    with reopen(open_run) as ledger:
        run, events, recovery = ledger.resume_run(RUN, now=LATER)
        assert (recovery.dropped_bytes, recovery.quarantine, len(events)) == (0, None, 4)
        with pytest.raises(ValueError, match=r"run\.resumed"):
            run.append("run.interrupted", {"cause": "SIGINT", "in_flight": []}, now=NOW)
    report = verify_run(open_run, RUN, pins={})
    assert report.run is not None
    assert not report.run.sealed
    assert report.run.size == 1
    codes = {finding.code for check in report.checks for finding in check.findings}
    assert codes == {"run.open", "run.tail"}


def test_bit_rot_is_found_before_a_checkpoint_is_signed(project):
    path = project / EVENTS
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run_trials(run, plan)
        close_run(run, plan)
        data = path.read_bytes()
        path.write_bytes(data.replace(b'"Passed"', b'"passed"', 1))
        with pytest.raises(EvalsiteError, match="the disk holds others"):
            run.seal(now=LATER)
        path.write_bytes(data)
        run.seal(now=LATER)
    assert_whole(project)


def test_bit_rot_in_the_log_is_found_before_anything_is_signed(project):
    path = project / "runs" / "log" / "desk" / "entries" / "000.jsonl"
    path.write_bytes(path.read_bytes().replace(b"ledger.opened", b"ledger.Opened", 1))
    with pytest.raises(IntegrityError) as refused, reopen(project):
        pytest.fail("opened")
    assert refused.value.at == "runs/log/desk/entries/000.jsonl"
