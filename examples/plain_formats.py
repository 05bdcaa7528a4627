# SPDX-License-Identifier: Apache-2.0
"""Formats of others that run records are made of, in plain Python: what `verify_without_evalsite.py` reads with.

Canonical JSON (RFC 8785), Merkle trees (RFC 6962), keys (RFC 8032, 8410, 9881), DSSE, C2SP notes and cosignatures.
Whatever is not as it must be raises ValueError, or InvalidSignature. § is a section of docs/spec/run-record-v1.md.
"""

import base64
import hashlib
import json
import re

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

P = 2**255 - 19
ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
SPKI = {32: "302a300506032b6570032100", 1312: "30820532300b06096086480165030403110382052100"}  # RFC 8410, RFC 9881
COSIGNATURE, TYPES = b"\x04", {32: b"\x01", 1312: b"\x06"}  # types of C2SP signatures; by a key's length


def need(holds, what="not as the format says"):
    """Refuse what does not hold."""
    if not holds:
        raise ValueError(what)


def sha(data):
    """A digest (§1)."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def to64(raw):
    """Base64 (RFC 4648 §4)."""
    return base64.b64encode(raw).decode()


def from64(text):
    """The bytes of base64 in its one spelling."""
    raw = base64.b64decode(text, validate=True)
    need(to64(raw) == text, "base64 in another spelling")
    return raw


def canonical(value, depth=0):
    """RFC 8785 within the bounds of §1: keys in the order of UTF-16 code units (its §3.2.3)."""
    need(depth < 64 or not isinstance(value, dict | list), "nested too deep")
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return b"{%s}" % b",".join(canonical(key) + b":" + canonical(value[key], depth + 1) for key in keys)
    if isinstance(value, list):
        return b"[%s]" % b",".join(canonical(item, depth + 1) for item in value)
    need(not isinstance(value, float) and (not isinstance(value, int) or abs(value) < 2**53), "a float, or too great")
    return json.dumps(value, ensure_ascii=False).encode()


def parse(data, bound=1 << 22):
    """An object from its one spelling; that refuses duplicate keys, NaN, byte order marks and spaces as well."""
    need(len(data) <= bound, "longer than its bound")
    value = json.loads(data)
    need(isinstance(value, dict) and canonical(value) == data, "not canonical JSON")
    return value


def tree(leaves, index=0):
    """The root of leaf hashes (RFC 6962 §2.1), and the audit path of one of them (§2.1.1)."""
    if len(leaves) == 1:
        return leaves[0], []
    half = 1 << (len(leaves) - 1).bit_length() - 1
    (left, path), (right, other) = tree(leaves[:half], index), tree(leaves[half:], index - half)
    return hashlib.sha256(b"\x01" + left + right).digest(), [*path, right] if index < half else [*other, left]


def key_of(raw):
    """A public key that may be trusted (§1): of ML-DSA-44, or of Ed25519, canonical and none of low order."""
    if len(raw) == 1312:
        return MLDSA44PublicKey.from_public_bytes(raw)
    y = int.from_bytes(raw, "little") % 2**255
    need(len(raw) == 32 and y < P and y not in {0, 1, P - 1, ORDER_8, P - ORDER_8}, "unfit public key")
    return Ed25519PublicKey.from_public_bytes(raw)


def key_hash(name, key):
    """The four bytes before each C2SP signature of a key."""
    return hashlib.sha256(name.encode() + b"\n" + key).digest()[:4]


def typed(raw):
    """A log's key behind the byte of its type."""
    return TYPES[len(raw)] + raw


def verifier_key(name, key):
    """A key, behind the byte of its type, as a C2SP verifier key."""
    return f"{name}+{key_hash(name, key).hex()}+{to64(key)}"


def pem(raw):
    """A public key as SubjectPublicKeyInfo in PEM."""
    text = re.sub("(.{1,64})", r"\1\n", to64(bytes.fromhex(SPKI[len(raw)]) + raw))
    return f"-----BEGIN PUBLIC KEY-----\n{text}-----END PUBLIC KEY-----\n"


