# SPDX-License-Identifier: Apache-2.0
"""Public test vectors of others, read in place: trees, notes, checkpoints, envelopes, signatures."""

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger import mldsa
from evalsite.ledger.checkpoint import open_checkpoint, parse_checkpoint
from evalsite.ledger.dsse import pae
from evalsite.ledger.ed25519 import Signer, check_public_key, verify
from evalsite.ledger.merkle import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from evalsite.ledger.mldsa import check_second_key
from evalsite.ledger.note import parse_note, parse_note_key, sign_note, verify_note


@pytest.fixture(scope="session")
def audit(vectors):
    return vectors / "audit"


def decoded(text):
    return base64.b64decode(text or "")


def outcome(check, *args, **options):
    try:
        check(*args, **options)
    except IntegrityError:
        return False
    return True


def test_inclusion_proofs_of_transparency_dev_merkle(audit):
    paths = sorted((audit / "transparency-dev-merkle/testdata/inclusion").rglob("*.json"))
    wrong = []
    for path in paths:
        case = json.loads(path.read_bytes())
        found = outcome(
            verify_inclusion,
            decoded(case["leafHash"]),
            [decoded(item) for item in case["proof"] or []],
            index=case["leafIdx"],
            size=case["treeSize"],
            root=decoded(case["root"]),
        )
        if found == case["wantErr"]:
            wrong.append(f"{path.parent.name}/{path.name}")
    assert len(paths) == 98
    assert wrong == []


def test_consistency_proofs_of_transparency_dev_merkle(audit):
    """Cases with an old size of 0 expect an error; here it is no head at all, and always refused.

    In three of them nothing is wrong but that size: an empty proof, and no root that contradicts. A verifier that
    lets any tree extend the empty one takes these three, so that it agrees on 193 of the 196 cases.
    """
    paths = sorted((audit / "transparency-dev-merkle/testdata/consistency").rglob("*.json"))
    wrong, from_nothing, nothing_else = [], 0, []
    for path in paths:
        case = json.loads(path.read_bytes())
        found = outcome(
            verify_consistency,
            [decoded(item) for item in case["proof"] or []],
            old_size=case["size1"],
            old_root=decoded(case["root1"]),
            new_size=case["size2"],
            new_root=decoded(case["root2"]),
        )
        if found == case["wantErr"]:
            wrong.append(f"{path.parent.name}/{path.name}")
        from_nothing += case["size1"] == 0
        same = case["size2"] != 0 or case["root1"] == case["root2"]
        if case["size1"] == 0 and not case["proof"] and same:
            nothing_else.append(path.stem)
    assert (len(paths), from_nothing) == (98, 9)
    assert nothing_else == [
        "size1-is-zero-and-does-not-equal-size2",
        "size1-is-zero-and-size2-is-not-zero",
        "sizes-are-equal-zero-and-proof-is-empty",
    ]
    assert wrong == []


def test_a_complete_log_of_tessera(audit):
    """Every checkpoint's signature and root, every entry's leaf hash, and proofs between all of them."""
    folder = audit / "tessera-testlog/testdata/log"
    key = parse_note_key((audit / "tessera-testlog/log.vkey").read_text().strip())
    leaves_file = (folder / "tile/0/000.p/15").read_bytes()
    leaves = [leaves_file[at : at + 32] for at in range(0, len(leaves_file), 32)]
    entries, bundle = [], (folder / "tile/entries/000.p/15").read_bytes()
    while bundle:
        size = int.from_bytes(bundle[:2], "big")
        entries.append(bundle[2 : 2 + size])
        bundle = bundle[2 + size :]
    assert [leaf_hash(entry) for entry in entries] == leaves
    checkpoints, paths = {}, sorted(folder.glob("checkpoint*"))
    assert len(paths) == 17
    for path in paths:
        checkpoint = open_checkpoint(path.read_bytes(), origin="example.com/log/testdata", key=key)
        assert checkpoint.root == tree_root(leaves[: checkpoint.size]), path.name
        checkpoints[checkpoint.size] = checkpoint
    assert sorted(checkpoints) == list(range(16))
    for new in range(1, 16):
        for index in range(new):
            proof = inclusion_proof(leaves[:new], index)
            verify_inclusion(leaves[index], proof, index=index, size=new, root=checkpoints[new].root)
        for old in range(1, new + 1):
            verify_consistency(
                consistency_proof(leaves[:new], old),
                old_size=old,
                old_root=checkpoints[old].root,
                new_size=new,
                new_root=checkpoints[new].root,
            )


