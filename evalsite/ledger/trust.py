# SPDX-License-Identifier: Apache-2.0
"""A ledger's public keys: the root-signed keyring and the files that other tools read.

Pure. The keyring is the authority; ``*.vkey``, ``*.pem`` and ``allowed_signers`` are derived from it
byte for byte, and a verification compares them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.errors import IntegrityError
from evalsite.ledger.dsse import Envelope, parse_envelope, sign_envelope, verify_envelope
from evalsite.ledger.ed25519 import Signer, check_public_key, key_id, parse_base64, public_pem, public_ssh, to_base64
from evalsite.ledger.layout import log_origin
from evalsite.ledger.mldsa import ALGORITHM, SecondKey, SecondSigner, check_second_key
from evalsite.ledger.note import NoteKey
from evalsite.schema.checks import Level
from evalsite.schema.entries import Keyring, KeyRole

ED25519 = "ed25519"
KEYRING_TYPE = "application/vnd.evalsite.keyring+json"
SSH_NAMESPACE = "evalsite-run@v1"
ROLES = ("root", "runner", "log")
SECOND = f"log-{ALGORITHM}"  # the log's second key: role log, another algorithm
NAMED_ROLES = ("approver", "witness")
MAX_KEYRING_BYTES = 256 * 1024
_RULE = "run-record §3"
_NAMED = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class KeySet:
    """The public keys of one verified keyring version; log and runner key are those in force under it."""

    keyring: Keyring
    root_fingerprint: str
    log_key: NoteKey
    runner_keys: Mapping[str, bytes]

    def revoked(self, key: str) -> bool:
        """Return whether this version says that a key, by its id, was revoked."""
        return any(item.key_id == key and item.revoked_at is not None for item in self.keyring.keys)


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """Every keyring version, and the log index at which each was published.

    A version is in force behind its own entry: for later entries, and for every checkpoint that covers
    it, so that a lost or revoked log key is never needed to replace itself. Positions in the log decide,
    never the times that a keyring claims.
    """

    versions: tuple[KeySet, ...]
    published: tuple[int, ...] = (1,)

    @property
    def log_keys(self) -> tuple[NoteKey, ...]:
        """Return every log key that ever was in force, the newest first."""
        return tuple(dict.fromkeys(keys.log_key for keys in reversed(self.versions)))

    def at(self, position: int) -> KeySet:
        """Return what is in force for the log entry of an index, or for a checkpoint of a size."""
        count = sum(index < position for index in self.published)
        return self.versions[max(count, 1) - 1]

    def span(self, first: int, last: int | None) -> tuple[NoteKey, ...]:
        """Return the log keys in force from one log index to another (to now if null), the oldest first."""
        keys = [self.at(first).log_key]
        for version, index in zip(self.versions, self.published, strict=True):
            if index >= first and (last is None or index < last):
                keys.append(version.log_key)
        return tuple(dict.fromkeys(keys))


def make_keyring(
    ledger: str,
    signers: Mapping[str, Signer],
    *,
    now: str,
    minimum_level: Level,
    second: SecondSigner | None = None,
) -> Envelope:
    """Return the signed first keyring version of a new ledger.

    Args:
        ledger: Name of the ledger.
        signers: The keys by role: ``root``, ``runner``, ``log``.
        now: UTC time of issue.
        minimum_level: The evidence level below which a record of this ledger decides nothing.
        second: The log's second key, if it has one.
    """
    keys = [key_role(role, f"{ledger}/{role}", signers[role].public_key, now) for role in ("runner", "log")]
    if second is not None:
        keys.append(second_key_role(ledger, second.public_key, now))
    keyring = Keyring(
        format="evalsite/keyring/v1",
        ledger=ledger,
        version=1,
        issued_at=now,
        root_public_key=to_base64(signers["root"].public_key),
        keys=tuple(keys),
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
    keys = _key_set(keyring, root)
    if previous is not None:
        _check_succession(previous.keyring, keyring)
    return keys


def derived_files(keys: KeySet) -> dict[str, bytes]:
    """Return the files for other tools, by name, below the trust folder."""
    ledger = keys.keyring.ledger
    raw = {"root": parse_base64(keys.keyring.root_public_key), "log": keys.log_key.public_key}
    raw["runner"] = next(iter(keys.runner_keys.values()))
    signers = [f'{role}@{ledger} namespaces="{SSH_NAMESPACE}" {public_ssh(raw[role])}\n' for role in ROLES]
    signers += [allowed_signer(item, ledger) for item in keys.keyring.keys if _ended(item) and item.role == "runner"]
    files = {f"{role}.pem": public_pem(raw[role]) for role in ROLES}
    files["root.vkey"] = f"{NoteKey(f'{ledger}/root', raw['root']).to_text()}\n".encode()
    files["log.vkey"] = f"{keys.log_key.to_text()}\n".encode()
    files["allowed_signers"] = "".join(signers).encode()
    if keys.log_key.second is not None:
        files[f"{SECOND}.pem"] = keys.log_key.second.to_pem()
        files[f"{SECOND}.vkey"] = f"{keys.log_key.second.to_text()}\n".encode()
    return files


def allowed_signer(item: KeyRole, ledger: str, *, begin: bool = False) -> str:
    """Return a key's line of ``allowed_signers``, valid until it was replaced or revoked.

    Args:
        item: The key.
        ledger: Name of the ledger.
        begin: Say as well when it came into force.
    """
    options = f'namespaces="{SSH_NAMESPACE}"'
    ends = [_ssh_time(time) for time in (item.not_after, item.revoked_at) if time is not None]
    begins = _ssh_time(item.not_before)
    if begin and begins < min(ends, default="9"):  # ssh-keygen refuses a key that was replaced in its first second
        options += f',valid-after="{begins}"'
    if ends:
        options += f',valid-before="{min(ends)}"'
    return f"{item.role}@{ledger} {options} {public_ssh(parse_base64(item.public_key))}\n"


def _ssh_time(text: str) -> str:
    return re.sub(r"[^0-9]", "", text)[:14] + "Z"


def _ended(item: KeyRole) -> bool:
    return item.not_after is not None or item.revoked_at is not None


def slot_of(item: KeyRole) -> str:
    """Return what a keyring has at most one key in force for: a role, or `SECOND`."""
    return item.role if item.algorithm == ED25519 else f"{item.role}-{item.algorithm}"


def second_key_role(ledger: str, public_key: bytes, now: str) -> KeyRole:
    """Return the keyring's entry of the log's second key that comes into force."""
    return key_role("log", log_origin(ledger), public_key, now, algorithm=ALGORITHM)


def key_role(role: str, name: str, public_key: bytes, now: str, *, algorithm: str = ED25519) -> KeyRole:
    """Return the keyring's entry of a key that comes into force."""
    return KeyRole.from_value(
        {
            "role": role,
            "name": name,
            "algorithm": algorithm,
            "public_key": to_base64(public_key),
            "key_id": key_id(public_key),
            "not_before": now,
            "not_after": None,
            "revoked_at": None,
        }
    )


