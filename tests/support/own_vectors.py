# SPDX-License-Identifier: Apache-2.0
"""The vectors of tests/conformance/vectors, made from fixed keys: ``python tests/support/own_vectors.py --write``.

Valid cases are made by this implementation, and checked by others in ``make foreign``; each invalid case is
a valid one with one thing changed, so that a reader that refuses everything fails too.
"""

import base64
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.ledgers import LEDGER, NOW, fixed_key  # noqa: E402 - run as a script, it must find its own folder
from support.own_vectors_optional import cosignature, second, succession  # noqa: E402

from evalsite.ledger.blob import blob_digest, pack_blob  # noqa: E402
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint  # noqa: E402
from evalsite.ledger.dsse import sign_envelope  # noqa: E402
from evalsite.ledger.ed25519 import public_pem  # noqa: E402
from evalsite.ledger.merkle import consistency_proof, inclusion_proof, leaf_hash, node_hash, tree_root  # noqa: E402
from evalsite.ledger.note import NoteKey, sign_note  # noqa: E402
from evalsite.ledger.tlogproof import TlogProof  # noqa: E402
from evalsite.ledger.trust import KEYRING_TYPE, make_keyring  # noqa: E402
from evalsite.schema.checks import Level  # noqa: E402

FOLDER = ROOT / "tests" / "conformance" / "vectors"
ORIGIN = f"{LEDGER}/log"
STATEMENT_TYPE = "application/vnd.in-toto+json"
LOG_KEY, RUNNER_KEY = fixed_key("log"), fixed_key("runner")
LOW_ORDER = bytes.fromhex("0100000000000000000000000000000000000000000000000000000000000000")
Case = dict[str, Any]


def case(name: str, *, valid: bool, **fields: Any) -> Case:
    """Return one case."""
    return {"name": name, "valid": valid, **fields}


def text(data: bytes) -> str:
    """Return bytes as base64: the vectors are exact to the byte."""
    return base64.b64encode(data).decode()


def tree() -> list[Case]:
    """Entries of eight lines; the hashes, root and proofs at each size (RFC 6962 §2.1)."""
    lines = [b"", b"a", b"{}", b'{"seq":3}', "é".encode(), b"\x00", b"0" * 64, b'{"type":"run.closed"}']
    leaves = [leaf_hash(line) for line in lines]
    cases = [case("node", valid=True, left=text(leaves[0]), right=text(leaves[1]), node=text(node_hash(*leaves[:2])))]
    for size in range(1, len(lines) + 1):
        some = leaves[:size]
        cases.append(
            case(
                f"size {size}",
                valid=True,
                lines=[text(line) for line in lines[:size]],
                leaves=[text(leaf) for leaf in some],
                root=text(tree_root(some)),
                inclusion=[[text(item) for item in inclusion_proof(some, index)] for index in range(size)],
                consistency=[[text(item) for item in consistency_proof(some, old)] for old in range(1, size + 1)],
            )
        )
    return cases


def json_lines() -> list[Case]:
    """Bytes that are canonical JSON within the bounds of §1, and bytes that are not."""
    good = {
        "empty object": b"{}",
        "keys by UTF-16 code units": '{"\U00010000":1,"\ue000":2}'.encode(),
        "escapes": rb'{"a":"\u0000\b\t\n\f\r\u001f\"\\/"}',
        "other characters as they are": '{"a":"é\u2028\x7f"}'.encode(),
        "greatest and least integer": b'{"a":[9007199254740991,-9007199254740991]}',
        "64 levels": b'{"a":' + b"[" * 63 + b"]" * 63 + b"}",
    }
    bad = {
        "space": b'{"a": 1}',
        "keys out of order": b'{"b":1,"a":2}',
        "keys by code point": '{"\ue000":2,"\U00010000":1}'.encode(),
        "key twice": b'{"a":1,"a":1}',
        "byte order mark": b"\xef\xbb\xbf{}",
        "fraction": b'{"a":1.5}',
        "fraction that is whole": b'{"a":1.0}',
        "exponent": b'{"a":1e2}',
        "negative zero": b'{"a":-0}',
        "not a number": b'{"a":NaN}',
        "infinity": b'{"a":Infinity}',
        "integer too great": b'{"a":9007199254740992}',
        "lone surrogate": rb'{"a":"\ud800"}',
        "escape that is not needed": rb'{"a":"\u0041"}',
        "escape in capitals": rb'{"a":"\u001F"}',
        "escaped solidus": rb'{"a":"\/"}',
        "not UTF-8": b'{"a":"\xff"}',
        "overlong UTF-8": b'{"a":"\xc0\xaf"}',
        "UTF-16": "{}".encode("utf-16-le"),
        "65 levels": b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
        "comma at the end": b'{"a":1,}',
        "comment": b"{}//",
        "two values": b"{}{}",
        "cut": b'{"a":',
        "nothing": b"",
        "carriage return": b"{}\r",
    }
    return [case(name, valid=True, bytes=text(data)) for name, data in good.items()] + [
        case(name, valid=False, bytes=text(data)) for name, data in bad.items()
    ]


