# SPDX-License-Identifier: Apache-2.0
"""Trusted runs without a record behind them: for pages only, which take a run as verified.

Results and decisions are made by the same host code as in a campaign; blobs and lines are made up.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.plans import DIGEST, role_plan_value

from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.trusted import Head, TrialRecord, TrustedRun
from evalsite.canonical.digest import digest_bytes, digest_value
from evalsite.corpus.load import case_fingerprints
from evalsite.endpoint.base import NO_USAGE
from evalsite.judging.gates import Observed, decide
from evalsite.judging.reading import Unread, read_answer, read_verdict
from evalsite.judging.results import binary_result, control_result, scored_result
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.corpus import BinaryCase, CorpusSnapshot, EvidenceCase, PairwiseCase
from evalsite.schema.entries import Call, RunInterrupted, RunResumed, Totals, Usage
from evalsite.schema.outcome import Polarity, Result, Role, Stage, Trial, TrialKind
from evalsite.schema.plan import Plan
from evalsite.schema.replies import BinaryVerdict, CandidateAnswer

#: What an endpoint says: text, bytes, or the name of a transport error.
Said = str | bytes | Exception
GOOD = BinaryVerdict(required_behavior_met=True, forbidden_behavior_absent=True, explanation="As required.")
BAD = BinaryVerdict(required_behavior_met=False, forbidden_behavior_absent=False, explanation="Not as required.")


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What happens in a fabricated run; the defaults are a perfect one.

    ``candidate`` and ``judge`` are asked for each trial and return null for what the corpus expects.
    """

    run_id: str = "run-1"
    mode: str = "live"
    profile: str = "support-default"
    repetitions: int = 2
    opened_at: str = "2026-11-30T09:00:00Z"
    closed_at: str | None = "2026-11-30T09:12:31Z"
    candidate: Callable[[Trial], Said | None] = lambda _: None
    judge: Callable[[Trial], Said | None] = lambda _: None
    skip: Callable[[Trial], bool] = lambda _: False
    identity: Mapping[str, Any] = field(default_factory=dict)
    judge_identity: Mapping[str, Any] = field(default_factory=dict)
    title: str = "Support assistant, default profile"
    level: Level = Level.A1
    minimum_level: Level = Level.A1
    ledger: str = "showcase-2026-12"
    interruptions: tuple[RunInterrupted | RunResumed, ...] = ()
    wrap: bool = True
    case_ids: tuple[str, ...] | None = None


_IDENTITY = {
    "endpoint_host": "127.0.0.1:11434",
    "server_version": "0.12.3",
    "client_version": "0.6.3",
    "model_name": "smollm2:135m-instruct",
    "model_digest": "sha256:" + "a7" * 32,
    "model_size_bytes": 144811456,
    "family": "llama",
    "parameter_size": "134.5M",
    "quantization": "Q8_0",
    "trained_context_tokens": 8192,
}


class _Builder:
    """Collects calls, blobs and lines while trials are made up."""

    def __init__(self, snapshot: CorpusSnapshot, scene: Scene) -> None:
        self.scene = scene
        self.snapshot = snapshot
        self.book = CaseBook(snapshot)
        self.blobs: dict[str, bytes] = {}
        self.lines: list[bytes] = []
        self.plan = _plan(snapshot, scene, self.book)
        self.event({"type": "run.opened", "run": scene.run_id})
        self.cases = {case.id: case for case in snapshot.corpus.cases}
        self.planned = {case.case_id: case for case in self.plan.cases}

    def blob(self, raw: bytes) -> str:
        digest = digest_bytes(b"salt" + raw)
        self.blobs[digest] = raw
        return digest

    def event(self, value: dict[str, Any]) -> int:
        self.lines.append(json.dumps({**value, "seq": len(self.lines)}, sort_keys=True).encode())
        return len(self.lines) - 1

    def call(self, trial: Trial, role: Role, stage: Stage, said: Said, prompt: str) -> tuple[Call, int, bytes | None]:
        live = self.scene.mode == "live"
        raw = None if isinstance(said, Exception) else _body(said, wrap=live and self.scene.wrap)
        request = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode()
        told = Usage(
            prompt_tokens=len(prompt) // 4,
            output_tokens=40,
            total_duration_ms=812,
            load_duration_ms=None,
            prompt_duration_ms=220,
            output_duration_ms=590,
        )
        call = Call(
            trial=trial,
            attempt=1,
            role=role,
            stage=stage,
            prompt_digest=DIGEST,
            request=self.blob(request),
            reply=None if raw is None else self.blob(raw),
            reply_format="ollama-chat" if live and self.scene.wrap else "text",
            error_type=type(said).__name__ if isinstance(said, Exception) else None,
            http_status=200 if live and raw is not None else None,
            done_reason="stop" if live and raw is not None else None,
            model_digest=None,
            started_at=self.scene.opened_at,
            wall_ms=903,
            usage=told if live and raw is not None else NO_USAGE,
        )
        return call, self.event({"type": "call.recorded", "role": role.value}), raw


