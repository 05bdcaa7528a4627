# SPDX-License-Identifier: Apache-2.0
"""Notes, envelopes, keyrings and proofs in the hands of somebody who knows their formats."""

import base64
import json
import shutil
import time

import pytest
from support.ledgers import LEDGER, NOW, RUN, fixed_key, make_ledger, make_sealed_run
from support.verdicts import codes, places, refused

from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import EvalsiteError, InputError
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.dsse import EnvelopeSignature, parse_envelope, sign_envelope
from evalsite.ledger.ed25519 import _LOW_ORDER as LOW_ORDER
from evalsite.ledger.ed25519 import Signer, key_id, to_base64
from evalsite.ledger.heads import HeldHead, Shown, check_heads
from evalsite.ledger.note import NoteKey, parse_note, parse_note_key
from evalsite.ledger.statement import PAYLOAD_TYPE
from evalsite.ledger.tlogproof import TlogProof, parse_proof
from evalsite.ledger.trust import KEYRING_TYPE
from evalsite.ledger.verify import check_ledgers, verify_project, verify_run
from evalsite.schema.checks import Area

KEYRING = f"runs/trust/{LEDGER}/keyring/001.dsse.json"
STATEMENT = f"runs/{RUN}/statement.dsse.json"
DASH = "\u2014"


def foreign_lines(count):
    return "".join(f"{DASH} stranger.example/{number} {to_base64(bytes(4 + 64))}\n" for number in range(count)).encode()


class TestKeyrings:
    @pytest.mark.parametrize("encoding", sorted(LOW_ORDER), ids=lambda encoding: encoding.hex()[:8])
    @pytest.mark.parametrize("place", ["log", "runner", "root"])
    def test_a_key_of_low_order_signed_into_a_keyring(self, project, encoding, place):
        """Each of the 14 encodings, in each role, under the root's own signature: any message would verify."""
        path = project / KEYRING
        keyring = json.loads(parse_envelope(path.read_bytes()).payload)
        if place == "root":
            keyring["root_public_key"] = to_base64(encoding)
        else:
            key = next(key for key in keyring["keys"] if key["role"] == place)
            key |= {"public_key": to_base64(encoding), "key_id": key_id(encoding)}
        path.write_bytes(sign_envelope(KEYRING_TYPE, canonical_bytes(keyring), fixed_key("root")).to_bytes())
        report = refused(project)
        assert KEYRING in places(report)
        assert codes(report) == {"keyring"}
        told = " ".join(item.message for check in report.checks for item in check.findings)
        assert "low order" in told or "canonical" in told

    def test_a_signature_that_verifies_under_every_message_of_a_low_order_key(self, project):
        """The all-zero trick: with the neutral element as root key, R = the key and S = 0 fit anything."""
        neutral = (1).to_bytes(32, "little")
        path = project / KEYRING
        keyring = json.loads(parse_envelope(path.read_bytes()).payload)
        keyring["root_public_key"] = to_base64(neutral)
        envelope = sign_envelope(KEYRING_TYPE, canonical_bytes(keyring))
        forged = type(envelope)(
            KEYRING_TYPE, envelope.payload, (EnvelopeSignature(key_id(neutral), neutral + bytes(32)),)
        )
        path.write_bytes(forged.to_bytes())
        assert codes(refused(project)) == {"keyring"}

    @pytest.mark.parametrize("role", ["runner", "log"])
    def test_a_keyring_that_another_role_signed(self, project, role):
        path = project / KEYRING
        payload = parse_envelope(path.read_bytes()).payload
        path.write_bytes(sign_envelope(KEYRING_TYPE, payload, fixed_key(role)).to_bytes())
        assert KEYRING in places(refused(project))

    def test_a_second_keyring_version_that_a_new_root_gave_itself(self, project):
        """Keys of the forger, root included, as version 2: only the root before can hand over."""
        first = json.loads(parse_envelope((project / KEYRING).read_bytes()).payload)
        forger = Signer.generate()
        second = {**first, "version": 2, "root_public_key": to_base64(forger.public_key)}
        envelope = sign_envelope(KEYRING_TYPE, canonical_bytes(second), forger)
        (project / KEYRING.replace("001", "002")).write_bytes(envelope.to_bytes())
        assert KEYRING.replace("001", "002") in places(refused(project))

    def test_one_key_in_two_roles(self, project):
        """Whoever runs campaigns would sign heads as well."""
        path = project / KEYRING
        keyring = json.loads(parse_envelope(path.read_bytes()).payload)
        log = next(key for key in keyring["keys"] if key["role"] == "log")
        runner = next(key for key in keyring["keys"] if key["role"] == "runner")
        runner |= {"public_key": log["public_key"], "key_id": log["key_id"]}
        path.write_bytes(sign_envelope(KEYRING_TYPE, canonical_bytes(keyring), fixed_key("root")).to_bytes())
        assert codes(refused(project)) == {"keyring"}

    def test_a_key_id_that_names_another_key(self, project):
        path = project / KEYRING
        keyring = json.loads(parse_envelope(path.read_bytes()).payload)
        keyring["keys"][0]["key_id"], keyring["keys"][1]["key_id"] = (
            keyring["keys"][1]["key_id"],
            keyring["keys"][0]["key_id"],
        )
        path.write_bytes(sign_envelope(KEYRING_TYPE, canonical_bytes(keyring), fixed_key("root")).to_bytes())
        assert codes(refused(project)) == {"keyring"}


