# SPDX-License-Identifier: Apache-2.0
"""The lines of one segment, taken alone: hashes, strict parsing, schema, links between them. Pure."""

from binascii import hexlify
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter

from evalsite.errors import InputError
from evalsite.ledger.layout import EVENTS
from evalsite.ledger.lines import parse_line
from evalsite.ledger.merkle import leaf_hashes, tree_root
from evalsite.ledger.steps import Framed
from evalsite.schema.bounds import MAX_EVENT_BYTES
from evalsite.schema.entries import EVENT, Event

RULE = "run-record §4"
_T = TypeVar("_T", bound=Framed)
_PREV = b'"prev":"sha256:'  # in canonical JSON no text holds these bytes, and no other field of an event this name
_HEX_CHARS = 64


class Fault(NamedTuple):
    """What is wrong with one line: its index in the tree, and the words of a finding."""

    seq: int
    code: str
    message: str
    rule: str = RULE


class Scan(NamedTuple):
    """What one segment's lines are, taken alone.

    ``prevs`` is what the first line may name as its ``prev``. ``root`` is the root of a whole segment's
    subtree where nobody needs its leaves; it then stands in their place, and ``last`` is the last leaf.
    """

    lines: int
    last: bytes
    leaves: list[bytes]
    root: bytes | None
    prevs: tuple[str | None, ...]
    faults: list[Fault]

    def folded(self) -> "Scan":
        """Return the same with the subtree's root in the place of its leaves."""
        return self._replace(leaves=[], root=tree_root(self.leaves))


@dataclass(frozen=True, slots=True)
class LineKind(Generic[_T]):
    """Which lines are walked: their folder, their schema and their greatest length."""

    kind: str
    adapter: TypeAdapter[_T]
    max_bytes: int


def scan_lines(lines: list[bytes], first: int, what: LineKind[_T], take: Callable[[_T], None]) -> Scan:
    """Hash and parse a segment's lines, of which the first is line ``first`` of the tree.

    Entries are handed on one by one: holding a segment's would cost more time than memory.
    """
    leaves = leaf_hashes(lines)
    links = [f"sha256:{leaf.hex()}" for leaf in leaves]
    faults: list[Fault] = []
    prevs: tuple[str | None, ...] = ()
    for index, line in enumerate(lines):
        seq = first + index
        try:
            entry = parse_line(line, what.adapter, what.max_bytes)
        except InputError as exc:
            faults.append(Fault(seq, "lines.entry", f"line {seq + 1}: {exc.message} ({exc.at})", exc.rule))
            continue
        if entry.seq != seq:
            faults.append(Fault(seq, "lines.seq", f"line {seq + 1}: expected seq {seq}, found {entry.seq}"))
        if index == 0:
            prevs = (entry.prev,)
        elif entry.prev != links[index - 1]:
            faults.append(unlinked(seq))
        take(entry)
    return Scan(len(leaves), leaves[-1], leaves, None, prevs, faults)


def scan_fast(lines: list[bytes], first: int) -> Scan:
    """Hash a segment's lines, and look in each for the hash of the line before, without parsing it."""
    leaves = leaf_hashes(lines)
    found = [line[(at := line.find(_PREV) + len(_PREV)) : at + _HEX_CHARS] for line in lines]
    faults: list[Fault] = []
    if b"".join(found[1:]) != hexlify(b"".join(leaves[:-1])):
        pairs = enumerate(zip(found[1:], leaves, strict=False), start=1)
        faults = [unlinked(first + index) for index, (prev, leaf) in pairs if prev != hexlify(leaf)]
    named = f"sha256:{found[0].decode(errors='replace')}" if _PREV in lines[0] else None
    return Scan(len(leaves), leaves[-1], leaves, None, (named,), faults)


def unlinked(seq: int) -> Fault:
    """Return what is wrong with a line that names another one as the line before."""
    return Fault(seq, "lines.prev", f"line {seq + 1}: prev is not the hash of the line before")


RUN_LINES: LineKind[Event] = LineKind(EVENTS, EVENT, MAX_EVENT_BYTES)
