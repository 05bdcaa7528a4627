# SPDX-License-Identifier: Apache-2.0
"""What a forger can do to a record, with and without keys, and which check tells."""

import json
import shutil

import pytest
from support.ledgers import (
    LATER,
    LEDGER,
    NOW,
    RUN,
    begin_run,
    fixed_key,
    keystore_of,
    make_ledger,
    make_sealed_run,
    reopen,
    run_trials,
    start_trial,
)
from support.verdicts import ENTRIES, EVENTS, codes, places, refused

from evalsite.canonical.jcs import canonical_bytes
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.dsse import parse_envelope, sign_envelope
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.merkle import Frontier, leaf_hash
from evalsite.ledger.statement import PAYLOAD_TYPE
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area, Level


def sign_again(project, *, origin=f"{LEDGER}/run/{RUN}", signer=None, folder=f"runs/{RUN}", kind="events"):
    """Sign whatever lines stand there now as if they had always been there."""
    lines = (project / folder / kind / "000.jsonl").read_bytes().splitlines()
    frontier = Frontier()
    notes = project / folder / "checkpoints"
    sizes = sorted(int(path.stem) for path in notes.iterdir())
    for path in notes.iterdir():
        path.unlink()
    for line in lines:
        frontier.append(leaf_hash(line))
        if frontier.size in {*sizes[:-1], len(lines)}:
            checkpoint = Checkpoint(origin, frontier.size, frontier.root())
            note = sign_checkpoint(checkpoint, f"{LEDGER}/log", signer or fixed_key("log"))
            (notes / f"{frontier.size}.note").write_bytes(note)
            (project / folder / "checkpoint").write_bytes(note)


def relink(lines):
    """Rewrite seq and prev of every line."""
    linked, prev = [], None
    for seq, line in enumerate(lines):
        linked.append(canonical_bytes({**json.loads(line), "seq": seq, "prev": prev}))
        prev = f"sha256:{leaf_hash(linked[-1]).hex()}"
    return b"".join(line + b"\n" for line in linked)


@pytest.mark.parametrize("spell", [lambda line: line.replace(b'"seq":', b'"seq": '), lambda line: line + b"\r"])
def test_lines_that_are_not_canonical_are_refused_under_the_right_keys(project, spell):
    """One fact has one line: another spelling of the same value is refused, whoever signed it (run-record §4)."""
    path = project / EVENTS
    linked, prev = [], None
    for seq, line in enumerate(path.read_bytes().splitlines()):
        linked.append(spell(canonical_bytes({**json.loads(line), "seq": seq, "prev": prev})))
        prev = f"sha256:{leaf_hash(linked[-1]).hex()}"
    path.write_bytes(b"".join(line + b"\n" for line in linked))
    sign_again(project)
    assert "lines.entry" in codes(refused(project))


