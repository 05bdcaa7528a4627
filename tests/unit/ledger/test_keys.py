# SPDX-License-Identifier: Apache-2.0
"""Keys: what may be a public key, how private ones are kept, and what a keyring binds."""

import base64
import stat
import subprocess
import traceback

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from support.ledgers import LEDGER, NOW, fixed_key, keystore_of, make_ledger

from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError
from evalsite.ledger import keys as keys_module
from evalsite.ledger.dsse import sign_envelope
from evalsite.ledger.ed25519 import _LOW_ORDER, Signer, check_public_key, public_ssh, verify
from evalsite.ledger.keys import load_key, read_pins, store_keys, usable_ledgers
from evalsite.ledger.pins import stated_pins
from evalsite.ledger.trust import KEYRING_TYPE, ROLES, derived_files, make_keyring, open_keyring
from evalsite.schema.checks import Level
from evalsite.schema.entries import Keyring

SIGNERS = {role: fixed_key(role) for role in ROLES}


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class TestPublicKeys:
    def test_all_fourteen_encodings_of_low_order_points_are_refused(self):
        assert len(_LOW_ORDER) == 14
        for key in _LOW_ORDER:
            with pytest.raises(IntegrityError, match="low order"):
                check_public_key(key)

    @pytest.mark.parametrize("value", [2**255 - 19 + 3, 2**255 - 1])
    @pytest.mark.parametrize("sign", [0, 2**255])
    def test_encodings_beyond_the_field_are_refused(self, value, sign):
        with pytest.raises(IntegrityError, match="canonical"):
            check_public_key((value | sign).to_bytes(32, "little"))

    def test_a_key_of_another_length_is_refused(self):
        with pytest.raises(IntegrityError, match="32 bytes, found 31"):
            check_public_key(bytes(31))

    def test_generated_keys_pass(self):
        for _ in range(20):
            check_public_key(Signer.generate().public_key)

    def test_a_signature_holds_for_its_key_and_message_only(self):
        signature = SIGNERS["log"].sign(b"message")
        assert verify(SIGNERS["log"].public_key, b"message", signature)
        assert not verify(SIGNERS["log"].public_key, b"massage", signature)
        assert not verify(SIGNERS["root"].public_key, b"message", signature)
        assert not verify(SIGNERS["log"].public_key, b"message", signature[:-1])
        assert not verify(b"short", b"message", signature)


