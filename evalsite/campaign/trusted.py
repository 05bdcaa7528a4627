# SPDX-License-Identifier: Apache-2.0
"""Trust is a type: a run whose bytes and facts were verified.

Only `evalsite.campaign.recheck` makes a `TrustedRun`. Pages, gates and comparisons accept nothing
else, so that no statement is ever made from an unverified file.
"""

from collections.abc import Callable
from dataclasses import dataclass

from evalsite.judging.gates import Decision
from evalsite.ledger.evidence import NOBODY, Vouched
from evalsite.schema.checks import Check, Level
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import Call, RunInterrupted, RunResumed, Totals
from evalsite.schema.outcome import Result, Trial
from evalsite.schema.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """One trial that ended, with its calls. ``*_seq`` are indices of events in the run."""

    trial: Trial
    attempts: int
    result: Result
    candidate_call: Call | None
    candidate_seq: int | None
    judge_call: Call | None
    judge_seq: int | None
    ended_seq: int
    ended_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where a run stands in its tree and in its ledger's log."""

    size: int
    root: str
    opened_index: int
    closed_index: int | None
    statement_digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustedRun:
    """A run whose bytes are authentic and whose facts were recomputed from its records.

    ``sealed`` is false for a run without ``run.closed``: it is shown as incomplete and decides
    nothing. ``vouched`` is who vouches for its closing from outside. ``blob`` returns the raw bytes
    behind a digest of the record, verified on every read.
    """

    run_id: str
    ledger: str
    root_fingerprint: str
    plan: Plan
    snapshot: CorpusSnapshot
    opened_at: str
    closed_at: str | None
    sealed: bool
    cases: tuple[TrialRecord, ...]
    controls: tuple[TrialRecord, ...]
    missing: tuple[Trial, ...]
    interruptions: tuple[RunInterrupted | RunResumed, ...]
    totals: Totals
    decision: Decision
    head: Head
    level: Level
    minimum_level: Level
    checks: tuple[Check, ...]
    blob: Callable[[str], bytes]
    line: Callable[[int], bytes]
    vouched: Vouched = NOBODY
