# SPDX-License-Identifier: Apache-2.0
"""``evalsite verify``: every step with its count, three verdicts, and the evidence level in words."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import click

from evalsite.campaign.bundles import inspect_bundle
from evalsite.campaign.project import ProjectState, RunState, below_minimum, inspect_project, inspect_run
from evalsite.cli import output
from evalsite.cli.bundles import open_bundle
from evalsite.cli.context import (
    find_project,
    json_option,
    minimum_level_option,
    root_key_option,
    stricter,
)
from evalsite.cli.policy import policy_options, raising
from evalsite.cli.reports import VerifyReport
from evalsite.ledger.bundle import is_bundle
from evalsite.ledger.evidence import Policy, Vouched
from evalsite.ledger.heads import knows_another, remember_head
from evalsite.ledger.pins import all_pins, stated_pins
from evalsite.ledger.policy import require_ledgers
from evalsite.ledger.runcheck import How
from evalsite.ledger.verify import ledger_names
from evalsite.schema.checks import Area, Check, Level

LEVEL_WORDS = {
    Level.A0: "the files agree with each other; nobody outside vouches for the keys",
    Level.A1: "signed under a root key that you pinned",
    Level.A2: "under your pin, and the log extends a head that you held before",
    Level.A3: "under your pin, and somebody outside whom you trust says that it stood there",
    Level.A4: "under your pin, and a quorum of witnesses whom you trust cosigned it",
}


_FAST_AREAS = (Area.INTEGRITY, Area.COMPLETENESS)  # a fast verification says nothing of availability
FAST_NOTE = (
    "fast: lines were hashed and not read, no total or fact was derived again, and nobody looked whether every blob "
    "is there. Gate and site ask for the full verification."
)


@click.command()
@click.argument("run", required=False)
@root_key_option
@minimum_level_option
@policy_options
@click.option(
    "--fast/--full", "fast", help="Check hashes, links and signatures without reading lines; full is the default."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=min(4, os.cpu_count() or 1),
    help="Processes for runs of more than 4,096 events. Default: one for each CPU, at most 4.",
)
@json_option
def verify(  # noqa: PLR0913 - one for each option
    *,
    run: str | None,
    root_keys: tuple[str, ...],
    minimum_level: str,
    policy: Policy,
    fast: bool,
    workers: int,
    as_json: bool,
) -> None:
    """Check the whole trail, or RUN with its ledger, or a bundle of `evalsite export` (folder or .tar.gz).

    A log that no longer extends a head that you hold, from an option or from an earlier verification
    of the whole trail, is an integrity failure.

    Exit 0 when everything holds, 4 on an integrity failure, 5 when a run is open, something is
    missing or can't be read, or the evidence is below the level that a ledger asks for.
    """
    pins, how = all_pins(root_keys), How(fast=fast, workers=workers)
    state: ProjectState | None = None
    notes: tuple[str, ...] = (FAST_NOTE,) if fast else ()
    if run is not None and is_bundle(Path(run)):
        if fast:
            raise click.UsageError("expected --full for a bundle: it is read whole or not at all")
        named, levels, notes = _verify_bundle(Path(run), pins, policy)
    elif run is None:
        state = inspect_project(_project(policy), pins=pins, policy=policy, how=how)
        named, levels = list(state.all_checks()), _ledger_levels(state)
    else:
        one = inspect_run(_project(policy), run, pins=pins, policy=policy, how=how)
        named, levels = [(f"run {run}", check) for check in one.checks], _run_levels(one)
    levels = {name: item.asking(minimum_level) for name, item in levels.items()}
    verdicts = {area: _verdict([check for _, check in named if check.area is area]) for area in Area}
    # A ledger that the caller pins and that is not there may have been taken away with all its runs.
    absent = sorted(stated_pins(root_keys).keys() - levels.keys()) if run is None else []
    asked = {area: said for area, said in verdicts.items() if not fast or area in _FAST_AREAS}
    code = _exit_code(asked, levels) or (5 if absent else 0)
    notes = (*notes, *(f"ledger {name}: pinned by you, not in this project" for name in absent))
    if as_json:
        output.say_report(VerifyReport, {**_facts(named, levels, verdicts, code), "notes": list(notes)})
    else:
        _print(named, levels, verdicts, code, notes)
    if state is not None and not fast and policy.memory is not None and verdicts[Area.INTEGRITY] == "holds":
        _remember(state, policy.memory)
    raise SystemExit(code)


def _project(policy: Policy) -> Path:
    project = find_project()
    require_ledgers(policy, ledger_names(project))
    return project


def _verify_bundle(
    path: Path, pins: dict[str, str], policy: Policy
) -> tuple[list[tuple[str, Check]], dict[str, "_Reached"], tuple[str, ...]]:
    with open_bundle(path) as folder:
        state = inspect_bundle(folder, pins=pins, policy=policy)
    levels = {}
    if state.level is not None:
        levels[state.manifest.ledger] = _Reached(state.level, state.minimum_level, state.vouched)
    return [(f"bundle {path.name}", check) for check in state.checks], levels, state.notes


@dataclass(frozen=True, slots=True)
class _Reached:
    """The level that was reached and asked for, and who vouches from outside."""

    level: Level
    asked: Level | None
    vouched: Vouched

    def asking(self, minimum: str) -> "_Reached":
        return replace(self, asked=stricter(self.asked, minimum))


def _remember(state: ProjectState, keystore: Path) -> None:
    for ledger in state.ledgers:
        head = ledger.head
        if head is not None and knows_another(keystore, ledger.ledger, head.founding_root):
            output.note(
                f"note: your keystore remembers a ledger named {ledger.ledger} under another root key: "
                "another project's, or this one was begun anew"
            )
        if head is not None and not remember_head(keystore, ledger.ledger, head.founding_root, head.note):
            output.note(f"the head of {ledger.ledger} could not be remembered: the keystore can't be written")


def _verdict(checks: list[Check]) -> str:
    if any(check.findings for check in checks):
        return "FAILED"
    if not any(check.checked for check in checks):
        return "nothing checked"  # a step that looked at nothing has not held: an empty trail is never in order
    return "holds" if all(check.holds for check in checks) else "not decided"


def _ledger_levels(state: ProjectState) -> dict[str, _Reached]:
    return {item.ledger: _Reached(item.level, item.minimum_level, item.vouched) for item in state.ledgers}


def _run_levels(state: RunState) -> dict[str, _Reached]:
    if state.ledger is None or state.reached is None:
        return {}
    return {state.ledger: _Reached(*state.reached, state.vouched)}


def _exit_code(verdicts: dict[Area, str], levels: dict[str, _Reached]) -> int:
    if verdicts[Area.INTEGRITY] == "FAILED":
        return 4
    if set(verdicts.values()) != {"holds"} or any(below_minimum(item.level, item.asked) for item in levels.values()):
        return 5
    return 0


def _facts(
    named: list[tuple[str, Check]],
    levels: dict[str, _Reached],
    verdicts: dict[Area, str],
    code: int,
) -> dict[str, object]:
    return {
        "verdicts": {area.value: verdict for area, verdict in verdicts.items()},
        "levels": {
            name: {
                "level": item.level.value,
                "asked": item.asked.value if item.asked else None,
                "vouched_at": item.vouched.at,
                "vouched_by": list(item.vouched.by),
            }
            for name, item in levels.items()
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
    levels: dict[str, _Reached],
    verdicts: dict[Area, str],
    code: int,
    notes: tuple[str, ...],
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
    for name, item in levels.items():
        _print_level(name, item)
    words = {
        0: "Intact. Tamper-evident at the levels above, and no more than that.",
        4: "INTEGRITY FAILURE: what is named above is not what was signed.",
        5: "Not decided: nothing is known to be wrong, and something is open, missing or below the asked level.",
    }
    output.say(words[code])
    for text in notes:
        output.say(f"note: {text}")


def _print_level(name: str, item: _Reached) -> None:
    output.say(f"evidence level of {name}: {item.level.value}, {LEVEL_WORDS[item.level]}")
    if item.vouched.at is not None:
        output.say(f"  it stood there at {item.vouched.at}, say: {', '.join(item.vouched.by)}")
    if item.asked is not None and below_minimum(item.level, item.asked):
        output.say(f"  below the level that is asked for ({item.asked.value}): {raising(item.level, item.asked, name)}")


def _grouped(named: list[tuple[str, Check]]) -> list[tuple[str, list[Check]]]:
    groups: dict[str, list[Check]] = {}
    for of, check in named:
        groups.setdefault(of, []).append(check)
    return list(groups.items())
