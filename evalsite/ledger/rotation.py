# SPDX-License-Identifier: Apache-2.0
"""Changing a ledger's keys: a further keyring version, published in the log.

Order of writing, so that a crash at any point can be finished by `finish_change`:

1. keystore: ``next-<key>.pem`` for each new key, then ``pending.json`` with the signed keyring;
2. project: the keyring file, the files derived from it, the log entry ``keys.published`` with its
   checkpoint under the log key now in force, and ``keys.revoked``;
3. keystore: the new keys take their places, the old ones are kept as ``<key>-until-<version>.pem``;
   ``pending.json`` goes.

A key is the role, or ``<role>-<name>`` for an approver or witness. Until ``pending.json`` stands nothing was
decided, and a failure takes the new keys away again. While it stands, nothing else writes to the ledger.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError, shorten
from evalsite.ledger.dsse import parse_envelope, sign_envelope
from evalsite.ledger.ed25519 import Signer, check_public_key, parse_base64, to_base64
from evalsite.ledger.keys import (
    PENDING,
    PIN,
    check_settled,
    load_file,
    load_key,
    load_second,
    load_second_file,
    sealed,
)
from evalsite.ledger.layout import check_name, keyring_name, lock_file, trust_folder
from evalsite.ledger.ledgercheck import LedgerFacts
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.passphrase import passphrase_for, sealing_passphrase
from evalsite.ledger.recovery import find_run
from evalsite.ledger.trust import (
    KEYRING_TYPE,
    NAMED_ROLES,
    ROLES,
    SECOND,
    KeySet,
    derived_files,
    key_role,
    open_keyring,
    second_key_role,
    slot_of,
)
from evalsite.ledger.writer import log_lines, repair_log, verified_ledger
from evalsite.schema.entries import Keyring, KeyRole, KeysRevoked
from evalsite.storage import PRIVATE_FILE, create, create_same, lock, read_regular, remove, replace

AnySigner: TypeAlias = Signer | SecondSigner
_RULE = "run-record §3"
_MAX_PENDING = 1024 * 1024
_MAX_REASON = 200
_REPLACED = (*ROLES, SECOND)
_NEXT = "next-"  # before the name of a private key that is not in force yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A ledger and where its keys are. ``root_key`` is a root key file kept elsewhere than in the keystore."""

    project: Path
    keystore: Path
    ledger: str
    root_key: Path | None = None
    make_key: Callable[[], Signer] = Signer.generate
    make_second: Callable[[], SecondSigner] = SecondSigner.generate

    @property
    def box(self) -> Path:
        """Return the ledger's folder of private keys."""
        return self.keystore / check_name(self.ledger, "ledger")

    def root(self, facts: LedgerFacts) -> Signer:
        """Return the root key in force.

        Raises:
            UndecidedError: It is not here, or needs another passphrase.
            RefusedError: It is another one, or others may read it.
        """
        name = f"root key of the ledger {self.ledger}"
        path = self.root_key or self.box / "root.pem"
        if not path.exists():
            advice = "bring the root key here for this, or name its file with --root-key-file"
            raise UndecidedError(f"expected the {name}, found none", rule=_RULE, advice=advice)
        signer = load_file(path, name)
        if signer.key_id != facts.keys.root_fingerprint:
            raise RefusedError("expected the keyring's root key, found another", at=path.name, rule=_RULE)
        return signer


@dataclass(frozen=True, slots=True)
class Changed:
    """What came into force: a keyring version, its file's digest, and the root key behind it."""

    version: int
    envelope: str
    root_fingerprint: str


def rotate(place: Place, role: str, *, now: str, leave_unfinished: bool = False) -> Changed:
    """Replace the root, runner or log key, or the log's second key, by a new one.

    A ledger whose log has no second key gets one.

    Args:
        place: The ledger.
        role: ``root``, ``runner``, ``log`` or ``log-ml-dsa-44``.
        now: UTC time.
        leave_unfinished: Go on although a run has its last event but no seal; it can't be sealed then.

    Raises:
        InputError: Another role, or no such ledger.
        RefusedError: A run waits for its seal under the old key; or a key is not the keyring's.
        UndecidedError: A key is missing or needs another passphrase, or a change is unfinished.
        IntegrityError: Keys or log do not verify; nothing was changed.
    """
    if role not in _REPLACED:
        raise InputError(f"expected the role root, runner or log, or {SECOND}, found {shorten(role)}", rule=_RULE)
    with _opened(place) as facts:
        if role != "root":
            _check_sealed(place, facts, leave_unfinished=leave_unfinished)
        new = {role: _make(place, role)}
        keys = facts.keys.keyring.keys
        if role != "root":
            keys = tuple(_ended(item, "not_after", now) if _in_force(item, role) else item for item in keys)
        return _commit(place, facts, _Draft(keys, new, None), now=now)


