# SPDX-License-Identifier: Apache-2.0
"""Notes, checkpoints, proofs, envelopes, containers: strict, lossless, named when wrong."""

import base64
import json

import pytest
from support.ledgers import fixed_key

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.blob import MAGIC, blob_digest, pack_blob, unpack_blob
from evalsite.ledger.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint, sign_checkpoint
from evalsite.ledger.dsse import Envelope, pae, parse_envelope, sign_envelope, verify_envelope
from evalsite.ledger.note import Note, NoteKey, parse_note, parse_note_key, sign_note, verify_note
from evalsite.ledger.tlogproof import HEADER, TlogProof, parse_proof

SIGNER = fixed_key("log")
OTHER = fixed_key("runner")
KEY = NoteKey("desk/log", SIGNER.public_key)
ROOT = bytes(range(32))
TYPE = "application/vnd.in-toto+json"


def signed(text="hello\n", name="desk/log", signer=SIGNER):
    return sign_note(text, name, signer)


class TestNoteKeys:
    def test_text_and_back(self):
        assert parse_note_key(KEY.to_text()) == KEY

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "desk/log",
            "+00000000+" + base64.b64encode(b"\x01" + SIGNER.public_key).decode(),
            "desk log+00000000+" + base64.b64encode(b"\x01" + SIGNER.public_key).decode(),
            "desk/log+00000000+" + base64.b64encode(b"\x01" + SIGNER.public_key).decode(),
            "desk/log+00000000+" + base64.b64encode(b"\x02" + SIGNER.public_key).decode(),
            KEY.to_text().upper(),
            KEY.to_text() + "=",
            KEY.to_text().replace("+", "+0", 1),
        ],
    )
    def test_other_forms_are_refused(self, text):
        with pytest.raises(InputError):
            parse_note_key(text)

    def test_a_key_of_low_order_is_refused(self):
        weak = NoteKey("desk/log", b"\x01" + bytes(31))
        with pytest.raises(IntegrityError, match="low order"):
            parse_note_key(weak.to_text())

    def test_a_short_key_is_refused(self):
        with pytest.raises(IntegrityError, match="32 bytes"):
            parse_note_key(NoteKey("desk/log", b"\x01" * 31).to_text())


class TestNotes:
    def test_a_signed_text_verifies_and_formats_back(self):
        data = signed("one\n\ntwo\n").to_bytes()
        note = parse_note(data)
        assert note.text == "one\n\ntwo\n"
        assert note.to_bytes() == data
        assert verify_note(note, [KEY]) == (KEY,)

    def test_unknown_signatures_are_ignored(self):
        note = signed()
        mixed = Note(note.text, (*signed(name="other", signer=OTHER).signatures, *note.signatures))
        assert verify_note(parse_note(mixed.to_bytes()), [KEY]) == (KEY,)

    def test_a_known_key_that_signed_twice_counts_once(self):
        note = signed()
        assert verify_note(Note(note.text, note.signatures * 2), [KEY]) == (KEY,)

    def test_no_known_signature_is_refused(self):
        with pytest.raises(IntegrityError, match="found none"):
            verify_note(signed(name="other"), [KEY])
        with pytest.raises(IntegrityError, match="found none"):
            verify_note(signed(signer=OTHER), [KEY])

    def test_a_wrong_signature_under_a_known_name_is_refused(self):
        note = signed()
        with pytest.raises(IntegrityError, match="valid signature"):
            verify_note(Note("hello!\n", note.signatures), [KEY])

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (b"", "blank line"),
            (b"text\n", "blank line"),
            (b"text\n\n", "signature lines"),
            (b"text\n\nno dash\n", "signature line"),
            ("text\n\n— name\n".encode(), "a name and a signature"),
            ("text\n\n—  AAAA\n".encode(), "key name"),
            ("text\n\n— na+me AAAAAAAA\n".encode(), "key name"),
            ("text\n\n— na\u00a0me AAAAAAAA\n".encode(), "key name"),
            ("text\n\n— name AAAAAA==\n".encode(), "key hash"),
            ("text\n\n— name AAAAAAA\n".encode(), "base64"),
            ("text\n\n— name AAAAAAB=\n".encode(), "canonical spelling"),
            ("text\n\n— name AAAAAAAA".encode(), "newline"),
            ("text\r\n\n— name AAAAAAAA\n".encode(), "control characters"),
            ("text\x00\n\n— name AAAAAAAA\n".encode(), "control characters"),
            (b"text\xff\n\n", "UTF-8"),
            (b"x" * (64 * 1024 + 1), "at most"),
            (b"text\n\n" + "— name AAAAAAAA\n".encode() * 65, "at most 64 signatures"),
        ],
    )
    def test_other_forms_are_refused(self, data, expected):
        with pytest.raises(InputError, match=expected):
            parse_note(data)

    def test_sixty_four_foreign_signatures_are_still_read(self):
        note = signed()
        foreign = tuple(signed(name=f"k{number}").signatures[0] for number in range(63))
        assert verify_note(parse_note(Note(note.text, (*foreign, *note.signatures)).to_bytes()), [KEY]) == (KEY,)

    @pytest.mark.parametrize("text", ["no newline", "tab\there\n", "cr\r\n"])
    def test_a_text_that_would_not_parse_is_never_signed(self, text):
        with pytest.raises(ValueError, match=text[:2]):
            sign_note(text, "desk/log", SIGNER)

    def test_a_bad_name_never_signs(self):
        with pytest.raises(InputError):
            sign_note("text\n", "desk log", SIGNER)