class TestPrivateKeys:
    def test_files_are_readable_by_their_owner_only(self, tmp_path):
        store_keys(tmp_path / "keys", "desk", SIGNERS)
        folder = tmp_path / "keys" / "desk"
        assert mode(tmp_path / "keys") == mode(folder) == 0o700
        assert {path.name: mode(path) for path in folder.iterdir()} == dict.fromkeys(
            ("log.pem", "root.pem", "root.pin", "runner.pem"), 0o600
        )

    def test_keys_come_back_as_they_were(self, tmp_path):
        store_keys(tmp_path, "desk", SIGNERS)
        for role in ROLES:
            assert load_key(tmp_path, "desk", role).public_key == SIGNERS[role].public_key
        assert read_pins(tmp_path) == {"desk": SIGNERS["root"].key_id}

    def test_keys_are_never_overwritten(self, tmp_path):
        store_keys(tmp_path, "desk", SIGNERS)
        with pytest.raises(InputError, match="no keys of the ledger desk yet"):
            store_keys(tmp_path, "desk", SIGNERS)

    @pytest.mark.parametrize("wider", [0o640, 0o604, 0o660, 0o644, 0o620])
    def test_a_key_that_others_may_touch_is_refused(self, tmp_path, wider):
        store_keys(tmp_path, "desk", SIGNERS)
        (tmp_path / "desk" / "log.pem").chmod(wider)
        with pytest.raises(RefusedError, match=f"found 0{wider:o}"):
            load_key(tmp_path, "desk", "log")

    def test_a_key_of_another_user_is_refused(self, tmp_path, monkeypatch):
        store_keys(tmp_path, "desk", SIGNERS)
        monkeypatch.setattr(keys_module.os, "geteuid", lambda: 12345)
        with pytest.raises(RefusedError, match="belongs to this user"):
            load_key(tmp_path, "desk", "log")

    def test_a_link_to_a_key_is_refused(self, tmp_path):
        store_keys(tmp_path, "desk", SIGNERS)
        (tmp_path / "desk" / "log.pem").rename(tmp_path / "elsewhere.pem")
        (tmp_path / "desk" / "log.pem").symlink_to(tmp_path / "elsewhere.pem")
        with pytest.raises(IntegrityError):
            load_key(tmp_path, "desk", "log")

    def test_a_missing_key_leaves_undecided_what_it_would_sign(self, tmp_path):
        with pytest.raises(UndecidedError, match="log key of the ledger desk"):
            load_key(tmp_path, "desk", "log")

    def test_no_error_and_no_repr_shows_a_key(self):
        pem = SIGNERS["log"].to_pem()
        secret = pem.splitlines()[1].decode()
        assert secret not in repr(SIGNERS["log"])
        for broken in (pem[:-20], pem.replace(b"PRIVATE", b"SECRET"), b"garbage " + secret.encode()):
            with pytest.raises(InputError, match="PKCS #8") as refused:
                Signer.from_pem(broken)
            assert secret not in "".join(traceback.format_exception(refused.value))

    def test_another_kind_of_key_is_refused(self):
        pem = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        with pytest.raises(InputError, match="Ed25519"):
            Signer.from_pem(pem)

    def test_a_pin_of_another_form_is_refused(self, tmp_path):
        (tmp_path / "desk").mkdir()
        (tmp_path / "desk" / "root.pin").write_text("sha256:short\n")
        with pytest.raises(InputError, match="fingerprint"):
            read_pins(tmp_path)

    @pytest.mark.parametrize("garbage", [b"", b"sha256:short", b"\xff\x00", b"x" * 5000, b"sha256:" + b"G" * 64])
    def test_garbage_in_a_pin_is_told_with_its_file_and_what_to_do(self, tmp_path, garbage):
        path = tmp_path / "desk" / "root.pin"
        path.parent.mkdir()
        path.write_bytes(garbage)
        with pytest.raises(InputError, match="expected a root key's fingerprint") as refused:
            read_pins(tmp_path)
        assert refused.value.at == str(path)
        assert "key holder" in refused.value.advice

    @pytest.mark.parametrize("word", ["desk", "desk=", "=sha256:" + "1" * 64, "desk=sha256:" + "G" * 64])
    def test_garbage_in_a_stated_pin_is_told_with_where_it_was_stated(self, monkeypatch, word):
        with pytest.raises(InputError, match="expected LEDGER=sha256") as refused:
            stated_pins([word])
        assert refused.value.at == "--root-key"
        monkeypatch.setenv("EVALSITE_ROOT_KEYS", word)
        with pytest.raises(InputError, match="expected LEDGER=sha256") as refused:
            stated_pins()
        assert refused.value.at == "EVALSITE_ROOT_KEYS"

    def test_usable_ledgers_are_those_with_both_working_keys(self, tmp_path):
        project = tmp_path / "project"
        assert usable_ledgers(project, keystore_of(project)) == []
        make_ledger(project, "one")
        make_ledger(project, "two")
        assert usable_ledgers(project, keystore_of(project)) == ["one", "two"]
        (keystore_of(project) / "two" / "runner.pem").unlink()
        assert usable_ledgers(project, keystore_of(project)) == ["one"]


def keyring_bytes(*signers, **changes):
    value = Keyring.parse(
        make_keyring(LEDGER, SIGNERS, now=NOW, minimum_level=Level.A1).payload, max_bytes=10**6
    ).plain()
    payload = Keyring.from_value({**value, **changes}).to_bytes()
    return sign_envelope(KEYRING_TYPE, payload, *(signers or (SIGNERS["root"],))).to_bytes()


def key_value(role, signer, **changes):
    return {
        "role": role,
        "name": f"{LEDGER}/{role}",
        "algorithm": "ed25519",
        "public_key": base64.b64encode(signer.public_key).decode(),
        "key_id": signer.key_id,
        "not_before": NOW,
        "not_after": None,
        "revoked_at": None,
        **changes,
    }


LOG, RUNNER = key_value("log", SIGNERS["log"]), key_value("runner", SIGNERS["runner"])


