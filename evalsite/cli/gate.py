# SPDX-License-Identifier: Apache-2.0
"""``evalsite gate``: the decision over a run, recomputed from its verified record."""

import click

from evalsite.campaign.project import below_minimum, load_run
from evalsite.campaign.qualification import Qualification, calibrated_in, qualify
from evalsite.campaign.trusted import TrustedRun
from evalsite.cli import output
from evalsite.cli.context import find_project, json_option, minimum_level_option, root_key_option, stricter
from evalsite.cli.policy import policy_options, raising
from evalsite.cli.reports import GateReport
from evalsite.errors import UndecidedError
from evalsite.judging.gates import Decision, GateState
from evalsite.ledger.evidence import Policy
from evalsite.ledger.pins import all_pins
from evalsite.ledger.policy import require_ledgers
from evalsite.ledger.verify import ledger_names
from evalsite.schema.checks import Level
from evalsite.schema.outcome import Mode
from evalsite.site.independence import independence

_SIDES = {
    "candidate": "Candidate",
    "judge": "Judge (not the candidate's failure)",
    "campaign": "Campaign",
    "host": "Host",
}


@click.command()
@click.argument("run")
@root_key_option
@minimum_level_option
@policy_options
@json_option
def gate(
    run: str,
    root_keys: tuple[str, ...],
    minimum_level: str,
    policy: Policy,
    as_json: bool,  # noqa: FBT001 - click hands flags over by name
) -> None:
    """Recompute the decision over RUN from its verified record.

    Exit 0 when the gate of the run's mode passed, and every calibration gate that its plan declares; 3 when one
    of them refused, 5 when nothing is decided.
    """
    project = find_project()
    require_ledgers(policy, ledger_names(project))
    pins = all_pins(root_keys)
    trusted = load_run(project, run, pins=pins, policy=policy)
    qualification = qualify(
        trusted, calibrated_in(project, trusted, pins=pins, policy=policy, minimum=Level(minimum_level))
    )
    code = exit_code(qualification)
    if as_json:
        output.say_report(GateReport, decision_facts(trusted, qualification, code))
    else:
        _print(trusted, qualification)
    minimum = stricter(trusted.minimum_level, minimum_level)
    if below_minimum(trusted.level, minimum):
        raise UndecidedError(
            f"expected evidence of level {minimum.value}, this verifier has {trusted.level.value}",
            at=f"runs/{run}",
            advice=raising(trusted.level, minimum, trusted.ledger),
        )
    raise SystemExit(code)


def exit_code(qualification: Qualification) -> int:
    """Return the exit code of a decision: 0 passed, 3 refused, 5 not decided."""
    return {GateState.PASSED: 0, GateState.REFUSED: 3}.get(qualification.state, 5)


def decision_facts(run: TrustedRun, qualification: Qualification, code: int) -> dict[str, object]:
    """Return the decision as a JSON value."""
    decision = run.decision
    return {
        "run": run.run_id,
        "profile": run.plan.profile,
        "mode": run.plan.mode.value,
        "protocol": run.plan.protocol.value,
        "fixture_gate": decision.fixture_gate.value,
        "model_gate": decision.model_gate.value,
        "calibration_passed": decision.calibration_passed,
        "expected": decision.expected,
        "observed": decision.observed,
        "by_status": decision.by_status,
        "critical_failures": decision.critical_failures,
        "contract_errors": decision.contract_errors,
        "reasons": [
            {
                "code": reason.code,
                "side": reason.side,
                "message": reason.message,
                "rule": reason.rule,
                "trials": list(reason.trials),
            }
            for reason in decision.reasons
        ],
        "calibration_gates": [gate.plain() for gate in qualification.gates],
        "qualification": qualification.state.value,
        "independence": independence(run.plan),
        "evidence_level": run.level.value,
        "exit_code": code,
    }


def model_gate_words(run: TrustedRun) -> str:
    """Return what the model gate says, in words that claim no more than was asked."""
    decision = run.decision
    if decision.model_gate is not GateState.NOT_APPLICABLE:
        return decision.model_gate.value
    if run.plan.answers is not None:
        return f"not applicable: recorded answers of {run.plan.answers.run} were judged again, no candidate was asked"
    if run.plan.mode is Mode.FIXTURE:
        return "not applicable: no model was asked"
    if run.plan.mode is Mode.REPLAY:
        return "not applicable: recorded replies were read again, which opens no gate"
    return f"not applicable: the {run.plan.protocol.value} protocol tries the judge, there is no candidate"


def _fixture_gate_words(run: TrustedRun) -> str:
    if run.decision.fixture_gate is not GateState.NOT_APPLICABLE:
        return run.decision.fixture_gate.value
    return f"not applicable: {'no candidate was asked' if run.plan.answers else f'{run.plan.mode.value} mode'}"


def calibration_words(run: TrustedRun) -> str:
    """Return what the calibration says; where no control is planned, it can't have failed on one."""
    passed, planned = run.decision.calibration_passed, len(run.plan.control_trials())
    if passed is None:
        return "not decided: controls count in live mode only" if planned else "none: no control in this kind of run"
    if not planned:
        return "not passed: the plan holds no case, so that no control was shown"
    return "passed" if passed else "FAILED"


def _print(run: TrustedRun, qualification: Qualification) -> None:
    decision = run.decision
    output.say_facts(
        {
            "run": run.run_id,
            "profile": run.plan.profile,
            "fixture gate": _fixture_gate_words(run),
            "model gate": model_gate_words(run),
            "known examples": calibration_words(run),
            "results": f"{decision.observed} of {decision.expected} planned",
            "cases": f"{len(run.plan.cases)} of {len(run.snapshot.corpus.cases)} of the corpus",
            "by status": ", ".join(f"{count} {status}" for status, count in decision.by_status.items()) or "none",
            "critical failures": f"{decision.critical_failures} (zero would not be enough to qualify)",
            "contract errors": decision.contract_errors,
            "evidence level": f"{run.level.value} (asked: {run.minimum_level.value})",
        }
    )
    output.say()
    output.say(independence(run.plan))
    _print_gates(qualification)
    _print_reasons(decision)


def _print_gates(qualification: Qualification) -> None:
    """Print the calibration gates that the plan declares, and what all of them together come to."""
    for gate in qualification.gates:
        output.say()
        output.say(f"Calibration gate {gate.criterion.value}, run {gate.run}, labels {gate.labels or 'none'}:")
        output.say(f"  {gate.outcome.value}: {gate.words}")
        for reason in gate.reasons:
            output.say(f"  - {reason.message} [{reason.rule}]")
            if reason.items:
                output.say(f"    {', '.join(reason.items)}")
    if qualification.gates:
        output.say()
        output.say(f"qualification      {qualification.state.value}: results, controls and every declared gate")


def _print_reasons(decision: Decision) -> None:
    for side, title in _SIDES.items():
        reasons = [reason for reason in decision.reasons if reason.side == side]
        if not reasons:
            continue
        output.say()
        output.say(f"{title}:")
        for reason in reasons:
            output.say(f"  - {reason.message} [{reason.rule}]")
            if reason.trials:
                output.say(f"    {', '.join(reason.trials)}")