class TestNotes:
    @pytest.mark.parametrize("name", ["checkpoint", "checkpoints/5.note"])
    @pytest.mark.parametrize("count", [1, 63, 64, 65])
    def test_foreign_signatures_on_a_note_of_the_record(self, project, name, count):
        """A note of a record is the log's alone; what others sign stands apart from it."""
        path = project / "runs" / RUN / name
        path.write_bytes(path.read_bytes() + foreign_lines(count))
        assert f"runs/{RUN}/{name}" in places(refused(project))

    def test_as_many_signatures_as_a_note_may_hold_and_one_more(self, project):
        note = (project / "runs" / RUN / "checkpoint").read_bytes()
        assert len(parse_note(note + foreign_lines(63)).signatures) == 64
        with pytest.raises(InputError, match="at most 64 signatures"):
            parse_note(note + foreign_lines(64))

    def test_a_note_of_very_many_lines_is_refused_at_once(self, project):
        path = project / "runs" / RUN / "checkpoint"
        path.write_bytes(path.read_bytes() + foreign_lines(50_000))
        started = time.process_time()
        assert f"runs/{RUN}/checkpoint" in places(refused(project))
        assert time.process_time() - started < 2

    @pytest.mark.parametrize(
        ("origin", "name"),
        [
            (f"{LEDGER}/log", f"{LEDGER}/log"),
            (f"{LEDGER}/run/run-2", f"{LEDGER}/log"),
            (f"other/run/{RUN}", f"{LEDGER}/log"),
            (f"{LEDGER}/run/{RUN}", f"{LEDGER}/runner"),
            (f"{LEDGER}/run/{RUN}", "other/log"),
        ],
    )
    def test_a_root_signed_for_another_origin_or_under_another_name(self, project, origin, name):
        """The log key signs it all the same; a signature for one tree says nothing of another."""
        notes = project / "runs" / RUN / "checkpoints"
        text = parse_note((notes / "5.note").read_bytes()).text.splitlines()
        root = base64.b64decode(text[2])
        note = sign_checkpoint(Checkpoint(origin, 5, root), name, fixed_key("log"))
        for path in (notes / "5.note", notes.parent / "checkpoint"):
            path.write_bytes(note)
        assert "checkpoint.note" in codes(refused(project))

    @pytest.mark.parametrize("kind", ["run", "log"])
    def test_an_older_genuine_checkpoint_in_the_place_of_the_newest(self, project, kind):
        """With the newest still beside it: incomplete, as after a crash. With the newest taken away: refused."""
        folder = project / "runs" / (RUN if kind == "run" else f"log/{LEDGER}")
        notes = sorted((folder / "checkpoints").iterdir(), key=lambda path: int(path.stem))
        shutil.copy(notes[-2], folder / "checkpoint")
        assert not verify_project(project, pins={}).holds(Area.COMPLETENESS)
        notes[-1].unlink()
        report = refused(project) if kind == "run" else verify_run(project, RUN, pins={})
        assert report.run is None or not report.run.sealed
        assert not (report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS))

    def test_a_rollback_of_everything_is_told_by_a_head_that_the_verifier_held(self, project):
        """The project of a moment ago is in order by itself; level A2 is what it lacks."""
        old = shutil.copytree(project, project.parent / "old")
        make_sealed_run(project, "run-2")
        note = (project / "runs" / "log" / LEDGER / "checkpoint").read_bytes()
        facts = check_ledgers(old, pins={})[LEDGER].facts
        assert facts is not None
        text = parse_note(note).text.splitlines()
        held = HeldHead("held", LEDGER, int(text[1]), base64.b64decode(text[2]), note)
        shown = Shown(LEDGER, facts.leaves, facts.notes.raw, (facts.keys.log_key,))
        step, extended = check_heads(old, shown, [held])
        assert not extended
        assert "rolled back" in step.findings[0].message

    def test_two_forks_are_told_by_a_head_that_the_verifier_held(self, project):
        """Same size, other entries: both in order by themselves, and never both in one verification."""
        fork = shutil.copytree(project.parent, project.parent.parent / "fork") / "project"
        make_sealed_run(project, "run-2")
        make_sealed_run(fork, "run-3")
        for path in (project, fork):
            assert all(verify_project(path, pins={}).holds(area) for area in Area)
        note = (project / "runs" / "log" / LEDGER / "checkpoint").read_bytes()
        text = parse_note(note).text.splitlines()
        held = HeldHead("held", LEDGER, int(text[1]), base64.b64decode(text[2]), note)
        facts = check_ledgers(fork, pins={})[LEDGER].facts
        shown = Shown(LEDGER, facts.leaves, facts.notes.raw, (facts.keys.log_key,))
        step, extended = check_heads(fork, shown, [held])
        assert not extended
        assert "forked" in step.findings[0].message
        kept = b"".join(path.read_bytes() for path in (fork / ".evalsite").rglob("*") if path.is_file())
        assert note in kept


