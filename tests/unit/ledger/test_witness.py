# SPDX-License-Identifier: Apache-2.0
"""A witness cosigns what grew, refuses what was rolled back or forked, and remembers before it answers."""

import subprocess
import sys
import threading

import pytest
from support.ledgers import LEDGER, fixed_key
from support.witnesses import TIME_S, line_of, log_key, make_witness, witness_key

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger import witness as module
from evalsite.ledger.checkpoint import Checkpoint, parse_checkpoint, sign_checkpoint
from evalsite.ledger.cosignature import (
    open_cosignature,
    parse_signature_lines,
    parse_witness_key,
)
from evalsite.ledger.ed25519 import to_base64
from evalsite.ledger.merkle import consistency_proof, leaf_hash, tree_root
from evalsite.ledger.note import NoteKey, NoteSignature, parse_note
from evalsite.ledger.witness import SIZE_TYPE, AddCheckpoint, Witness, add_log, parse_request, read_logs

ORIGIN = f"{LEDGER}/log"
LEAVES = [leaf_hash(bytes([number])) for number in range(16)]
OTHER = [*LEAVES[:5], *(leaf_hash(b"other" + bytes([number])) for number in range(11))]


def note_of(size, leaves=LEAVES, *, signer=None, origin=ORIGIN):
    checkpoint = Checkpoint(origin, size, tree_root(leaves[:size]))
    return sign_checkpoint(checkpoint, origin, signer or fixed_key("log"))


def ask(old, size, leaves=LEAVES, **options):
    proof = consistency_proof(leaves[:size], old) if 0 < old <= size else ()
    return AddCheckpoint(old, proof, note_of(size, leaves, **options)).to_bytes()


@pytest.fixture
def one(tmp_path):
    return make_witness(tmp_path / "w")


def status(witness, *args, **options):
    return witness.answer(ask(*args, **options), time_s=TIME_S).status


class TestTheProtocol:
    def test_it_cosigns_every_step_of_growth(self, one):
        for old, size in ((0, 2), (2, 3), (3, 3), (3, 8), (8, 16)):
            reply = one.answer(ask(old, size), time_s=TIME_S + size)
            assert reply.status == 200
            (line,) = parse_signature_lines(reply.body)
            text = parse_note(note_of(size)).text
            assert open_cosignature(text, line, one.key).time_s == TIME_S + size
            assert one.head(ORIGIN).size == size

    def test_a_first_checkpoint_needs_no_proof_and_may_have_none(self, one):
        body = AddCheckpoint(0, (bytes(32),), note_of(3)).to_bytes()
        assert one.answer(body, time_s=TIME_S).status == 422
        assert one.head(ORIGIN) is None

    def test_a_rollback_is_a_conflict_that_names_the_remembered_size(self, one):
        assert status(one, 0, 8) == 200
        for old, size in ((0, 4), (4, 4), (4, 6), (0, 8), (3, 9)):
            reply = one.answer(ask(old, size), time_s=TIME_S)
            assert (reply.status, reply.body, reply.content_type) == (409, b"8\n", SIZE_TYPE)
        assert one.head(ORIGIN).size == 8

    def test_a_fork_is_refused_and_both_notes_are_kept(self, one, tmp_path):
        assert status(one, 0, 8) == 200
        assert status(one, 8, 8, OTHER) == 409
        (evidence,) = (tmp_path / "w" / "evidence").iterdir()
        data = evidence.read_bytes()
        assert note_of(8) in data
        assert note_of(8, OTHER) in data
        assert status(one, 8, 12, OTHER) == 422
        assert one.head(ORIGIN).root == tree_root(LEAVES[:8])

    def test_a_shared_beginning_can_still_fork_only_once(self, one):
        assert status(one, 0, 5) == 200
        assert status(one, 5, 9, OTHER) == 200  # until here both logs are one
        assert status(one, 9, 12) == 422

    @pytest.mark.parametrize(
        ("request_of", "expected"),
        [
            (lambda: ask(0, 3, signer=fixed_key("runner")), 403),
            (lambda: ask(0, 3, origin="elsewhere/log"), 404),
            (lambda: AddCheckpoint(4, (), note_of(3)).to_bytes(), 400),
            (lambda: ask(0, 3).replace(b"old 0", b"old 00"), 400),
            (lambda: ask(0, 3).replace(b"old 0", b"old +0"), 400),
            (lambda: ask(0, 3).replace(b"old 0\n", b""), 400),
            (lambda: b"old 0\n" + b"x" * 70000, 400),
            (lambda: b"old 0\n\nno note\n", 400),
            (lambda: b"old 0\n" + f"{to_base64(bytes(32))}\n".encode() * 64 + b"\n" + note_of(3), 400),
            (lambda: b"old 0\nAAAA\n\n" + note_of(3), 400),
            (lambda: b"\xff\n\n" + note_of(3), 400),
            (lambda: b"", 400),
        ],
    )
    def test_what_is_wrong_gets_its_status_and_changes_nothing(self, one, request_of, expected):
        assert one.answer(request_of(), time_s=TIME_S).status == expected
        assert one.head(ORIGIN) is None

    def test_a_wrong_proof_is_unprocessable(self, one):
        assert status(one, 0, 5) == 200
        good = parse_request(ask(5, 12))
        for proof in ((), good.proof[:-1], (*good.proof, bytes(32)), (bytes(32), *good.proof[1:])):
            body = AddCheckpoint(5, proof, good.note).to_bytes()
            assert one.answer(body, time_s=TIME_S).status == 422
        assert one.answer(good.to_bytes(), time_s=TIME_S).status == 200

    def test_signatures_of_unknown_keys_are_ignored_up_to_the_limit_of_a_note(self, one):
        foreign = b"".join(line_of(f"f{number}", note_of(3)) for number in range(63))
        body = AddCheckpoint(0, (), note_of(3) + foreign).to_bytes()
        assert one.answer(body, time_s=TIME_S).status == 200
        more = AddCheckpoint(3, (), note_of(3) + foreign + line_of("f63", note_of(3))).to_bytes()
        assert one.answer(more, time_s=TIME_S).status == 400

    def test_a_request_formats_back(self):
        for old, size in ((0, 1), (5, 12)):
            assert parse_request(ask(old, size)).to_bytes() == ask(old, size)

    def test_a_log_that_rotated_its_key_is_known_by_both(self, one, tmp_path):
        assert status(one, 0, 3) == 200
        assert status(one, 3, 4, signer=fixed_key("second log")) == 403
        add_log(tmp_path / "w", NoteKey(ORIGIN, fixed_key("second log").public_key))
        assert status(one, 3, 4, signer=fixed_key("second log")) == 200
        assert status(one, 4, 5) == 200


