# SPDX-License-Identifier: Apache-2.0
"""The Merkle tree of RFC 6962 §2.1 with SHA-256: hashes, roots, proofs.

Pure. A proof is a list of 32-byte hashes, the leaf's (or the old tree's) neighbour first.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import overload

from evalsite.errors import IntegrityError
from evalsite.schema.bounds import MAX_PROOF_HASHES

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Return ``SHA-256(0x00 || entry)``."""
    return hashlib.sha256(b"\x00" + entry).digest()


def leaf_hashes(entries: Iterable[bytes]) -> list[bytes]:
    """Return the leaf hash of each entry; for many at once, where a call for each would cost as much as the hash."""
    sha256 = hashlib.sha256
    return [sha256(b"\x00" + entry).digest() for entry in entries]


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return ``SHA-256(0x01 || left || right)``."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Leaves(Sequence[bytes]):
    """Leaf hashes in one piece of memory: 32 bytes each and nothing more."""

    __slots__ = ("_data",)

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self._data = bytearray(b"".join(leaves))

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Take more leaf hashes."""
        self._data += b"".join(leaves)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._data) // HASH_BYTES

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[bytes, ...]: ...

    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes, ...]:
        """Return one of them, or some."""
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        at = range(len(self))[index] * HASH_BYTES
        return bytes(self._data[at : at + HASH_BYTES])


class Frontier:
    """A tree that grows by one leaf at a time and keeps log2(n) hashes only."""

    __slots__ = ("_peaks", "size")

    def __init__(self) -> None:
        self.size = 0
        self._peaks: list[bytes] = []  # roots of the full subtrees, largest first

    def append(self, leaf: bytes) -> None:
        """Take one more leaf hash."""
        node = leaf
        size = self.size
        while size & 1:
            node = node_hash(self._peaks.pop(), node)
            size >>= 1
        self._peaks.append(node)
        self.size += 1

    def extend(self, leaves: Sequence[bytes]) -> None:
        """Take more leaf hashes, in whole subtrees as far as they stand alone."""
        taken = 0
        while taken < len(leaves):
            width = 1 << ((len(leaves) - taken).bit_length() - 1)
            if self.size % width:
                width = self.size & -self.size  # the greatest subtree that may begin here
            self.append_subtree(tree_root(leaves[taken : taken + width]), width)
            taken += width

    def append_subtree(self, root: bytes, width: int) -> None:
        """Take ``width`` leaves at once, by the root of their full subtree.

        Args:
            root: The subtree's root.
            width: A power of two that divides the size so far.
        """
        node, place = root, self.size // width
        while place & 1:
            node = node_hash(self._peaks.pop(), node)
            place >>= 1
        self._peaks.append(node)
        self.size += width

    def root(self) -> bytes:
        """Return the root of the leaves so far."""
        if not self._peaks:
            return EMPTY_ROOT
        node = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            node = node_hash(peak, node)
        return node

    def copy(self) -> "Frontier":
        """Return an independent frontier of the same leaves."""
        twin = Frontier()
        twin.size = self.size
        twin._peaks = list(self._peaks)
        return twin


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes.

    Level by level: a last node without a neighbour goes up unchanged, which is the tree of RFC 6962.
    """
    sha256 = hashlib.sha256
    level = list(leaves)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        above = [sha256(b"\x01" + left + right).digest() for left, right in pairs]  # `node_hash`, without the call
        level = [*above, level[-1]] if len(level) & 1 else above
    return level[0] if level else EMPTY_ROOT


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return the audit path of leaf ``index`` (RFC 6962 §2.1.1).

    Raises:
        ValueError: There is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise ValueError(index)
    if len(leaves) == 1:
        return ()
    split = _split(len(leaves))
    if index < split:
        return (*inclusion_proof(leaves[:split], index), tree_root(leaves[split:]))
    return (*inclusion_proof(leaves[split:], index - split), tree_root(leaves[:split]))


