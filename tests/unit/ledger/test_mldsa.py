# SPDX-License-Identifier: Apache-2.0
"""The log's second key: its signature over a head, its files, and what is refused."""

import base64
import hashlib

import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey, MLDSA44PublicKey, MLDSA65PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support.ledgers import fixed_key, fixed_second

from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.mldsa import SecondKey, SecondSigner, check_second_key, verify_root
from evalsite.ledger.note import NoteKey, NoteSignature, parse_note

NAME = "desk/log"
ROOT = bytes(range(32))
HEAD = ("desk/run/run-1", 5, ROOT)
SIGNER = fixed_second()
KEY = SecondKey(NAME, SIGNER.public_key)
FIRST = NoteKey(NAME, fixed_key("log").public_key)
BOTH = NoteKey(NAME, fixed_key("log").public_key, KEY)
CHECKPOINT = Checkpoint(*HEAD)


def note(*, second=SIGNER, checkpoint=CHECKPOINT):
    return sign_checkpoint(checkpoint, NAME, fixed_key("log"), second)


def changed(raw, change):
    """Return a note with other signature lines."""
    found = parse_note(raw)
    return type(found)(found.text, tuple(change(list(found.signatures)))).to_bytes()


class TestSignatures:
    def test_the_message_is_that_of_c2sp_tlog_cosignature(self):
        """Built here by hand from the page of the specification."""
        message = b"subtree/v1\n\0" + b"\x08desk/log" + bytes(8) + b"\x0edesk/run/run-1" + bytes(8)
        message += (5).to_bytes(8, "big") + ROOT
        signature = SIGNER.sign_root(NAME, *HEAD)
        assert signature[:8] == bytes(8)
        MLDSA44PublicKey.from_public_bytes(SIGNER.public_key).verify(signature[8:], message)
        assert verify_root(KEY, signature, *HEAD)
        assert signature != SIGNER.sign_root(NAME, *HEAD)  # randomised

    @pytest.mark.parametrize(
        "head", [("desk/run/run-2", 5, ROOT), ("desk/run/run-1", 6, ROOT), ("desk/run/run-1", 5, bytes(32))]
    )
    def test_it_is_over_origin_size_and_root(self, head):
        assert not verify_root(KEY, SIGNER.sign_root(NAME, *HEAD), *head)

    def test_it_is_under_a_name_and_states_no_time(self):
        signature = SIGNER.sign_root(NAME, *HEAD)
        assert not verify_root(SecondKey("other/log", SIGNER.public_key), signature, *HEAD)
        assert not verify_root(KEY, b"\0\0\0\0\0\0\0\1" + signature[8:], *HEAD)
        assert not verify_root(KEY, signature[8:], *HEAD)
        assert not verify_root(KEY, signature + b"\0", *HEAD)
        assert not verify_root(SecondKey(NAME, fixed_second("other").public_key), signature, *HEAD)

    def test_a_verifier_key_names_the_type(self):
        name, digits, key = KEY.to_text().split("+", 2)
        material = base64.b64decode(key)
        assert (name, material[0], material[1:]) == (NAME, 6, SIGNER.public_key)
        assert digits == hashlib.sha256(b"desk/log\n" + material).hexdigest()[:8]


class TestNotes:
    def test_a_note_with_both_lines_opens_by_both_keys_only(self):
        raw = note()
        assert open_checkpoint(raw, origin=HEAD[0], key=BOTH) == CHECKPOINT
        with pytest.raises(IntegrityError, match="alone"):
            open_checkpoint(raw, origin=HEAD[0], key=FIRST)

    def test_the_first_line_is_what_it_would_be_without_the_second(self):
        assert note().startswith(note(second=None))

    @pytest.mark.parametrize(
        "change",
        [
            lambda lines: lines[:1],
            lambda lines: [lines[0], lines[0]],
            lambda lines: lines[::-1],
            lambda lines: [*lines, lines[1]],
            lambda lines: [*lines, NoteSignature("stranger", b"1234", bytes(64))],
            lambda lines: [lines[0], NoteSignature("stranger", lines[1].key_hash, lines[1].signature)],
        ],
        ids=["stripped", "first twice", "turned round", "second twice", "a third", "another name"],
    )
    def test_other_lines_are_refused(self, change):
        with pytest.raises(IntegrityError, match="two signatures"):
            open_checkpoint(changed(note(), change), origin=HEAD[0], key=BOTH)

    def test_any_changed_byte_of_the_second_signature_is_refused(self):
        raw = note()
        for index in range(0, 8 + 2420, 37):

            def flip(lines, index=index):
                signature = bytearray(lines[1].signature)
                signature[index] ^= 1
                return [lines[0], NoteSignature(lines[1].name, lines[1].key_hash, bytes(signature))]

            with pytest.raises(IntegrityError, match="second signature"):
                open_checkpoint(changed(raw, flip), origin=HEAD[0], key=BOTH)

    def test_a_second_signature_of_another_head_is_refused(self):
        other = parse_note(note(checkpoint=Checkpoint(HEAD[0], 6, ROOT))).signatures[1]
        with pytest.raises(IntegrityError, match="second signature"):
            open_checkpoint(changed(note(), lambda lines: [lines[0], other]), origin=HEAD[0], key=BOTH)


class TestFiles:
    @pytest.mark.parametrize("passphrase", [None, b"correct horse"])
    def test_a_private_key_comes_back_from_its_file(self, passphrase):
        pem = SIGNER.to_pem(passphrase)
        assert SecondSigner.from_pem(pem, passphrase).key_id == SIGNER.key_id
        assert (b"ENCRYPTED" in pem) is (passphrase is not None)
        assert SIGNER.key_id in repr(SIGNER)

    def test_another_kind_or_passphrase_is_refused(self):
        with pytest.raises(InputError, match="ML-DSA-44"):
            SecondSigner.from_pem(fixed_key("log").to_pem())
        with pytest.raises(InputError, match="Ed25519"):
            Signer.from_pem(SIGNER.to_pem())
        larger = MLDSA65PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with pytest.raises(InputError, match="ML-DSA-44"):
            SecondSigner.from_pem(larger)
        with pytest.raises(UndecidedError, match="passphrase"):
            SecondSigner.from_pem(SIGNER.to_pem(b"one"), b"another")
        with pytest.raises(IntegrityError, match="1312 bytes"):
            check_second_key(bytes(32))

    def test_a_library_without_it_is_told(self, monkeypatch):
        def refuse(*_):
            raise UnsupportedAlgorithm("ML-DSA")

        signature = SIGNER.sign_root(NAME, *HEAD)
        monkeypatch.setattr("evalsite.ledger.mldsa.MLDSA44PrivateKey", type("None", (), {"generate": refuse}))
        monkeypatch.setattr("evalsite.ledger.mldsa.MLDSA44PublicKey", type("None", (), {"from_public_bytes": refuse}))
        for act in (SecondSigner.generate, lambda: verify_root(KEY, signature, *HEAD), KEY.to_pem):
            with pytest.raises(UndecidedError, match="this one has none"):
                act()

    def test_a_new_key_is_another_one(self):
        assert SecondSigner.generate().key_id != SecondSigner.generate().key_id
        assert (
            SecondSigner(MLDSA44PrivateKey.from_seed_bytes(bytes(32))).key_id
            == SecondSigner.from_seed(bytes(32)).key_id
        )
