# SPDX-License-Identifier: Apache-2.0
"""How strong the evidence is: from what the verifier trusts and what the anchors say to a level.

The levels, each of which from A2 on needs A1 (a pinned root key):

* A0: the files agree with each other.
* A1: the verifier pinned the root key.
* A2: the log extends a head that the verifier held.
* A3: an outside time: a time stamp under a root that the verifier trusts, or a cosignature of a
  witness whom the verifier trusts, over a checkpoint that covers the entry in question.
* A4: cosignatures of at least ``quorum`` distinct trusted witnesses over such checkpoints; two unless
  the verifier says otherwise.

A3 and A4 do not need A2: the authority or the witness held a head in the verifier's place.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evalsite.ledger.anchors import Anchors
from evalsite.ledger.cosignature import WitnessKey
from evalsite.ledger.heads import HeldHead
from evalsite.schema.checks import Level

DEFAULT_QUORUM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a verifier trusts beyond root keys. Nothing of it may come from the project under test.

    ``tsa_roots`` are ``sha256:<hex>`` of root certificates in DER. ``memory`` is the keystore
    whose remembered heads are held too, if they are. ``appointed`` also trusts the witness that the
    ledger's own keyring names, on the word of its root key's holder.
    """

    witnesses: tuple[WitnessKey, ...] = ()
    quorum: int | None = None
    tsa_roots: frozenset[str] = frozenset()
    heads: tuple[HeldHead, ...] = ()
    memory: Path | None = None
    appointed: bool = False


NO_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Cover:
    """One outside statement that counts: the log's first ``size`` entries stood at ``time_s``.

    ``witness`` is the raw key of the witness, or null for a time stamp. ``name`` says who it is.
    """

    size: int
    time_s: int
    name: str
    witness: bytes | None


@dataclass(frozen=True, slots=True)
class Vouched:
    """Who vouches from outside, and the earliest time that they state (UTC); null and empty for nobody."""

    at: str | None = None
    by: tuple[str, ...] = ()


NOBODY = Vouched()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence for one ledger. ``held`` says that its log extends every head that the verifier holds."""

    pinned: bool = False
    held: bool = False
    quorum: int = DEFAULT_QUORUM
    covers: tuple[Cover, ...] = ()

    def level_of(self, entry: int | None) -> Level:
        """Return the level for what stands in the log up to entry ``entry``; null for what is not closed yet."""
        if not self.pinned:
            return Level.A0
        covers = self._covering(entry)
        if len({cover.witness for cover in covers} - {None}) >= self.quorum:
            return Level.A4
        if covers:
            return Level.A3
        return Level.A2 if self.held else Level.A1

    def vouched(self, entry: int | None) -> Vouched:
        """Return who vouches for an entry from outside, and since when."""
        covers = self._covering(entry)
        if not covers:
            return NOBODY
        first = datetime.fromtimestamp(min(cover.time_s for cover in covers), UTC)
        return Vouched(first.strftime("%Y-%m-%dT%H:%M:%SZ"), tuple(sorted({cover.name for cover in covers})))

    def _covering(self, entry: int | None) -> list[Cover]:
        return [] if entry is None else [cover for cover in self.covers if cover.size > entry]


def covers_of(
    anchors: Anchors, policy: Policy, *, own_keys: Collection[bytes], appointed: Collection[bytes] = ()
) -> tuple[Cover, ...]:
    """Return the anchors that count under a policy.

    Args:
        anchors: The log's anchors, checked.
        policy: Whom the verifier trusts.
        own_keys: Raw keys of the ledger itself; none of them is ever a witness.
        appointed: Raw keys of witnesses that the ledger's keyring names; they count if the policy says so.
    """
    raw = {key.public_key for key in policy.witnesses} | (set(appointed) if policy.appointed else set())
    trusted = raw - set(own_keys)
    covers = [
        Cover(size, item.time_s, item.key.name, item.key.public_key)
        for size, item in anchors.cosignatures
        if item.key.public_key in trusted
    ]
    covers += [
        Cover(size, item.time_s, f"time stamp under {item.root}", None)
        for size, item in anchors.timestamps
        if item.root in policy.tsa_roots
    ]
    return tuple(covers)


def heads_of(policy: Policy, ledger: str, *, alone: bool) -> Iterable[HeldHead]:
    """Yield the heads that a verifier states for a ledger.

    Args:
        policy: What the verifier holds.
        ledger: Name of the ledger.
        alone: Whether it is the project's only ledger, so that a head without a name is meant for it.
    """
    for head in policy.heads:
        if head.ledger == ledger or (head.ledger is None and alone):
            yield head
