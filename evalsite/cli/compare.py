# SPDX-License-Identifier: Apache-2.0
"""``evalsite compare``: two runs, by case and repetition, from their verified records."""

from collections.abc import Sequence
from fractions import Fraction

import click

from evalsite.campaign.compare import run_facts
from evalsite.campaign.project import below_minimum, load_run
from evalsite.campaign.trusted import TrustedRun
from evalsite.cli import output
from evalsite.cli.context import find_project, json_option, minimum_level_option, root_key_option, stricter
from evalsite.cli.policy import policy_options, raising
from evalsite.cli.reports import ComparisonReport
from evalsite.errors import InputError, UndecidedError
from evalsite.judging import comparison_words as words
from evalsite.judging.comparability import Variable
from evalsite.judging.comparing import compare as compare_runs
from evalsite.judging.comparison import Cell, Change, Comparison, McNemar, Outcome, Pair, RunFacts
from evalsite.judging.gates import GateState
from evalsite.ledger.evidence import Policy
from evalsite.ledger.pins import all_pins
from evalsite.ledger.policy import require_ledgers
from evalsite.ledger.verify import ledger_names
from evalsite.schema.outcome import Mode

_PLACES = 9
_CODES = {Outcome.HOLDS: 0, Outcome.REGRESSED: 3, Outcome.UNDECIDED: 5}


@click.command()
@click.argument("before")
@click.argument("after")
@click.option(
    "--variable",
    type=click.Choice([variable.value for variable in Variable]),
    help="The one thing that is meant to differ. Without it nothing may: a repetition of the same run.",
)
@click.option("--gate", "as_gate", is_flag=True, help="End with 3 for a regression, with 5 where none can be excluded.")
@root_key_option
@minimum_level_option
@policy_options
@json_option
def compare(  # noqa: PLR0913 - one for each option
    *,
    before: str,
    after: str,
    variable: str | None,
    as_gate: bool,
    root_keys: tuple[str, ...],
    minimum_level: str,
    policy: Policy,
    as_json: bool,
) -> None:
    """Compare the runs BEFORE and AFTER by case and repetition.

    Exit 5 when they can't be compared; the differing fields are named. No comparison qualifies a
    run: that is what `evalsite gate` decides.
    """
    if before == after:
        raise InputError(f"expected two runs, got {before!a} twice", at="AFTER", advice="Name another run.")
    project = find_project()
    require_ledgers(policy, ledger_names(project))
    runs = [load_run(project, run, pins=all_pins(root_keys), policy=policy) for run in (before, after)]
    for run in runs:
        _require_level(run, minimum_level)
    found = compare_runs(run_facts(runs[0]), run_facts(runs[1]), Variable(variable) if variable else None)
    code = _CODES[found.outcome] if as_gate else 0
    if as_json:
        output.say_report(ComparisonReport, comparison_facts(found, code))
    else:
        _print(found)
    raise SystemExit(code)


def _require_level(run: TrustedRun, stated: str) -> None:
    minimum = stricter(run.minimum_level, stated)
    if below_minimum(run.level, minimum):
        raise UndecidedError(
            f"expected evidence of level {minimum.value}, this verifier has {run.level.value}",
            at=f"runs/{run.run_id}",
            advice=raising(run.level, minimum, run.ledger),
        )


