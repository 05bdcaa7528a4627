# SPDX-License-Identifier: Apache-2.0
"""Entries of runs and logs: one line each, closed, told apart by their type."""

from typing import Any

import pytest
from pydantic import ValidationError
from support.labels import commitment, lock, sealed
from support.plans import DIGEST, make_plan

from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.schema.entries import EVENT, LOG_ENTRY

AT = "2026-11-30T12:00:00Z"
FRAME = {"format": "evalsite/event/v1", "run": "r", "seq": 1, "prev": DIGEST, "recorded_at": AT}
LOG_FRAME = {"format": "evalsite/log/v1", "ledger": "l", "seq": 0, "prev": None, "recorded_at": AT}
TRIAL = {"kind": "case", "case_id": "A", "repetition": 1, "polarity": None, "dimension": None}
RESULT = {
    "status": "ContractError",
    "stage": "candidate",
    "error_type": "NotJson",
    "detail": None,
    "answer": None,
    "verdict": None,
}
USAGE = dict.fromkeys(
    [
        *("prompt_tokens", "output_tokens", "total_duration_ms"),
        *("load_duration_ms", "prompt_duration_ms", "output_duration_ms"),
    ]
)
CALL = {
    "trial": TRIAL,
    "attempt": 1,
    "role": "candidate",
    "stage": "candidate",
    "prompt_digest": DIGEST,
    "request": DIGEST,
    "reply": None,
    "reply_format": "text",
    "error_type": "ReadTimeout",
    "http_status": None,
    "done_reason": None,
    "model_digest": None,
    "started_at": AT,
    "wall_ms": 0,
    "usage": USAGE,
}
TOTALS = {
    "planned": 4,
    "ended": 4,
    "by_status": {"Passed": 3, "Violation": 1},
    "attempts": 4,
    "controls_planned": 0,
    "controls_ended": 0,
    "controls_by_status": {},
    "calls_by_role": {"judge": 4},
}
EVENTS: dict[str, dict[str, Any]] = {
    "run.opened": {"ledger": "l", "plan": make_plan().plain(), "seq": 0, "prev": None},
    "trial.started": {"trial": TRIAL, "attempt": 1},
    "call.recorded": {"call": CALL},
    "trial.ended": {"trial": TRIAL, "attempt": 1, "candidate_call": 2, "judge_call": None, "result": RESULT},
    "run.interrupted": {"cause": "SIGTERM", "in_flight": [TRIAL]},
    "run.resumed": {"kept": 3, "dropped_bytes": 0, "quarantine": None, "environment_changed": False},
    "run.closed": {"complete": True, "totals": TOTALS},
}
LOG_ENTRIES: dict[str, dict[str, Any]] = {
    "ledger.opened": {"root_fingerprint": DIGEST},
    "keys.published": {"version": 1, "envelope": DIGEST},
    "keys.revoked": {"key_id": DIGEST, "reason": "lost"},
    "run.opened": {"run": "r", "opened_leaf": DIGEST, "plan_digest": DIGEST},
    "run.closed": {"run": "r", "size": 7, "root": DIGEST, "statement": DIGEST},
    "constants.frozen": {"corpus": "c", "lock": lock().plain()},
    "cards.frozen": {"corpus": "c", "fingerprint": DIGEST, "run": None},
    "labels.committed": {"commitment": commitment(sealed()).plain()},
    "annotators.aligned": {"commitments": ["a", "b"], "compared": 3, "alpha": [-1, 2]},
    "labels.revealed": {"commitment": "a", "file": DIGEST},
    "calibration.recorded": {
        "run": "r",
        "commitment": "a",
        "lock": DIGEST,
        "attempt": 1,
        "seal": {
            "criterion": "evidence",
            "labeled": 2,
            "judged": 1,
            "agreed": 1,
            "false_pass": 0,
            "false_fail": 0,
            "outcome": "INSUFFICIENT",
        },
    },
}


@pytest.mark.parametrize("kind", EVENTS)
def test_an_event_survives_its_line(kind: str) -> None:
    line = canonical_bytes({**FRAME, **EVENTS[kind], "type": kind})
    event = EVENT.validate_json(line)
    assert event.type == kind
    assert event.to_bytes() == line
    assert b"\n" not in line


@pytest.mark.parametrize("kind", LOG_ENTRIES)
def test_a_log_entry_survives_its_line(kind: str) -> None:
    line = canonical_bytes({**LOG_FRAME, **LOG_ENTRIES[kind], "type": kind})
    entry = LOG_ENTRY.validate_json(line)
    assert entry.type == kind
    assert entry.to_bytes() == line


def test_the_sets_of_types_are_closed() -> None:
    assert set(EVENT.json_schema()["discriminator"]["mapping"]) == set(EVENTS)
    assert set(LOG_ENTRY.json_schema()["discriminator"]["mapping"]) == set(LOG_ENTRIES)
    for kind in ("", "run.deleted", None):
        with pytest.raises(ValidationError):
            EVENT.validate_json(canonical_bytes({**FRAME, **EVENTS["run.closed"], "type": kind}))


@pytest.mark.parametrize(
    "change",
    [
        *({"seq": -1}, {"seq": True}, {"prev": "0" * 64}, {"format": "evalsite/event/v2"}, {"run": "../r"}),
        *({"recorded_at": "2026-11-30"}, {"note": "x"}, {"trial": None}, {"attempt": 0}, {"type": "run.closed"}),
    ],
    ids=str,
)
def test_a_changed_frame_is_refused(change: dict[str, Any]) -> None:
    line = canonical_bytes({**FRAME, **EVENTS["trial.started"], "type": "trial.started", **change})
    with pytest.raises(ValidationError):
        EVENT.validate_json(line)


def test_every_field_stands_in_the_line_null_or_not() -> None:
    line = canonical_bytes({**FRAME, **EVENTS["call.recorded"], "type": "call.recorded"})
    call = parse_json(line, max_bytes=len(line))["call"]
    assert call["reply"] is None
    for name in call:
        without = {key: value for key, value in CALL.items() if key != name}
        with pytest.raises(ValidationError):
            EVENT.validate_json(canonical_bytes({**FRAME, "call": without, "type": "call.recorded"}))