def revoke(place: Place, key_id: str, *, reason: str, now: str, leave_unfinished: bool = False) -> Changed:
    """Say of a key that it is no longer to be believed; a runner or log key in force gets a successor.

    Args:
        place: The ledger.
        key_id: The key's id.
        reason: Why, in one line; it stands in the log for good.
        now: UTC time.
        leave_unfinished: As for `rotate`.

    Raises:
        InputError: No such key in the keyring, a root key, or no reason in one line of 200 characters.
        RefusedError: It is revoked already, or a run waits for its seal under the key that would be replaced.
        UndecidedError: A key is missing or needs another passphrase, or a change is unfinished.
        IntegrityError: Keys or log do not verify; nothing was changed.
    """
    if not reason.strip() or not reason.isprintable() or len(reason) > _MAX_REASON:
        raise InputError(f"expected a reason in one line of at most {_MAX_REASON} characters", at="--reason")
    with _opened(place) as facts:
        if key_id == facts.keys.root_fingerprint:
            raise InputError("expected another key than the root key", rule=_RULE, advice="rotate the root key")
        found = next((item for item in facts.keys.keyring.keys if item.key_id == key_id), None)
        if found is None:
            raise InputError(f"expected a key id of the keyring, found {shorten(key_id)}", advice="evalsite keys list")
        if found.revoked_at is not None:
            raise RefusedError(f"expected a key that is not revoked yet: {found.name}", rule=_RULE)
        slot = slot_of(found)
        succeeds = slot in _REPLACED and _in_force(found, slot)
        if succeeds:
            _check_sealed(place, facts, leave_unfinished=leave_unfinished)
        new = {slot: _make(place, slot)} if succeeds else {}
        keys = facts.keys.keyring.keys
        keys = tuple(_ended(item, "revoked_at", now) if item.key_id == key_id else item for item in keys)
        return _commit(place, facts, _Draft(keys, new, {"key_id": key_id, "reason": reason}), now=now)


def add_key(place: Place, role: str, name: str, public_key: bytes | None, *, now: str) -> Changed:
    """List the key of an approver or a witness.

    Args:
        place: The ledger.
        role: ``approver`` or ``witness``.
        name: Whose key it is.
        public_key: The raw public key; null makes a key here, in the keystore, in the file `key_file`.
        now: UTC time.

    Raises:
        InputError: Another role, or a name that is none.
        IntegrityError: A key that proves nothing, or is listed; or keys or log do not verify.
        RefusedError: The root key is another one than the keyring's, or others may read it.
        UndecidedError: A key is missing or needs another passphrase, or a change is unfinished.
    """
    if role not in NAMED_ROLES:
        raise InputError(f"expected the role approver or witness, found {shorten(role)}", rule=_RULE)
    check_name(name, "key")
    with _opened(place) as facts:
        new: dict[str, AnySigner] = {}
        if public_key is None:
            new[key_file(role, name).removesuffix(".pem")] = signer = place.make_key()
            public_key = signer.public_key
        check_public_key(public_key)
        added = key_role(role, f"{place.ledger}/{role}/{name}", public_key, now)
        return _commit(place, facts, _Draft((*facts.keys.keyring.keys, added), new, None), now=now)


def key_file(role: str, name: str) -> str:
    """Return the file of an approver's or witness's private key in the ledger's folder of the keystore."""
    return f"{role}-{name}.pem"


def finish_change(place: Place, *, now: str) -> Changed | None:
    """Carry out a change of keys that was cut short; null if none was decided (its new keys are taken away then).

    Raises:
        IntegrityError: The ledger does not verify even without the change; nothing else was changed.
        UndecidedError: The log key needs another passphrase, or the operating system refused.
    """
    with lock(place.project / lock_file(place.ledger)):
        if not (place.box / PENDING).exists():
            _forget_new(place)
            return None
        return _carry_out(place, now=now)