def _body(said: str | bytes, *, wrap: bool) -> bytes:
    if isinstance(said, bytes):
        return said
    if not wrap:
        return said.encode("utf-8", errors="surrogatepass")
    return json.dumps({"model": "m", "message": {"role": "assistant", "content": said}, "done": True}).encode()


def _plan(snapshot: CorpusSnapshot, scene: Scene, book: CaseBook) -> Plan:
    corpus = snapshot.corpus
    fingerprints = case_fingerprints(corpus)
    kind = "ollama" if scene.mode == "live" else "fixture"
    endpoint: dict[str, Any] = {"kind": kind}
    identity: dict[str, Any] = {}
    if kind == "ollama":
        endpoint |= {"host": "http://127.0.0.1:11434", "model_name": "smollm2:135m-instruct"}
        identity = _IDENTITY
    roles = []
    for own in (scene.identity, scene.judge_identity):
        role = role_plan_value(endpoint)
        role["identity"] = {**role["identity"], **identity, **own}
        roles.append(role)
    value = {
        "format": "evalsite/plan/v1",
        "campaign_name": "showcase",
        "campaign_title": scene.title,
        "campaign_digest": digest_value(scene.title),
        "purpose": "See whether the default profile keeps the support policy, and whether the judge can tell.",
        "profile": scene.profile,
        "mode": scene.mode,
        "protocol": corpus.protocol.value,
        "corpus": {
            "name": corpus.name,
            "version": corpus.version,
            "fingerprint": digest_value(snapshot.plain()),
            "language": corpus.language,
            "data_class": corpus.data_class.value,
            "snapshot": DIGEST,
        },
        "cases": [case.plain() for case in book.planned_cases(scene.case_ids, fingerprints)],
        "repetitions": scene.repetitions,
        "candidate": roles[0] if corpus.protocol.value == "binary" else None,
        "judge": roles[1],
        "environment": {
            "evalsite_version": "0.1.0",
            "code_digest": "sha256:" + "c0" * 32,
            "python_version": "3.11.7",
            "platform": "Linux x86_64",
            "packages": {"ollama": "0.6.3", "pydantic": "2.12.4"},
        },
    }
    return Plan.from_value(value)


def make_trusted_run(snapshot: CorpusSnapshot, scene: Scene | None = None) -> TrustedRun:
    """Return a run over a corpus as a scene tells it."""
    scene = scene or Scene()
    build = _Builder(snapshot, scene)
    controls = tuple(_control(build, trial) for trial in build.plan.control_trials() if not scene.skip(trial))
    cases = tuple(_case(build, trial) for trial in build.plan.case_trials() if not scene.skip(trial))
    by_trial = {record.trial: record.result for record in cases}
    sealed = scene.closed_at is not None
    decision = decide(
        Observed(plan=build.plan, cases=by_trial, controls={r.trial: r.result for r in controls}, sealed=sealed)
    )
    if sealed:
        build.event({"type": "run.closed"})
    return TrustedRun(
        run_id=scene.run_id,
        ledger=scene.ledger,
        root_fingerprint="sha256:" + "5e" * 32,
        plan=build.plan,
        snapshot=snapshot,
        opened_at=scene.opened_at,
        closed_at=scene.closed_at,
        sealed=sealed,
        cases=cases,
        controls=controls,
        missing=tuple(trial for trial in build.plan.case_trials() if trial not in by_trial),
        interruptions=scene.interruptions,
        totals=_totals(build, cases, controls),
        decision=decision,
        head=Head(
            size=len(build.lines),
            root=digest_bytes(b"".join(build.lines)),
            opened_index=2,
            closed_index=3 if sealed else None,
            statement_digest=digest_bytes(scene.run_id.encode()) if sealed else None,
        ),
        level=scene.level,
        minimum_level=scene.minimum_level,
        checks=_checks(len(build.lines)),
        blob=build.blobs.__getitem__,
        line=build.lines.__getitem__,
    )


