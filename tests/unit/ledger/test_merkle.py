# SPDX-License-Identifier: Apache-2.0
"""RFC 6962 trees, against the definition written out and against hand-made proofs."""

import hashlib

import pytest

from evalsite.errors import IntegrityError
from evalsite.ledger.merkle import (
    EMPTY_ROOT,
    Frontier,
    Leaves,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    leaf_hashes,
    node_hash,
    tree_root,
    verify_consistency,
    verify_inclusion,
)

LEAVES = [leaf_hash(bytes([number])) for number in range(13)]


def definition(leaves):
    """MTH of RFC 6962 §2.1, word for word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = max(1 << bit for bit in range(20) if 1 << bit < len(leaves))
    return node_hash(definition(leaves[:split]), definition(leaves[split:]))


def test_hashes_are_domain_separated():
    assert leaf_hash(b"") == hashlib.sha256(b"\x00").digest()
    assert node_hash(LEAVES[0], LEAVES[1]) == hashlib.sha256(b"\x01" + LEAVES[0] + LEAVES[1]).digest()
    assert leaf_hash(LEAVES[0] + LEAVES[1]) != node_hash(LEAVES[0], LEAVES[1])


def test_roots_follow_the_definition_and_the_frontier_agrees_at_every_size():
    frontier = Frontier()
    assert frontier.root() == EMPTY_ROOT == tree_root([]) == definition([])
    for size, leaf in enumerate(LEAVES, start=1):
        frontier.append(leaf)
        assert frontier.root() == tree_root(LEAVES[:size]) == definition(LEAVES[:size])
        assert frontier.size == size


def test_a_copy_of_a_frontier_grows_alone():
    frontier = Frontier()
    frontier.append(LEAVES[0])
    twin = frontier.copy()
    twin.append(LEAVES[1])
    assert frontier.root() == LEAVES[0]
    assert twin.root() == node_hash(LEAVES[0], LEAVES[1])


def test_every_leaf_of_every_size_is_proven_and_no_other_leaf_by_the_same_proof():
    for size in range(1, len(LEAVES) + 1):
        root = tree_root(LEAVES[:size])
        for index in range(size):
            proof = inclusion_proof(LEAVES[:size], index)
            verify_inclusion(LEAVES[index], proof, index=index, size=size, root=root)
            for wrong in [number for number in range(size) if number != index]:
                with pytest.raises(IntegrityError):
                    verify_inclusion(LEAVES[index], proof, index=wrong, size=size, root=root)


def test_every_size_extends_every_smaller_one():
    for new in range(1, len(LEAVES) + 1):
        for old in range(1, new + 1):
            heads = {"old_root": tree_root(LEAVES[:old]), "new_root": tree_root(LEAVES[:new])}
            proof = consistency_proof(LEAVES[:new], old)
            verify_consistency(proof, old_size=old, new_size=new, **heads)
            if old < new:
                with pytest.raises(IntegrityError):
                    verify_consistency(proof, old_size=old, new_size=new, **{**heads, "old_root": bytes(32)})
                with pytest.raises(IntegrityError):
                    verify_consistency(proof, old_size=old, new_size=new, **{**heads, "new_root": bytes(32)})


def test_bad_arguments_of_the_prover_are_bugs():
    for index in (-1, 13):
        with pytest.raises(ValueError, match=str(index)):
            inclusion_proof(LEAVES, index)
    for size in (0, 14):
        with pytest.raises(ValueError, match=str(size)):
            consistency_proof(LEAVES, size)


def test_proofs_that_are_too_long_or_hold_no_hashes_end_at_once():
    with pytest.raises(IntegrityError, match="at most 63"):
        verify_inclusion(LEAVES[0], [bytes(32)] * 64, index=0, size=2**62, root=bytes(32))
    with pytest.raises(IntegrityError, match="32 bytes"):
        verify_inclusion(LEAVES[0], [b"short"], index=0, size=2, root=bytes(32))
    with pytest.raises(IntegrityError, match="shorter inclusion"):
        verify_inclusion(LEAVES[0], [bytes(32)] * 5, index=0, size=2, root=bytes(32))
    with pytest.raises(IntegrityError, match="shorter consistency"):
        verify_consistency([bytes(32)] * 9, old_size=1, old_root=LEAVES[0], new_size=3, new_root=bytes(32))


def test_consistency_from_nothing_to_nothing_and_backwards_is_refused():
    heads = {"old_root": EMPTY_ROOT, "new_root": EMPTY_ROOT}
    for old, new in ((0, 0), (0, 5), (6, 5)):
        with pytest.raises(IntegrityError, match="old size"):
            verify_consistency([], old_size=old, new_size=new, **heads)
    with pytest.raises(IntegrityError, match="equal roots"):
        verify_consistency([bytes(32)], old_size=5, new_size=5, **heads)
    with pytest.raises(IntegrityError, match="found none"):
        verify_consistency([], old_size=3, new_size=5, **heads)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 13])
def test_a_tree_grown_in_pieces_is_the_tree_grown_leaf_by_leaf(step):
    leaves = [leaf_hash(bytes([number])) for number in range(70)]
    pieces, single = Frontier(), Frontier()
    for first in range(0, len(leaves), step):
        pieces.extend(leaves[first : first + step])
        for leaf in leaves[first : first + step]:
            single.append(leaf)
        assert (pieces.size, pieces.root()) == (single.size, single.root())
        assert tree_root(leaves[: first + step]) == single.root()
    pieces.append(LEAVES[0])
    single.append(LEAVES[0])
    assert pieces.root() == single.root()


def test_leaves_in_one_piece_of_memory_are_a_sequence_like_any_other():
    leaves = Leaves(LEAVES[:4])
    leaves.extend(LEAVES[4:])
    assert len(leaves) == len(LEAVES)
    assert list(leaves) == LEAVES
    assert (leaves[0], leaves[-1], leaves[2:5]) == (LEAVES[0], LEAVES[-1], tuple(LEAVES[2:5]))
    with pytest.raises(IndexError):
        leaves[len(LEAVES)]
    assert inclusion_proof(leaves, 5) == inclusion_proof(LEAVES, 5)
    assert leaf_hashes([b"a", b"b"]) == [leaf_hash(b"a"), leaf_hash(b"b")]
