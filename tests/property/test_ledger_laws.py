# SPDX-License-Identifier: Apache-2.0
"""Laws of the ledger's codecs and trees."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ledgers import fixed_key

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.blob import pack_blob, unpack_blob
from evalsite.ledger.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint, sign_checkpoint
from evalsite.ledger.dsse import parse_envelope, sign_envelope, verify_envelope
from evalsite.ledger.merkle import (
    Frontier,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)
from evalsite.ledger.note import NoteKey, parse_note, parse_note_key, sign_note, verify_note
from evalsite.ledger.tlogproof import HEADER, TlogProof, parse_proof

SIGNER = fixed_key("log")
KEY = NoteKey("desk/log", SIGNER.public_key)
HASHES = st.binary(min_size=32, max_size=32)
LEAVES = st.lists(st.binary(max_size=8).map(leaf_hash), min_size=1, max_size=70)
ORIGINS = st.from_regex(r"[a-z0-9._-]{1,20}/(log|run/[a-z0-9._-]{1,20})", fullmatch=True)
SIZES = st.integers(min_value=0, max_value=2**63 - 1)
LINE = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]), max_size=40)
TEXTS = st.lists(LINE, min_size=1, max_size=6).map(lambda lines: "".join(f"{line}\n" for line in lines))
NOISE = st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
PREFIXES = st.sampled_from(
    [b"", b"text\n\n", "text\n\n— name ".encode(), b"desk/log\n5\n", HEADER.encode() + b"\nindex ", b'{"payload":"']
)


@given(LEAVES, st.data())
def test_every_leaf_is_proven_and_any_flipped_bit_is_refused(leaves, data):
    index = data.draw(st.integers(0, len(leaves) - 1))
    proof, root = inclusion_proof(leaves, index), tree_root(leaves)
    verify_inclusion(leaves[index], proof, index=index, size=len(leaves), root=root)
    everything = leaves[index] + b"".join(proof) + root
    bit = data.draw(st.integers(0, len(everything) * 8 - 1))
    changed = bytearray(everything)
    changed[bit // 8] ^= 1 << bit % 8
    leaf, *hashes, head = (bytes(changed[at : at + 32]) for at in range(0, len(changed), 32))
    with pytest.raises(IntegrityError):
        verify_inclusion(leaf, hashes, index=index, size=len(leaves), root=head)


@given(LEAVES, st.data())
def test_every_tree_extends_its_beginnings_and_no_other(leaves, data):
    old = data.draw(st.integers(1, len(leaves)))
    proof = consistency_proof(leaves, old)
    heads = {"old_size": old, "new_size": len(leaves), "new_root": tree_root(leaves)}
    verify_consistency(proof, old_root=tree_root(leaves[:old]), **heads)
    other = [*leaves[: old - 1], bytes(32)]
    with pytest.raises(IntegrityError):
        verify_consistency(proof, old_root=tree_root(other), **heads)


@given(LEAVES)
def test_growing_leaf_by_leaf_and_hashing_at_once_agree(leaves):
    frontier = Frontier()
    for leaf in leaves:
        frontier.append(leaf)
    assert frontier.root() == tree_root(leaves)


@given(TEXTS)
def test_a_note_parses_to_what_was_signed(text):
    note = sign_note(text, "desk/log", SIGNER)
    assert parse_note(note.to_bytes()) == note
    assert verify_note(parse_note(note.to_bytes()), [KEY]) == (KEY,)


@given(ORIGINS, SIZES, HASHES)
def test_a_checkpoint_parses_to_what_was_formatted(origin, size, root):
    checkpoint = Checkpoint(origin, size, root)
    assert parse_checkpoint(checkpoint.to_text()) == checkpoint
    assert open_checkpoint(sign_checkpoint(checkpoint, "desk/log", SIGNER), origin=origin, key=KEY) == checkpoint


@given(SIZES, st.lists(HASHES, max_size=63), st.binary(max_size=80), st.none() | st.binary(max_size=40))
def test_a_proof_parses_to_what_was_formatted(index, hashes, note, extra):
    proof = TlogProof(index, tuple(hashes), note, extra)
    assert parse_proof(proof.to_bytes()) == proof


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60), st.binary(max_size=200))
def test_an_envelope_parses_to_what_was_signed(kind, payload):
    envelope = sign_envelope(kind, payload, SIGNER)
    assert parse_envelope(envelope.to_bytes()) == envelope
    assert verify_envelope(envelope, payload_type=kind, keys={SIGNER.key_id: SIGNER.public_key}) == (SIGNER.key_id,)


@given(st.binary(max_size=300), HASHES)
def test_a_container_holds_what_was_put_in(raw, salt):
    assert unpack_blob(pack_blob(raw, salt)) == raw


@given(PREFIXES, NOISE)
def test_any_bytes_are_refused_by_name_or_format_back_to_themselves(prefix, noise):
    data = prefix + noise
    for parse in (parse_note, parse_proof, parse_envelope):
        with contextlib.suppress(InputError):
            assert parse(data).to_bytes() == data
    with contextlib.suppress(InputError):
        assert pack_blob(unpack_blob(data), bytes.fromhex(data[17:81].decode("ascii"))) == data
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(InputError):
        assert parse_checkpoint(text).to_text() == text
    with contextlib.suppress(InputError, IntegrityError):
        assert parse_note_key(text).to_text() == text


def test_every_single_bit_of_a_checkpoint_note_counts():
    data = sign_checkpoint(Checkpoint("desk/log", 5, bytes(range(32))), "desk/log", SIGNER)
    passed = []
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(InputError, IntegrityError):
            passed.append((bit, open_checkpoint(bytes(changed), origin="desk/log", key=KEY)))
    assert passed == []


def test_every_single_bit_of_an_envelope_counts():
    data = sign_envelope("application/vnd.in-toto+json", b'{"a":1}', SIGNER).to_bytes()
    keys = {SIGNER.key_id: SIGNER.public_key}
    passed = []
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(InputError, IntegrityError):
            envelope = parse_envelope(bytes(changed))
            passed.append((bit, verify_envelope(envelope, payload_type="application/vnd.in-toto+json", keys=keys)))
    assert passed == []
