# SPDX-License-Identifier: Apache-2.0
"""The frequent events cut down to what their order needs: what a process hands on after it read a line. Pure.

A light event has the fields of the whole one that `evalsite.ledger.order` and `evalsite.ledger.totals`
look at, under the same names. It never becomes part of an authentic run.
"""

import marshal
from collections.abc import Iterable, Iterator
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


LightEvent: TypeAlias = LightStarted | LightRecorded | LightEnded
AnyEvent: TypeAlias = Event | LightEvent


def pack_event(event: Event) -> tuple[Any, ...] | bytes:
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


def dump_events(packed: Iterable[tuple[Any, ...] | bytes]) -> bytes:
    """Return packed events as bytes for another process of this program; never for a file."""
    return marshal.dumps(list(packed))


def load_events(data: bytes) -> Iterator[AnyEvent]:
    """Yield the events that a process of this program packed."""
    for packed in marshal.loads(data):  # noqa: S302 - from our own process, by a pipe
        if isinstance(packed, bytes):
            yield parse_line(packed, EVENT, MAX_EVENT_BYTES)
            continue
        kind, seq, run, attempt = packed[:4]
        trial = LightTrial(*packed[4:9])
        if kind == "s":
            yield LightStarted(seq, run, trial, attempt)
        elif kind == "c":
            yield LightRecorded(seq, run, LightCall(trial, attempt, *packed[9:]))
        else:
            yield LightEnded(seq, run, trial, attempt, packed[9], packed[10], LightResult(packed[11]))


def _key(trial: Trial) -> tuple[str, str, int | None, str | None, str | None]:
    polarity, dimension = trial.polarity, trial.dimension
    return (
        trial.kind.value,
        trial.case_id,
        trial.repetition,
        None if polarity is None else polarity.value,
        None if dimension is None else dimension.value,
    )