class TestCheckpoints:
    def test_text_and_back(self):
        checkpoint = Checkpoint("desk/run/r", 12, ROOT, ("more",))
        assert parse_checkpoint(checkpoint.to_text()) == checkpoint
        assert checkpoint.to_text().startswith("desk/run/r\n12\n")

    @pytest.mark.parametrize("size", ["+5", "05", "1_0", " 5", "5 ", "-1", "", "٣", "9223372036854775808", "1e3"])
    def test_a_size_in_another_spelling_is_refused(self, size):
        with pytest.raises(InputError):
            parse_checkpoint(f"desk/log\n{size}\n{base64.b64encode(ROOT).decode()}\n")

    @pytest.mark.parametrize(
        "text", ["", "desk/log\n5\n", "\n5\nAAAA\n", "desk/log\n5\nAAAA\n", "desk/log\n5\n!\n", "a\n5\nAAAA\n\nb\n"]
    )
    def test_other_forms_are_refused(self, text):
        with pytest.raises(InputError):
            parse_checkpoint(text)

    def test_a_record_note_opens(self):
        checkpoint = Checkpoint("desk/log", 5, ROOT)
        data = sign_checkpoint(checkpoint, "desk/log", SIGNER)
        assert open_checkpoint(data, origin="desk/log", key=KEY) == checkpoint

    @pytest.mark.parametrize(
        ("origin", "extensions", "extra", "expected"),
        [
            ("desk/run/r", (), 0, "expected the origin"),
            ("desk/log", ("x",), 0, "no extension lines"),
            ("desk/log", (), 1, "signature alone"),
        ],
    )
    def test_a_record_note_says_nothing_else(self, origin, extensions, extra, expected):
        note = signed(Checkpoint(origin, 5, ROOT, extensions).to_text())
        note = Note(note.text, note.signatures + signed(name="other", signer=OTHER).signatures * extra)
        with pytest.raises(IntegrityError, match=expected):
            open_checkpoint(note.to_bytes(), origin="desk/log", key=KEY)


class TestProofs:
    def test_text_and_back(self):
        note = sign_checkpoint(Checkpoint("desk/log", 5, ROOT), "desk/log", SIGNER)
        for proof in (TlogProof(0, (), note), TlogProof(3, (ROOT, ROOT), note), TlogProof(3, (ROOT,), note, b"")):
            assert parse_proof(proof.to_bytes()) == proof

    @pytest.mark.parametrize(
        ("head", "expected"),
        [
            ("", "blank line"),
            ("other\nindex 0\n\n", "first line"),
            (f"{HEADER}\n\n", "index"),
            (f"{HEADER}\nindex 01\n\n", "index"),
            (f"{HEADER}\nindex -1\n\n", "index"),
            (f"{HEADER}\nindex 0 \n\n", "index"),
            (f"{HEADER}\nextra ?\nindex 0\n\n", "base64"),
            (f"{HEADER}\nindex 0\nAAAA\n\n", "32 bytes"),
            (f"{HEADER}\nindex 0\n\u2014\n\n", "ASCII"),
            (f"{HEADER}\nindex 0\n" + (base64.b64encode(ROOT).decode() + "\n") * 64 + "\n", "at most 63"),
            ("x" * (128 * 1024 + 1), "at most"),
        ],
    )
    def test_other_forms_are_refused(self, head, expected):
        with pytest.raises(InputError, match=expected):
            parse_proof(head.encode())