def consistency_proof(leaves: Sequence[bytes], old_size: int) -> tuple[bytes, ...]:
    """Return the proof that the tree extends its first ``old_size`` leaves (RFC 6962 §2.1.2).

    Raises:
        ValueError: ``old_size`` is not within 1 and the number of leaves.
    """
    if not 1 <= old_size <= len(leaves):
        raise ValueError(old_size)
    return _subproof(leaves, old_size, whole=True)


def verify_inclusion(leaf: bytes, proof: Sequence[bytes], *, index: int, size: int, root: bytes) -> None:
    """Check that ``leaf`` is leaf ``index`` of the tree (RFC 9162 §2.1.3.2).

    Raises:
        IntegrityError: It is not shown to be.
    """
    if not 0 <= index < size:
        raise IntegrityError(f"expected an index below {size}, found {index}", rule="RFC 9162 §2.1.3.2")
    _check_length(proof, leaf, root)
    at, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise IntegrityError("expected a shorter inclusion proof", rule="RFC 9162 §2.1.3.2")
        if at & 1 or at == last:
            node = node_hash(sibling, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, sibling)
        at, last = at >> 1, last >> 1
    if last != 0 or node != root:
        raise IntegrityError("expected the tree's root, the proof leads elsewhere", rule="RFC 9162 §2.1.3.2")


def verify_consistency(
    proof: Sequence[bytes], *, old_size: int, old_root: bytes, new_size: int, new_root: bytes
) -> None:
    """Check that a tree extends an older one (RFC 9162 §2.1.4.2).

    An old size of 0 is no head at all and proves nothing, so it is refused; callers without a head
    do not call this.

    Raises:
        IntegrityError: It is not shown to be.
    """
    if not 0 < old_size <= new_size:
        raise IntegrityError(f"expected an old size within 1 and {new_size}, found {old_size}", rule="RFC 9162 §2.1.4")
    _check_length(proof)
    if old_size == new_size:
        if proof or old_root != new_root:
            raise IntegrityError("expected equal roots for equal sizes", rule="RFC 9162 §2.1.4.2")
        return
    path = list(proof)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    if not path:
        raise IntegrityError("expected a consistency proof, found none", rule="RFC 9162 §2.1.4.2")
    found_old, found_new, last = _climb(path, old_size - 1, new_size - 1)
    if last != 0 or found_old != old_root or found_new != new_root:
        raise IntegrityError("expected both roots, the proof leads elsewhere", rule="RFC 9162 §2.1.4.2")


def _climb(path: Sequence[bytes], at: int, last: int) -> tuple[bytes, bytes, int]:
    while at & 1:
        at, last = at >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise IntegrityError("expected a shorter consistency proof", rule="RFC 9162 §2.1.4.2")
        if at & 1 or at == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        at, last = at >> 1, last >> 1
    return old, new, last


def _check_length(proof: Sequence[bytes], *ends: bytes) -> None:
    if len(proof) > MAX_PROOF_HASHES:
        raise IntegrityError(f"expected at most {MAX_PROOF_HASHES} hashes, found {len(proof)}", rule="proof length")
    if any(len(item) != HASH_BYTES for item in (*proof, *ends)):
        raise IntegrityError("expected hashes of 32 bytes, in a proof and at its ends", rule="RFC 6962 §2.1")


def _split(size: int) -> int:
    """Return the largest power of two below ``size``."""
    return 1 << ((size - 1).bit_length() - 1)


def _subproof(leaves: Sequence[bytes], old_size: int, *, whole: bool) -> tuple[bytes, ...]:
    if old_size == len(leaves):
        return () if whole else (tree_root(leaves),)
    split = _split(len(leaves))
    if old_size <= split:
        return (*_subproof(leaves[:split], old_size, whole=whole), tree_root(leaves[split:]))
    return (*_subproof(leaves[split:], old_size - split, whole=False), tree_root(leaves[:split]))
