# SPDX-License-Identifier: Apache-2.0
"""``evalsite verify``: every step with its count, three verdicts, and the evidence level in words."""

import click

from evalsite.campaign.project import ProjectState, RunState, below_minimum, inspect_project, inspect_run
from evalsite.cli import output
from evalsite.cli.context import (
    find_project,
    json_option,
    minimum_level_option,
    root_key_option,
    stricter,
)
from evalsite.cli.reports import VerifyReport
from evalsite.ledger.pins import all_pins
from evalsite.schema.checks import Area, Check, Level

LEVEL_WORDS = {
    Level.A0: "the files agree with each other; nobody outside vouches for the keys",
    Level.A1: "signed under a root key that you pinned",
    Level.A2: "extends a head that you already held",
    Level.A3: "its time is vouched for from outside",
    Level.A4: "cosigned by witnesses",
}


@click.command()
@click.argument("run", required=False)
@root_key_option
@minimum_level_option
@json_option
def verify(
    run: str | None,
    root_keys: tuple[str, ...],
    minimum_level: str,
    as_json: bool,  # noqa: FBT001 - click hands flags over by name
) -> None:
    """Check the whole trail, or RUN with its ledger.

    Exit 0 when everything holds, 4 on an integrity failure, 5 when a run is open, something is
    missing, or the evidence is below the level that a ledger asks for.
    """
    project, pins = find_project(), all_pins(root_keys)
    if run is None:
        state = inspect_project(project, pins=pins)
        named, levels = list(state.all_checks()), _ledger_levels(state)
    else:
        one = inspect_run(project, run, pins=pins)
        named, levels = [(f"run {run}", check) for check in one.checks], _run_levels(one)
    levels = {name: (level, stricter(asked, minimum_level)) for name, (level, asked) in levels.items()}
    verdicts = {area: _verdict([check for _, check in named if check.area is area]) for area in Area}
    code = _exit_code(verdicts, levels)
    if as_json:
        output.say_report(VerifyReport, _facts(named, levels, verdicts, code))
    else:
        _print(named, levels, verdicts, code)
    raise SystemExit(code)


def _verdict(checks: list[Check]) -> str:
    if any(check.findings for check in checks):
        return "FAILED"
    # A step that looked at nothing has not held: an empty trail is never in order.
    return "holds" if checks and all(check.holds for check in checks) else "nothing checked"


def _ledger_levels(state: ProjectState) -> dict[str, tuple[Level, Level | None]]:
    return {ledger.ledger: (ledger.level, ledger.minimum_level) for ledger in state.ledgers}


def _run_levels(state: RunState) -> dict[str, tuple[Level, Level | None]]:
    if state.trusted is None:
        return {}
    return {state.trusted.ledger: (state.trusted.level, state.trusted.minimum_level)}


def _exit_code(verdicts: dict[Area, str], levels: dict[str, tuple[Level, Level | None]]) -> int:
    if verdicts[Area.INTEGRITY] == "FAILED":
        return 4
    if set(verdicts.values()) != {"holds"} or any(below_minimum(level, minimum) for level, minimum in levels.values()):
        return 5
    return 0


def _facts(
    named: list[tuple[str, Check]],
    levels: dict[str, tuple[Level, Level | None]],
    verdicts: dict[Area, str],
    code: int,
) -> dict[str, object]:
    return {
        "verdicts": {area.value: verdict for area, verdict in verdicts.items()},
        "levels": {
            name: {"level": level.value, "asked": minimum.value if minimum else None}
            for name, (level, minimum) in levels.items()
        },
        "checks": [
            {
                "of": of,
                "step": check.step,
                "name": check.name,
                "area": check.area.value,
                "checked": check.checked,
                "findings": [finding.plain() for finding in check.findings],
            }
            for of, check in named
        ],
        "exit_code": code,
    }


def _print(
    named: list[tuple[str, Check]],
    levels: dict[str, tuple[Level, Level | None]],
    verdicts: dict[Area, str],
    code: int,
) -> None:
    previous = None
    for of, group in _grouped(named):
        if previous is not None:
            output.say()
        previous = of
        output.say(of)
        rows = [
            (
                check.step,
                check.name,
                check.area.value,
                check.checked,
                "FAILED" if check.findings else "ok" if check.checked else "-",
            )
            for check in group
        ]
        output.say_table(("step", "check", "area", "checked", "verdict"), rows)
        for check in group:
            for finding in check.findings:
                output.say(f"  step {check.step}: {finding.at}: {finding.message} [{finding.rule or finding.code}]")
    output.say()
    output.say_facts({area.value: verdict for area, verdict in verdicts.items()})
    for name, (level, minimum) in levels.items():
        output.say(f"evidence level of {name}: {level.value}, {LEVEL_WORDS[level]}")
        if below_minimum(level, minimum):
            asked = minimum.value if minimum else ""
            output.say(
                f"  below the level that this ledger asks for ({asked}): --root-key {name}=FINGERPRINT raises it to A1"
            )
    words = {
        0: "Intact. Tamper-evident at the levels above, and no more than that.",
        4: "INTEGRITY FAILURE: what is named above is not what was signed.",
        5: "Not decided: nothing is known to be wrong, and something is open, missing or below the asked level.",
    }
    output.say(words[code])


def _grouped(named: list[tuple[str, Check]]) -> list[tuple[str, list[Check]]]:
    groups: dict[str, list[Check]] = {}
    for of, check in named:
        groups.setdefault(of, []).append(check)
    return list(groups.items())
