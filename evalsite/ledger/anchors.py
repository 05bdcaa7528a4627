# SPDX-License-Identifier: Apache-2.0
"""Anchors: what others say about checkpoints of a ledger's log, each in a file of its own.

```
runs/log/<ledger>/anchors/<size>.<name>-<key hash>.cosig      a witness's cosignature
                          <size>.<digest>.git-tag             a git tag whose message is the checkpoint
                          <size>.<digest>.tsr                 a time stamp (RFC 3161) over the checkpoint's note
                          <size>.<digest>.tsr.chain.pem       the certificates of that time stamp
```

An anchor is checked for what it is, whoever made it; that it *counts* is decided by the verifier's
own policy (`evalsite.ledger.evidence`), never by the folder. ``<digest>`` is the first 16 digits of
the SHA-256 of the content (of the time stamp and its chain, one after the other), so that a flipped
byte is found without any library.
"""

import hashlib
import re
from dataclasses import dataclass, field

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.checkpoint import Checkpoint, parse_checkpoint
from evalsite.ledger.cosignature import (
    Cosignature,
    WitnessKey,
    open_cosignature,
    parse_signature_lines,
    parse_witness_key,
    signature_line,
)
from evalsite.ledger.note import NoteSignature, parse_note
from evalsite.ledger.steps import Folder, Notes, Step
from evalsite.ledger.timestamps import Timestamp, open_timestamp, timestamps_readable

ANCHORS = "anchors"
RULE = "run-record §11"
STEP = 24
MAX_ANCHOR_BYTES = 256 * 1024
MAX_ANCHORS = 10_000  # files looked at; a folder with more is refused
TAG_HEADER = b"evalsite-git-tag/v1\n"
_SIZE = r"(?P<size>[1-9][0-9]{0,18})"
COSIG_FILE = re.compile(rf"anchors/{_SIZE}\.[a-z0-9][a-z0-9._-]{{0,63}}-[0-9a-f]{{8}}\.cosig", re.ASCII)
TAG_FILE = re.compile(rf"anchors/{_SIZE}\.(?P<digest>[0-9a-f]{{16}})\.git-tag", re.ASCII)
TSR_FILE = re.compile(rf"anchors/{_SIZE}\.(?P<digest>[0-9a-f]{{16}})\.tsr", re.ASCII)
CHAIN_FILE = re.compile(rf"anchors/{_SIZE}\.(?P<digest>[0-9a-f]{{16}})\.tsr\.chain\.pem", re.ASCII)
_OBJECT_ID = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n")


@dataclass(frozen=True, slots=True)
class Anchors:
    """The anchors of one log that are what they say, whether anybody trusts them or not.

    Each stands beside the size of the checkpoint that it is about. ``unread`` counts time stamps that
    could not be checked here, for lack of the optional library.
    """

    cosignatures: list[tuple[int, Cosignature]] = field(default_factory=list)
    timestamps: list[tuple[int, Timestamp]] = field(default_factory=list)
    tags: list[tuple[int, str]] = field(default_factory=list)
    unread: int = 0


def is_anchor(name: str) -> bool:
    """Return whether a path below a log's folder is the name of an anchor."""
    return any(pattern.fullmatch(name) for pattern in (COSIG_FILE, TAG_FILE, TSR_FILE, CHAIN_FILE))


def cosig_name(size: int, key: WitnessKey) -> str:
    """Return the file of a witness's cosignature, below the log's folder."""
    slug = re.sub(r"[^a-z0-9._-]", "-", key.name.lower())[:64].lstrip("._-") or "witness"
    return f"{ANCHORS}/{size}.{slug}-{key.key_hash.hex()}.cosig"


def cosig_bytes(key: WitnessKey, signature: NoteSignature) -> bytes:
    """Return the content of a cosignature's file: the witness's verifier key and its signature line."""
    return f"{key.to_text()}\n{signature_line(signature)}".encode()


def open_cosig(data: bytes, text: str) -> Cosignature:
    """Return the cosignature in a file, verified over a checkpoint's text under the key that it names.

    Raises:
        InputError: Another form.
        IntegrityError: It is no cosignature of this checkpoint.
    """
    first, _, rest = data.partition(b"\n")
    key = parse_witness_key(first.decode("utf-8", "replace"))
    lines = parse_signature_lines(rest)
    if len(lines) != 1 or cosig_bytes(key, lines[0]) != data:
        raise InputError("expected a verifier key and one signature line", rule=RULE)
    return open_cosignature(text, lines[0], key)


def tag_bytes(object_id: str, raw: bytes) -> bytes:
    """Return the content of a tag's file: a header, the object's id, and the object as git stores it."""
    return TAG_HEADER + object_id.encode() + b"\n" + raw


