# SPDX-License-Identifier: Apache-2.0
"""The rarer findings, each with the file that it names."""

import json
import os
import shutil

import pytest
from support.ledgers import (
    LATER,
    LEDGER,
    NOW,
    RUN,
    begin_run,
    finish_run,
    fixed_key,
    make_ledger,
    make_sealed_run,
    reopen,
    run_trials,
    small_plan,
    start_trial,
)

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError, IntegrityError
from evalsite.ledger import lines, linewalk, runwriter, writer
from evalsite.ledger.authentic import checks_hold, read_blob
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.lines import LineLog, read_segments, segment_files, tail_of
from evalsite.ledger.merkle import Frontier, leaf_hash
from evalsite.ledger.statement import Sealed, statement_payload
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area
from evalsite.schema.entries import EVENT, RunClosed, RunOpened

RUN_FOLDER = f"runs/{RUN}"
EVENTS = f"{RUN_FOLDER}/events/000.jsonl"


@pytest.fixture
def project(tmp_path):
    make_ledger(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def sealed(project):
    make_sealed_run(project)
    return project


def found(report):
    return {(finding.code, finding.at) for check in report.checks for finding in check.findings}


def sign_lines(project, changed, *, folder=RUN_FOLDER, kind="events", origin=f"{LEDGER}/run/{RUN}"):
    """Put lines in the place of a tree's own, relinked, with a log key's checkpoint for every size."""
    frontier, prev, linked = Frontier(), None, []
    notes = project / folder / "checkpoints"
    shutil.rmtree(notes)
    notes.mkdir()
    for seq, line in enumerate(changed):
        linked.append(canonical_bytes({**json.loads(line), "seq": seq, "prev": prev}))
        prev = f"sha256:{leaf_hash(linked[-1]).hex()}"
        frontier.append(leaf_hash(linked[-1]))
        head = Checkpoint(origin, frontier.size, frontier.root())
        note = sign_checkpoint(head, f"{LEDGER}/log", fixed_key("log"))
        (notes / f"{frontier.size}.note").write_bytes(note)
        (project / folder / "checkpoint").write_bytes(note)
    (project / folder / kind / "000.jsonl").write_bytes(b"".join(line + b"\n" for line in linked))


def sign_log(project, change):
    folder = f"runs/log/{LEDGER}"
    changed = change((project / folder / "entries/000.jsonl").read_bytes().splitlines())
    sign_lines(project, changed, folder=folder, kind="entries", origin=f"{LEDGER}/log")
    (project / folder / "checkpoints/1.note").unlink()


class TestKeysAndLog:
    def test_a_gap_in_the_keyring_versions(self, sealed):
        folder = sealed / "runs" / "trust" / LEDGER / "keyring"
        shutil.copy(folder / "001.dsse.json", folder / "003.dsse.json")
        assert ("keyring", f"runs/trust/{LEDGER}/keyring/003.dsse.json") in found(verify_run(sealed, RUN, pins={}))

    def test_a_keyring_that_the_log_did_not_publish(self, sealed):
        folder = sealed / "runs" / "trust" / LEDGER / "keyring"
        (folder / "001.dsse.json").unlink()
        assert ("keyring", f"runs/trust/{LEDGER}/keyring/001.dsse.json") in found(verify_run(sealed, RUN, pins={}))

    def test_strangers_among_keys_and_log(self, sealed):
        for name in (f"runs/trust/{LEDGER}/extra.pem", f"runs/log/{LEDGER}/extra"):
            (sealed / name).write_bytes(b"")
            assert name in {at for _, at in found(verify_run(sealed, RUN, pins={}))}
            (sealed / name).unlink()
        for name in (f"runs/trust/{LEDGER}/more", f"runs/log/{LEDGER}/more", f"{RUN_FOLDER}/more"):
            (sealed / name).mkdir()
            assert ("tree.folder", name) in found(verify_run(sealed, RUN, pins={}))
            (sealed / name).rmdir()

    def test_a_derived_file_that_does_not_follow(self, sealed):
        path = sealed / "runs" / "trust" / LEDGER / "runner.pem"
        shutil.copy(path.parent / "log.pem", path)
        assert ("keys.derived", f"runs/trust/{LEDGER}/runner.pem") in found(verify_run(sealed, RUN, pins={}))

    def test_a_missing_note_of_the_log(self, sealed):
        (sealed / f"runs/log/{LEDGER}/checkpoints/2.note").unlink()
        assert ("checkpoint.missing", f"runs/log/{LEDGER}/checkpoints/2.note") in found(
            verify_run(sealed, RUN, pins={})
        )

    def test_a_log_that_holds_another_plan_or_another_root(self, sealed):
        def other_plan(entries):
            value = json.loads(entries[2])
            return [*entries[:2], canonical_bytes({**value, "plan_digest": "sha256:" + "0" * 64}), *entries[3:]]

        def other_root(entries):
            value = json.loads(entries[3])
            return [*entries[:3], canonical_bytes({**value, "root": "sha256:" + "0" * 64})]

        for change, code in ((other_plan, "run.opened-entry"), (other_root, "statement")):
            shutil.copytree(sealed, sealed.parent / code)
            sign_log(sealed.parent / code, change)
            assert code in {name for name, _ in found(verify_run(sealed.parent / code, RUN, pins={}))}


class TestRuns:
    def test_events_of_another_run_or_ledger_under_the_right_signatures(self, sealed):
        events = (sealed / EVENTS).read_bytes().splitlines()
        for field in ("run", "ledger"):
            shutil.copytree(sealed, sealed.parent / field)
            changed = [canonical_bytes({**json.loads(events[0]), field: "other"}), *events[1:]]
            sign_lines(sealed.parent / field, changed)
            assert ("run.order", EVENTS) in found(verify_run(sealed.parent / field, RUN, pins={}))

    def test_signed_events_in_a_wrong_order_are_not_resumed(self, project):
        with reopen(project) as ledger:
            run, plan = begin_run(ledger)
            run_trials(run, plan)
            run.checkpoint()
        events = (project / EVENTS).read_bytes().splitlines()
        sign_lines(project, [*events[:2], events[3], events[2]])
        with reopen(project) as ledger, pytest.raises(IntegrityError, match="in their order"):
            ledger.resume_run(RUN, now=LATER)

    def test_segments_with_a_gap_or_with_too_few_lines(self, sealed):
        shutil.copy(sealed / EVENTS, sealed / RUN_FOLDER / "events/002.jsonl")
        assert ("lines.segment", f"{RUN_FOLDER}/events/002.jsonl") in found(verify_run(sealed, RUN, pins={}))
        shutil.copy(sealed / EVENTS, sealed / RUN_FOLDER / "events/001.jsonl")
        assert ("lines.segment", EVENTS) in found(verify_run(sealed, RUN, pins={}))

    def test_a_segment_that_is_too_long_to_read(self, sealed, monkeypatch):
        monkeypatch.setattr(lines, "MAX_RECORD_FILE_BYTES", 1000)
        codes = found(verify_run(sealed, RUN, pins={}))
        assert {code for code, _ in codes} >= {"lines.file"}

    def test_a_broken_link_between_two_segments_names_both(self, sealed, monkeypatch):
        for module in (linewalk, lines):
            monkeypatch.setattr(module, "SEGMENT_LINES", 2)
        events = (sealed / EVENTS).read_bytes().splitlines(keepends=True)
        prev = json.loads(events[2])["prev"].encode()
        events[2] = events[2].replace(prev, b"sha256:" + b"0" * 64)
        entries = (sealed / f"runs/log/{LEDGER}/entries/000.jsonl").read_bytes().splitlines(keepends=True)
        for folder, cut in ((f"{RUN_FOLDER}/events", events), (f"runs/log/{LEDGER}/entries", entries)):
            for number, first in enumerate(range(0, len(cut), 2)):
                (sealed / folder / f"{number:03d}.jsonl").write_bytes(b"".join(cut[first : first + 2]))
        links = {at for code, at in found(verify_run(sealed, RUN, pins={})) if code == "lines.prev"}
        assert links == {f"{RUN_FOLDER}/events/{number:03d}.jsonl" for number in range(2)}

    def test_a_blob_under_a_name_that_is_not_its_own(self, sealed):
        blob = min(path for path in (sealed / RUN_FOLDER / "blobs").rglob("*") if path.is_file())
        other = max(path for path in (sealed / RUN_FOLDER / "blobs").rglob("*") if path.is_file())
        shutil.copy(other, blob)
        assert ("blob", blob.relative_to(sealed).as_posix()) in found(verify_run(sealed, RUN, pins={}))

    def test_a_blob_that_is_no_container(self, sealed):
        raw = b"no container"
        digest = digest_bytes(raw)
        path = sealed / RUN_FOLDER / "blobs" / digest[7:9] / digest[7:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        with pytest.raises(IntegrityError, match="blob container"):
            read_blob(sealed, RUN, digest)
        assert ("blob", path.relative_to(sealed).as_posix()) in found(verify_run(sealed, RUN, pins={}))

    def test_quarantined_bytes_that_changed_or_vanished(self, project):
        with reopen(project) as ledger:
            begin_run(ledger)
        with (project / EVENTS).open("ab") as file:
            file.write(b'{"torn')
        with reopen(project) as ledger:
            recovery = finish_run(ledger)
        assert recovery.dropped_bytes == 6
        path = project / RUN_FOLDER / "quarantine" / "1.bin"
        assert all(verify_project(project, pins={}).holds(area) for area in Area)
        path.write_bytes(b'{"tarn')
        assert found(verify_run(project, RUN, pins={})) == {("quarantine", f"{RUN_FOLDER}/quarantine/1.bin")}
        path.unlink()
        assert found(verify_run(project, RUN, pins={})) == {("quarantine.missing", f"{RUN_FOLDER}/quarantine/1.bin")}

    def test_torn_again_before_the_resume_was_recorded(self, project):
        """Both rests are kept, one behind the other, under the event that comes at last."""
        with reopen(project) as ledger:
            begin_run(ledger)
        for torn in (b'{"first', b'{"second'):
            with (project / EVENTS).open("ab") as file:
                file.write(torn)
            with reopen(project) as ledger:
                _, _, recovery = ledger.resume_run(RUN, now=LATER)
        assert recovery.dropped_bytes == 15
        assert (project / RUN_FOLDER / "quarantine" / "1.bin").read_bytes() == b'{"first{"second'
        with reopen(project) as ledger:
            finish_run(ledger)
        assert all(verify_project(project, pins={}).holds(area) for area in Area)

    def test_two_folders_that_never_were_a_run(self, project):
        for _ in range(2):
            (project / RUN_FOLDER / "events").mkdir(parents=True)
            (project / EVENTS).write_bytes(b"{")
            with reopen(project) as ledger:
                ledger.create_run(RUN)
        names = sorted(path.name for path in (project / writer.WORK / "abandoned").iterdir())
        assert names == [f"{RUN}-1", f"{RUN}-2"]


class TestLines:
    def test_what_stands_behind_the_kept_lines(self, tmp_path):
        (tmp_path / "events").mkdir()
        assert tail_of(tmp_path, "events", 0) == (b"", 0)
        (tmp_path / "events/000.jsonl").write_bytes(b"a\nb\nc")
        assert tail_of(tmp_path, "events", 1) == (b"b\nc", 2)

    def test_files_that_are_no_segments_are_left_to_others(self):
        names = ["events/000.jsonl", "events/001.jsonl", "events/003.jsonl", "events/1.jsonl", "x", "entries/000.jsonl"]
        ordered, stray = segment_files("events", names)
        assert ordered == ["events/000.jsonl", "events/001.jsonl"]
        assert stray == ["events/003.jsonl"]

    def test_a_missing_segment_is_told(self, tmp_path):
        with pytest.raises(InputError, match="found none"):
            list(read_segments(tmp_path, ["events/000.jsonl"]))

    def test_lines_of_somebody_else_are_not_appended_to(self, tmp_path):
        (tmp_path / "events").mkdir()
        (tmp_path / "events/000.jsonl").write_bytes(b"a\n")
        log = LineLog(tmp_path, "events")
        with pytest.raises(InputError, match="beyond the last known one"):
            log.append(b"b")
        log.close()

    def test_a_torn_line_on_disk_is_found_before_a_root_is_signed(self, tmp_path):
        (tmp_path / "events").mkdir()
        log = LineLog(tmp_path, "events")
        log.append(b"a")
        log.check_disk(whole=True)
        with (tmp_path / "events/000.jsonl").open("ab") as file:
            file.write(b"torn")
        with pytest.raises(IntegrityError, match="whole lines"):
            log.check_disk(whole=False)
        log.close()
        os.truncate(tmp_path / "events/000.jsonl", 0)
        with pytest.raises(IntegrityError, match="holds others"):
            log.check_disk(whole=False)


def test_a_line_that_grows_beyond_its_bound_by_its_defaults_is_refused(project, monkeypatch):
    with reopen(project) as ledger:
        run, plan = begin_run(ledger)
        trial = plan.case_trials()[0]
        line = canonical_bytes(run._frame("trial.started", {"trial": trial.plain(), "attempt": 1}, NOW).plain())
        monkeypatch.setattr(runwriter, "parse_line", lambda data, *_: EVENT.validate_json(data))
        monkeypatch.setattr(runwriter, "MAX_EVENT_BYTES", len(line) - 1)
        with pytest.raises(InputError, match="an event of at most"):
            start_trial(run, trial)


def test_a_statement_names_the_weights_whose_digest_is_known(sealed):
    run = verify_run(sealed, RUN, pins={}).run
    opened, closed = run.events[0], run.events[-1]
    assert isinstance(opened, RunOpened)
    assert isinstance(closed, RunClosed)
    plan = small_plan(opened.plan.corpus.snapshot)
    identity = plan.judge.identity.model_copy(update={"model_digest": "sha256:" + "a" * 64, "model_name": "small:1b"})
    judge = plan.judge.model_copy(update={"identity": identity})
    opened = opened.model_copy(update={"plan": plan.model_copy(update={"judge": judge, "candidate": None})})
    facts = Sealed(plan_digest="sha256:" + "0" * 64, size=5, root=bytes(32), sha256="0" * 64, sha512="0" * 128)
    statement = json.loads(statement_payload(opened, closed, facts))
    assert statement["subject"][2:] == [{"name": "judge:small:1b", "digest": {"sha256": "a" * 64}}]


def test_no_check_at_all_never_holds():
    assert not checks_hold([], Area.INTEGRITY)
