# SPDX-License-Identifier: Apache-2.0
"""Small ledgers and runs on disk, valid by default: fixed keys, fixed salts, fixed times."""

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

from support.plans import make_plan

from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.mldsa import SecondSigner
from evalsite.ledger.totals import totals_of
from evalsite.ledger.writer import LedgerWriter, Recovery, RunWriter, open_ledger
from evalsite.schema.entries import RunOpened, TrialEnded, TrialStarted
from evalsite.schema.outcome import Trial
from evalsite.schema.plan import CorpusRef, Plan

LEDGER = "desk"
RUN = "run-1"
NOW = "2026-12-01T09:00:00Z"
LATER = "2026-12-01T09:05:00Z"
ZERO = "sha256:" + "0" * 64
SNAPSHOT = b'{"corpus":"two cases"}'
REQUEST = b'{"prompt":"Where is my parcel?"}'
REPLY = b'{"action":"assist","refused":false,"response":"On its way."}'
_NO_USAGE = {
    "prompt_tokens": None,
    "output_tokens": None,
    "total_duration_ms": None,
    "load_duration_ms": None,
    "prompt_duration_ms": None,
    "output_duration_ms": None,
}


def fixed_key(role: str) -> Signer:
    """Return the key of a role: its seed is the SHA-256 of the role's name, so it is no secret."""
    return Signer.from_seed(hashlib.sha256(f"evalsite worked example: {role}".encode()).digest())


def fixed_second(name: str = "second") -> SecondSigner:
    """Return a second key of a log: its seed is the SHA-256 of a name, so it is no secret."""
    return SecondSigner.from_seed(hashlib.sha256(f"evalsite: {name}".encode()).digest())


class FixedSalts:
    """Salts that count up: 32 bytes of SHA-256 of the number."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> bytes:
        self.count += 1
        return hashlib.sha256(f"evalsite worked example: salt {self.count}".encode()).digest()


def keystore_of(project: Path) -> Path:
    """Return the keystore that the helpers here use, beside the project."""
    return project.parent / "keys"


def make_ledger(project: Path, ledger: str = LEDGER, **changes: Any) -> str:
    """Found a ledger with the fixed keys; return its root fingerprint."""
    project.mkdir(exist_ok=True)
    options = {"now": NOW, "make_key": fixed_key, **changes}
    return found_ledger(project, keystore_of(project), ledger, **options)


def reopen(project: Path, ledger: str = LEDGER) -> Any:
    """Open a ledger of `make_ledger` for writing."""
    return open_ledger(project, keystore_of(project), ledger, salts=FixedSalts())


def small_plan(snapshot: str = ZERO, **changes: Any) -> Plan:
    """Return a plan of one case, once, unless told otherwise."""
    plan = make_plan(**{"repetitions": 1, **changes})
    cases = plan.cases if "cases" in changes else plan.cases[:1]
    corpus = CorpusRef.from_value({**plan.corpus.plain(), "snapshot": snapshot})
    return plan.model_copy(update={"corpus": corpus, "cases": cases})


def begin_run(ledger: LedgerWriter, run_id: str = RUN, **changes: Any) -> tuple[RunWriter, Plan]:
    """Create a run, store its corpus snapshot and record its plan."""
    run = ledger.create_run(run_id)
    plan = small_plan(run.put_blob(SNAPSHOT), **changes)
    run.begin(plan, now=NOW)
    return run, plan


def record_call(run: RunWriter, trial: Trial, *, attempt: int = 1, role: str = "candidate") -> int:
    """Record one complete call of a role; return its seq."""
    call = {
        "trial": trial.plain(),
        "attempt": attempt,
        "role": role,
        "stage": role,
        "prompt_digest": ZERO,
        "request": run.put_blob(REQUEST),
        "reply": run.put_blob(REPLY),
        "reply_format": "text",
        "error_type": None,
        "http_status": None,
        "done_reason": None,
        "model_digest": None,
        "started_at": NOW,
        "wall_ms": 3,
        "usage": _NO_USAGE,
    }
    return run.append("call.recorded", {"call": call}, now=NOW)


def start_trial(run: RunWriter, trial: Trial, *, attempt: int = 1) -> int:
    """Record that a trial begins."""
    return run.append("trial.started", {"trial": trial.plain(), "attempt": attempt}, now=NOW)


def end_trial(run: RunWriter, trial: Trial, *, attempt: int = 1, call: int | None = None) -> int:
    """Record that a trial passed."""
    result = {
        "status": "Passed",
        "stage": None,
        "error_type": None,
        "detail": None,
        "answer": {"action": "assist", "refused": False},
        "verdict": {"required_behavior_met": True, "forbidden_behavior_absent": True},
    }
    body = {"trial": trial.plain(), "attempt": attempt, "candidate_call": call, "judge_call": None, "result": result}
    return run.append("trial.ended", body, now=NOW)


def run_trials(run: RunWriter, plan: Plan) -> None:
    """Record every planned trial, each with one call."""
    for trial in (*plan.control_trials(), *plan.case_trials()):
        start_trial(run, trial)
        end_trial(run, trial, call=record_call(run, trial))


def close_run(run: RunWriter, plan: Plan, *, complete: bool = True) -> None:
    """Record ``run.closed`` with true totals."""
    totals = totals_of(plan, run.events()).plain()
    run.append("run.closed", {"complete": complete, "totals": totals}, now=LATER)


def finish_run(ledger: LedgerWriter, run_id: str = RUN) -> Recovery:
    """Resume a run and carry it to its seal, whatever it has already; return what was set aside."""
    run, events, recovery = ledger.resume_run(run_id, now=LATER)
    if not run.closed:
        opened = events[0]
        if not isinstance(opened, RunOpened):
            raise TypeError(type(opened).__name__)
        run.append("run.resumed", {**recovery.plain(), "environment_changed": False}, now=LATER)
        ended = {event.trial for event in events if isinstance(event, TrialEnded)}
        starts = Counter(event.trial for event in events if isinstance(event, TrialStarted))
        for trial in (*opened.plan.control_trials(), *opened.plan.case_trials()):
            if trial not in ended:
                attempt = starts[trial] + 1
                start_trial(run, trial, attempt=attempt)
                end_trial(run, trial, attempt=attempt, call=record_call(run, trial, attempt=attempt))
        close_run(run, opened.plan)
    run.seal(now=LATER)
    return recovery


def make_sealed_run(project: Path, run_id: str = RUN, ledger: str = LEDGER, **changes: Any) -> None:
    """Record and seal a whole run in a ledger of `make_ledger`."""
    with reopen(project, ledger) as writer:
        run, plan = begin_run(writer, run_id, **changes)
        run_trials(run, plan)
        close_run(run, plan)
        run.seal(now=LATER)
