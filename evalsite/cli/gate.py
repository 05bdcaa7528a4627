# SPDX-License-Identifier: Apache-2.0
"""``evalsite gate``: the decision over a run, recomputed from its verified record."""

import click

from evalsite.campaign.project import below_minimum, load_run
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
from evalsite.schema.outcome import Mode

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

    Exit 0 when the gate of the run's mode passed, 3 when it refused, 5 when nothing is decided.
    """
    project = find_project()
    require_ledgers(policy, ledger_names(project))
    trusted = load_run(project, run, pins=all_pins(root_keys), policy=policy)
    code = exit_code(trusted)
    if as_json:
        output.say_report(GateReport, decision_facts(trusted, code))
    else:
        _print(trusted)
    minimum = stricter(trusted.minimum_level, minimum_level)
    if below_minimum(trusted.level, minimum):
        raise UndecidedError(
            f"expected evidence of level {minimum.value}, this verifier has {trusted.level.value}",
            at=f"runs/{run}",
            advice=raising(trusted.level, minimum, trusted.ledger),
        )
    raise SystemExit(code)


def exit_code(run: TrustedRun) -> int:
    """Return the exit code of a decision: 0 passed, 3 refused, 5 not decided."""
    gates = {run.decision.fixture_gate, run.decision.model_gate} - {GateState.NOT_APPLICABLE}
    if GateState.PASSED in gates:
        return 0
    return 3 if GateState.REFUSED in gates else 5


def decision_facts(run: TrustedRun, code: int) -> dict[str, object]:
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
        "evidence_level": run.level.value,
        "exit_code": code,
    }


def model_gate_words(run: TrustedRun) -> str:
    """Return what the model gate says, in words that claim no more than was asked."""
    decision = run.decision
    if decision.model_gate is not GateState.NOT_APPLICABLE:
        return decision.model_gate.value
    if run.plan.mode is Mode.FIXTURE:
        return "not applicable: no model was asked"
    if run.plan.mode is Mode.REPLAY:
        return "not applicable: recorded replies were read again, which opens no gate"
    return f"not applicable: the {run.plan.protocol.value} protocol tries the judge, there is no candidate"


def calibration_words(run: TrustedRun) -> str:
    """Return what the calibration says; where no control is planned, it can't have failed on one."""
    passed, planned = run.decision.calibration_passed, len(run.plan.control_trials())
    if passed is None:
        return "not decided: controls count in live mode only" if planned else "none: no control in this kind of run"
    if not planned:
        return "not passed: the plan holds no case, so that no control was shown"
    return "passed" if passed else "FAILED"


def _print(run: TrustedRun) -> None:
    decision = run.decision
    fixture = decision.fixture_gate
    output.say_facts(
        {
            "run": run.run_id,
            "profile": run.plan.profile,
            "fixture gate": f"not applicable: {run.plan.mode.value} mode"
            if fixture is GateState.NOT_APPLICABLE
            else fixture.value,
            "model gate": model_gate_words(run),
            "calibration": calibration_words(run),
            "results": f"{decision.observed} of {decision.expected} planned",
            "cases": f"{len(run.plan.cases)} of {len(run.snapshot.corpus.cases)} of the corpus",
            "by status": ", ".join(f"{count} {status}" for status, count in decision.by_status.items()) or "none",
            "critical failures": f"{decision.critical_failures} (zero would not be enough to qualify)",
            "contract errors": decision.contract_errors,
            "evidence level": f"{run.level.value} (asked: {run.minimum_level.value})",
        }
    )
    _print_reasons(decision)


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
