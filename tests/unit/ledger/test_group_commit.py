# SPDX-License-Identifier: Apache-2.0
"""Events that wait for the disk together: how many, until when, and what a power cut takes."""

import os

import pytest
from support.ledgers import NOW, RUN, begin_run, end_trial, finish_run, make_ledger, record_call, reopen, start_trial

from evalsite.errors import UndecidedError
from evalsite.ledger import runwriter
from evalsite.ledger.verify import verify_project


@pytest.fixture
def project(tmp_path):
    make_ledger(tmp_path / "project")
    return tmp_path / "project"


def assert_holds(project):
    assert list(verify_project(project, pins={}).findings()) == []


@pytest.fixture
def waits(monkeypatch):
    """Count what waits for the data of a file; everything else that touches the disk is left alone."""
    calls = []
    monkeypatch.setattr(os, "fdatasync", calls.append)
    return calls


def test_an_event_waits_for_the_disk_by_itself_unless_commits_are_grouped(project, waits):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        waits.clear()
        start_trial(run, plan.case_trials()[0])
        assert len(waits) == 1


def test_grouped_events_wait_together_when_they_are_asked_to(project, waits):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger, repetitions=20)
        run.group_commits()
        waits.clear()
        for trial in plan.case_trials()[:3]:
            start_trial(run, trial)
            end_trial(run, trial)
        assert waits == []
        run.sync()
        run.sync()
        assert len(waits) == 1


def test_at_most_32_events_wait(project, waits, monkeypatch):
    monkeypatch.setattr(runwriter, "CHECKPOINT_EVERY", 1000)
    with reopen(project) as ledger:
        run, plan = begin_run(ledger, repetitions=40)
        run.group_commits()
        run.sync()
        waits.clear()
        for count, trial in enumerate(plan.case_trials()[:40], start=1):
            start_trial(run, trial)
            end_trial(run, trial)
            assert len(waits) == 2 * count // 32


def test_nothing_is_signed_that_the_disk_may_not_have(project, waits):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run.group_commits()
        trial = plan.case_trials()[0]
        start_trial(run, trial)
        waits.clear()
        run.checkpoint()
        assert len(waits) == 1
        run.append("run.interrupted", {"cause": "SIGINT", "in_flight": [trial.plain()]}, now=NOW)
        assert len(waits) == 2


def test_a_segment_that_is_left_and_a_run_that_is_left_are_on_the_disk(project, waits):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run.group_commits()
        start_trial(run, plan.case_trials()[0])
        waits.clear()
    assert len(waits) >= 1


def test_bytes_of_a_call_are_on_the_disk_before_its_event_is_written(project, monkeypatch):
    order = []
    write, sync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda handle, data: (order.append(bytes(data)[:30]), write(handle, data))[1])
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append(b"fsync"), sync(handle))[1])
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run.group_commits()
        trial = plan.case_trials()[0]
        start_trial(run, trial)
        order.clear()
        record_call(run, trial)
    line = next(place for place, data in enumerate(order) if data.startswith(b'{"call"'))
    blobs = [place for place, data in enumerate(order) if data.startswith(b"evalsite-blob/v1")]
    assert len(blobs) == 2
    assert all(b"fsync" in order[place + 1 : line] for place in blobs)


@pytest.mark.parametrize("kept", [0, 1, 200, 700, 1200])
def test_a_power_cut_takes_the_waiting_lines_and_the_run_can_be_finished(project, kept):
    """The file may keep any part of what waited, or zeros in its place; blobs are there all the same."""
    events = project / "runs" / RUN / "events" / "000.jsonl"
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        synced = len(events.read_bytes())
        run.group_commits()
        trial = plan.case_trials()[0]
        start_trial(run, trial)
        end_trial(run, trial, call=record_call(run, trial))
    whole = events.read_bytes()
    events.write_bytes(whole[: synced + kept] + bytes(len(whole) - synced - kept))
    with reopen(project) as ledger:
        recovery = finish_run(ledger)
    assert recovery.dropped_bytes > 0
    assert_holds(project)


def test_a_disk_that_refuses_ends_the_run_for_this_process(project, monkeypatch):
    def refuse(handle):
        raise OSError(5, "Input/output error")

    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run.group_commits()
        start_trial(run, plan.case_trials()[0])
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", refuse)
            with pytest.raises(UndecidedError, match="Input/output error"):
                run.sync()
        for refused in (run.sync, run.checkpoint, lambda: end_trial(run, plan.case_trials()[0])):
            with pytest.raises(UndecidedError, match="an earlier write failed"):
                refused()
    with reopen(project) as ledger:
        finish_run(ledger)
    assert_holds(project)
