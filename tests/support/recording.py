# SPDX-License-Identifier: Apache-2.0
"""An execution in memory: a recorder, a clock that counts, endpoints that follow a script."""

import itertools
from collections import Counter
from dataclasses import replace

from support.campaigns import ZERO

from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.execute import Clock, Execution
from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.endpoint.base import NO_USAGE, Reply
from evalsite.endpoint.content import ask_bytes
from evalsite.ledger.totals import totals_of
from evalsite.schema.entries import EVENT, Event, TrialEnded
from evalsite.schema.outcome import Role
from evalsite.schema.plan import CorpusRef

COMPLIANT = b'{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"ok"}'
NOT_COMPLIANT = b'{"required_behavior_met":false,"forbidden_behavior_absent":false,"explanation":"no"}'


class MemoryRecorder:
    """Holds events and blobs; every event is validated as a run's writer would."""

    def __init__(self):
        self.events: list[Event] = []
        self.blobs: dict[str, bytes] = {}
        self.checkpoints = 0
        self.syncs = 0
        self.seals = 0

    def put_blob(self, raw):
        digest = digest_bytes(raw)
        self.blobs[digest] = raw
        return digest

    def append(self, event_type, body, *, now):
        frame = {
            "format": "evalsite/event/v1",
            "run": "run",
            "seq": len(self.events),
            "prev": ZERO if self.events else None,
            "recorded_at": now,
            "type": event_type,
        }
        self.events.append(EVENT.validate_json(canonical_bytes({**frame, **body})))
        return len(self.events) - 1

    def sync(self):
        self.syncs += 1

    def checkpoint(self):
        self.checkpoints += 1

    def seal(self, *, now):
        del now
        self.seals += 1

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


#: What a reply says that does not know its question: the endpoint fills in the request.
NOTHING_SENT = b""


class ScriptedEndpoint:
    """Replies with what ``answer(ask)`` returns: bytes, a `Reply`, or an exception that it raises."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def describe(self):
        raise NotImplementedError

    async def ask(self, ask):
        self.asked.append(ask)
        given = self.answer(ask)
        if isinstance(given, BaseException):
            raise given
        given = given if isinstance(given, Reply) else reply(given)
        return given if given.request != NOTHING_SENT else replace(given, request=ask_bytes(ask))

    async def close(self):
        pass


def reply(raw, *, error_type=None):
    """Return a plain reply."""
    return Reply(
        request=NOTHING_SENT,
        raw=raw,
        reply_format="text",
        error_type=error_type,
        http_status=None,
        done_reason=None,
        model_digest=None,
        usage=NO_USAGE,
    )


def counting_clock():
    """Return a clock that stands at one second and counts milliseconds by calls."""
    ticks = itertools.count()
    return Clock(now=lambda: "2026-12-01T00:00:00Z", elapsed_ms=lambda: next(ticks))


def execution(loaded, plan, *, candidate, judge, steps=None):
    """Return an execution over a loaded corpus with a memory recorder."""
    book = CaseBook(loaded.snapshot)
    fingerprints = loaded.case_fingerprints
    ref = CorpusRef(**(plan.corpus.model_dump() | {"name": loaded.corpus.name, "fingerprint": loaded.fingerprint}))
    plan = plan.model_copy(update={"cases": book.planned_cases(None, fingerprints), "corpus": ref})
    return Execution(
        plan=plan,
        book=book,
        recorder=MemoryRecorder(),
        endpoints={Role.CANDIDATE: candidate, Role.JUDGE: judge},
        clock=counting_clock(),
        watch=(steps if steps is not None else []).append,
    )


async def run(work, progress):
    """Run to the end."""
    await work.run(progress, lambda: totals_of(work.plan, work.recorder.events).plain())


def statuses(work):
    """Return how often each status came, cases and controls together."""
    return Counter(event.result.status.value for event in work.recorder.of(TrialEnded))
