# SPDX-License-Identifier: Apache-2.0
"""Vectors of what not every record holds: later keyrings, cosignatures, second signatures. See `own_vectors`."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.ledgers import LATER, LEDGER, NOW, fixed_key, fixed_second

from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.cosignature import WitnessKey, cosign, signature_line
from evalsite.ledger.dsse import Envelope, sign_envelope
from evalsite.ledger.ed25519 import Signer, to_base64
from evalsite.ledger.mldsa import SecondKey
from evalsite.ledger.note import NoteKey, parse_note
from evalsite.ledger.trust import KEYRING_TYPE, key_role, make_keyring
from evalsite.schema.checks import Level

ORIGIN = f"{LEDGER}/log"
HEAD = Checkpoint(ORIGIN, 4, bytes(range(32)))
TIME_S = 1_796_115_600  # 2026-12-01T09:00:00Z
Case = dict[str, Any]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _cases(good: Case, bad: dict[str, Case]) -> list[Case]:
    return [good | {"valid": True}, *({"name": name, "valid": False, **fields} for name, fields in bad.items())]


def cosignature() -> list[Case]:
    """Cosignatures of a witness (§11): a checkpoint's text, the witness's verifier key, and a signature line."""
    witness, other, text = fixed_key("witness w1"), fixed_key("witness w2"), HEAD.to_text()
    key = WitnessKey("w1", witness.public_key)

    def lined(signer: Signer = witness, name: str = "w1", over: str = text, time_s: int = TIME_S) -> str:
        return signature_line(cosign(over, name, signer, time_s=time_s))

    good = {"name": "cosignature", "text": text, "vkey": key.to_text(), "line": lined(), "time_s": TIME_S}
    raw = bytearray(base64.b64decode(lined().rsplit(" ", 1)[1]))
    raw[11] ^= 1
    later = f"\u2014 w1 {_text(bytes(raw))}\n"
    plain = f"\u2014 w1 {_text(key.key_hash + bytes(raw[4:12]) + witness.sign(text.encode()))}\n"
    grown = HEAD.to_text().replace("\n4\n", "\n5\n")
    fields = {"text": text, "vkey": key.to_text(), "line": lined()}
    return _cases(
        good,
        {
            "another size": fields | {"text": grown},
            "another origin": fields | {"text": text.replace(ORIGIN, "other/log")},
            "another time": fields | {"line": later},
            "signed as a note": fields | {"line": plain},
            "another witness": fields | {"line": lined(other)},
            "another name": fields | {"line": lined(name="w2")},
            "key of a log": fields | {"vkey": NoteKey("w1", witness.public_key).to_text()},
            "hash of another key": fields | {"vkey": key.to_text().replace(key.key_hash.hex(), "00000000")},
        },
    )


def succession() -> list[Case]:
    """Second keyring versions (§3) of the ledger `desk`, read behind the first version in `previous`."""
    roots = (fixed_key("root"), fixed_key("root 2"))
    first = make_keyring(
        LEDGER,
        {"root": roots[0], "runner": fixed_key("runner"), "log": fixed_key("log")},
        now=NOW,
        minimum_level=Level.A0,
    )
    value = json.loads(first.payload) | {"version": 2, "issued_at": LATER}
    value["keys"][1]["not_after"] = LATER
    value["keys"].append(key_role("log", ORIGIN, fixed_key("log 2").public_key, LATER).plain())
    value["root_public_key"] = to_base64(roots[1].public_key)

    def signed(change: Callable[[Case], Any], by: tuple[Signer, ...] = roots) -> bytes:
        changed = json.loads(json.dumps(value))
        change(changed)
        payload = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
        made = [sign_envelope(KEYRING_TYPE, payload, signer) for signer in by]
        signatures = tuple(one for envelope in made for one in envelope.signatures)
        return Envelope(KEYRING_TYPE, payload, signatures).to_bytes()

    def moved(changed: Case) -> None:
        changed["keys"][1]["not_before"] = LATER

    bad = {
        "signed by the new root key only": signed(lambda _: None, roots[1:]),
        "signed by the old root key only": signed(lambda _: None, roots[:1]),
        "version 3 behind the first": signed(lambda changed: changed.update(version=3)),
        "a key that is gone": signed(lambda changed: changed["keys"].pop(1)),
        "a key that began at another time": signed(moved),
        "two log keys in force": signed(lambda changed: changed["keys"][1].update(not_after=None)),
        "no log key in force": signed(lambda changed: changed["keys"][2].update(revoked_at=LATER)),
    }
    fields = {"ledger": LEDGER, "previous": _text(first.to_bytes())}
    good = {"name": "second version", "envelope": _text(signed(lambda _: None)), "fingerprint": roots[1].key_id}
    return _cases(good | fields, {name: {"envelope": _text(data), **fields} for name, data in bad.items()})


def second(stored: Path) -> list[Case]:
    """Checkpoints of a log with a second key (§5), read under an origin, a verifier key and the second key's."""
    log, second_signer = fixed_key("log"), fixed_second()
    key = SecondKey(ORIGIN, second_signer.public_key)
    made = sign_checkpoint(HEAD, ORIGIN, log, second_signer)
    if stored.is_file():  # such a signature is another one each time: what was written stays
        made = base64.b64decode(json.loads(stored.read_bytes())["cases"][0]["note"])
    one, two = parse_note(made).signatures
    timed = bytearray(two.signature)
    timed[7] = 1
    broken = bytearray(two.signature)
    broken[1000] ^= 1

    def noted(*signatures: Any, text: str = HEAD.to_text()) -> bytes:
        return type(parse_note(made))(text, tuple(signatures)).to_bytes()

    bad = {
        "no second signature": noted(one),
        "second signature alone": noted(two),
        "second signature first": noted(two, one),
        "second signature twice": noted(one, two, two),
        "second signature of another time": noted(one, type(two)(two.name, two.key_hash, bytes(timed))),
        "second signature changed": noted(one, type(two)(two.name, two.key_hash, bytes(broken))),
        "another size": noted(one, two, text=HEAD.to_text().replace("\n4\n", "\n5\n")),
    }
    fields = {"origin": ORIGIN, "key": NoteKey(ORIGIN, log.public_key).to_text(), "second": key.to_text()}
    good = {"name": "checkpoint", "note": _text(made), "size": HEAD.size, "root": _text(HEAD.root), **fields}
    return _cases(good, {name: {"note": _text(data), **fields} for name, data in bad.items()})