def comparison_facts(found: Comparison, code: int) -> dict[str, object]:
    """Return a comparison as a JSON value: counts, and decimal text where a number is none."""
    passed_before, passed_after, of = found.passed
    return {
        "before": _run(found.before),
        "after": _run(found.after),
        "protocol": found.before.plan.protocol.value,
        "variable": found.variable.value if found.variable else None,
        "differences": [{"field": one.field, "before": one.before, "after": one.after} for one in found.differences],
        "series_breaks": [
            {"criterion": one.criterion, "before": one.before, "after": one.after} for one in found.breaks
        ],
        "pairs": {change.value: count for change, count in found.by_change.items()},
        "only_before": [trial.label() for trial in found.only_before],
        "only_after": [trial.label() for trial in found.only_after],
        "cases": [
            {
                "case_id": row.case_id,
                "dimension": row.dimension,
                "critical": row.critical,
                "change": row.change.value,
                "compared": row.before.compared,
                "passed_before": row.before.passed,
                "passed_after": row.after.passed,
                "pass_power_before": _share(row.before.every),
                "pass_power_after": _share(row.after.every),
                "pairs": [_pair(pair) for pair in row.pairs],
            }
            for row in found.cases
        ],
        "overall": {"compared": of, "passed_before": passed_before, "passed_after": passed_after},
        "excluded_by_side": found.by_side,
        "flips_by_cause": {cause.value: count for cause, count in found.by_cause.items()},
        "retest": {
            "asked_twice": found.retest.asked_twice,
            "said_the_same": found.retest.said_the_same,
            "same_judge": found.retest.same_judge,
        },
        "exact_test": _test(found.mcnemar),
        "regressions": [row.name for row in found.regressions],
        "open_points": list(found.open_points),
        "outcome": found.outcome.value,
        "words": list(words.lines(found)),
        "exit_code": code,
    }


def _run(facts: RunFacts) -> dict[str, object]:
    decision = facts.decision
    return {
        "run": facts.run,
        "profile": facts.plan.profile,
        "mode": facts.plan.mode.value,
        "opened_at": facts.opened_at,
        "fixture_gate": decision.fixture_gate.value,
        "model_gate": decision.model_gate.value,
        "calibration_passed": decision.calibration_passed,
    }


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "repetition": pair.trial.repetition,
        "before": _cell(pair.before),
        "after": _cell(pair.after),
        "change": pair.change.value,
        "cause": pair.cause.value if pair.cause else None,
    }


def _cell(cell: Cell) -> dict[str, object]:
    return {"value": cell.value, "status": cell.status, "side": cell.side}


def _test(test: McNemar) -> dict[str, object]:
    return {
        "compared": test.compared,
        "down": test.down,
        "up": test.up,
        "p": _share(test.p),
        "alpha": _share(test.alpha),
        "power": _share(test.power),
        "conclusive": test.conclusive,
        "discordant_needed": test.needed,
        "cases_needed": test.cases_needed,
        "least_visible_share": _share(test.visible),
    }


def _share(value: Fraction | None) -> str | None:
    return None if value is None else words.digits(value, _PLACES)


def _print(found: Comparison) -> None:
    output.say_facts(
        {
            "before": _run_words(found.before),
            "after": _run_words(found.after),
            "variable": words.variable_words(found),
            "differs in": words.fields(len(found.differences)),
        }
    )
    for one in found.differences:
        output.say(f"  {one}")
    output.say()
    output.say_table(
        ("case", "critical", "before", "after", "excluded", "change"),
        [
            (
                row.name,
                "yes" if row.critical else "",
                words.tally_words(found, row, after=False),
                words.tally_words(found, row, after=True),
                len(row.excluded) or "",
                words.change_words(found, row.change),
            )
            for row in found.cases
        ],
    )
    _print_pairs(found, "Flips", [pair for pair in found.pairs if pair.change in (Change.DOWN, Change.UP)])
    _print_pairs(found, "Not compared", [pair for pair in found.pairs if pair.change is Change.EXCLUDED])
    for name, trials in (("first", found.only_before), ("second", found.only_after)):
        if trials:
            output.say(f"\nPlanned in the {name} run only: {', '.join(trial.label() for trial in trials)}")
    output.say()
    for line in words.lines(found):
        output.say(line)


def _print_pairs(found: Comparison, title: str, pairs: Sequence[Pair]) -> None:
    if pairs:
        output.say(f"\n{title}:")
    for pair in pairs:
        output.say(f"  {pair.trial.label()}  {words.pair_words(found, pair)}")


def _run_words(facts: RunFacts) -> str:
    plan, decision = facts.plan, facts.decision
    name, gate = (
        ("fixture gate", decision.fixture_gate) if plan.mode is Mode.FIXTURE else ("model gate", decision.model_gate)
    )
    said = "" if gate is GateState.NOT_APPLICABLE else f", {name} {gate.value}"
    return f"{facts.run} ({facts.opened_at}, {plan.mode.value}, {plan.profile}{said})"