KEYS = {SIGNER.key_id: SIGNER.public_key, OTHER.key_id: OTHER.public_key}


class TestEnvelopes:
    def test_the_signed_bytes_hold_type_and_lengths(self):
        assert pae("a/é", b"\x00\n") == b"DSSEv1 4 a/\xc3\xa9 2 \x00\n"

    def test_one_and_several_signers(self):
        for signers in ((SIGNER,), (SIGNER, OTHER)):
            envelope = sign_envelope(TYPE, b"{}", *signers)
            assert parse_envelope(envelope.to_bytes()) == envelope
            assert verify_envelope(envelope, payload_type=TYPE, keys=KEYS) == tuple(s.key_id for s in signers)

    def test_another_type_payload_key_or_number_of_signatures_is_refused(self):
        good = sign_envelope(TYPE, b"{}", SIGNER)
        stranger = sign_envelope(TYPE, b"{}", fixed_key("stranger"))
        cases = {
            "payload type": sign_envelope("application/json", b"{}", SIGNER),
            "valid signature": Envelope(TYPE, b"[]", good.signatures),
            "key of the keyring": Envelope(TYPE, b"{}", good.signatures + stranger.signatures),
            "every key once": Envelope(TYPE, b"{}", good.signatures * 2),
            "at least one": Envelope(TYPE, b"{}", ()),
        }
        for expected, envelope in cases.items():
            with pytest.raises(IntegrityError, match=expected):
                verify_envelope(envelope, payload_type=TYPE, keys=KEYS)

    def test_a_key_under_another_keys_id_is_refused(self):
        envelope = sign_envelope(TYPE, b"{}", SIGNER)
        with pytest.raises(IntegrityError):
            verify_envelope(envelope, payload_type=TYPE, keys={SIGNER.key_id: OTHER.public_key})

    def test_only_the_one_spelling_of_a_record_is_read(self):
        data = sign_envelope(TYPE, b"{}", SIGNER).to_bytes()
        value = json.loads(data)
        spellings = [
            data.rstrip(b"\n"),
            data + b"\n",
            b" " + data,
            json.dumps(value).encode() + b"\n",
            json.dumps({**value, "more": 1}, separators=(",", ":"), sort_keys=True).encode() + b"\n",
            json.dumps({**value, "signatures": []}, separators=(",", ":"), sort_keys=True).encode() + b"\n",
            data.replace(b'"payload":"', b'"payload":"=', 1),
            data.replace(b'{"payload"', b'{"payload":"e30=","payload"', 1),
        ]
        for spelling in spellings:
            with pytest.raises(InputError):
                parse_envelope(spelling)


class TestBlobs:
    def test_pack_and_unpack(self):
        container = pack_blob(b"\x00raw\n", bytes(32))
        assert container == MAGIC + b"0" * 64 + b"\n\x00raw\n"
        assert unpack_blob(container) == b"\x00raw\n"
        assert blob_digest(container) != blob_digest(pack_blob(b"\x00raw\n", b"\x01" * 32))

    def test_a_salt_of_another_length_is_a_bug(self):
        with pytest.raises(ValueError, match="31"):
            pack_blob(b"", bytes(31))

    @pytest.mark.parametrize(
        "container",
        [b"", MAGIC, MAGIC + b"0" * 64, MAGIC + b"A" * 64 + b"\n", b"evalsite-blob/v2\n" + b"0" * 64 + b"\n"],
    )
    def test_other_forms_are_refused(self, container):
        with pytest.raises(InputError):
            unpack_blob(container)
