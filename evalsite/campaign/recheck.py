# SPDX-License-Identifier: Apache-2.0
"""From authentic bytes to trusted facts: derive every result again from the raw replies.

The ledger proves that the bytes are the ones that were signed. This module proves that what they
say follows from what was asked and answered:

21. The corpus snapshot has the fingerprint of the plan, and the plan's case table follows from it.
22. Every prompt is the one that the snapshot yields, and every request carries it.
23. Every result follows from the raw replies, by the code that ran the trial.

Each step is counted; a difference is an integrity finding at the event's line.
"""

from dataclasses import dataclass

from evalsite.campaign.casebook import CaseBook, surface_of
from evalsite.campaign.planning import planned_controls
from evalsite.campaign.rederive import Rederivation, derive, finding_at
from evalsite.campaign.trusted import Head, TrialRecord, TrustedRun
from evalsite.corpus.load import case_fingerprints, snapshot_fingerprint
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.gates import Observed, decide
from evalsite.judging.prompts import judge_instructions_digest, prompt_versions
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.totals import totals_of
from evalsite.schema import bounds
from evalsite.schema.base import Finding, Severity
from evalsite.schema.checks import Area, Check
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import RunClosed, RunInterrupted, RunOpened, RunResumed
from evalsite.schema.outcome import TrialKind
from evalsite.schema.plan import Plan

_FIRST_STEP = 21  # the ledger's verification numbers its steps from 1 to 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """The outcome for one run: trusted, or the checks that say why not."""

    trusted: TrustedRun | None
    checks: tuple[Check, ...]


def recheck(run: AuthenticRun, *, keep: bool = True, workers: int = 1) -> Rechecked:
    """Derive a run's facts again and compare.

    Args:
        run: A run whose bytes were verified.
        keep: Hold every derived fact for a trusted run. Without it a run of any length is compared in
            bounded memory, and none is handed out.
        workers: Processes for a long run, if nothing is held.

    Returns:
        The trusted run when all steps hold and ``keep`` is set; the checks in any case.
    """
    try:
        return _recheck(run, keep=keep, workers=workers)
    except UndecidedError as exc:
        finding = Finding(code="blob.missing", severity=Severity.ERROR, at=exc.at, message=exc.message, rule=exc.rule)
        check = Check(
            step=_FIRST_STEP, name="facts derived again", area=Area.AVAILABILITY, checked=1, findings=(finding,)
        )
        return Rechecked(trusted=None, checks=(*run.checks, check))


def _recheck(run: AuthenticRun, *, keep: bool, workers: int) -> Rechecked:
    opened = run.events[0]
    if not isinstance(opened, RunOpened):  # pragma: no cover - the ledger verified the order
        raise TypeError(type(opened).__name__)
    snapshot, corpus_findings = _snapshot(run, opened.plan)
    checks = [_check(_FIRST_STEP, "corpus snapshot and case table follow", 1 + len(opened.plan.cases), corpus_findings)]
    if snapshot is None or corpus_findings:
        return Rechecked(trusted=None, checks=(*run.checks, *checks))
    book = CaseBook(snapshot, opened.plan.judge.prompt_version)
    again = Rederivation(run, opened.plan, book)
    records = tuple(again.records()) if keep else ()
    derived = again.derived() if keep else derive(run, opened.plan, book, workers=workers)
    if derived.calls or derived.prompt_findings:
        name = "prompts follow from the corpus"
        checks.append(_check(_FIRST_STEP + 1, name, derived.calls, derived.prompt_findings))
    if derived.trials or derived.result_findings:
        name = "results follow from raw replies"
        checks.append(_check(_FIRST_STEP + 2, name, derived.trials, derived.result_findings))
    if any(check.findings for check in checks) or not keep:
        return Rechecked(trusted=None, checks=(*run.checks, *checks))
    trusted = _trusted(run, opened, snapshot, records, (*run.checks, *checks))
    return Rechecked(trusted=trusted, checks=trusted.checks)


def _check(step: int, name: str, checked: int, findings: list[Finding]) -> Check:
    return Check(step=step, name=name, area=Area.INTEGRITY, checked=checked, findings=tuple(findings))