class TestForgery:
    def test_another_root_key_than_the_pinned_one(self, project):
        report = refused(project, pins={LEDGER: "sha256:" + "0" * 64})
        assert codes(report) == {"keyring.pin"}

    def test_a_whole_ledger_made_anew_with_other_keys_fails_the_pin_only(self, project):
        """Without a pin nothing inside can show it: that is what level A0 says."""
        fingerprint = fixed_key("root").key_id
        shutil.rmtree(project / "runs")
        shutil.rmtree(keystore_of(project))
        make_ledger(project, make_key=lambda role: fixed_key(f"forger's {role}"))
        make_sealed_run(project)
        assert verify_run(project, RUN, pins={}).run.level is Level.A0
        assert codes(refused(project, pins={LEDGER: fingerprint})) == {"keyring.pin"}

    def test_signed_by_another_valid_key(self, project):
        sign_again(project, signer=Signer.generate())
        assert "checkpoint.note" in codes(refused(project))

    def test_content_forged_and_relinked_with_signatures_as_they_were(self, project):
        lines = (project / EVENTS).read_bytes().splitlines()
        lines[3] = lines[3].replace(b'"Passed"', b'"Violation"')
        (project / EVENTS).write_bytes(relink(lines))
        assert codes(refused(project)) >= {"lines.root"}

    def test_content_forged_relinked_and_signed_by_the_log_key_still_differs_from_the_log(self, project):
        """An insider with the log key alone cannot make the statement or the log fit."""
        lines = (project / EVENTS).read_bytes().splitlines()
        lines[3] = lines[3].replace(b'"assist"', b'"refuse"')
        (project / EVENTS).write_bytes(relink(lines))
        sign_again(project)
        assert codes(refused(project)) >= {"statement"}

    def test_a_plan_forged_after_the_opening_differs_from_the_log(self, project):
        lines = (project / EVENTS).read_bytes().splitlines()
        lines[0] = lines[0].replace(b"A fixture campaign", b"Another campaign", 1)
        (project / EVENTS).write_bytes(relink(lines))
        sign_again(project)
        assert codes(refused(project)) >= {"run.opened-entry"}

    @pytest.mark.parametrize("name", ["checkpoint", "checkpoints/5.note"])
    def test_stripped_signatures(self, project, name):
        path = project / "runs" / RUN / name
        path.write_bytes(path.read_bytes().rpartition("—".encode())[0])
        assert path.relative_to(project).as_posix() in places(refused(project))

    def test_a_statement_without_signatures_or_of_another_type_or_key(self, project):
        path = project / "runs" / RUN / "statement.dsse.json"
        envelope = parse_envelope(path.read_bytes())
        runner = fixed_key("runner")
        for forged in (
            canonical_bytes({**json.loads(path.read_bytes()), "signatures": []}) + b"\n",
            sign_envelope("application/json", envelope.payload, runner).to_bytes(),
            sign_envelope(PAYLOAD_TYPE, envelope.payload, fixed_key("log")).to_bytes(),
            sign_envelope(PAYLOAD_TYPE, envelope.payload, runner, fixed_key("log")).to_bytes(),
            sign_envelope(PAYLOAD_TYPE, envelope.payload.replace(b'"ended":1', b'"ended":2'), runner).to_bytes(),
            sign_envelope(PAYLOAD_TYPE, envelope.payload.replace(b"/v1", b"/v2"), runner).to_bytes(),
        ):
            path.write_bytes(forged)
            assert codes(refused(project)) == {"statement"}

    def test_totals_that_the_events_do_not_have(self, project):
        """Even when runner and log sign them."""
        with reopen(project) as ledger:
            run, plan = begin_run(ledger, "run-2")
            run_trials(run, plan)
            run._order.take = lambda event: setattr(run._order, "closed", event)
            totals = {"planned": 1, "ended": 0, "by_status": {}, "controls_planned": 0, "controls_ended": 0}
            totals |= {"controls_by_status": {}, "attempts": 1, "calls_by_role": {"candidate": 1}}
            run.append("run.closed", {"complete": True, "totals": totals}, now=LATER)
            run.seal(now=LATER)
        report = refused(project, "run-2")
        assert codes(report) >= {"run.order"}
        assert "runs/run-2/events/000.jsonl" in places(report)

    def test_an_envelope_of_the_keyring_in_the_place_of_the_statement(self, project):
        keyring = (project / "runs" / "trust" / LEDGER / "keyring" / "001.dsse.json").read_bytes()
        (project / "runs" / RUN / "statement.dsse.json").write_bytes(keyring)
        assert codes(refused(project)) == {"statement"}