def open_tag(data: bytes, note: bytes) -> str:
    """Return the id of the git tag object in a file, whose message begins with a checkpoint's note.

    Raises:
        InputError: Another form.
        IntegrityError: The id is not the object's, or the message is another.
    """
    body = data.removeprefix(TAG_HEADER)
    found = _OBJECT_ID.match(body)
    if body == data or found is None:
        raise InputError("expected a header, an object id, and a tag object", rule=RULE)
    object_id, raw = found.group(1).decode(), body[found.end() :]
    framed = b"tag %d\x00" % len(raw) + raw
    short = hashlib.sha1(framed, usedforsecurity=False)  # git's own name for the object, nothing rests on it alone
    digest = short if len(object_id) == short.digest_size * 2 else hashlib.sha256(framed)
    if digest.hexdigest() != object_id:
        raise IntegrityError("expected the object id of this tag object", rule=RULE)
    _, _, message = raw.partition(b"\n\n")
    if not message.startswith(note):
        raise IntegrityError("expected a tag whose message is the log's checkpoint of this size", rule=RULE)
    return object_id


def content_digest(*pieces: bytes) -> str:
    """Return the 16 digits that a file's name says of its content."""
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:16]


def check_anchors(log: Folder, notes: Notes) -> tuple[Step | None, Anchors]:
    """Check every anchor of a log (step 24); no step if there is none.

    Args:
        log: The log's folder.
        notes: The log's authentic checkpoints.
    """
    names = [name for name in log.tree.files if name.startswith(f"{ANCHORS}/") and is_anchor(name)]
    if not names:
        return None, Anchors()
    step = Step(STEP, "anchors are about checkpoints of this log")
    if len(names) > MAX_ANCHORS:
        step.checked = 1
        step.find("anchor.many", log.at(ANCHORS), f"expected at most {MAX_ANCHORS} files", RULE)
        return step, Anchors()
    reader = _Reader(log, notes)
    for name in names:
        with step.item("anchor", log.at(name)):
            reader.read(name)
    return step, Anchors(reader.cosignatures, reader.timestamps, reader.tags, reader.unread)


class _Reader:
    def __init__(self, log: Folder, notes: Notes) -> None:
        self._log = log
        self._notes = notes
        self.cosignatures: list[tuple[int, Cosignature]] = []
        self.timestamps: list[tuple[int, Timestamp]] = []
        self.tags: list[tuple[int, str]] = []
        self.unread = 0

    def read(self, name: str) -> None:
        data = self._log.read(name, MAX_ANCHOR_BYTES)
        if (found := COSIG_FILE.fullmatch(name)) is not None:
            size, note = self._note(int(found["size"]))
            cosignature = open_cosig(data, note_text(note))
            if cosig_name(size, cosignature.key) != name:
                raise IntegrityError(f"expected the name {cosig_name(size, cosignature.key)}", rule=RULE)
            self.cosignatures.append((size, cosignature))
        elif (found := TAG_FILE.fullmatch(name)) is not None:
            size, note = self._note(int(found["size"]))
            _compare_digest(found["digest"], data)
            self.tags.append((size, open_tag(data, note)))
        elif (found := TSR_FILE.fullmatch(name)) is not None:
            self._read_timestamp(name, data, found)
        elif name.removesuffix(".chain.pem") not in self._log.tree.files:
            raise IntegrityError("expected the time stamp of this chain", rule=RULE)

    def _read_timestamp(self, name: str, data: bytes, found: re.Match[str]) -> None:
        size, note = self._note(int(found["size"]))
        chain = self._log.read(f"{name}.chain.pem", MAX_ANCHOR_BYTES)
        _compare_digest(found["digest"], data, chain)
        if timestamps_readable():
            self.timestamps.append((size, open_timestamp(data, chain, note)))
        else:
            self.unread += 1

    def _note(self, size: int) -> tuple[int, bytes]:
        note = self._notes.raw.get(size)
        if note is None:
            raise IntegrityError(f"expected the log's checkpoint of size {size}", rule=RULE)
        return size, note


def note_text(note: bytes) -> str:
    """Return the text of a note that was verified before."""
    return parse_note(note).text


def checkpoint_of(note: bytes) -> Checkpoint:
    """Return the checkpoint in a note, whoever signed it.

    Raises:
        InputError: No checkpoint.
    """
    return parse_checkpoint(parse_note(note).text)


def _compare_digest(expected: str, *pieces: bytes) -> None:
    if content_digest(*pieces) != expected:
        raise IntegrityError("expected content with the digest of its name", rule=RULE)
