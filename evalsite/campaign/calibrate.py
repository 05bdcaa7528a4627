# SPDX-License-Identifier: Apache-2.0
"""The judge of a trusted run against labels: every table, every gate, and the counts that are signed (R69-R81).

The same functions serve the terminal, the pages, the gate and the verification, so that a recorded
calibration can only say what its run and its labels say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalsite.campaign.calibrate_labels import Beside, beside_committed, labels_beside, unrevealed
from evalsite.campaign.calibrate_rows import observations_of
from evalsite.campaign.casebook import surface_of
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import InputError
from evalsite.judging.calibrating import Observation, Scale, Weighed, weigh
from evalsite.judging.calibrating_gate import Facts, decide_gate, seal_of
from evalsite.judging.calibrating_runs import Repeated, controls_table, findings_of, repetition_table, uniform_finding
from evalsite.judging.calibrating_tables import tables_of
from evalsite.judging.constructs import criteria_of
from evalsite.judging.pairwise import pairwise_table
from evalsite.ledger.labelbook import LabelBook, Use
from evalsite.schema.calibration import CalibrationSeal, Criterion
from evalsite.schema.entries import CalibrationRecorded
from evalsite.schema.outcome import Mode, Protocol, Result, Status, Trial
from evalsite.schema.plan import PlannedControl
from evalsite.schema.tables import (
    CalibrationReport,
    ControlsTable,
    GateResult,
    JudgeReport,
    NamedFinding,
    PositionTable,
    RepetitionTable,
)

_CAVEATS = (
    "Labels were chosen, not drawn from production: agreement and kappa describe them, error rates keep their meaning.",
    "Verdicts that are missing count neither way: the worst case counts them as disagreements.",
    "Nobody can prove that the judge was not run in private before the labels were made.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """Labels beside a run, and what the judge said of their items."""

    beside: Beside
    weighed: Weighed


def calibration_of(run: TrustedRun, book: LabelBook | None = None) -> CalibrationReport:
    """Return every table of a run's judge.

    Args:
        run: A trusted run of any mode: without a live judge nothing is said of agreement (R73).
        book: The labels of its ledger; null leaves the label sets of its corpus only.

    Raises:
        UndecidedError: An attempt can't be counted, or a reply is not there.
    """
    seen = {criterion: observations_of(run, criterion) for criterion in criteria_of(run.plan.protocol)}
    compared = [_compare(run, beside, seen[beside.criterion]) for beside in labels_beside(run, book)]
    named = {(found.code, found.criterion): found for one in compared for found in _own_findings(run, one)}
    return CalibrationReport(
        run=run.run_id,
        ledger=run.ledger,
        profile=run.plan.profile,
        mode=run.plan.mode,
        protocol=run.plan.protocol,
        corpus=f"{run.plan.corpus.name} {run.plan.corpus.version}",
        judge=_judge(run),
        controls=_controls(run),
        findings=(*_shared_findings(run), *named.values()),
        criteria=tuple(tables_of(_facts(run, one), one.beside.source, _per_repetition(run, one)) for one in compared),
        unrevealed=() if book is None else unrevealed(run, book),
        repetition=_repetitions(run, compared, [one for found in seen.values() for one in found]),
        position=_position(run),
        caveats=_CAVEATS,
    )


def gates_of(run: TrustedRun, book: LabelBook | None) -> tuple[GateResult, ...]:
    """Return the calibration gates of a run alone: one for each criterion and set of labels, without tables."""
    compared = [
        _compare(run, beside, observations_of(run, beside.criterion, texts=False))
        for beside in labels_beside(run, book)
    ]
    return tuple(decide_gate(_facts(run, one)) for one in compared)


def seal_for(run: TrustedRun, name: str, book: LabelBook) -> CalibrationSeal:
    """Return the counts of a run against the committed labels that its plan names.

    Raises:
        InputError: The plan does not name them, they are not revealed, or no live judge was asked.
    """
    found = next(((use, proven) for use, proven in book.in_force(run.run_id) if use.commitment == name), None)
    if found is None:
        raise InputError(
            f"expected labels that the plan of {run.run_id} names, {name} are not among them", at="--labels", rule="R78"
        )
    if found[1].labels is None:
        advice = f"Reveal them first: evalsite label reveal {name}"
        raise InputError(f"expected labels that are revealed, {name} are not", at="--labels", rule="R78", advice=advice)
    return _seal(run, beside_committed(run, *found, book.attempt(name, run.run_id) or 1, book))


def recompute_seal(run: TrustedRun, book: LabelBook, entry: CalibrationRecorded) -> CalibrationSeal:
    """Derive the counts of a recorded calibration again.

    Args:
        run: The run that the entry is about.
        book: The labels of its ledger; those that the entry names are revealed. What was revealed behind the entry
            was not known to it, and does not count.
        entry: The entry of the log; its attempt was checked by the ledger.

    Raises:
        InputError: No calibration could be recorded of this run and these labels.
    """
    calibration = run.plan.calibration
    refs = () if calibration is None else calibration.commitments
    split = next((ref.split for ref in refs if ref.name == entry.commitment), None)
    if split is None:
        raise InputError(f"expected a plan that names the labels {entry.commitment}", at=f"runs/{run.run_id}")
    opened, closed = run.head.opened_index, run.head.closed_index
    use = Use(run=run.run_id, commitment=entry.commitment, split=split, opened=opened, closed=closed)
    return _seal(run, beside_committed(run, use, book.labels[entry.commitment], entry.attempt, book, before=entry.seq))


def _seal(run: TrustedRun, beside: Beside) -> CalibrationSeal:
    if run.plan.mode is not Mode.LIVE or not run.sealed:
        raise InputError(
            "expected a sealed live run: nothing else measures an agreement", at=f"runs/{run.run_id}", rule="R73"
        )
    if beside.criterion not in criteria_of(run.plan.protocol):
        message = f"expected labels of the protocol {run.plan.protocol.value}, got {beside.criterion.value}"
        raise InputError(message, at="--labels", rule="T1")
    if beside.mismatch is not None:
        raise InputError(f"the calibration is invalid: {beside.mismatch}", at="--labels", rule="R80")
    one = _compare(run, beside, observations_of(run, beside.criterion, texts=False))
    return seal_of(one.weighed, decide_gate(_facts(run, one)).outcome)


def _compare(run: TrustedRun, beside: Beside, seen: Sequence[Observation]) -> _Compared:
    scale = Scale(criterion=beside.criterion, lock=beside.lock)
    repetitions = range(1, run.plan.repetitions + 1)
    weighed = weigh(scale, beside.source.given, seen, repetitions, run.plan.answered)
    return _Compared(beside=beside, weighed=weighed)


def _per_repetition(run: TrustedRun, one: _Compared) -> dict[int, Weighed]:
    """Return the labels against each repetition by itself; labels of answers belong to one repetition each."""
    given, weighed = one.beside.source.given, one.weighed
    found = {}
    for number in range(1, run.plan.repetitions + 1):
        about = run.plan.answered(number)
        items = {item: label for item, label in given.items() if item.repetition in (None, about)}
        found[number] = weigh(weighed.scale, items, weighed.observations, (number,), run.plan.answered)
    return found


def _facts(run: TrustedRun, one: _Compared) -> Facts:
    shared = (found for found in _shared_findings(run) if found.criterion in (None, one.beside.criterion))
    return Facts(
        run=run.run_id,
        weighed=one.weighed,
        grounds=one.beside.grounds,
        attempt=one.beside.attempt,
        controls=_controls(run).passed,
        critical=frozenset(case.case_id for case in run.plan.cases if case.critical),
        findings=(*shared, *_own_findings(run, one)),
        mismatch=one.beside.mismatch,
        unmeasured=_unmeasured(run),
    )


def _unmeasured(run: TrustedRun) -> str | None:
    if run.plan.mode is not Mode.LIVE:
        return f"this was no live judge run ({run.plan.mode.value}): only reading and counting were exercised"
    return None if run.sealed else "the run is not closed: it can be resumed, and measures nothing until then"


def _controls(run: TrustedRun) -> ControlsTable:
    kinds = {control.trial: _kind(control) for control in run.plan.controls or ()}
    planned = {trial: kinds.get(trial, trial.polarity or "") for trial in run.plan.control_trials()}
    return controls_table(planned, {record.trial: record.result for record in run.controls})


def _kind(control: PlannedControl) -> str:
    """Return what a control tries the judge with, such as ``reach tail negative``."""
    return " ".join(part.value for part in (control.probe, control.place, control.polarity) if part is not None)


def _shared_findings(run: TrustedRun) -> tuple[NamedFinding, ...]:
    """Return what the run shows of its judge without any label."""
    if run.plan.mode is not Mode.LIVE:
        return ()
    results: Mapping[Trial, Result] = {record.trial: record.result for record in (*run.controls, *run.cases)}
    return findings_of(run.decision.reasons, results)


def _own_findings(run: TrustedRun, one: _Compared) -> tuple[NamedFinding, ...]:
    """Return what a set of labels shows at once, unless the decision over the run has looked at the column."""
    guarded = surface_of(run.snapshot).both_poles
    scale = one.weighed.scale
    if run.plan.mode is not Mode.LIVE or (scale.criterion is not Criterion.BINARY and scale.dimension in guarded):
        return ()
    found = uniform_finding(one.weighed)
    told = {shared.code for shared in _shared_findings(run)}
    return () if found is None or found.code in told else (found,)


def _judge(run: TrustedRun) -> JudgeReport:
    judge, candidate = run.plan.judge, run.plan.candidate
    same = None
    if candidate is not None and None not in (candidate.identity.model_digest, judge.identity.model_digest):
        same = candidate.identity.model_digest == judge.identity.model_digest
    return JudgeReport(
        model_name=judge.identity.model_name,
        model_digest=judge.identity.model_digest,
        endpoint=judge.spec.endpoint.kind,
        instructions=judge.instructions_digest,
        prompt_version=judge.prompt_version,
        contract=judge.contract_digest,
        sampling={name: str(value) for name, value in judge.spec.sampling.plain().items()},
        same_model_as_candidate=same,
    )


def _repetitions(run: TrustedRun, compared: Sequence[_Compared], seen: Sequence[Observation]) -> RepetitionTable:
    """Return T5: a candidate's cases where there is one, else the judge against the first labels of a criterion."""
    if run.plan.protocol is Protocol.BINARY:
        cases: dict[str, list[bool | None]] = {}
        for record in run.cases:
            decided = {Status.PASSED: True, Status.VIOLATION: False}
            cases.setdefault(_repeated(run, record.trial), []).append(decided.get(record.result.status))
        about = "the candidate's case passed" if run.plan.answers is None else "one recorded answer passed, each time"
        repeated = [Repeated(case_id=case_id, dimension=None, passes=tuple(found)) for case_id, found in cases.items()]
        return repetition_table(about, repeated, seen)
    first: dict[Criterion, _Compared] = {}
    for one in compared:
        if _unmeasured(run) is None and one.beside.mismatch is None:
            first.setdefault(one.beside.criterion, one)
    repeated = [row for one in first.values() for row in _against(one)]
    return repetition_table("the judge's verdict is the label's", repeated, seen)


def _position(run: TrustedRun) -> PositionTable | None:
    if run.plan.protocol is not Protocol.PAIRWISE:
        return None
    return pairwise_table(run.plan.case_trials(), {record.trial: record.result for record in run.cases})


def _repeated(run: TrustedRun, trial: Trial) -> str:
    """Return what repeats itself: a case, or one recorded answer to it where answers are judged again."""
    if run.plan.answers is None or trial.repetition is None:
        return trial.case_id
    return f"{trial.case_id} #{run.plan.answered(trial.repetition)}"


def _against(one: _Compared) -> list[Repeated]:
    scale, given = one.weighed.scale, one.beside.source.given
    rows: dict[tuple[str, str | None], list[bool | None]] = {}
    for seen in one.weighed.observations:
        label = given.get(seen.item)
        if label is None or label.value is None:
            continue
        right = None
        if isinstance(seen.outcome, int):
            right = scale.class_of(seen.outcome) == scale.class_of(label.value)
        dimension = None if seen.item.dimension is None else seen.item.dimension.value
        rows.setdefault((seen.item.case_id, dimension), []).append(right)
    return [Repeated(case_id=case, dimension=dim, passes=tuple(found)) for (case, dim), found in rows.items()]