class TestLines:
    @pytest.mark.parametrize(
        "change",
        [
            lambda lines: lines[:-1],
            lambda lines: lines[:2] + lines[3:],
            lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
            lambda lines: [*lines[:2], lines[1], *lines[2:]],
            lambda lines: lines[1:],
            lambda lines: [*lines, lines[-1]],
            lambda lines: lines[:0],
            lambda lines: [*lines[:2], b"", *lines[2:]],
            lambda lines: [line + b"\r" for line in lines],
            lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]],
            lambda lines: [lines[0].replace(b'"seq":0', b'"seq":0,"seq":0'), *lines[1:]],
            lambda lines: [*lines[:2], lines[2].replace(b'"wall_ms":3', b'"wall_ms":NaN'), *lines[3:]],
            lambda lines: [*lines[:2], lines[2].replace(b'"wall_ms":3', b'"wall_ms":3.0'), *lines[3:]],
            lambda lines: [*lines[:2], lines[2].replace(b'"wall_ms":3', b'"wall_ms":' + b"9" * 99), *lines[3:]],
            lambda lines: [*lines[:2], lines[2][:-1] + b" " * (1024 * 1024) + b"}", *lines[3:]],
            lambda lines: [json.dumps(json.loads(line)).encode() for line in lines],
        ],
    )
    @pytest.mark.parametrize("name", [EVENTS, ENTRIES])
    def test_cut_dropped_swapped_doubled_and_respelled_lines(self, project, name, change):
        path = project / name
        changed = b"".join(line + b"\n" for line in change(path.read_bytes().splitlines()))
        if changed == path.read_bytes():
            return  # a change of a field that only events have
        path.write_bytes(changed)
        report = verify_project(project, pins={})
        assert name in {finding.at for finding in report.findings()}
        assert not (report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS))

    def test_an_older_genuine_checkpoint_with_the_lines_of_its_time(self, project):
        """The log knows that the run was closed."""
        folder = project / "runs" / RUN
        for name in ("checkpoints/5.note", "statement.dsse.json", "proofs/run-closed.tlog-proof"):
            (folder / name).unlink()
        shutil.copy(folder / "checkpoints" / "1.note", folder / "checkpoint")
        (project / EVENTS).write_bytes((project / EVENTS).read_bytes().splitlines(keepends=True)[0])
        assert codes(refused(project)) >= {"run.closed-entry", "statement"}

    def test_an_older_genuine_checkpoint_alone_is_behind_its_notes(self, project):
        shutil.copy(project / f"runs/{RUN}/checkpoints/1.note", project / f"runs/{RUN}/checkpoint")
        report = verify_run(project, RUN, pins={})
        assert codes(report) == {"checkpoint.lagging"}
        assert not report.holds(Area.COMPLETENESS)

    def test_two_forks_of_one_log(self, project, tmp_path):
        """Each fork holds in itself; entries of one never fit into the other."""
        shutil.copytree(project.parent, tmp_path / "fork")
        fork = tmp_path / "fork" / "project"
        make_sealed_run(project, "run-2")
        make_sealed_run(fork, "run-3")
        shutil.copytree(fork / "runs" / "run-3", project / "runs" / "run-3")
        report = verify_run(project, "run-3", pins={})
        assert report.run is None
        shutil.copy(
            fork / "runs" / "log" / LEDGER / "checkpoints" / "6.note",
            project / "runs" / "log" / LEDGER / "checkpoints" / "6.note",
        )
        assert codes(refused(project)) >= {"lines.root"}

    def test_a_run_in_two_logs(self, project):
        make_ledger(project, "other")
        with reopen(project, "other") as ledger:
            entry = {"run": RUN, "opened_leaf": "sha256:" + "0" * 64, "plan_digest": "sha256:" + "0" * 64}
            ledger._desk.log.append("run.opened", entry, now=NOW)
            ledger._desk.log.sign()
        assert codes(refused(project)) == {"run.ledger"}

    def test_a_run_folder_under_another_name(self, project):
        shutil.copytree(project / "runs" / RUN, project / "runs" / "copy")
        report = refused(project, "copy")
        assert "checkpoint.note" in codes(report)

    def test_trials_before_the_log_knew_the_run(self, project):
        with reopen(project) as ledger:
            ledger._desk.log.sign = lambda: None  # the entry is written and never signed
            run, plan = begin_run(ledger, "run-2")
            start_trial(run, plan.case_trials()[0])
            run.checkpoint()
        path = project / ENTRIES
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
        (project / "runs/run-2/proofs/run-opened.tlog-proof").unlink()
        assert codes(refused(project, "run-2")) >= {"run.unlogged"}


class TestLogEntries:
    def forge(self, project, change):
        path = project / ENTRIES
        path.write_bytes(relink(change(path.read_bytes().splitlines())))
        sign_again(project, origin=f"{LEDGER}/log", folder=f"runs/log/{LEDGER}", kind="entries")
        size = len(path.read_bytes().splitlines())
        notes = project / "runs" / "log" / LEDGER / "checkpoints"
        for missing in range(2, size):
            if not (notes / f"{missing}.note").exists():
                shutil.copy(notes / f"{size}.note", notes / f"{missing}.note")
        return refused(project)

    @pytest.mark.parametrize(
        "change",
        [
            lambda lines: [lines[0], lines[0], *lines[1:]],
            lambda lines: lines[1:],
            lambda lines: [lines[0], *lines[2:]],
            lambda lines: [*lines, lines[1]],
            lambda lines: [*lines, lines[2]],
            lambda lines: [*lines, lines[3]],
            lambda lines: [*lines[:2], lines[3], lines[2]],
            lambda lines: [lines[0].replace(b'"desk"', b'"else"'), *lines[1:]],
            lambda lines: [lines[0].replace(b"sha256:b7", b"sha256:b8"), *lines[1:]],
            lambda lines: [lines[0], lines[1].replace(b'"version":1', b'"version":2'), *lines[2:]],
        ],
    )
    def test_entries_that_contradict_keys_or_each_other(self, project, change):
        """The log key signs them all the same; the reader of the log refuses."""
        assert codes(self.forge(project, change)) & {"log.entry", "log.keys"}