def note() -> list[Case]:
    """Checkpoints in signed notes, as they stand in a record (§5), read under an origin and a verifier key."""
    checkpoint = Checkpoint(ORIGIN, 3, leaf_hash(b"root"))
    good = sign_checkpoint(checkpoint, ORIGIN, LOG_KEY)
    key = NoteKey(ORIGIN, LOG_KEY.public_key).to_text()

    def signed(body: str) -> bytes:
        return sign_note(body, ORIGIN, LOG_KEY).to_bytes()

    body, _, signature = good.partition(b"\n\n")
    bad = {
        "another size": good.replace(b"\n3\n", b"\n4\n"),
        "another key": sign_checkpoint(checkpoint, ORIGIN, RUNNER_KEY),
        "another key name": good.replace(b" desk/log ", b" desk/run "),
        "another origin": signed(f"{LEDGER}/run/a\n3\n{text(checkpoint.root)}\n"),
        "signature twice": good + signature,
        "no signature": body + b"\n\n",
        "extension line": signed(f"{ORIGIN}\n3\n{text(checkpoint.root)}\nmore\n"),
        "leading zero": signed(f"{ORIGIN}\n03\n{text(checkpoint.root)}\n"),
        "plus sign": signed(f"{ORIGIN}\n+3\n{text(checkpoint.root)}\n"),
        "root of 31 bytes": signed(f"{ORIGIN}\n3\n{text(checkpoint.root[:31])}\n"),
        "no newline at the end": good[:-1],
        "newline too much": good + b"\n",
        "carriage returns": good.replace(b"\n", b"\r\n"),
        "hyphen for the dash": good.replace("—".encode(), b"-"),
        "padding left out": good.replace(b"=\n\n", b"\n\n"),
    }
    fields = {"key": key, "origin": ORIGIN}
    valid = case("checkpoint", valid=True, note=text(good), size=3, root=text(checkpoint.root), **fields)
    return [valid, *(case(name, valid=False, note=text(data), **fields) for name, data in bad.items())]


def proof() -> list[Case]:
    """Proofs that a line is an entry of a log (§8), read under an origin and a verifier key."""
    lines = [b"{}", b"[]", b'""', b"0", b"null"]
    leaves = [leaf_hash(line) for line in lines]
    head = sign_checkpoint(Checkpoint(ORIGIN, len(leaves), tree_root(leaves)), ORIGIN, LOG_KEY)
    path = inclusion_proof(leaves, 2)
    good = TlogProof(2, path, head).to_bytes()
    bad = {
        "another index": TlogProof(3, path, head).to_bytes(),
        "index beyond the tree": TlogProof(5, path, head).to_bytes(),
        "hash missing": TlogProof(2, path[:-1], head).to_bytes(),
        "hash too much": TlogProof(2, (*path, path[0]), head).to_bytes(),
        "hashes swapped": TlogProof(2, (path[1], path[0], *path[2:]), head).to_bytes(),
        "no hashes": TlogProof(2, (), head).to_bytes(),
        "64 hashes": TlogProof(2, path * 30, head).to_bytes(),
        "another header": good.replace(b"@v1", b"@v2"),
        "no blank line": good.replace(b"\n\ndesk", b"\ndesk"),
        "index with a zero before": good.replace(b"index 2", b"index 02"),
    }
    key = NoteKey(ORIGIN, LOG_KEY.public_key).to_text()
    fields = {"key": key, "origin": ORIGIN, "line": text(lines[2])}
    others = [case(name, valid=False, proof=text(data), **fields) for name, data in bad.items()]
    other_line = {**fields, "line": text(lines[2] + b" ")}
    return [
        case("third of five", valid=True, proof=text(good), index=2, **fields),
        *others,
        case("another line", valid=False, proof=text(good), **other_line),
    ]


def envelope() -> list[Case]:
    """DSSE envelopes as they stand in a record (§7), read under a type and one key."""
    payload = b'{"a":"???>>>~~~"}'  # its base64 holds a plus sign, a solidus, and one sign of padding
    good = sign_envelope(STATEMENT_TYPE, payload, RUNNER_KEY).to_bytes()
    value = json.loads(good)
    signature = value["signatures"][0]

    def written(**changes: Any) -> bytes:
        return json.dumps({**value, **changes}, sort_keys=True, separators=(",", ":")).encode() + b"\n"

    bad = {
        "another payload": written(payload=text(payload + b" ")),
        "another type": sign_envelope("application/json", payload, RUNNER_KEY).to_bytes(),
        "type changed after signing": written(payloadType="application/vnd.in-toto+json2"),
        "signed by another key": sign_envelope(STATEMENT_TYPE, payload, LOG_KEY).to_bytes(),
        "another key under this key's id": written(
            signatures=[
                {
                    **signature,
                    "sig": json.loads(sign_envelope(STATEMENT_TYPE, payload, LOG_KEY).to_bytes())["signatures"][0][
                        "sig"
                    ],
                }
            ]
        ),
        "no signature": written(signatures=[]),
        "signature twice": written(signatures=[signature, signature]),
        "one signature too much": sign_envelope(STATEMENT_TYPE, payload, RUNNER_KEY, LOG_KEY).to_bytes(),
        "signature over the bare payload": written(signatures=[{**signature, "sig": text(RUNNER_KEY.sign(payload))}]),
        "further field": written(more=1),
        "space": good.replace(b'","', b'", "', 1),
        "no newline": good[:-1],
        "base64 for addresses": written(payload=base64.urlsafe_b64encode(payload).decode()),
        "padding bits set": written(payload=f"{value['payload'][:-2]}{chr(ord(value['payload'][-2]) + 1)}="),
    }
    fields = {"type": STATEMENT_TYPE, "key": text(RUNNER_KEY.public_key), "key_id": RUNNER_KEY.key_id}
    valid = case("statement", valid=True, envelope=text(good), payload=text(payload), **fields)
    return [valid, *(case(name, valid=False, envelope=text(data), **fields) for name, data in bad.items())]


