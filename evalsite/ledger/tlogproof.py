# SPDX-License-Identifier: Apache-2.0
"""Proofs that stand alone (``c2sp.org/tlog-proof@v1``): index, audit path and checkpoint in one text."""

import re
from dataclasses import dataclass

from evalsite.errors import InputError, shorten
from evalsite.ledger.ed25519 import parse_base64, to_base64
from evalsite.ledger.merkle import HASH_BYTES
from evalsite.schema.bounds import MAX_NOTE_BYTES, MAX_PROOF_HASHES

HEADER = "c2sp.org/tlog-proof@v1"
MAX_PROOF_BYTES = 2 * MAX_NOTE_BYTES
_INDEX = re.compile(r"index (0|[1-9][0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TlogProof:
    """One entry's proof. ``note`` is the checkpoint verbatim; ``extra`` is never authenticated and never written."""

    index: int
    hashes: tuple[bytes, ...]
    note: bytes
    extra: bytes | None = None

    def to_bytes(self) -> bytes:
        """Return the proof as it is stored."""
        extra = [] if self.extra is None else [f"extra {to_base64(self.extra)}"]
        lines = [HEADER, *extra, f"index {self.index}", *map(to_base64, self.hashes), ""]
        return "".join(f"{line}\n" for line in lines).encode() + self.note


def parse_proof(data: bytes) -> TlogProof:
    """Return the proof in ``data``; it formats back to the same bytes. Nothing is verified yet.

    Raises:
        InputError: Another form, or too long.
    """
    if len(data) > MAX_PROOF_BYTES:
        raise InputError(f"expected at most {MAX_PROOF_BYTES} bytes, found {len(data)}", rule=HEADER)
    head, blank, note = data.partition(b"\n\n")
    if not blank:
        raise InputError("expected a blank line before the checkpoint", rule=HEADER)
    try:
        lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as exc:
        raise InputError("expected ASCII before the checkpoint", at=f"byte {exc.start}", rule=HEADER) from exc
    if lines.pop(0) != HEADER:
        raise InputError(f"expected the first line {HEADER}", rule=HEADER)
    extra = None
    if lines and lines[0].startswith("extra "):
        extra = parse_base64(lines.pop(0).removeprefix("extra "), at="extra")
    found = _INDEX.fullmatch(lines.pop(0)) if lines else None
    if found is None:
        raise InputError("expected a line with the entry's index", rule=HEADER)
    if len(lines) > MAX_PROOF_HASHES:
        raise InputError(f"expected at most {MAX_PROOF_HASHES} hashes, found {len(lines)}", rule=HEADER)
    return TlogProof(int(found.group(1)), tuple(_hash(line) for line in lines), note, extra)


def _hash(line: str) -> bytes:
    digest = parse_base64(line, at="proof")
    if len(digest) != HASH_BYTES:
        raise InputError(f"expected a hash of 32 bytes, found {shorten(line, 60)}", at="proof", rule=HEADER)
    return digest