class TestEnvelopes:
    def put(self, project, envelope):
        (project / STATEMENT).write_bytes(envelope if isinstance(envelope, bytes) else envelope.to_bytes())
        report = refused(project)
        assert codes(report) == {"statement"}
        return next(item.message for check in report.checks for item in check.findings)

    def test_signatures_none_two_or_too_many(self, project):
        runner = fixed_key("runner")
        payload = parse_envelope((project / STATEMENT).read_bytes()).payload
        good = sign_envelope(PAYLOAD_TYPE, payload, runner)
        assert "at least 1" in self.put(project, type(good)(PAYLOAD_TYPE, payload, ()))
        assert "once" in self.put(project, sign_envelope(PAYLOAD_TYPE, payload, runner, runner))
        assert "keyring" in self.put(project, sign_envelope(PAYLOAD_TYPE, payload, runner, Signer.generate()))
        self.put(project, sign_envelope(PAYLOAD_TYPE, payload, *[runner] * 17))

    @pytest.mark.parametrize("role", ["log", "root", "approver"])
    def test_a_key_of_another_role(self, project, role):
        payload = parse_envelope((project / STATEMENT).read_bytes()).payload
        assert "keyring" in self.put(project, sign_envelope(PAYLOAD_TYPE, payload, fixed_key(role)))

    def test_the_runners_key_id_over_a_signature_of_the_log_key(self, project):
        payload = parse_envelope((project / STATEMENT).read_bytes()).payload
        good = sign_envelope(PAYLOAD_TYPE, payload, fixed_key("log"))
        renamed = EnvelopeSignature(fixed_key("runner").key_id, good.signatures[0].signature)
        assert "valid signature" in self.put(project, type(good)(PAYLOAD_TYPE, payload, (renamed,)))

    @pytest.mark.parametrize("kind", ["application/json", KEYRING_TYPE, PAYLOAD_TYPE.upper(), PAYLOAD_TYPE + " ", ""])
    def test_another_payload_type(self, project, kind):
        payload = parse_envelope((project / STATEMENT).read_bytes()).payload
        self.put(project, sign_envelope(kind, payload, fixed_key("runner")))

    def test_the_right_type_over_a_signature_for_another_type(self, project):
        payload = parse_envelope((project / STATEMENT).read_bytes()).payload
        other = sign_envelope("application/json", payload, fixed_key("runner"))
        self.put(project, type(other)(PAYLOAD_TYPE, payload, other.signatures))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("predicateType", "https://in-toto.io/attestation/test-result/v0.1"),
            ("predicateType", "https://evalsite.invalid/run-record/v2"),
            ("_type", "https://in-toto.io/Statement/v0.1"),
            ("subject", []),
            ("predicate", {}),
        ],
    )
    def test_another_predicate_or_subject_that_the_runner_signed(self, project, field, value):
        payload = json.loads(parse_envelope((project / STATEMENT).read_bytes()).payload)
        forged = canonical_bytes({**payload, field: value})
        assert "follows" in self.put(project, sign_envelope(PAYLOAD_TYPE, forged, fixed_key("runner")))

    def test_better_totals_that_the_runner_signed(self, project):
        """Totals of a statement are never read: they are derived and compared."""
        payload = json.loads(parse_envelope((project / STATEMENT).read_bytes()).payload)
        payload["predicate"]["totals"]["by_status"] = {"Passed": 100}
        assert "follows" in self.put(
            project, sign_envelope(PAYLOAD_TYPE, canonical_bytes(payload), fixed_key("runner"))
        )

    @pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\x00", b"{" * 100, b'"' + b"x" * 5_000_000 + b'"'])
    def test_what_is_no_envelope_is_a_failure_and_no_crash(self, project, data):
        self.put(project, data)


class TestProofs:
    @pytest.mark.parametrize("name", ["run-opened", "run-closed"])
    @pytest.mark.parametrize("count", [0, 1, 3, 63, 64, 1000])
    def test_a_path_of_the_wrong_length(self, project, name, count):
        path = project / f"runs/{RUN}/proofs/{name}.tlog-proof"
        proof = parse_proof(path.read_bytes())
        hashes = (proof.hashes * 1000)[:count] if proof.hashes else ()
        if hashes == proof.hashes:
            hashes = (bytes(32),) * (count + 2)
        path.write_bytes(TlogProof(proof.index, hashes, proof.note).to_bytes())
        assert places(refused(project)) == {path.relative_to(project).as_posix()}

    def test_sixty_four_hashes_are_refused_before_any_is_looked_at(self):
        with pytest.raises(InputError, match="at most 63 hashes"):
            parse_proof(TlogProof(0, (bytes(32),) * 64, b"x\n").to_bytes())

    def test_an_index_beyond_every_tree(self, project):
        path = project / f"runs/{RUN}/proofs/run-opened.tlog-proof"
        proof = parse_proof(path.read_bytes())
        for index in (4, 2**31, 2**63 - 1, 10**18):
            path.write_bytes(TlogProof(index, proof.hashes, proof.note).to_bytes())
            assert codes(refused(project)) == {"proof"}

    def test_another_genuine_note_of_the_log_under_the_path(self, project):
        """Each hash is genuine, and so is the note; they do not belong together."""
        make_sealed_run(project, "run-2")
        path = project / f"runs/{RUN}/proofs/run-opened.tlog-proof"
        proof = parse_proof(path.read_bytes())
        notes = project / "runs" / "log" / LEDGER / "checkpoints"
        for size in (4, 5, 6):
            path.write_bytes(TlogProof(proof.index, proof.hashes, (notes / f"{size}.note").read_bytes()).to_bytes())
            assert codes(refused(project)) == {"proof"}

    def test_a_key_that_signs_a_note_of_nothing(self, project):
        """Size 0 is no head: nothing is extended from it."""
        notes = project / "runs" / RUN / "checkpoints"
        note = sign_checkpoint(Checkpoint(f"{LEDGER}/run/{RUN}", 0, bytes(32)), f"{LEDGER}/log", fixed_key("log"))
        (notes / "0.note").write_bytes(note)
        assert f"runs/{RUN}/checkpoints/0.note" in places(refused(project))


def test_a_note_key_of_low_order_is_none():
    for encoding in LOW_ORDER:
        text = NoteKey("stranger", encoding).to_text()
        with pytest.raises(EvalsiteError):
            parse_note_key(text)


def test_a_ledger_made_anew_under_the_same_name_is_told_by_the_pin(project):
    """Everything inside fits: only what the verifier brings along shows the forger."""
    fingerprint = fixed_key("root").key_id
    shutil.rmtree(project / "runs")
    shutil.rmtree(project.parent / "keys")
    make_ledger(project, make_key=lambda role: fixed_key(f"forger {role}"), now=NOW)
    make_sealed_run(project)
    assert codes(refused(project, pins={LEDGER: fingerprint})) == {"keyring.pin"}
