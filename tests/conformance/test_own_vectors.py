# SPDX-License-Identifier: Apache-2.0
"""Our own vectors: this implementation and the independent verifier accept exactly the valid cases."""

import base64
import json

import pytest
from cryptography.exceptions import InvalidSignature
from support.own_vectors import FOLDER, build
from support.stranger import take
from support.tree import table_rows

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.blob import unpack_blob
from evalsite.ledger.checkpoint import open_checkpoint
from evalsite.ledger.cosignature import open_cosignature, parse_signature_lines, parse_witness_key
from evalsite.ledger.dsse import parse_envelope, verify_envelope
from evalsite.ledger.ed25519 import parse_base64, public_pem
from evalsite.ledger.merkle import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from evalsite.ledger.mldsa import SecondKey
from evalsite.ledger.note import NoteKey, parse_note_key
from evalsite.ledger.tlogproof import parse_proof
from evalsite.ledger.trust import open_keyring

raw = base64.b64decode


def cases(name):
    """Return the cases of a file as it stands."""
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert found["format"] == "evalsite/vectors/v1"
    return [pytest.param(case, id=case["name"]) for case in found["cases"]]


@pytest.fixture(scope="module")
def stranger():
    """The formats that the independent verifier reads with."""
    return take("plain_formats")


def expect(case, read):
    """Call ``read`` and expect what the case says; return what it gave."""
    if case["valid"]:
        return read()
    with pytest.raises(EvalsiteError):
        read()
    return None


def test_the_files_are_what_this_version_makes():
    assert {name: (FOLDER / name).read_text(encoding="utf-8") for name in build()} == build()
    assert {path.name for path in FOLDER.iterdir()} == set(build())


def read_json(data):
    value = parse_json(data, max_bytes=1 << 20)
    if canonical_bytes(value) != data:
        raise InputError("not canonical")
    return value


@pytest.mark.parametrize("case", cases("json"))
def test_json(case, stranger):
    expect(case, lambda: read_json(raw(case["bytes"])))
    if case["valid"]:
        assert stranger.parse(raw(case["bytes"])) == read_json(raw(case["bytes"]))
    else:
        with pytest.raises(ValueError):  # noqa: PT011 - whatever is wrong with it
            stranger.parse(raw(case["bytes"]))


@pytest.mark.parametrize("case", cases("tree"))
def test_tree(case, stranger):
    if "node" in case:
        assert node_hash(raw(case["left"]), raw(case["right"])) == raw(case["node"])
        return
    leaves, root = [leaf_hash(raw(line)) for line in case["lines"]], raw(case["root"])
    assert leaves == [raw(leaf) for leaf in case["leaves"]]
    assert tree_root(leaves) == stranger.tree(leaves)[0] == root
    for index, path in enumerate(case["inclusion"]):
        hashes = [raw(item) for item in path]
        assert hashes == list(inclusion_proof(leaves, index)) == stranger.tree(leaves, index)[1]
        verify_inclusion(leaves[index], hashes, index=index, size=len(leaves), root=root)
    for old, path in enumerate(case["consistency"], 1):
        hashes, before = [raw(item) for item in path], tree_root(leaves[:old])
        assert hashes == list(consistency_proof(leaves, old))
        verify_consistency(hashes, old_size=old, old_root=before, new_size=len(leaves), new_root=root)


@pytest.mark.parametrize("case", cases("note"))
def test_note(case):
    key = parse_note_key(case["key"])
    found = expect(case, lambda: open_checkpoint(raw(case["note"]), origin=case["origin"], key=key))
    if found:
        assert (found.size, found.root) == (case["size"], raw(case["root"]))


@pytest.mark.parametrize("case", cases("proof"))
def test_proof(case):
    def read():
        proof = parse_proof(raw(case["proof"]))
        head = open_checkpoint(proof.note, origin=case["origin"], key=parse_note_key(case["key"]))
        leaf = leaf_hash(raw(case["line"]))
        verify_inclusion(leaf, proof.hashes, index=proof.index, size=head.size, root=head.root)
        return proof

    found = expect(case, read)
    if found:
        assert found.index == case["index"]
        assert found.to_bytes() == raw(case["proof"])