@pytest.mark.parametrize(
    ("note", "key"),
    [
        ("c2sp-signed-note-example.note", "c2sp-signed-note-example.vkey"),
        ("go-peterneumann.note", "go-peterneumann.vkey"),
        ("go-peterneumann-enochroot.note", "go-peterneumann.vkey"),
        ("sumdb-30055305.note", "sumdb.vkey"),
        ("sumdb-35225469.note", "sumdb.vkey"),
    ],
)
def test_notes_of_others(audit, note, key):
    data = (audit / "c2sp-notes" / note).read_bytes()
    known = parse_note_key((audit / "c2sp-notes" / key).read_text().strip())
    parsed = parse_note(data)
    assert parsed.to_bytes() == data
    assert verify_note(parsed, [known]) == (known,)
    with pytest.raises(IntegrityError):
        verify_note(type(parsed)(parsed.text.replace("e", "E", 1), parsed.signatures), [known])
    if note.startswith("sumdb"):
        assert parse_checkpoint(parsed.text).origin == "go.sum database tree"
        assert parse_checkpoint(parsed.text).size == int(note[6:14])


def test_a_cosignature_is_no_signature_of_a_log(audit):
    """Type 0x04 keys and lines are well formed, and are not read as Ed25519 note signatures."""
    folder = audit / "sunlight-witness/cmd/skylight/testdata"
    for path in folder.rglob("*.v0.json"):
        for key in json.loads(path.read_bytes())["verifier_keys"]:
            with pytest.raises(InputError, match="0x01"):
                parse_note_key(key)
    notes = [path for path in folder.rglob("checkpoint") if path.read_bytes().count(b"\n\n")]
    assert notes
    for path in notes:
        assert parse_note(path.read_bytes()).to_bytes() == path.read_bytes()


def test_the_dsse_vector(audit):
    vector = json.loads((audit / "dsse/vector.json").read_bytes())
    message = pae(vector["payload_type"], vector["payload_utf8"].encode())
    assert message == vector["pae_utf8"].encode()
    raw = decoded(vector["envelope"]["signatures"][0]["sig"])
    signature = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    numbers = EllipticCurvePublicNumbers(int(vector["x"]), int(vector["y"]), SECP256R1())
    numbers.public_key().verify(signature, message, ECDSA(SHA256()))


def test_the_regression_lines_of_rfc_8032(audit):
    lines = (audit / "rfc8032/sign.input.first200").read_text().splitlines()
    for line in lines:
        secret, public, message, signed = (bytes.fromhex(part) for part in line.split(":")[:4])
        signer = Signer.from_seed(secret[:32])
        assert signer.public_key == public
        assert signer.sign(message) == signed[:64]
        assert verify(public, message, signed[:64])
    assert len(lines) == 200


def test_wycheproof_ed25519(audit):
    data = json.loads((audit / "wycheproof/testvectors_v1/ed25519_test.json").read_bytes())
    wrong, valid, count = [], 0, 0
    for group in data["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            count += 1
            valid += case["result"] == "valid"
            held = verify(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            if held != (case["result"] == "valid"):
                wrong.append(case["tcId"])
    assert (count, valid, wrong) == (151, 88, [])


def test_wycheproof_ml_dsa_44(audit):
    data = json.loads((audit / "wycheproof/testvectors_v1/mldsa_44_verify_test.json").read_bytes())
    wrong, count = [], 0
    for group in data["testGroups"]:
        key = bytes.fromhex(group["publicKey"])
        usable = outcome(check_second_key, key)
        for case in group["tests"]:
            if case.get("ctx"):
                continue  # a context string, which no signature of ours has
            count += 1
            held = usable and mldsa.verify(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            if held != (case["result"] == "valid"):
                wrong.append(case["tcId"])
    assert (count, wrong) == (173, [])


def test_no_weak_key_of_cctv_gets_through(audit):
    cases = json.loads((audit / "cctv/ed25519/ed25519vectors.json").read_bytes())
    for case in cases:
        weak = {"low_order_A", "non_canonical_A"} & set(case["flags"] or [])
        assert outcome(check_public_key, bytes.fromhex(case["key"])) == (not weak), case["number"]
    assert len(cases) == 914


def test_our_note_of_the_same_text_and_key_is_the_one_of_others(audit):
    """Ed25519 is deterministic: with the published seed of RFC 8032 the bytes are fixed."""
    line = (audit / "rfc8032/sign.input.first200").read_text().splitlines()[0]
    signer = Signer.from_seed(bytes.fromhex(line[:64]))
    note = sign_note("hello\n", "example.com/test", signer)
    assert parse_note(note.to_bytes()) == note
