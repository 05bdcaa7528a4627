# SPDX-License-Identifier: Apache-2.0
"""A ledger's public keys: the root-signed keyring and the files that other tools read.

Pure. The keyring is the authority; ``*.vkey``, ``*.pem`` and ``allowed_signers`` are derived from it
byte for byte, and a verification compares them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.errors import IntegrityError
from evalsite.ledger.dsse import Envelope, parse_envelope, sign_envelope, verify_envelope
from evalsite.ledger.ed25519 import Signer, check_public_key, key_id, parse_base64, public_pem, public_ssh, to_base64
from evalsite.ledger.layout import log_origin
from evalsite.ledger.note import NoteKey
from evalsite.schema.checks import Level
from evalsite.schema.entries import Keyring, KeyRole

KEYRING_TYPE = "application/vnd.evalsite.keyring+json"
SSH_NAMESPACE = "evalsite-run@v1"
ROLES = ("root", "runner", "log")
MAX_KEYRING_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class KeySet:
    """The public keys of one verified keyring version."""

    keyring: Keyring
    root_fingerprint: str
    log_key: NoteKey
    runner_keys: Mapping[str, bytes]


def make_keyring(ledger: str, signers: Mapping[str, Signer], *, now: str, minimum_level: Level) -> Envelope:
    """Return the signed first keyring version of a new ledger.

    Args:
        ledger: Name of the ledger.
        signers: The keys by role: ``root``, ``runner``, ``log``.
        now: UTC time of issue.
        minimum_level: The evidence level below which a record of this ledger decides nothing.
    """
    keyring = Keyring(
        format="evalsite/keyring/v1",
        ledger=ledger,
        version=1,
        issued_at=now,
        root_public_key=to_base64(signers["root"].public_key),
        keys=(_key_role("runner", ledger, signers["runner"], now), _key_role("log", ledger, signers["log"], now)),
        minimum_level=minimum_level.value,
    )
    return sign_envelope(KEYRING_TYPE, keyring.to_bytes(), signers["root"])


def open_keyring(data: bytes, *, ledger: str, previous: KeySet | None) -> KeySet:
    """Return the keys of one keyring file.

    The envelope is signed by the root key that it names, and from the second version on by the
    version before as well, so that a chain leads from any pinned root to the newest version.

    Raises:
        InputError: Not a keyring.
        IntegrityError: Another ledger, a wrong version number, a wrong signature, a key that proves
            nothing, one key in two roles, or not exactly one log key and one runner key.
    """
    envelope = parse_envelope(data)
    keyring = Keyring.parse(envelope.payload, max_bytes=MAX_KEYRING_BYTES)
    root = parse_base64(keyring.root_public_key, at="root_public_key")
    check_public_key(root)
    signers = {key_id(root): root}
    if previous is not None:
        old_root = parse_base64(previous.keyring.root_public_key)
        signers[key_id(old_root)] = old_root
    signed_by = verify_envelope(envelope, payload_type=KEYRING_TYPE, keys=signers)
    if set(signed_by) != set(signers):
        raise IntegrityError("expected the old and the new root key to sign", rule="run-record §3")
    if keyring.to_bytes() != envelope.payload:
        raise IntegrityError("expected the keyring in canonical JSON", rule="RFC 8785")
    expected = 1 if previous is None else previous.keyring.version + 1
    if keyring.ledger != ledger or keyring.version != expected:
        raise IntegrityError(
            f"expected version {expected} of the ledger {ledger}, found {keyring.version} of {keyring.ledger}",
            rule="run-record §3",
        )
    return _key_set(keyring, root)


def derived_files(keys: KeySet) -> dict[str, bytes]:
    """Return the files for other tools, by name, below the trust folder."""
    ledger = keys.keyring.ledger
    raw = {"root": parse_base64(keys.keyring.root_public_key), "log": keys.log_key.public_key}
    raw["runner"] = next(iter(keys.runner_keys.values()))
    signers = [f'{role}@{ledger} namespaces="{SSH_NAMESPACE}" {public_ssh(raw[role])}\n' for role in ROLES]
    files = {f"{role}.pem": public_pem(raw[role]) for role in ROLES}
    files["root.vkey"] = f"{NoteKey(f'{ledger}/root', raw['root']).to_text()}\n".encode()
    files["log.vkey"] = f"{keys.log_key.to_text()}\n".encode()
    files["allowed_signers"] = "".join(signers).encode()
    return files


def _key_role(role: str, ledger: str, signer: Signer, now: str) -> KeyRole:
    return KeyRole.from_value(
        {
            "role": role,
            "name": f"{ledger}/{role}",
            "algorithm": "ed25519",
            "public_key": to_base64(signer.public_key),
            "key_id": signer.key_id,
            "not_before": now,
            "not_after": None,
            "revoked_at": None,
        }
    )


def _key_set(keyring: Keyring, root: bytes) -> KeySet:
    raw_keys = {"root": root}
    for item in keyring.keys:
        raw = parse_base64(item.public_key, at="public_key")
        check_public_key(raw)
        if item.key_id != key_id(raw):
            raise IntegrityError("expected a key id that is the SHA-256 of the key", at=item.name, rule="run-record §3")
        if item.role in raw_keys or raw in raw_keys.values():
            raise IntegrityError("expected one key for each role, each its own", at=item.name, rule="run-record §3")
        if item.name != f"{keyring.ledger}/{item.role}":
            raise IntegrityError("expected the key name <ledger>/<role>", at=item.name, rule="run-record §3")
        raw_keys[item.role] = raw
    if "runner" not in raw_keys or "log" not in raw_keys:
        raise IntegrityError("expected a runner key and a log key", rule="run-record §3")
    runner = raw_keys["runner"]
    return KeySet(keyring, key_id(root), NoteKey(log_origin(keyring.ledger), raw_keys["log"]), {key_id(runner): runner})