@dataclass(frozen=True, slots=True)
class _Draft:
    """A change: the keys that the keyring lists, new private keys by the name of their file, what is revoked."""

    keys: tuple[KeyRole, ...]
    new: dict[str, AnySigner]
    revoked: dict[str, str] | None


@contextmanager
def _opened(place: Place) -> Iterator[LedgerFacts]:
    """Hold the ledger's lock, with the verified ledger behind it."""
    if not (place.project / trust_folder(check_name(place.ledger, "ledger"))).is_dir():
        raise InputError(f"expected a ledger {place.ledger} in this project, found none")
    with lock(place.project / lock_file(place.ledger)):
        check_settled(place.keystore, place.ledger)
        yield verified_ledger(place.project, place.ledger)


def _in_force(item: KeyRole, role: str) -> bool:
    return slot_of(item) == role and item.not_after is None and item.revoked_at is None


def _make(place: Place, role: str) -> AnySigner:
    return place.make_second() if role == SECOND else place.make_key()


def _ended(item: KeyRole, field: str, now: str) -> KeyRole:
    return KeyRole.from_value({**item.plain(), field: now})


def _check_sealed(place: Place, facts: LedgerFacts, *, leave_unfinished: bool) -> None:
    for run_id in facts.opened.keys() - facts.closed.keys():
        if leave_unfinished or not (place.project / "runs" / run_id).is_dir():
            continue
        if find_run(place.project, run_id, place.ledger, facts.history.log_keys).order.closed is not None:
            raise RefusedError(
                f"expected the run {run_id} to be sealed, its last event stands without",
                rule=_RULE,
                advice="resume the run first, or leave it unsealed for good with --leave-unfinished",
            )


def _commit(place: Place, facts: LedgerFacts, draft: _Draft, *, now: str) -> Changed:
    """Prepare a change in the keystore, then carry it out."""
    old_root, new_root = place.root(facts), draft.new.get("root")
    _check_usable(place, facts, draft)
    named = [
        second_key_role(place.ledger, signer.public_key, now)
        if role == SECOND
        else key_role(role, f"{place.ledger}/{role}", signer.public_key, now)
        for role, signer in draft.new.items()
        if role in _REPLACED and role != "root"
    ]
    roots = (old_root, new_root) if isinstance(new_root, Signer) else (old_root,)
    value = facts.keys.keyring.plain() | {
        "version": facts.keys.keyring.version + 1,
        "issued_at": now,
        "root_public_key": to_base64(roots[-1].public_key),
        "keys": [item.plain() for item in (*draft.keys, *named)],
    }
    envelope = sign_envelope(KEYRING_TYPE, Keyring.from_value(value).to_bytes(), *roots).to_bytes()
    open_keyring(envelope, ledger=place.ledger, previous=facts.keys)
    pending = {"envelope": to_base64(envelope), "revoked": draft.revoked}
    _decide(place, draft, json.dumps(pending).encode())
    return _carry_out(place, now=now)


def _check_usable(place: Place, facts: LedgerFacts, draft: _Draft) -> None:
    """Open the keys that will sign the log, before anything is written."""
    if "log" not in draft.new:
        load_key(place.keystore, place.ledger, "log")
    second = facts.keys.log_key.second
    if second is not None and SECOND not in draft.new:
        load_second(place.keystore, place.ledger, second)


def _decide(place: Place, draft: _Draft, pending: bytes) -> None:
    """Write the new private keys, then what is to be carried out; a failure before that leaves neither."""
    passphrase = _new_passphrase(place) if draft.new else None
    _forget_new(place)  # of a change that was cut short before it was decided
    try:
        for name, signer in draft.new.items():
            create(place.box / f"{_NEXT}{name}.pem", signer.to_pem(passphrase), mode=PRIVATE_FILE)
        create(place.box / PENDING, pending, mode=PRIVATE_FILE)
    except BaseException:
        if not (place.box / PENDING).exists():
            _forget_new(place)
        raise


def _forget_new(place: Place) -> None:
    for path in _new_keys(place):
        remove(path)


def _new_keys(place: Place) -> list[Path]:
    return sorted(place.box.glob(f"{_NEXT}*.pem"))


def _new_passphrase(place: Place) -> bytes | None:
    """Return what new keys are encrypted with: a ledger whose keys are encrypted keeps them so."""
    asked = sealing_passphrase()
    if asked is None and sealed(place.keystore, place.ledger):
        return passphrase_for(f"new key of the ledger {place.ledger}")
    return asked