class TestMemory:
    def test_it_persists_before_it_signs(self, tmp_path, monkeypatch):
        one = make_witness(tmp_path / "w")

        def no_signature(*args, **options):
            raise RuntimeError("killed between memory and answer")

        monkeypatch.setattr(module, "cosign", no_signature)
        with pytest.raises(RuntimeError):
            one.answer(ask(0, 8), time_s=TIME_S)
        monkeypatch.undo()
        again = make_witness(tmp_path / "w")
        assert again.head(ORIGIN).size == 8
        assert status(again, 0, 8, OTHER) == 409
        assert status(again, 8, 8) == 200

    def test_a_process_killed_in_between_has_remembered(self, tmp_path, repository):
        make_witness(tmp_path / "w")
        (tmp_path / "body").write_bytes(ask(0, 8))
        program = (
            "import os, sys; sys.path.insert(0, sys.argv[1])\n"
            "from pathlib import Path\nfrom support.witnesses import make_witness, TIME_S\n"
            "from evalsite.ledger import witness\n"
            "witness.cosign = lambda *a, **k: os.kill(os.getpid(), 9)\n"
            "folder = Path(sys.argv[2])\n"
            "make_witness(folder / 'w').answer((folder / 'body').read_bytes(), time_s=TIME_S)\n"
        )
        done = subprocess.run([sys.executable, "-c", program, repository / "tests", tmp_path], check=False)
        assert done.returncode == -9
        assert make_witness(tmp_path / "w").head(ORIGIN).size == 8

    def test_without_memory_there_is_no_signature(self, one, monkeypatch):
        def full(*args, **options):
            raise UndecidedError("could not write: No space left on device")

        signed = []
        monkeypatch.setattr(module, "replace", full)
        monkeypatch.setattr(module, "cosign", lambda *_args, **_options: signed.append(1))
        with pytest.raises(UndecidedError):
            one.answer(ask(0, 3), time_s=TIME_S)
        assert signed == []

    def test_a_second_process_waits_its_turn(self, one, tmp_path):
        with module.lock(tmp_path / "w" / "lock"), pytest.raises(InputError):
            one.answer(ask(0, 3), time_s=TIME_S)
        assert one.head(ORIGIN) is None

    def test_of_many_at_once_the_memory_never_goes_back(self, one, tmp_path):
        """Two histories race, each from the same head: whatever is cosigned is one history."""
        assert status(one, 0, 5) == 200
        bodies = [ask(5, size, leaves) for size in range(6, 16) for leaves in (LEAVES, OTHER)]
        good = []

        def answer(body):
            try:
                reply = make_one.answer(body, time_s=TIME_S)
            except InputError:  # the lock was held
                return
            if reply.status == 200:
                good.append(parse_request(body).note)

        make_one = Witness(tmp_path / "w", "w1", fixed_key("witness w1"))
        threads = [threading.Thread(target=answer, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(good) == 1  # every request starts from 5, so only the first can be right
        assert one.head(ORIGIN) == parse_checkpoint(parse_note(good[0]).text)

    def test_a_damaged_memory_is_no_memory(self, one, tmp_path):
        assert status(one, 0, 3) == 200
        (path,) = (tmp_path / "w" / "heads").iterdir()
        for data in (b"", b"junk", note_of(3, origin="other/log")):
            path.write_bytes(data)
            with pytest.raises(IntegrityError):
                one.answer(ask(0, 3), time_s=TIME_S)

    def test_known_logs_are_one_key_per_line(self, tmp_path):
        state = tmp_path / "w"
        make_witness(state)
        add_log(state, log_key())
        assert read_logs(state) == {ORIGIN: (log_key(),)}
        (state / "logs").write_text("# comment\n\nno key\n")
        with pytest.raises(InputError, match="logs:3"):
            read_logs(state)


class TestCosignatures:
    def test_another_text_time_key_or_name_is_no_cosignature(self):
        note, key = note_of(3), witness_key("w1")
        text = parse_note(note).text
        (line,) = parse_signature_lines(line_of("w1", note))
        assert open_cosignature(text, line, key).time_s == TIME_S
        later = (TIME_S + 1).to_bytes(8, "big") + line.signature[8:]
        too_late = (2**63).to_bytes(8, "big") + line.signature[8:]
        wrong = [
            (parse_note(note_of(4)).text, line, key),
            (text, NoteSignature(line.name, line.key_hash, later), key),
            (text, NoteSignature(line.name, line.key_hash, too_late), key),
            (text, NoteSignature(line.name, line.key_hash, line.signature[:-1]), key),
            (text, NoteSignature(line.name, line.key_hash, line.signature[8:]), key),
            (text, line, witness_key("w2")),
            (text, NoteSignature("w2", line.key_hash, line.signature), key),
        ]
        for args in wrong:
            with pytest.raises(IntegrityError):
                open_cosignature(*args)

    def test_a_plain_note_signature_of_the_witness_key_is_no_cosignature(self):
        """Domain separation: what the key signed as a note does not pass as a cosignature."""
        note = parse_note(note_of(3, signer=fixed_key("witness w1")))
        key = witness_key("w1")
        forged = NoteSignature("w1", key.key_hash, bytes(8) + note.signatures[0].signature)
        with pytest.raises(IntegrityError):
            open_cosignature(note.text, forged, key)

    def test_verifier_keys_have_one_spelling(self):
        text = witness_key("qa.example/w1").to_text()
        assert parse_witness_key(text) == witness_key("qa.example/w1")
        name, digits, key = text.split("+", 2)
        bad = (f"{name}+00000000+{key}", f"other+{digits}+{key}", log_key().to_text(), "", name, f" +{digits}+{key}")
        for other in bad:
            with pytest.raises(InputError):
                parse_witness_key(other)
        for name in ("a b", "a\x9bb", "a\u202eb", "a\u00a0b", "a\tb"):
            with pytest.raises(InputError, match="visible"):
                parse_witness_key(witness_key(name).to_text())
        identity = bytes([1, *bytes(31)])
        weak = module.WitnessKey("weak", identity).to_text()
        with pytest.raises(IntegrityError, match="low order"):
            parse_witness_key(weak)

    def test_only_whole_witnesses_are_made_from_their_own_key(self, tmp_path):
        one = Witness(tmp_path, "w1", fixed_key("witness w1"))
        assert one.key == witness_key("w1")