def _snapshot(run: AuthenticRun, plan: Plan) -> tuple[CorpusSnapshot | None, list[Finding]]:
    if plan.judge.prompt_version not in (known_prompts := prompt_versions(plan.protocol)):
        raise UndecidedError(
            f"expected prompts of version {' or '.join(known_prompts)}, this run has {plan.judge.prompt_version}",
            at=run.path_of_event(0),
            rule="R111",
        )
    try:
        snapshot = CorpusSnapshot.parse(run.blob(plan.corpus.snapshot), max_bytes=bounds.MAX_BLOB_OF_CORPUS_BYTES)
    except InputError as exc:
        return None, [finding_at(run, "corpus-snapshot", 0, f"the corpus snapshot cannot be read: {exc}")]
    findings: list[Finding] = []
    if snapshot_fingerprint(snapshot) != plan.corpus.fingerprint:
        findings.append(finding_at(run, "corpus-fingerprint", 0, "the corpus snapshot has another fingerprint"))
    known = case_fingerprints(snapshot.corpus)
    selection = tuple(case.case_id for case in plan.cases)
    unknown = [case_id for case_id in selection if case_id not in known]
    if unknown:
        findings.append(finding_at(run, "unknown-case", 0, f"the corpus has no case {', '.join(unknown)}"))
    elif CaseBook(snapshot).planned_cases(selection, known) != plan.cases:
        findings.append(finding_at(run, "case-table", 0, "the plan's expectations differ from the corpus"))
    if planned_controls(CaseBook(snapshot), plan.mode, plan.calibration) != plan.controls:
        findings.append(finding_at(run, "control-table", 0, "the plan's controls differ from the corpus"))
    policy, version = snapshot.corpus.instructions.judge, plan.judge.prompt_version
    if judge_instructions_digest(policy, plan.protocol, version=version) != plan.judge.instructions_digest:
        findings.append(finding_at(run, "instructions", 0, "the plan's instructions of the judge are others"))
    if snapshot.corpus.name != plan.corpus.name or snapshot.corpus.protocol != plan.protocol:
        findings.append(finding_at(run, "corpus-name", 0, "the plan names another corpus or protocol"))
    return snapshot, findings


def _trusted(
    run: AuthenticRun,
    opened: RunOpened,
    snapshot: CorpusSnapshot,
    records: tuple[TrialRecord, ...],
    checks: tuple[Check, ...],
) -> TrustedRun:
    plan = opened.plan
    cases = {record.trial: record for record in records if record.trial.kind is TrialKind.CASE}
    controls = {record.trial: record for record in records if record.trial.kind is TrialKind.CONTROL}
    planned = (*plan.control_trials(), *plan.case_trials())
    last = run.events[-1]
    decision = decide(
        Observed(
            plan=plan,
            cases={trial: record.result for trial, record in cases.items()},
            controls={trial: record.result for trial, record in controls.items()},
            sealed=run.sealed,
            surface=surface_of(snapshot),
        )
    )
    return TrustedRun(
        run_id=run.run_id,
        ledger=run.ledger,
        root_fingerprint=run.root_fingerprint,
        plan=plan,
        snapshot=snapshot,
        opened_at=opened.recorded_at,
        closed_at=last.recorded_at if isinstance(last, RunClosed) else None,
        sealed=run.sealed,
        cases=tuple(cases[trial] for trial in plan.case_trials() if trial in cases),
        controls=tuple(controls[trial] for trial in plan.control_trials() if trial in controls),
        missing=tuple(trial for trial in planned if trial not in cases and trial not in controls),
        interruptions=tuple(event for event in run.events if isinstance(event, RunInterrupted | RunResumed)),
        totals=totals_of(plan, run.events),
        decision=decision,
        head=Head(
            size=run.size,
            root=run.root,
            opened_index=run.opened_index,
            closed_index=run.closed_index,
            statement_digest=run.statement_digest,
        ),
        level=run.level,
        minimum_level=run.minimum_level,
        vouched=run.vouched,
        checks=checks,
        blob=run.blob,
        line=run.line,
    )
