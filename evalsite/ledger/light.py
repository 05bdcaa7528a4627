# SPDX-License-Identifier: Apache-2.0
"""The frequent events cut down to what their order needs: what a process hands on after it read a line. Pure.

A light event has the fields of the whole one that `evalsite.ledger.order` and `evalsite.ledger.totals`
look at, under the same names. It never becomes part of an authentic run.
"""

import marshal
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from evalsite.ledger.lines import parse_line
from evalsite.schema.bounds import MAX_EVENT_BYTES
from evalsite.schema.entries import EVENT, CallRecorded, Event, TrialEnded, TrialStarted
from evalsite.schema.outcome import Trial


class LightTrial(NamedTuple):
    """The key of a trial, its enumerations as text."""

    kind: str
    case_id: str
    repetition: int | None
    polarity: str | None
    dimension: str | None
    order: str | None = None

    def label(self) -> str:
        """Return the trial's short readable name."""
        return Trial.from_value(self._asdict()).label()


class LightStarted(NamedTuple):
    """As `TrialStarted`."""

    seq: int
    run: str
    trial: LightTrial
    attempt: int
    type: Literal["trial.started"] = "trial.started"


class LightCall(NamedTuple):
    """As `Call`."""

    trial: LightTrial
    attempt: int
    role: str
    request: str
    reply: str | None


class LightRecorded(NamedTuple):
    """As `CallRecorded`."""

    seq: int
    run: str
    call: LightCall
    type: Literal["call.recorded"] = "call.recorded"


class LightResult(NamedTuple):
    """As `Result`."""

    status: str


class LightEnded(NamedTuple):
    """As `TrialEnded`."""

    seq: int
    run: str
    trial: LightTrial
    attempt: int
    candidate_call: int | None
    judge_call: int | None
    result: LightResult
    type: Literal["trial.ended"] = "trial.ended"


class LightAttempt(NamedTuple):
    """All events of one attempt that follow each other: its start, its calls, its end.

    ``calls`` are role, request and reply of each, ``seq`` is the start's.
    """

    seq: int
    run: str
    trial: LightTrial
    attempt: int
    calls: tuple[tuple[str, str, str | None], ...]
    candidate_call: int | None
    judge_call: int | None
    status: str

    def events(self) -> "Iterator[LightEvent]":
        """Yield the events one by one."""
        seq, run, trial, attempt = self.seq, self.run, self.trial, self.attempt
        yield LightStarted(seq, run, trial, attempt)
        for place, (role, request, reply) in enumerate(self.calls, start=1):
            yield LightRecorded(seq + place, run, LightCall(trial, attempt, role, request, reply))
        end, result = seq + len(self.calls) + 1, LightResult(self.status)
        yield LightEnded(end, run, trial, attempt, self.candidate_call, self.judge_call, result)


LightEvent: TypeAlias = LightStarted | LightRecorded | LightEnded
AnyEvent: TypeAlias = Event | LightEvent
Packed: TypeAlias = tuple[Any, ...] | bytes


def pack_event(event: Event) -> Packed:
    """Return an event as plain values; a rare one as its canonical line."""
    if isinstance(event, TrialStarted):
        return ("s", event.seq, event.run, event.attempt, *_key(event.trial))
    if isinstance(event, CallRecorded):
        call = event.call
        return ("c", event.seq, event.run, call.attempt, *_key(call.trial), call.role.value, call.request, call.reply)
    if isinstance(event, TrialEnded):
        calls = (event.candidate_call, event.judge_call)
        return ("e", event.seq, event.run, event.attempt, *_key(event.trial), *calls, event.result.status.value)
    return event.to_bytes()


class Packer:
    """Packs events as they come, those of one attempt together where they follow each other.

    The result is for another process of this program and never for a file.
    """

    def __init__(self) -> None:
        self._packed: list[Packed] = []
        self._held: list[tuple[Any, ...]] = []  # an attempt that has begun and not ended yet

    def take(self, event: Event) -> None:
        """Take one more event."""
        packed, held = pack_event(event), self._held
        if isinstance(packed, bytes):
            self._release()
            self._packed.append(packed)
            return
        kind = packed[0]
        if kind == "s" or not held or packed[2:10] != held[0][2:10] or packed[1] != held[-1][1] + 1:
            self._release()
            (held if kind == "s" else self._packed).append(packed)
            return
        held.append(packed)
        if kind == "e":
            self._packed.append(("a", *held[0][1:], tuple(call[10:] for call in held[1:-1]), *packed[10:]))
            held.clear()

    def done(self) -> bytes:
        """Return everything that was taken."""
        self._release()
        return marshal.dumps(self._packed)

    def _release(self) -> None:
        self._packed.extend(self._held)
        self._held.clear()


def load_events(data: bytes) -> Iterator[AnyEvent | LightAttempt]:
    """Yield the events that a process of this program packed."""
    for packed in marshal.loads(data):  # noqa: S302 - from our own process, by a pipe
        if isinstance(packed, bytes):
            yield parse_line(packed, EVENT, MAX_EVENT_BYTES)
            continue
        kind, seq, run, attempt = packed[:4]
        trial = LightTrial(*packed[4:10])
        if kind == "a":
            yield LightAttempt(seq, run, trial, attempt, *packed[10:])
        elif kind == "s":
            yield LightStarted(seq, run, trial, attempt)
        elif kind == "c":
            yield LightRecorded(seq, run, LightCall(trial, attempt, *packed[10:]))
        else:
            yield LightEnded(seq, run, trial, attempt, packed[10], packed[11], LightResult(packed[12]))


def _key(trial: Trial) -> tuple[str, str, int | None, str | None, str | None, str | None]:
    polarity, dimension, order = trial.polarity, trial.dimension, trial.order
    return (
        trial.kind.value,
        trial.case_id,
        trial.repetition,
        None if polarity is None else polarity.value,
        None if dimension is None else dimension.value,
        None if order is None else order.value,
    )
