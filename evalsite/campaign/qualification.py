# SPDX-License-Identifier: Apache-2.0
"""Qualification over several runs: the candidate's results, the controls, and every declared gate (T2, R53).

A conjunction: one failed control or one gate that fails refuses, however high an agreement is elsewhere; a
gate that cannot be decided leaves the whole undecided. A run whose plan declares no calibration gate is
decided by its own results and controls, as `evalsite.judging.gates.decide` says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.calibrate import gates_of
from evalsite.campaign.labelling import load_labels
from evalsite.campaign.project import below_minimum, load_run
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.binding import binding_of, stale_fields
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.judging.gates import GateState
from evalsite.ledger.evidence import NO_POLICY, Policy
from evalsite.ledger.labelbook import LabelBook, lock_digest
from evalsite.schema.calibration import Criterion, DeclaredGate, DesignLock, GateOutcome, Split
from evalsite.schema.checks import Level
from evalsite.schema.outcome import Mode, Protocol
from evalsite.schema.tables import GateReason, GateResult, Standing

#: Returns a verified run of the project and the labels of its ledger, by the run's name.
Calibrated = Callable[[str], tuple[TrustedRun, LabelBook | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """What a run comes to with everything that its plan declared.

    ``state`` is that of the run's own gate where no calibration gate is declared.
    """

    state: GateState
    gates: tuple[GateResult, ...]


def qualify(run: TrustedRun, calibrated: Calibrated) -> Qualification:
    """Decide a run together with the calibration gates that its plan declares.

    Args:
        run: A trusted run.
        calibrated: Gives the run that a gate names; called once for each gate that names another run.

    Raises:
        EvalsiteError: A run that a gate names is not there, or can't be trusted.
    """
    calibration = run.plan.calibration
    declared = () if calibration is None or run.plan.mode is not Mode.LIVE else calibration.gates
    own = run.decision.fixture_gate if run.plan.mode is Mode.FIXTURE else run.decision.model_gate
    if not declared:
        return Qualification(state=own, gates=())
    gates = tuple(result for gate in declared for result in _declared(run, gate, calibrated))
    if run.plan.protocol is not Protocol.BINARY:
        own = _of_judge(run)
    return Qualification(state=_conjunction(own, gates), gates=gates)


def labels_of(
    project: Path, run: TrustedRun, *, pins: Mapping[str, str], policy: Policy = NO_POLICY
) -> LabelBook | None:
    """Return the verified labels of a run's ledger; null where its plan names none.

    Raises:
        IntegrityError: Keys, log or revealed labels do not verify.
    """
    if run.plan.calibration is None:
        return None
    return load_labels(project, run.ledger, pins=pins, policy=policy)


def calibrated_in(
    project: Path,
    relying: TrustedRun,
    *,
    pins: Mapping[str, str],
    policy: Policy = NO_POLICY,
    minimum: Level = Level.A0,
) -> Calibrated:
    """Return what gives the runs of a project that the gates of one run name.

    A run that is named has to reach ``minimum`` and what its own ledger asks for: it may stand in another one.
    """

    def find(name: str) -> tuple[TrustedRun, LabelBook | None]:
        try:
            run = relying if name == relying.run_id else load_run(project, name, pins=pins, policy=policy)
        except InputError as exc:
            message = f"expected the run {name}, which a calibration gate of {relying.run_id} names: {exc.message}"
            raise UndecidedError(message, at=f"runs/{name}", rule="T2") from exc
        asked = max(run.minimum_level, minimum, key=lambda level: level.value)
        if run is not relying and below_minimum(run.level, asked):
            message = f"expected evidence of level {asked.value} for {name}, this verifier has {run.level.value}"
            raise UndecidedError(message, at=f"runs/{name}", rule="T2")
        return run, labels_of(project, run, pins=pins, policy=policy)

    return find


def _of_judge(run: TrustedRun) -> GateState:
    """Return what a run without a candidate comes to by itself: its controls decide, and that it is whole."""
    if not run.sealed or run.missing:
        return GateState.UNDECIDED
    refused = any(reason.side == "judge" and reason.code.startswith("calibration-") for reason in run.decision.reasons)
    return GateState.REFUSED if refused else GateState.PASSED


def _conjunction(own: GateState, gates: Iterable[GateResult]) -> GateState:
    if own is GateState.NOT_APPLICABLE:
        return own
    outcomes = {gate.outcome for gate in gates}
    if own is GateState.REFUSED or GateOutcome.FAIL in outcomes:
        return GateState.REFUSED
    return own if outcomes == {GateOutcome.PASS} else GateState.UNDECIDED


def _declared(run: TrustedRun, gate: DeclaredGate, calibrated: Calibrated) -> tuple[GateResult, ...]:
    """Return the results of one declared gate: one for each set of sealed labels that the named run committed to.

    All of them count: labels that are not revealed leave the gate undecided, or it could be passed by revealing
    the convenient ones only.
    """
    name = gate.run or run.run_id
    judged, book = calibrated(name)
    sealed = _sealed(judged, book, gate.criterion)
    found = {result.labels: result for result in gates_of(judged, book) if result.criterion is gate.criterion}
    if not sealed:
        message = f"the plan of {name} names no sealed labels of {gate.criterion.value}"
        return (_undecided(run, gate.criterion, name, "", message),)
    return tuple(
        _relied_on(run, judged, found[labels])
        if labels in found
        else _undecided(run, gate.criterion, name, labels, f"the labels {labels} are not revealed")
        for labels in sealed
    )


def _sealed(run: TrustedRun, book: LabelBook | None, criterion: Criterion) -> tuple[str, ...]:
    """Return the sealed labels of a criterion that a run names, whether they are revealed or not."""
    in_force = () if book is None else book.in_force(run.run_id)
    return tuple(
        use.commitment
        for use, proven in in_force
        if use.split is Split.SEALED and proven.commitment.subject.criterion is criterion
    )


def _relied_on(run: TrustedRun, judged: TrustedRun, result: GateResult) -> GateResult:
    """Return a gate's result for a run that relies on it: only that judge, under these constants, was calibrated."""
    stale = stale_fields(
        binding_of(judged.plan, judged.snapshot.corpus, result.criterion),
        binding_of(run.plan, run.snapshot.corpus, result.criterion),
    )
    if result.constants != lock_digest(_lock(run)):
        stale = (*stale, "constants")
    return _stale(result, stale) if stale else result