def _key_set(keyring: Keyring, root: bytes) -> KeySet:
    raw_keys = [root]
    in_force: dict[str, bytes] = {}
    for item in keyring.keys:
        raw = _raw_key(item)
        if item.key_id != key_id(raw):
            raise IntegrityError("expected a key id that is the SHA-256 of the key", at=item.name, rule=_RULE)
        if raw in raw_keys:
            raise IntegrityError("expected one key for each role, each its own", at=item.name, rule=_RULE)
        raw_keys.append(raw)
        plain = f"{keyring.ledger}/{item.role}"
        named = item.role in NAMED_ROLES and _NAMED.fullmatch(item.name.removeprefix(f"{plain}/")) is not None
        if item.name != plain and not (named and item.name.startswith(f"{plain}/")):
            raise IntegrityError("expected the key name <ledger>/<role>", at=item.name, rule=_RULE)
        if not _ended(item):
            place = item.name if item.algorithm == ED25519 else SECOND
            if place in in_force:
                raise IntegrityError("expected one key for each role, each its own", at=item.name, rule=_RULE)
            in_force[place] = raw
    log, runner = in_force.get(f"{keyring.ledger}/log"), in_force.get(f"{keyring.ledger}/runner")
    if runner is None or log is None:
        raise IntegrityError("expected a runner key and a log key", rule=_RULE)
    name = log_origin(keyring.ledger)
    second = SecondKey(name, in_force[SECOND]) if SECOND in in_force else None
    return KeySet(keyring, key_id(root), NoteKey(name, log, second), {key_id(runner): runner})


def _raw_key(item: KeyRole) -> bytes:
    raw = parse_base64(item.public_key, at="public_key")
    if item.algorithm == ED25519:
        check_public_key(raw)
    elif slot_of(item) == SECOND:
        check_second_key(raw)
    else:
        raise IntegrityError("expected ML-DSA-44 for a key of the log only", at=item.name, rule=_RULE)
    return raw


def _lasting(item: KeyRole) -> tuple[str, str, str, str]:
    return item.role, item.name, item.algorithm, item.not_before


def _check_succession(before: Keyring, after: Keyring) -> None:
    """Refuse a version that forgets a key, changes one, or brings an ended one back."""
    now = {item.key_id: item for item in after.keys}
    for old in before.keys:
        new = now.get(old.key_id)
        if new is None or _lasting(new) != _lasting(old):
            raise IntegrityError("expected every key of the version before as it was", at=old.name, rule=_RULE)
        kept = new.not_after == old.not_after or old.not_after is None
        if not kept or old.revoked_at not in (None, new.revoked_at):
            raise IntegrityError("expected a key that ended to stay ended", at=old.name, rule=_RULE)
