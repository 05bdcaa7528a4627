# SPDX-License-Identifier: Apache-2.0
"""A resume never signs over what was altered, whatever was taken away to hide it; what it sets aside is told."""

import json
import shutil

import pytest
from support.ledgers import (
    LATER,
    LEDGER,
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
from support.trees import relink

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import IntegrityError
from evalsite.ledger.verify import verify_project
from evalsite.schema.checks import Area
from evalsite.schema.entries import RunResumed

EVENTS = f"runs/{RUN}/events/000.jsonl"
ENTRIES = f"runs/log/{LEDGER}/entries/000.jsonl"


def bytes_under(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def strip_notes(project):
    shutil.rmtree(project / "runs" / RUN / "checkpoints")
    (project / "runs" / RUN / "checkpoint").unlink()


def forge(project, seq, old, new):
    lines = (project / EVENTS).read_bytes().splitlines()
    assert old in lines[seq]
    lines[seq] = lines[seq].replace(old, new, 1)
    (project / EVENTS).write_bytes(relink(lines))


def refused_unchanged(project, resume):
    before = bytes_under(project / "runs")
    with reopen(project) as ledger, pytest.raises(IntegrityError) as refused:
        resume(ledger)
    assert bytes_under(project / "runs") == before
    return refused.value


@pytest.fixture
def open_run(project):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        trial = plan.case_trials()[0]
        start_trial(run, trial)
        end_trial(run, trial, call=record_call(run, trial))
    return project


def test_a_forged_plan_without_any_note_is_not_signed_anew(open_run):
    """With every note of the run gone, the log still knows the first event."""
    strip_notes(open_run)
    forge(open_run, 0, b"A fixture campaign", b"Another campaign")
    error = refused_unchanged(open_run, finish_run)
    assert "log holds" in error.message
    assert error.exit_code == 4


def test_an_untouched_run_without_any_note_is_not_signed_anew_either(open_run):
    """The log never holds a run that has no note: somebody took them away."""
    strip_notes(open_run)
    refused_unchanged(open_run, finish_run)


def test_forged_results_of_a_closed_run_without_its_last_note_are_not_signed_anew(project):
    """The log knows size and root of what was closed, also when the newest notes are gone."""
    make_sealed_run(project)
    folder = project / "runs" / RUN
    (folder / "checkpoints" / "5.note").unlink()
    shutil.copy(folder / "checkpoints" / "1.note", folder / "checkpoint")
    forge(project, 3, b'"action":"assist"', b'"action":"refuse"')
    assert "5 events that the log closed" in refused_unchanged(project, finish_run).message


def test_a_closed_run_cut_back_to_an_older_note_is_not_gone_on_with(project):
    make_sealed_run(project)
    folder = project / "runs" / RUN
    for name in ("checkpoints/5.note", "statement.dsse.json", "proofs/run-closed.tlog-proof"):
        (folder / name).unlink()
    shutil.copy(folder / "checkpoints" / "1.note", folder / "checkpoint")
    first = (project / EVENTS).read_bytes().splitlines(keepends=True)[0]
    (project / EVENTS).write_bytes(first)
    refused_unchanged(project, finish_run)


def test_a_lost_newest_note_over_unaltered_lines_is_made_again(project):
    make_sealed_run(project)
    before = bytes_under(project / "runs")
    folder = project / "runs" / RUN
    (folder / "checkpoints" / "5.note").unlink()
    shutil.copy(folder / "checkpoints" / "1.note", folder / "checkpoint")
    with reopen(project) as ledger:
        finish_run(ledger)
    assert bytes_under(project / "runs") == before


@pytest.mark.parametrize("offset", range(0, 4000, 397))
def test_one_rotten_bit_under_a_note_stops_the_resume(project, offset):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        run_trials(run, plan)
        run.checkpoint()
    data = (project / EVENTS).read_bytes()
    offset %= len(data)
    (project / EVENTS).write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
    assert refused_unchanged(project, finish_run).at.startswith(f"runs/{RUN}")


def test_a_rotten_log_stops_every_writer(open_run):
    data = (open_run / ENTRIES).read_bytes()
    (open_run / ENTRIES).write_bytes(data.replace(b'"seq":1', b'"seq":7', 1))
    before = bytes_under(open_run / "runs")
    with pytest.raises(IntegrityError), reopen(open_run):
        pytest.fail("opened")
    assert bytes_under(open_run / "runs") == before


def test_what_was_in_flight_is_set_aside_and_told_with_its_digest(open_run):
    torn = b'{"attempt":1,"call":{"att'
    with (open_run / EVENTS).open("ab") as file:
        file.write(torn)
    with reopen(open_run) as ledger:
        recovery = finish_run(ledger)
    assert recovery.plain() == {"kept": 4, "dropped_bytes": len(torn), "quarantine": digest_bytes(torn)}
    assert (open_run / "runs" / RUN / "quarantine" / "4.bin").read_bytes() == torn
    report = verify_project(open_run, pins={})
    assert all(report.holds(area) for area in Area)
    told = [event for event in report.authentic()[RUN].events if isinstance(event, RunResumed)]
    assert [(event.dropped_bytes, event.quarantine) for event in told] == [(len(torn), digest_bytes(torn))]


def test_a_clock_that_goes_backwards_is_recorded_as_it_went(project):
    """A time in a record is a claim; the order of events is their index, whatever the clock says."""
    times = iter(["2026-12-01T09:00:00Z", "2026-11-30T23:59:59Z", "1970-01-01T00:00:00Z", "2026-12-01T08:00:00Z"])
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        trial = plan.case_trials()[0]
        run.append("trial.started", {"trial": trial.plain(), "attempt": 1}, now=next(times))
        run.append("run.interrupted", {"cause": "SIGTERM", "in_flight": [trial.plain()]}, now=next(times))
    with reopen(project) as ledger:
        run, _, recovery = ledger.resume_run(RUN, now=next(times))
        run.append("run.resumed", {**recovery.plain(), "environment_changed": False}, now=next(times))
        start_trial(run, trial, attempt=2)
        end_trial(run, trial, attempt=2, call=record_call(run, trial, attempt=2))
        close_run(run, plan)
        run.seal(now=NOW)
    report = verify_project(project, pins={})
    assert all(report.holds(area) for area in Area)
    lines = [json.loads(line) for line in (project / EVENTS).read_bytes().splitlines()]
    assert [line["recorded_at"] for line in lines[:3]] == [NOW, "2026-12-01T09:00:00Z", "2026-11-30T23:59:59Z"]
    assert lines[2]["recorded_at"] < LATER