def _stale(result: GateResult, fields: tuple[str, ...]) -> GateResult:
    """Return a result for another judge than the one that was calibrated: it never passes, nor condemns this one."""
    message = f"another judge was calibrated: {', '.join(fields)} differ"
    reason = GateReason(
        code="stale", effect=GateOutcome.INSUFFICIENT, message=message, rule="calibration, gate", items=fields
    )
    return result.model_copy(
        update={
            "outcome": GateOutcome.INSUFFICIENT,
            "standing": Standing.STALE,
            "words": "stale: the judge that is relied on here is not the one that was calibrated",
            "reasons": (reason, *result.reasons),
        }
    )


def _undecided(run: TrustedRun, criterion: Criterion, name: str, labels: str, message: str) -> GateResult:
    return GateResult(
        criterion=criterion,
        run=name,
        labels=labels,
        outcome=GateOutcome.INSUFFICIENT,
        standing=Standing.NOT_VALIDATED,
        attempt=None,
        alpha=None,
        constants=lock_digest(_lock(run)),
        words="not decided: there are no labels to decide it with",
        reasons=(GateReason(code="no-labels", effect=GateOutcome.INSUFFICIENT, message=message, rule="T2, R78"),),
    )


def _lock(run: TrustedRun) -> DesignLock:
    return DEFAULT_LOCK if run.plan.calibration is None else run.plan.calibration.design_lock
