# SPDX-License-Identifier: Apache-2.0
"""A long run, written without waiting for the disk: sealed, valid, and the same bytes every time.

Its trials are a fixture's, its times stand still and its keys follow from their names, so that it is
worth nothing as evidence. Lines come from templates; hashes, links, checkpoints and proofs are real.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError
from evalsite.ledger.blob import blob_digest, pack_blob
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.dsse import sign_envelope
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.keys import load_key
from evalsite.ledger.layout import (
    CHECKPOINT,
    ENTRIES,
    EVENTS,
    PROOF_CLOSED,
    PROOF_OPENED,
    STATEMENT,
    blob_name,
    log_folder,
    log_origin,
    note_name,
    run_folder,
    run_origin,
    segment_name,
)
from evalsite.ledger.ledgercheck import check_ledger
from evalsite.ledger.lines import digest_of_leaf, parse_line
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.merkle import Frontier, leaf_hash
from evalsite.ledger.statement import PAYLOAD_TYPE, Sealed, plan_digest, statement_payload
from evalsite.schema.bounds import MAX_EVENT_BYTES, MAX_REPETITIONS, SEGMENT_LINES
from evalsite.schema.entries import EVENT, RunClosed, RunOpened
from evalsite.schema.plan import Identity, Plan

LEDGER, RUN = "bench", "long-run"
NOW = "2026-12-01T09:00:00Z"
NOTE_EVERY = 32
MIN_RECORDS = 32
_ZERO = "sha256:" + "0" * 64
_PREV = "sha256:" + "f" * 64
_PREV_FIELD = re.compile(rb'"prev":"[^"]*"')
_INDEX_FIELD = re.compile(rb'("(?:seq|candidate_call|judge_call)":)([0-9]+)')
_SEQ, _CANDIDATE, _JUDGE, _REPETITION = 7_000_001, 7_000_002, 7_000_003, 97
_RESULT = {
    "status": "Passed",
    "stage": None,
    "error_type": None,
    "detail": None,
    "answer": {"action": "assist", "refused": False},
    "verdict": {"required_behavior_met": True, "forbidden_behavior_absent": True},
}
_USAGE = (
    "prompt_tokens",
    "output_tokens",
    "total_duration_ms",
    "load_duration_ms",
    "prompt_duration_ms",
    "output_duration_ms",
)


class Shape(NamedTuple):
    """How many cases and repetitions, and how many trials that have a judge's call too."""

    cases: int
    repetitions: int
    judged: int


