# SPDX-License-Identifier: Apache-2.0
"""A project's trail as a whole: what is trusted, and what the checks say about the rest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.recheck import recheck
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.authentic import LedgerReport, RunReport
from evalsite.ledger.evidence import NO_POLICY, Policy
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.base import Finding
from evalsite.schema.checks import Area, Check, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """One run: trusted or not, with every check that was made.

    ``reached`` is the level of a run that is authentic or looked so in a fast check, and the one asked for.
    """

    run_id: str
    ledger: str | None
    checks: tuple[Check, ...]
    trusted: TrustedRun | None
    reached: tuple[Level, Level] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectState:
    """Ledgers and runs of a project, with the checks that belong to none of them."""

    ledgers: tuple[LedgerReport, ...]
    runs: tuple[RunState, ...]
    checks: tuple[Check, ...]

    def all_checks(self) -> Iterator[tuple[str, Check]]:
        """Yield every check with the name of what it belongs to."""
        for check in self.checks:
            yield "project", check
        for ledger in self.ledgers:
            for check in ledger.checks:
                yield f"ledger {ledger.ledger}", check
        told = {id(check) for ledger in self.ledgers for check in ledger.checks}
        for run in self.runs:
            for check in run.checks:
                if id(check) not in told:  # a run's checks begin with those of its ledger
                    yield f"run {run.run_id}", check

    def first_finding(self, area: Area) -> Finding | None:
        """Return the first finding of an area, if there is one."""
        for _, check in self.all_checks():
            if check.area is area and check.findings:
                return check.findings[0]
        return None

    def trusted_runs(self) -> tuple[TrustedRun, ...]:
        """Return the trusted runs, newest first."""
        trusted = [run.trusted for run in self.runs if run.trusted is not None]
        return tuple(sorted(trusted, key=lambda run: (run.opened_at, run.run_id), reverse=True))


def inspect_project(
    project: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY, fast: bool = False
) -> ProjectState:
    """Verify every ledger and every run, and derive every fact again.

    Args:
        project: The project's root.
        pins: Root fingerprint per ledger that the verifier trusts.
        policy: What else the verifier holds and trusts: heads, witnesses, time stamp authorities.
        fast: Hash the lines of runs and read none: no fact is derived again, and no run is trusted.
    """
    report = verify_project(project, pins=pins, policy=policy, fast=fast)
    return ProjectState(ledgers=report.ledgers, runs=tuple(_state(run) for run in report.runs), checks=report.checks)


def inspect_run(
    project: Path, run_id: str, *, pins: Mapping[str, str], policy: Policy = NO_POLICY, fast: bool = False
) -> RunState:
    """Verify one run with its ledger, and derive its facts again.

    Raises:
        InputError: There is no such run.
    """
    if not (project / "runs" / run_id).is_dir() or run_id in ("trust", "log"):
        raise InputError(f"expected a run, found no folder runs/{run_id}", at=f"runs/{run_id}", rule="layout")
    return _state(verify_run(project, run_id, pins=pins, policy=policy, fast=fast))


def load_run(project: Path, run_id: str, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> TrustedRun:
    """Return a run that can be trusted.

    Raises:
        InputError: There is no such run.
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Something that the record names is not there.
    """
    state = inspect_run(project, run_id, pins=pins, policy=policy)
    if state.trusted is None:
        _refuse(state.checks, f"runs/{run_id}")
        raise UndecidedError("expected a run that can be verified", at=f"runs/{run_id}")
    return state.trusted


def load_project(project: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> ProjectState:
    """Return a project whose whole trail can be trusted; open runs are allowed.

    Raises:
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Something that a record names is not there.
    """
    state = inspect_project(project, pins=pins, policy=policy)
    _refuse(tuple(check for _, check in state.all_checks()), "runs")
    return state


def below_minimum(level: Level, minimum: Level | None) -> bool:
    """Return whether evidence is weaker than what is asked for."""
    return minimum is not None and level.value < minimum.value


def _state(report: RunReport) -> RunState:
    if report.run is None:
        return RunState(
            run_id=report.run_id, ledger=report.ledger, checks=report.checks, trusted=None, reached=report.reached
        )
    checked = recheck(report.run)
    return RunState(run_id=report.run_id, ledger=report.ledger, checks=checked.checks, trusted=checked.trusted)


def _refuse(checks: tuple[Check, ...], at: str) -> None:
    for area, error in ((Area.INTEGRITY, IntegrityError), (Area.AVAILABILITY, UndecidedError)):
        findings = [finding for check in checks if check.area is area for finding in check.findings]
        if findings:
            first, more = findings[0], f" ({len(findings) - 1} more findings)" if len(findings) > 1 else ""
            raise error(
                f"{first.message}{more}",
                at=first.at or at,
                rule=first.rule or first.code,
                advice="`evalsite verify` lists every step and finding.",
            )