def blob() -> list[Case]:
    """Blob files (§6) under the digest that a record names."""
    salt = bytes(range(32))
    good = pack_blob("Grüße\n".encode(), salt)
    empty = pack_blob(b"", salt)
    bad = {
        "another byte": (good + b" ", blob_digest(good)),
        "no mark": (good[1:], blob_digest(good[1:])),
        "salt in capitals": (good.replace(b"1a", b"1A"), blob_digest(good.replace(b"1a", b"1A"))),
        "salt of 31 bytes": (good.replace(b"00", b"", 1), blob_digest(good.replace(b"00", b"", 1))),
        "nothing": (b"", blob_digest(b"")),
    }
    return [
        case("text", valid=True, file=text(good), digest=blob_digest(good), raw=text("Grüße\n".encode())),
        case("empty", valid=True, file=text(empty), digest=blob_digest(empty), raw=""),
        *(case(name, valid=False, file=text(data), digest=digest) for name, (data, digest) in bad.items()),
    ]


def keyring() -> list[Case]:
    """First keyring versions (§3) of the ledger `desk`."""
    signers = {role: fixed_key(role) for role in ("root", "runner", "log")}
    good = make_keyring(LEDGER, signers, now=NOW, minimum_level=Level.A0)
    value = json.loads(good.payload)

    def signed(change: Callable[[dict[str, Any]], Any], by: str = "root") -> bytes:
        changed = json.loads(good.payload)
        change(changed)
        payload = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode()
        return sign_envelope(KEYRING_TYPE, payload, signers[by]).to_bytes()

    def both_roles(changed: dict[str, Any]) -> None:
        changed["keys"][1] |= {key: value["keys"][0][key] for key in ("public_key", "key_id")}

    def low_order(changed: dict[str, Any]) -> None:
        changed["keys"][1] |= {"public_key": text(LOW_ORDER), "key_id": blob_digest(LOW_ORDER)}

    bad = {
        "signed by the runner key": signed(lambda _: None, by="runner"),
        "another ledger": signed(lambda changed: changed.update(ledger="other")),
        "version 2 as the first": signed(lambda changed: changed.update(version=2)),
        "version as text": signed(lambda changed: changed.update(version="1")),
        "no log key": signed(lambda changed: changed["keys"].pop()),
        "one key in two roles": signed(both_roles),
        "key of low order": signed(low_order),
        "key id of another key": signed(lambda changed: changed["keys"][1].update(key_id=value["keys"][0]["key_id"])),
        "name of another ledger": signed(lambda changed: changed["keys"][1].update(name="other/log")),
        "further field": signed(lambda changed: changed.update(more=1)),
        "another format": signed(lambda changed: changed.update(format="evalsite/keyring/v0")),
    }
    fields = {"ledger": LEDGER}
    valid = case(
        "first version",
        valid=True,
        envelope=text(good.to_bytes()),
        fingerprint=signers["root"].key_id,
        log_vkey=NoteKey(ORIGIN, LOG_KEY.public_key).to_text(),
        root_pem=public_pem(signers["root"].public_key).decode(),
        **fields,
    )
    return [valid, *(case(name, valid=False, envelope=text(data), **fields) for name, data in bad.items())]


def build() -> dict[str, str]:
    """Return the text of every file, by its name."""
    makers = {"tree": tree, "json": json_lines, "note": note, "proof": proof, "envelope": envelope, "blob": blob}
    makers |= {"keyring": keyring, "succession": succession, "cosignature": cosignature}
    makers["second"] = partial(second, FOLDER / "second.json")
    made = {}
    for name, make in makers.items():
        about = " ".join(((make.func if isinstance(make, partial) else make).__doc__ or "").split())
        value = {"format": "evalsite/vectors/v1", "about": about, "cases": make()}
        made[f"{name}.json"] = json.dumps(value, indent=1, ensure_ascii=True) + "\n"
    return made


if __name__ == "__main__":
    for file_name, content in build().items():
        if "--write" in sys.argv:
            (FOLDER / file_name).write_text(content, encoding="utf-8")
        print(file_name, "same" if (FOLDER / file_name).read_text(encoding="utf-8") == content else "different")