def ssh(raw):
    """A public key as OpenSSH writes it."""
    return "ssh-ed25519 " + to64(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + raw)


def unsealed(data, kind, keys):
    """The payload of a DSSE envelope (§7) and the key ids that signed it."""
    envelope = parse(data[:-1])
    need(data[-1:] == b"\n" and set(envelope) == {"payload", "payloadType", "signatures"}, "envelope")
    payload, ids = from64(envelope["payload"]), [signature["keyid"] for signature in envelope["signatures"]]
    need(envelope["payloadType"] == kind and 0 < len(ids) == len(set(ids)) <= 16, "type or number of signatures")
    for signature in envelope["signatures"]:
        need(set(signature) == {"keyid", "sig"} and signature["keyid"] in keys, "signed by an unknown key")
        signed = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        key_of(keys[signature["keyid"]]).verify(from64(signature["sig"]), signed)
    return payload, set(ids)


def cosigned(text, vkey, line):
    """The time, in seconds since 1970, at which a witness cosigned a checkpoint's text (C2SP tlog-cosignature)."""
    name, _, encoded = vkey.split("+", 2)
    key, dash = from64(encoded), f"— {name} "
    need(vkey == verifier_key(name, key) and key[:1] == COSIGNATURE and line.startswith(dash), "no cosignature")
    signed = from64(line.removeprefix(dash))
    need(signed[:4] == key_hash(name, key), "a cosignature by another key")
    time = int.from_bytes(signed[4:12], "big")
    key_of(key[1:]).verify(signed[12:], f"cosignature/v1\ntime {time}\n{text}".encode())
    return time


def signed_note(note, text, name, raws):
    """Whether a note is `text` with a signature of each of these keys and nothing else (C2SP signed-note).

    A key of ML-DSA-44 signs as §5 says, and states no time.
    """
    dash, keys, (origin, size, root) = f"— {name} ", [typed(raw) for raw in raws], text.split("\n")[:3]
    signed = [from64(line.removeprefix(dash)) for line in note.removeprefix(f"{text}\n").split("\n")[:-1]]
    spelled = f"{text}\n" + "".join(f"{dash}{to64(one)}\n" for one in signed)
    if note != spelled or [one[:4] for one in signed] != [key_hash(name, key) for key in keys]:
        return False
    named = b"".join(bytes([len(item.encode())]) + item.encode() + bytes(8) for item in (name, origin))
    tree_head = b"subtree/v1\n\0" + named + int(size).to_bytes(8, "big") + from64(root)
    for raw, one in zip(raws, signed, strict=True):
        timeless = len(raw) == 32 or one[4:12] == bytes(8)
        need(timeless, "a second signature that states a time")
        key_of(raw).verify(*((one[4:], text.encode()) if len(raw) == 32 else (one[12:], tree_head)))
    return True


def planned_trials(plan):
    """The keys of all trials that a plan asks for: cases by repetition and dimension or order, and controls (§4)."""
    several = {"graded": ("dimension", "faithfulness", "groundedness"), "pairwise": ("order", "ab", "ba")}
    key, *of = several.get(plan["protocol"], ("dimension", None))
    empty, tries = {"polarity": None, "repetition": None, "dimension": None}, range(1, plan["repetitions"] + 1)
    trials = [{**empty, "kind": "case", "repetition": number, key: one} for number in tries for one in of]
    if plan["protocol"] == "binary" and plan["mode"] != "fixture":
        trials += [{**empty, "kind": "control", "polarity": polarity} for polarity in ("positive", "negative")]
    trials = [one | {"case_id": case["case_id"]} for case in plan["cases"] for one in trials]
    for one in plan.get("controls") or ():
        shown = {"case_id": one["control_id"], "polarity": one["polarity"], "dimension": one["dimension"]}
        trials.append({**empty, "kind": "control", **shown})
    return trials
