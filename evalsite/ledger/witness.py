# SPDX-License-Identifier: Apache-2.0
"""A witness (C2SP tlog-witness): remembers one head per log and cosigns only what extends it.

`decide` is the protocol, pure. `Witness` adds the memory: under one lock it compares, writes the new
head and waits for the disk, and only then signs. A crash in between costs the log a cosignature,
never the witness its memory.

    <state>/logs            one verifier key of a log per line; its name is the log's origin (a log may have several)
    <state>/heads/<hex>     the newest cosigned checkpoint of an origin; <hex> is the origin's SHA-256
    <state>/evidence/<hex>  two checkpoints of one log that contradict each other, both signed by it
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.checkpoint import Checkpoint, parse_checkpoint
from evalsite.ledger.cosignature import WitnessKey, cosign, signature_line
from evalsite.ledger.ed25519 import Signer, parse_base64, to_base64
from evalsite.ledger.merkle import HASH_BYTES, verify_consistency
from evalsite.ledger.note import Note, NoteKey, parse_note, parse_note_key, verify_note
from evalsite.schema.bounds import MAX_NOTE_BYTES, MAX_PROOF_HASHES
from evalsite.storage import create_same, ensure_folder, lock, read_regular, replace

RULE = "C2SP tlog-witness"
MAX_REQUEST_BYTES = MAX_NOTE_BYTES + 64 * (MAX_PROOF_HASHES + 1)
SIZE_TYPE = "text/x.tlog.size"
TEXT_TYPE = "text/plain; charset=utf-8"
LOGS = "logs"
_OLD = re.compile(r"old (0|[1-9][0-9]{0,18})", re.ASCII)
_MAX_LOGS_BYTES = 1024 * 1024
Logs = Mapping[str, tuple[NoteKey, ...]]  # by origin; a log that rotated its key has several


@dataclass(frozen=True, slots=True)
class AddCheckpoint:
    """A request to cosign: the size cosigned before, the proof from there, and the checkpoint's note."""

    old_size: int
    proof: tuple[bytes, ...]
    note: bytes

    def to_bytes(self) -> bytes:
        """Return the body of the request."""
        lines = [f"old {self.old_size}", *map(to_base64, self.proof), ""]
        return "".join(f"{line}\n" for line in lines).encode() + self.note


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: HTTP status, type and body."""

    status: int
    body: bytes
    content_type: str = TEXT_TYPE


@dataclass(frozen=True, slots=True)
class Accepted:
    """A checkpoint that a witness may cosign."""

    note: Note
    checkpoint: Checkpoint


class RefusedRequestError(Exception):
    """The protocol's way to say no; never leaves this module.

    Args:
        status: The HTTP status that the specification asks for.
        body: The answer's body.
        fork: The note's bytes, if they contradict the remembered head under the log's own signature.
    """

    def __init__(self, status: int, body: str, *, fork: bytes | None = None) -> None:
        super().__init__(body)
        self.status = status
        self.body = body
        self.fork = fork


def parse_request(data: bytes) -> AddCheckpoint:
    """Return the request in a body. The note within is not parsed yet.

    Raises:
        InputError: Another form, or too long.
    """
    if len(data) > MAX_REQUEST_BYTES:
        raise InputError(f"expected at most {MAX_REQUEST_BYTES} bytes, found {len(data)}", rule=RULE)
    head, blank, note = data.partition(b"\n\n")
    if not blank:
        raise InputError("expected a blank line before the checkpoint", rule=RULE)
    try:
        first, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError as exc:
        raise InputError("expected ASCII before the checkpoint", at=f"byte {exc.start}", rule=RULE) from exc
    found = _OLD.fullmatch(first)
    if found is None:
        raise InputError("expected a first line with the old size", rule=RULE)
    if len(lines) > MAX_PROOF_HASHES:
        raise InputError(f"expected at most {MAX_PROOF_HASHES} hashes, found {len(lines)}", rule=RULE)
    proof = tuple(parse_base64(line, at="proof") for line in lines)
    if any(len(item) != HASH_BYTES for item in proof):
        raise InputError("expected hashes of 32 bytes", at="proof", rule=RULE)
    return AddCheckpoint(int(found.group(1)), proof, note)


def decide(request: AddCheckpoint, logs: Logs, heads: Mapping[str, Checkpoint]) -> Accepted:
    """Return what may be cosigned: a checkpoint of a known log that extends its remembered head.

    Args:
        request: What was asked.
        logs: The keys of the known logs, by origin.
        heads: The newest cosigned checkpoint of each origin.

    Raises:
        RefusedRequestError: With the status of the specification: 400, 403, 404, 409 or 422.
    """
    try:
        note = parse_note(request.note)
        checkpoint = parse_checkpoint(note.text)
    except InputError as exc:
        raise RefusedRequestError(400, f"{exc}\n") from exc
    keys = logs.get(checkpoint.origin)
    if not keys:
        raise RefusedRequestError(404, "unknown log\n")
    try:
        verify_note(note, keys)
    except IntegrityError as exc:
        raise RefusedRequestError(403, f"{exc.message}\n") from exc
    if request.old_size > checkpoint.size:
        raise RefusedRequestError(400, "expected an old size within the checkpoint's\n")
    _compare(request, checkpoint, heads.get(checkpoint.origin))
    return Accepted(note, checkpoint)


def _compare(request: AddCheckpoint, checkpoint: Checkpoint, head: Checkpoint | None) -> None:
    cosigned = 0 if head is None else head.size
    forked = head is not None and head.size == checkpoint.size and head.root != checkpoint.root
    if request.old_size != cosigned or forked:
        # Refuses rollbacks too: a smaller checkpoint cannot name the remembered size as its old one.
        raise RefusedRequestError(409, f"{cosigned}\n", fork=request.note if forked else None)
    if head is None or cosigned == 0:
        if request.proof:
            raise RefusedRequestError(422, "expected no proof from size 0\n")
        return
    try:
        verify_consistency(
            request.proof,
            old_size=cosigned,
            old_root=head.root,
            new_size=checkpoint.size,
            new_root=checkpoint.root,
        )
    except IntegrityError as exc:
        raise RefusedRequestError(422, f"{exc.message}\n") from exc


class Witness:
    """One witness: its key, its name, and its memory in a folder.

    Args:
        state: The witness's folder.
        name: Its name, as its verifier key says it.
        signer: Its private key.
    """

    def __init__(self, state: Path, name: str, signer: Signer) -> None:
        self._state = state
        self._name = name
        self._signer = signer
        self.key = WitnessKey(name, signer.public_key)

    def answer(self, body: bytes, *, time_s: int) -> Reply:
        """Answer one request to add a checkpoint.

        Args:
            body: The request.
            time_s: Seconds since 1970 in UTC.

        Raises:
            IntegrityError: The witness's own memory is damaged; nothing was signed.
            InputError: Another process of this witness is answering.
            UndecidedError: The operating system refused to remember; nothing was signed.
        """
        try:
            request = parse_request(body)
        except InputError as exc:
            return Reply(400, f"{exc}\n".encode())
        with lock(self._state / "lock"):
            logs = read_logs(self._state)
            heads = {origin: head for origin in logs if (head := self.head(origin)) is not None}
            try:
                accepted = decide(request, logs, heads)
            except RefusedRequestError as exc:
                return self._refuse(exc)
            self._remember(accepted.checkpoint.origin, request.note)
        signature = cosign(accepted.note.text, self._name, self._signer, time_s=time_s)
        return Reply(200, signature_line(signature).encode())

    def head(self, origin: str) -> Checkpoint | None:
        """Return the newest checkpoint that was cosigned under an origin.

        Raises:
            IntegrityError: The memory holds something else.
        """
        path = self._head_path(origin)
        if not path.exists() and not path.is_symlink():
            return None
        try:
            checkpoint = parse_checkpoint(parse_note(read_regular(path, MAX_NOTE_BYTES)).text)
        except InputError as exc:
            raise IntegrityError(f"expected a remembered checkpoint: {exc.message}", at=path.name, rule=RULE) from exc
        if checkpoint.origin != origin:
            raise IntegrityError("expected the remembered checkpoint of this origin", at=path.name, rule=RULE)
        return checkpoint

    def _remember(self, origin: str, note: bytes) -> None:
        ensure_folder(self._state / "heads")
        replace(self._head_path(origin), note)

    def _refuse(self, refusal: RefusedRequestError) -> Reply:
        if refusal.fork is not None:
            checkpoint = parse_checkpoint(parse_note(refusal.fork).text)
            held = read_regular(self._head_path(checkpoint.origin), MAX_NOTE_BYTES)
            store_fork(self._state / "evidence", held, refusal.fork)
        content_type = SIZE_TYPE if refusal.status == 409 else TEXT_TYPE  # noqa: PLR2004 - the protocol's number
        return Reply(refusal.status, refusal.body.encode(), content_type)

    def _head_path(self, origin: str) -> Path:
        return self._state / "heads" / hashlib.sha256(origin.encode()).hexdigest()


def store_fork(folder: Path, held: bytes, shown: bytes) -> Path:
    """Keep two contradicting notes in one file, which is named by its content; return its path.

    Raises:
        UndecidedError: The operating system refused.
    """
    data = b"evalsite-fork/v1\n\n" + held + b"\n" + shown
    path = folder / f"fork-{hashlib.sha256(data).hexdigest()[:32]}.txt"
    ensure_folder(folder)
    create_same(path, data)
    return path


def read_logs(state: Path) -> dict[str, tuple[NoteKey, ...]]:
    """Return the keys of the logs that a witness knows, by origin.

    Raises:
        InputError: The file holds something else than one verifier key per line.
    """
    if not (state / LOGS).exists():
        return {}
    logs: dict[str, tuple[NoteKey, ...]] = {}
    text = read_regular(state / LOGS, _MAX_LOGS_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            key = parse_note_key(line.strip())
        except EvalsiteError as exc:
            raise InputError(exc.message, at=f"{LOGS}:{number}", rule=exc.rule) from exc
        known = logs.get(key.name, ())
        logs[key.name] = known if key in known else (*known, key)
    return logs


def add_log(state: Path, key: NoteKey) -> None:
    """Let a witness know one more key of a log, whose origin is the key's name; its memory stays.

    Raises:
        InputError: The file of known logs holds something else.
    """
    with lock(state / "lock"):
        logs = read_logs(state)
        known = [item for keys in logs.values() for item in keys]
        lines = [item.to_text() for item in known if item != key] + [key.to_text()]
        replace(state / LOGS, "".join(f"{line}\n" for line in lines).encode())