def _checks(lines: int) -> tuple[Check, ...]:
    steps = (
        ("keys: root fingerprint pinned, keyring signed", Area.INTEGRITY, 3),
        ("checkpoint: signature of the log key", Area.INTEGRITY, 1),
        ("tree: root over the exact lines", Area.INTEGRITY, lines),
        ("statement: DSSE signature, payload derived again", Area.INTEGRITY, 1),
        ("log: run opened before its first trial", Area.INTEGRITY, 2),
        ("results: decided again from raw replies", Area.INTEGRITY, lines // 3),
        ("plan: every planned trial ended once", Area.COMPLETENESS, lines // 3),
        ("payloads: present and equal to their digest", Area.AVAILABILITY, lines),
    )
    return tuple(
        Check(step=number, name=name, area=area, checked=count, findings=())
        for number, (name, area, count) in enumerate(steps, 1)
    )


def _totals(build: _Builder, cases: tuple[TrialRecord, ...], controls: tuple[TrialRecord, ...]) -> Totals:
    calls = [call for record in (*controls, *cases) for call in (record.candidate_call, record.judge_call) if call]
    return Totals(
        planned=len(build.plan.case_trials()),
        ended=len(cases),
        by_status=dict(Counter(record.result.status.value for record in cases)),
        controls_planned=len(build.plan.control_trials()),
        controls_ended=len(controls),
        controls_by_status=dict(Counter(record.result.status.value for record in controls)),
        attempts=len(cases) + len(controls),
        calls_by_role=dict(Counter(call.role.value for call in calls)),
    )


def _record(
    build: _Builder, trial: Trial, result: Result, candidate: tuple[Call, int] | None, judge: tuple[Call, int] | None
) -> TrialRecord:
    return TrialRecord(
        trial=trial,
        attempts=1,
        result=result,
        candidate_call=candidate[0] if candidate else None,
        candidate_seq=candidate[1] if candidate else None,
        judge_call=judge[0] if judge else None,
        judge_seq=judge[1] if judge else None,
        ended_seq=build.event({"type": "trial.ended"}),
        ended_at=build.scene.opened_at,
    )


def _control(build: _Builder, trial: Trial) -> TrialRecord:
    expected = GOOD if trial.polarity is Polarity.POSITIVE else BAD
    said = build.scene.judge(trial)
    prompt = build.book.judge_question(trial, build.book.control_answer(trial)).prompt
    said = expected.to_bytes().decode() if said is None else said
    call, seq, raw = build.call(trial, Role.JUDGE, Stage.CALIBRATION, said, prompt)
    verdict = read_verdict(build.book.protocol, call, raw)
    assert trial.polarity is not None
    return _record(build, trial, control_result(trial.polarity, verdict), None, (call, seq))


def _case(build: _Builder, trial: Trial) -> TrialRecord:
    case = build.cases[trial.case_id]
    if not isinstance(case, BinaryCase):
        return _scored(build, trial)
    said = build.scene.candidate(trial)
    said = case.positive_reference.to_bytes().decode() if said is None else said
    prompt = build.book.candidate_question(trial).prompt
    call, seq, raw = build.call(trial, Role.CANDIDATE, Stage.CANDIDATE, said, prompt)
    answer = read_answer(call, raw)
    planned = build.planned[trial.case_id]
    if isinstance(answer, Unread):
        return _record(build, trial, binary_result(planned, answer, None), (call, seq), None)
    assert isinstance(answer, CandidateAnswer)
    judged = build.scene.judge(trial)
    judged = GOOD.to_bytes().decode() if judged is None else judged
    question = build.book.judge_question(trial, answer).prompt
    verdict_call, verdict_seq, verdict_raw = build.call(trial, Role.JUDGE, Stage.JUDGE, judged, question)
    verdict = read_verdict(build.book.protocol, verdict_call, verdict_raw)
    result = binary_result(planned, answer, verdict)
    return _record(build, trial, result, (call, seq), (verdict_call, verdict_seq))


def _scored(build: _Builder, trial: Trial) -> TrialRecord:
    case = build.cases[trial.case_id]
    said = build.scene.judge(trial)
    if said is None and isinstance(case, EvidenceCase):
        said = json.dumps({"score": 1, "reason": "Within the evidence.", "evidence": [0] if case.evidence else []})
    elif said is None and isinstance(case, PairwiseCase):
        said = json.dumps({"winner": "first", "reason": "It stands first."})
    elif said is None:
        said = json.dumps({"score": 75, "reason": "No contradiction found."})
    call, seq, raw = build.call(trial, Role.JUDGE, Stage.JUDGE, said, build.book.judge_question(trial).prompt)
    count = len(case.evidence) if isinstance(case, EvidenceCase) else 0
    verdict = read_verdict(build.book.protocol, call, raw, evidence_count=count)
    return _record(build, trial, scored_result(verdict), None, (call, seq))


def is_control(trial: Trial) -> bool:
    """Return whether a trial is a control."""
    return trial.kind is TrialKind.CONTROL


class ReadTimeout(Exception):  # noqa: N818 - named as httpx names it, since a record keeps type names
    """A transport error by the name that a record keeps."""