class TestKeyrings:
    def test_the_first_version_opens(self):
        keys = open_keyring(keyring_bytes(), ledger=LEDGER, previous=None)
        assert keys.root_fingerprint == SIGNERS["root"].key_id
        assert keys.log_key.public_key == SIGNERS["log"].public_key
        assert dict(keys.runner_keys) == {SIGNERS["runner"].key_id: SIGNERS["runner"].public_key}

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ([LOG], "a runner key and a log key"),
            ([RUNNER], "a runner key and a log key"),
            ([LOG, RUNNER, LOG], "one key for each role"),
            ([LOG, key_value("runner", SIGNERS["log"])], "each its own"),
            ([LOG, key_value("runner", SIGNERS["root"])], "each its own"),
            ([LOG, {**RUNNER, "key_id": LOG["key_id"]}], "SHA-256 of the key"),
            ([{**LOG, "name": "else/log"}, RUNNER], "<ledger>/<role>"),
            (
                [LOG, {**RUNNER, "public_key": base64.b64encode(b"\x01" + bytes(31)).decode()}],
                "low order",
            ),
        ],
    )
    def test_keys_that_prove_nothing_or_stand_twice_are_refused(self, keys, expected):
        with pytest.raises(IntegrityError, match=expected):
            open_keyring(keyring_bytes(keys=keys), ledger=LEDGER, previous=None)

    @pytest.mark.parametrize("changes", [{"ledger": "other"}, {"version": 2}])
    def test_another_ledger_or_version_is_refused(self, changes):
        with pytest.raises(IntegrityError, match="version 1 of the ledger desk"):
            open_keyring(keyring_bytes(**changes), ledger=LEDGER, previous=None)

    def test_a_keyring_signed_by_another_key_is_refused(self):
        with pytest.raises(IntegrityError):
            open_keyring(keyring_bytes(SIGNERS["runner"]), ledger=LEDGER, previous=None)

    def test_a_payload_in_another_spelling_is_refused(self):
        payload = make_keyring(LEDGER, SIGNERS, now=NOW, minimum_level=Level.A1).payload.replace(b",", b", ", 1)
        data = sign_envelope(KEYRING_TYPE, payload, SIGNERS["root"]).to_bytes()
        with pytest.raises(IntegrityError, match="canonical JSON"):
            open_keyring(data, ledger=LEDGER, previous=None)

    def test_a_second_version_needs_the_root_key_of_the_first(self):
        first = open_keyring(keyring_bytes(), ledger=LEDGER, previous=None)
        new = fixed_key("second root")
        changes = {"version": 2, "root_public_key": base64.b64encode(new.public_key).decode()}
        both = open_keyring(keyring_bytes(SIGNERS["root"], new, **changes), ledger=LEDGER, previous=first)
        assert both.root_fingerprint == new.key_id
        for signers in ((new,), (SIGNERS["root"],)):
            with pytest.raises(IntegrityError, match="old and the new root key"):
                open_keyring(keyring_bytes(*signers, **changes), ledger=LEDGER, previous=first)
        same_root = open_keyring(keyring_bytes(version=2), ledger=LEDGER, previous=first)
        assert same_root.keyring.version == 2


class TestOtherTools:
    """The derived files are what OpenSSL and OpenSSH read; both check a signature of ours."""

    def test_openssl_verifies_with_the_published_key(self, tmp_path):
        keys = open_keyring(keyring_bytes(), ledger=LEDGER, previous=None)
        for name, data in derived_files(keys).items():
            (tmp_path / name).write_bytes(data)
        (tmp_path / "message").write_bytes(b"hello")
        (tmp_path / "signature").write_bytes(SIGNERS["runner"].sign(b"hello"))
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "runner.pem", "-rawin"]
        done = subprocess.run(
            [*command, "-in", "message", "-sigfile", "signature"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Signature Verified Successfully" in done.stdout, done.stderr

    def test_one_line_for_each_role_names_its_key(self):
        keys = open_keyring(keyring_bytes(), ledger=LEDGER, previous=None)
        lines = derived_files(keys)["allowed_signers"].decode().splitlines()
        assert [line.split(" ", 2)[2] for line in lines] == [public_ssh(SIGNERS[role].public_key) for role in ROLES]