def shape_of(records: int) -> Shape:
    """Return a complete run of exactly ``records`` events: 3 for a trial, 4 for one that was judged.

    Raises:
        InputError: Too few records.
    """
    if records < MIN_RECORDS:
        raise InputError(f"expected at least {MIN_RECORDS} records, found {records}")
    trials = (records - 2) // 3
    repetitions = next(n for n in range(min(MAX_REPETITIONS, max(1, trials // 40)), 0, -1) if records - 2 >= 3 * n)
    cases = trials // repetitions
    return Shape(cases, repetitions, records - 2 - 3 * cases * repetitions)


def fixed_key(role: str) -> Signer:
    """Return a key that follows from its role's name, which makes it no secret."""
    return Signer.from_seed(hashlib.sha256(f"evalsite benchmark: {role}".encode()).digest())


def make_plan(shape: Shape, snapshot: str) -> Plan:
    """Return the plan of a fixture campaign."""
    role = {
        "spec": {"endpoint": {"kind": "fixture"}},
        "identity": {**dict.fromkeys(Identity.model_fields), "endpoint_kind": "fixture"},
        "instructions_digest": _ZERO,
        "prompt_version": "1",
        "contract_digest": _ZERO,
    }
    facts = {"fingerprint": _ZERO, "critical": False, "expected_action": "assist", "must_refuse": False}
    corpus = {"name": "bench", "version": "1.0.0", "fingerprint": _ZERO, "language": "en", "data_class": "synthetic"}
    environment = {"evalsite_version": "0", "code_digest": _ZERO, "python_version": "3", "platform": "any"}
    return Plan.from_value(
        {
            "format": "evalsite/plan/v1",
            "campaign_name": "bench",
            "campaign_title": "A benchmark of the ledger",
            "campaign_digest": _ZERO,
            "purpose": "Measure the verification.",
            "profile": "default",
            "mode": "fixture",
            "protocol": "binary",
            "corpus": {**corpus, "snapshot": snapshot},
            "cases": [{**facts, "case_id": f"C{number:05d}"} for number in range(shape.cases)],
            "repetitions": shape.repetitions,
            "candidate": role,
            "judge": role,
            "environment": {**environment, "packages": {}},
        }
    )


class _Run:
    """The run that is being written."""

    def __init__(self, project: Path, signer: Signer) -> None:
        self.folder = project / run_folder(RUN)
        self.signer = signer
        self.frontier = Frontier()
        self.first = self.last = b""
        self.note = b""
        self.short, self.long = hashlib.sha256(), hashlib.sha512()
        self._lines: list[bytes] = []
        for name in (EVENTS, "checkpoints", "proofs"):
            (self.folder / name).mkdir(parents=True)

    @property
    def prev(self) -> bytes:
        return digest_of_leaf(self.last).encode()

    def put_blob(self, raw: bytes) -> str:
        container = pack_blob(raw, hashlib.sha256(raw).digest())
        path = self.folder / blob_name(blob_digest(container))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(container)
        return blob_digest(container)

    def add(self, line: bytes, *, sign: bool = False) -> None:
        self.last = leaf_hash(line)
        self.first = self.first or self.last
        self.frontier.append(self.last)
        self._lines.append(line + b"\n")
        size = self.frontier.size
        if size % SEGMENT_LINES == 0 or sign:
            data = b"".join(self._lines)
            (self.folder / segment_name(EVENTS, (size - 1) // SEGMENT_LINES)).write_bytes(data)
            if size % SEGMENT_LINES == 0:
                self._lines.clear()
            if size > 1 and (sign or not self._lines):
                self.short.update(data)
                self.long.update(data)
        if sign or size % NOTE_EVERY == 1:
            head = Checkpoint(run_origin(LEDGER, RUN), size, self.frontier.root())
            self.note = sign_checkpoint(head, log_origin(LEDGER), self.signer)
            (self.folder / note_name(size)).write_bytes(self.note)


def make_run(project: Path, keystore: Path, records: int) -> int:
    """Found a ledger and write one sealed run of ``records`` events; return their bytes."""
    project.mkdir()
    found_ledger(project, keystore, LEDGER, now=NOW, make_key=fixed_key)
    log = _open_log(project, load_key(keystore, LEDGER, "log"))
    run = _Run(project, load_key(keystore, LEDGER, "log"))
    shape = shape_of(records)
    opened = _open(run, log, make_plan(shape, run.put_blob(b'{"corpus":"bench"}')))
    for line in _trials(run, shape):
        run.add(line)
    _close(run, log, opened, _closing(shape), keystore)
    return sum(path.stat().st_size for path in (run.folder / EVENTS).iterdir())


def _open(run: _Run, log: LogWriter, plan: Plan) -> RunOpened:
    line = _frame({"type": "run.opened", "ledger": LEDGER, "plan": plan.plain()}, 0, None)
    opened = parse_line(line, EVENT, MAX_EVENT_BYTES)
    if not isinstance(opened, RunOpened):
        raise TypeError
    run.add(line)
    logged = {"run": RUN, "opened_leaf": digest_of_leaf(run.first), "plan_digest": plan_digest(opened)}
    log.append("run.opened", logged, now=NOW)
    log.sign()
    (run.folder / PROOF_OPENED).write_bytes(log.proof(2))
    return opened


def _close(run: _Run, log: LogWriter, opened: RunOpened, closing: dict[str, Any], keystore: Path) -> None:
    closed_line = _frame({"type": "run.closed", **closing}, run.frontier.size, run.prev.decode())
    run.add(closed_line, sign=True)
    (run.folder / CHECKPOINT).write_bytes(run.note)
    _seal(run, log, opened, closed_line, load_key(keystore, LEDGER, "runner"))


def repeat_run(source: Path, project: Path, keystore: Path, repetitions: int) -> int:
    """Write a recorded run of one repetition again, with many: whatever follows from it still follows.

    Args:
        source: Folder of a sealed run of one repetition, without controls or interruptions.
        project: The new project; it must not exist.
        keystore: Where its keys go.
        repetitions: How many the new run has.

    Returns:
        How many events the new run has.
    """
    project.mkdir()
    found_ledger(project, keystore, LEDGER, now=NOW, make_key=fixed_key)
    log = _open_log(project, load_key(keystore, LEDGER, "log"))
    run = _Run(project, load_key(keystore, LEDGER, "log"))
    shutil.copytree(source / "blobs", run.folder / "blobs")
    lines = [line for path in sorted((source / EVENTS).iterdir()) for line in path.read_bytes().splitlines()]
    first, last = (parse_line(line, EVENT, MAX_EVENT_BYTES) for line in (lines[0], lines[-1]))
    if not isinstance(first, RunOpened) or not isinstance(last, RunClosed):
        raise TypeError
    opened = _open(run, log, first.plan.model_copy(update={"repetitions": repetitions}))
    old = f'"run":"{first.run}"'.encode()
    middle = [line.replace(old, b'"run":"%b"' % RUN.encode()) for line in lines[1:-1]]
    for repetition in range(repetitions):
        for line in middle:
            run.add(_moved(line, repetition, repetition * len(middle), run.prev))
    totals = last.totals.plain()
    for name in ("planned", "ended", "attempts"):
        totals[name] *= repetitions
    for counts in (totals["by_status"], totals["calls_by_role"]):
        counts.update({name: count * repetitions for name, count in counts.items()})
    _close(run, log, opened, {"complete": True, "totals": totals}, keystore)
    return run.frontier.size


def _moved(line: bytes, repetition: int, further: int, prev: bytes) -> bytes:
    """Return a line of the first repetition as one of another."""
    line = _PREV_FIELD.sub(b'"prev":"%b"' % prev, line)
    line = _INDEX_FIELD.sub(lambda found: b"%b%d" % (found[1], int(found[2]) + further), line)
    return line.replace(b'"repetition":1', b'"repetition":%d' % (repetition + 1))


def _open_log(project: Path, signer: Signer) -> LogWriter:
    facts = check_ledger(project, LEDGER, None).facts
    if facts is None:
        raise TypeError
    log = LogWriter(project, LEDGER, signer)
    lines = (project / log_folder(LEDGER) / segment_name(ENTRIES, 0)).read_bytes().splitlines()
    log.load(facts, lines)
    return log


def _seal(run: _Run, log: LogWriter, opened: RunOpened, closed_line: bytes, signer: Signer) -> None:
    closed = parse_line(closed_line, EVENT, MAX_EVENT_BYTES)
    if not isinstance(closed, RunClosed):
        raise TypeError
    size, root = run.frontier.size, run.frontier.root()
    digests = {"sha256": run.short.hexdigest(), "sha512": run.long.hexdigest()}
    sealed = Sealed(plan_digest=plan_digest(opened), size=size, root=root, **digests)
    payload = statement_payload(opened, closed, sealed)
    (run.folder / STATEMENT).write_bytes(sign_envelope(PAYLOAD_TYPE, payload, signer).to_bytes())
    body = {"run": RUN, "size": size, "root": f"sha256:{root.hex()}", "statement": digest_bytes(payload)}
    log.append("run.closed", body, now=NOW)
    log.sign()
    (run.folder / PROOF_CLOSED).write_bytes(log.proof(3))
    log.close()


def _frame(body: dict[str, Any], seq: int, prev: str | None) -> bytes:
    frame = {"format": "evalsite/event/v1", "run": RUN, "seq": seq, "prev": prev, "recorded_at": NOW}
    return canonical_bytes({**body, **frame})


def _closing(shape: Shape) -> dict[str, Any]:
    trials = shape.cases * shape.repetitions
    calls = {"candidate": trials, **({"judge": shape.judged} if shape.judged else {})}
    totals = {
        "planned": trials,
        "ended": trials,
        "by_status": {"Passed": trials},
        "controls_planned": 0,
        "controls_ended": 0,
        "controls_by_status": {},
        "attempts": trials,
        "calls_by_role": calls,
    }
    return {"complete": True, "totals": totals}


def _trials(run: _Run, shape: Shape) -> Iterator[bytes]:
    """Yield the lines of every trial in order; the caller adds each before the next is made."""
    request, reply = run.put_blob(b'{"prompt":"Where is my parcel?"}'), run.put_blob(b'{"response":"On its way."}')
    start, candidate, judge, end = _templates(request, reply)
    left = shape.judged
    for repetition in range(1, shape.repetitions + 1):
        for case in range(shape.cases):
            words: dict[bytes, bytes | int] = {b"case": b"C%05d" % case, b"repetition": repetition}
            seq = run.frontier.size
            yield start % {**words, b"seq": seq, b"prev": run.prev}
            yield candidate % {**words, b"seq": seq + 1, b"prev": run.prev}
            judged = left > 0
            if judged:
                left -= 1
                yield judge % {**words, b"seq": seq + 2, b"prev": run.prev}
            calls: dict[bytes, bytes | int] = {
                b"candidate": seq + 1,
                b"judge": b"%d" % (seq + 2) if judged else b"null",
            }
            yield end % {**words, **calls, b"seq": run.frontier.size, b"prev": run.prev}


def _templates(request: str, reply: str) -> tuple[bytes, bytes, bytes, bytes]:
    trial = {"kind": "case", "case_id": "CASE", "repetition": _REPETITION, "polarity": None, "dimension": None}
    call = {
        "trial": trial,
        "attempt": 1,
        "stage": "candidate",
        "prompt_digest": _ZERO,
        "request": request,
        "reply": reply,
        "reply_format": "text",
        "error_type": None,
        "http_status": None,
        "done_reason": None,
        "model_digest": None,
        "started_at": NOW,
        "wall_ms": 3,
        "usage": dict.fromkeys(_USAGE),
    }
    ended = {"trial": trial, "attempt": 1, "candidate_call": _CANDIDATE, "judge_call": _JUDGE, "result": _RESULT}
    bodies: tuple[dict[str, Any], ...] = (
        {"type": "trial.started", "trial": trial, "attempt": 1},
        {"type": "call.recorded", "call": {**call, "role": "candidate"}},
        {"type": "call.recorded", "call": {**call, "role": "judge", "stage": "judge"}},
        {"type": "trial.ended", **ended},
    )
    first, second, third, fourth = (_template(_frame(body, _SEQ, _PREV)) for body in bodies)
    return first, second, third, fourth


def _template(line: bytes) -> bytes:
    places = {
        b'"CASE"': b'"%(case)b"',
        b'"repetition":%d' % _REPETITION: b'"repetition":%(repetition)d',
        _PREV.encode(): b"%(prev)b",
        b"%d" % _SEQ: b"%(seq)d",
        b"%d" % _CANDIDATE: b"%(candidate)d",
        b"%d" % _JUDGE: b"%(judge)b",
    }
    for found, place in places.items():
        line = line.replace(found, place)
    return line
