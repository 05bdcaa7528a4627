# SPDX-License-Identifier: Apache-2.0
"""A long run: fast and full, alone and with processes, read again from disk when it is asked for."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.longruns import RUN, make_run

from evalsite.errors import IntegrityError
from evalsite.ledger import light, runcheck
from evalsite.ledger.authentic import StoredEvents
from evalsite.ledger.order import RunOrder, blobs_of
from evalsite.ledger.runcheck import How
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area
from evalsite.schema.entries import EVENT, RunClosed

RECORDS = 4_400
WAYS = [(False, 1), (False, 2), (True, 1), (True, 2)]


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long")
    make_run(folder / "project", folder / "keys", RECORDS)
    return folder / "project"


@pytest.fixture
def project(pristine, tmp_path):
    shutil.copytree(pristine, tmp_path / "project")
    return tmp_path / "project"


def segment(project, number):
    return project / "runs" / RUN / "events" / f"{number:03d}.jsonl"


def change(project, number, old, new):
    path = segment(project, number)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))


def told(project, *, fast, workers):
    report = verify_run(project, RUN, pins={}, how=How(fast=fast, workers=workers))
    return [(finding.code, finding.at) for check in report.checks for finding in check.findings]


def test_the_run_is_long_enough_for_processes():
    assert RECORDS > runcheck.KEPT_EVENTS


@pytest.mark.parametrize(("fast", "workers"), WAYS)
def test_a_valid_run_holds_each_way_and_only_a_full_check_makes_it_authentic(pristine, fast, workers):
    report = verify_run(pristine, RUN, pins={}, how=How(fast=fast, workers=workers))
    assert [finding for check in report.checks for finding in check.findings] == []
    assert report.holds(Area.INTEGRITY)
    assert (report.run is None) == fast
    counted = {check.step: check.checked for check in report.checks if check.step > 8}
    assert counted[11] > RECORDS
    assert (12 in counted, 17 in counted) == (not fast, not fast)


def test_processes_find_what_one_finds(project):
    change(project, 1, b'"Passed"', b'"Judged"')  # another status: root, link and totals
    change(project, 2, b'"run":"long-run"', b'"run": "long-run"')  # the same value in other bytes
    change(project, 3, b'"attempt":1', b'"attempt":1,"attempt":1')  # no strict JSON
    for fast in (False, True):
        alone = told(project, fast=fast, workers=1)
        assert alone == told(project, fast=fast, workers=2)
        codes = {code for code, _ in alone}
        assert {"lines.root", "lines.prev"} <= codes
        assert ("lines.entry" in codes) is not fast


def test_processes_leave_odd_segments_to_the_one_that_asked(project):
    path = segment(project, 1)
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    segment(project, 3).unlink()
    for fast in (False, True):
        alone = told(project, fast=fast, workers=1)
        assert alone == told(project, fast=fast, workers=2)
        assert {"lines.segment", "lines.root", "lines.short"} & {code for code, _ in alone}


class TestFast:
    def test_it_reads_neither_order_nor_what_events_name(self, pristine):
        report = verify_project(pristine, pins={}, how=How(fast=True))
        assert report.authentic() == {}
        names = {check.step: check.name for run in report.runs for check in run.checks}
        assert "not read" in names[11]

    def test_a_link_across_segments_is_looked_at(self, project):
        first = segment(project, 2).read_bytes().split(b"\n", 1)[0]
        prev = EVENT.validate_json(first).prev.encode()
        change(project, 2, prev, b"sha256:" + b"0" * 64)
        links = {at for code, at in told(project, fast=True, workers=1) if code == "lines.prev"}
        assert {Path(at).name for at in links} == {"001.jsonl", "002.jsonl"}

    @pytest.mark.parametrize("name", ["statement.dsse.json", "checkpoint", "proofs/run-closed.tlog-proof"])
    def test_signatures_and_proofs_are_checked(self, project, name):
        path = project / "runs" / RUN / name
        path.write_bytes(path.read_bytes()[:-9] + b"AAAA" + path.read_bytes()[-5:])
        assert path.relative_to(project).as_posix() in {at for _, at in told(project, fast=True, workers=1)}

    def test_the_newest_note_is_checked_and_an_older_one_is_not(self, project):
        notes = project / "runs" / RUN / "checkpoints"
        (notes / "33.note").write_bytes(b"no note")
        assert told(project, fast=True, workers=1) == []
        assert told(project, fast=False, workers=1) == [("checkpoint.note", f"runs/{RUN}/checkpoints/33.note")]

    def test_a_checkpoint_that_repeats_another_note_makes_it_look_at_all(self, project):
        folder = project / "runs" / RUN
        (folder / "checkpoint").write_bytes((folder / "checkpoints" / "33.note").read_bytes())
        assert told(project, fast=True, workers=1) == [("checkpoint.lagging", f"runs/{RUN}/checkpoint")]

    def test_a_blob_with_other_bytes_is_found(self, project):
        blob = next(path for path in (project / "runs" / RUN / "blobs").rglob("*") if path.is_file())
        blob.write_bytes(blob.read_bytes() + b" ")
        assert [code for code, _ in told(project, fast=True, workers=1)] == ["blob"]


class TestStoredEvents:
    def test_they_are_the_events_of_the_lines(self, pristine):
        run = verify_run(pristine, RUN, pins={}).run
        assert isinstance(run.events, StoredEvents)
        assert len(run.events) == RECORDS
        assert [event.seq for event in run.events] == list(range(RECORDS))
        assert isinstance(run.events[-1], RunClosed)
        assert [event.seq for event in run.events[1023:1026]] == [1023, 1024, 1025]
        assert run.events[1024].to_bytes() == run.line(1024)
        with pytest.raises(IndexError):
            run.events[RECORDS]

    def test_nothing_but_what_was_verified_is_handed_out(self, project):
        run = verify_run(project, RUN, pins={}).run
        assert run.events[0].seq == 0
        change(project, 1, b'"Passed"', b'"Judged"')
        with pytest.raises(IntegrityError, match="lines that were verified"):
            list(run.events)
        segment(project, 2).unlink()
        with pytest.raises(IntegrityError, match="found none"):
            run.line(2048)


def carried(events):
    """Return what arrives when another process hands ``events`` on."""
    packer = light.Packer()
    for event in events:
        packer.take(event)
    return list(light.load_events(packer.done()))


def one_by_one(items):
    return [event for item in items for event in (item.events() if isinstance(item, light.LightAttempt) else [item])]


def taken(order, items):
    """Take items as a verification does: whole attempts at once where they are in order."""
    for item in items:
        if not isinstance(item, light.LightAttempt):
            order.take(item)
        elif not order.take_attempt(item):
            for event in item.events():
                order.take(event)


@pytest.fixture(scope="module")
def events(pristine):
    lines = [line for number in range(5) for line in segment(pristine, number).read_bytes().splitlines()]
    return [EVENT.validate_json(line) for line in lines]


class TestLightEvents:
    def test_they_are_the_events_that_were_packed(self, events):
        lean = one_by_one(carried(events))
        assert sum(isinstance(event, light.LightEvent) for event in lean) == RECORDS - 2
        for event, other in zip(events, lean, strict=True):
            assert blobs_of(event) == blobs_of(other)
            assert (event.seq, event.run, event.type) == (other.seq, other.run, other.type)

    def test_attempts_in_order_are_taken_at_once_and_lead_to_the_same_totals(self, events):
        items = carried(events)
        assert len(items) < RECORDS / 2
        whole, lean = RunOrder(), RunOrder()
        for event in events:
            whole.take(event)
        taken(lean, items)
        assert lean.closed == whole.closed == events[-1]
        assert lean.closed.complete
        assert lean.count == whole.count == RECORDS

    @given(st.data())
    def test_events_out_of_order_are_refused_where_whole_ones_are(self, events, data):
        """Whatever order events are in, together or one by one: the same count is taken, the same one refused."""
        few = events[:24]
        moves = data.draw(st.lists(st.integers(1, len(few) - 1), min_size=1, max_size=30))
        shuffled = [few[0], *(few[at] for at in moves)]
        outcomes = set()
        for items in (shuffled, carried(shuffled), one_by_one(carried(shuffled))):
            order, message = RunOrder(), None
            try:
                taken(order, items)
            except IntegrityError as exc:
                message = exc.message
            outcomes.add((order.count, message, order.tally.attempts, tuple(sorted(order.tally.calls.items()))))
        assert len(outcomes) == 1

    @pytest.mark.parametrize("change", [{"attempt": 2}, {"judge_call": 1}, {"candidate_call": None}, {"calls": ()}])
    def test_an_attempt_that_is_not_in_order_is_left(self, events, change):
        items = carried(events)
        order = RunOrder()
        taken(order, items[:1])
        attempt = next(item for item in items if isinstance(item, light.LightAttempt) and item.calls)
        assert not order.take_attempt(attempt._replace(**change))
        assert order.count == 1
        assert order.take_attempt(attempt)
        assert not order.take_attempt(attempt)