@pytest.mark.parametrize("case", cases("envelope"))
def test_envelope(case, stranger):
    keys = {case["key_id"]: raw(case["key"])}

    def read():
        envelope = parse_envelope(raw(case["envelope"]))
        verify_envelope(envelope, payload_type=case["type"], keys=keys)
        return envelope

    found = expect(case, read)
    if found:
        assert found.payload == raw(case["payload"])
        assert stranger.unsealed(raw(case["envelope"]), case["type"], keys) == (found.payload, {case["key_id"]})
    else:
        with pytest.raises((ValueError, LookupError, InvalidSignature)):
            stranger.unsealed(raw(case["envelope"]), case["type"], keys)


@pytest.mark.parametrize("case", cases("cosignature"))
def test_cosignature(case, stranger):
    def read():
        key = parse_witness_key(case["vkey"])
        (line,) = parse_signature_lines(case["line"].encode())
        return open_cosignature(case["text"], line, key)

    found, words = expect(case, read), (case["text"], case["vkey"], case["line"].removesuffix("\n"))
    if found:
        assert found.time_s == stranger.cosigned(*words) == case["time_s"]
    else:
        with pytest.raises((ValueError, InvalidSignature)):
            stranger.cosigned(*words)


@pytest.mark.parametrize("case", cases("second"))
def test_second(case, stranger):
    raw_second = parse_base64(case["second"].split("+", 2)[2])[1:]
    plain = parse_note_key(case["key"])
    key = NoteKey(plain.name, plain.public_key, SecondKey(plain.name, raw_second))
    assert key.second.to_text() == case["second"]
    found = expect(case, lambda: open_checkpoint(raw(case["note"]), origin=case["origin"], key=key))
    note = raw(case["note"]).decode()
    words = (note, note.partition("\n\n")[0] + "\n", plain.name, [plain.public_key, raw_second])
    if found:
        assert (found.size, found.root) == (case["size"], raw(case["root"]))
        assert stranger.signed_note(*words)
    else:
        with pytest.raises((ValueError, InvalidSignature)):
            stranger.need(stranger.signed_note(*words))


@pytest.mark.parametrize("case", cases("succession"))
def test_succession(case):
    first = open_keyring(raw(case["previous"]), ledger=case["ledger"], previous=None)
    found = expect(case, lambda: open_keyring(raw(case["envelope"]), ledger=case["ledger"], previous=first))
    if found:
        assert found.root_fingerprint == case["fingerprint"]


@pytest.mark.parametrize("case", cases("blob"))
def test_blob(case):
    def read():
        data = raw(case["file"])
        if digest_bytes(data) != case["digest"]:
            raise IntegrityError("another digest")
        return unpack_blob(data)

    found = expect(case, read)
    if found is not None:
        assert found == raw(case["raw"])


@pytest.mark.parametrize("case", cases("keyring"))
def test_keyring(case):
    found = expect(case, lambda: open_keyring(raw(case["envelope"]), ledger=case["ledger"], previous=None))
    if found:
        root = raw(json.loads(parse_envelope(raw(case["envelope"])).payload)["root_public_key"])
        assert (found.root_fingerprint, found.log_key.to_text()) == (case["fingerprint"], case["log_vkey"])
        assert public_pem(root).decode() == case["root_pem"]


def test_the_page_lists_every_case_with_its_outcome(repository):
    page = (repository / "docs/spec/vectors.md").read_text(encoding="utf-8")
    listed = {}
    for section in page.split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        listed[title] = [tuple(row[:2]) for row in table_rows(rest) if row[1] in {"accept", "refuse"}]
    for path in FOLDER.iterdir():
        found = json.loads(path.read_bytes())
        assert listed[path.name] == [(case["name"], "accept" if case["valid"] else "refuse") for case in found["cases"]]
        assert found["about"] in page
    assert {name for name in listed if name.endswith(".json")} == {path.name for path in FOLDER.iterdir()}