def _carry_out(place: Place, *, now: str) -> Changed:
    pending = json.loads(read_regular(place.box / PENDING, _MAX_PENDING))
    envelope = parse_base64(pending["envelope"])
    keyring = Keyring.parse(parse_envelope(envelope).payload, max_bytes=_MAX_PENDING)
    trust = place.project / trust_folder(place.ledger)
    path = trust / keyring_name(keyring.version)
    facts = _facts_before(place, path, envelope)
    repair_log(place.project, place.ledger, facts)
    keys = facts.keys
    published = keys.keyring.version == keyring.version
    if not published:
        keys = open_keyring(envelope, ledger=place.ledger, previous=facts.keys)
    log = LogWriter(place.project, place.ledger, _signer_of(place, keys), _second_of(place, keys))
    log.load(facts, log_lines(place.project, place.ledger, len(facts.entries)))
    try:
        if not published:
            create_same(path, envelope)
            for name, data in derived_files(keys).items():
                replace(trust / name, data)
            log.append("keys.published", {"version": keyring.version, "envelope": digest_bytes(envelope)}, now=now)
            log.sign()
        revoked = pending["revoked"]
        known = {entry.key_id for entry in facts.entries if isinstance(entry, KeysRevoked)}
        if revoked is not None and revoked["key_id"] not in known:
            log.append("keys.revoked", revoked, now=now)
            log.sign()
    finally:
        log.close()
    _switch(place, keys)
    return Changed(keyring.version, digest_bytes(envelope), keys.root_fingerprint)


def _facts_before(place: Place, path: Path, envelope: bytes) -> LedgerFacts:
    """Verify the ledger with the change, or else without it after taking back its half."""
    try:
        return verified_ledger(place.project, place.ledger)
    except IntegrityError:
        if not path.exists() or read_regular(path, len(envelope)) != envelope:
            raise
    keys: KeySet | None = None
    for version in range(1, int(path.name.split(".")[0])):
        data = read_regular(path.parent / f"{version:03d}.dsse.json", _MAX_PENDING)
        keys = open_keyring(data, ledger=place.ledger, previous=keys)
    if keys is not None:
        remove(path)
        trust, before = path.parent.parent, derived_files(keys)
        for name, data in before.items():
            replace(trust / name, data)
        for name in derived_files(open_keyring(envelope, ledger=place.ledger, previous=keys)).keys() - before.keys():
            if (trust / name).exists():
                remove(trust / name)
    return verified_ledger(place.project, place.ledger)


def _signer_of(place: Place, keys: KeySet) -> Signer:
    """Return the log key that the new keyring names, whether it has taken its place or not."""
    for name in (f"{_NEXT}log", "log"):
        if (place.box / f"{name}.pem").exists():
            signer = load_file(place.box / f"{name}.pem", f"log key of the ledger {place.ledger}")
            if signer.public_key == keys.log_key.public_key:
                return signer
    raise UndecidedError("expected the keyring's log key in the keystore", rule=_RULE, advice="bring it here")


def _second_of(place: Place, keys: KeySet) -> SecondSigner | None:
    """Return the log's second key that the new keyring names, whether it has taken its place or not."""
    key = keys.log_key.second
    if key is None:
        return None
    path = place.box / f"{_NEXT}{SECOND}.pem"
    if path.exists():
        return load_second_file(path, f"second log key of the ledger {place.ledger}")
    return load_second(place.keystore, place.ledger, key)


def _switch(place: Place, keys: KeySet) -> None:
    if (place.box / f"{_NEXT}root.pem").exists():
        replace(place.box / PIN, f"{keys.root_fingerprint}\n".encode(), mode=PRIVATE_FILE)
    for new in _new_keys(place):
        name = new.stem.removeprefix(_NEXT)
        current = place.box / f"{name}.pem"
        data = read_regular(new, _MAX_PENDING)
        if current.exists() and read_regular(current, _MAX_PENDING) != data:
            kept = place.box / f"{name}-until-{keys.keyring.version}.pem"
            create_same(kept, read_regular(current, _MAX_PENDING), mode=PRIVATE_FILE)
        replace(current, data, mode=PRIVATE_FILE)
        remove(new)
    remove(place.box / PENDING)
