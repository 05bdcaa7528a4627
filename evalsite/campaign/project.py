# SPDX-License-Identifier: Apache-2.0
"""A project's trail as a whole: what is trusted, and what the checks say about the rest."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from evalsite.campaign.calibrate import recompute_seal
from evalsite.campaign.labelcheck import check_book, runs_to_derive
from evalsite.campaign.recheck import recheck
from evalsite.campaign.rejudgecheck import answers_named, check_answers
from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import UndecidedError
from evalsite.ledger.authentic import LedgerReport, RunReport, refuse
from evalsite.ledger.evidence import NO_POLICY, NOBODY, Policy, Vouched
from evalsite.ledger.layout import run_folder
from evalsite.ledger.runcheck import FULL, How
from evalsite.ledger.verify import require_run, verify_project, verify_run
from evalsite.schema.base import Finding
from evalsite.schema.checks import Area, Check, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """One run: trusted or not, with every check that was made.

    ``trusted`` is null as well where nobody asked to hold its facts. ``reached`` is the level of a run
    that holds, or looked so in a fast check, and the one asked for.
    """

    run_id: str
    ledger: str | None
    checks: tuple[Check, ...]
    trusted: TrustedRun | None
    reached: tuple[Level, Level] | None = None
    vouched: Vouched = NOBODY


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
    project: Path,
    *,
    pins: Mapping[str, str],
    policy: Policy = NO_POLICY,
    how: How = FULL,
    keep: bool = False,
) -> ProjectState:
    """Verify every ledger and every run, and derive every fact again.

    Args:
        project: The project's root.
        pins: Root fingerprint per ledger that the verifier trusts.
        policy: What else the verifier holds and trusts: heads, witnesses, time stamp authorities.
        how: A fast check hashes the lines of runs and reads none: no fact is derived again.
        keep: Hold the facts of runs, which are trusted then.
    """
    report = verify_project(project, pins=pins, policy=policy, how=how)
    named = {run.run_id: ref for run in report.runs if (ref := answers_named(run.run)) is not None}
    needed = {*named, *(ref.run for ref in named.values())}
    needed.update(*(runs_to_derive(ledger.labels) for ledger in report.ledgers))
    derived = [_state(run, keep=keep or run.run_id in needed, workers=how.workers) for run in report.runs]
    trusted = {run.run_id: run.trusted for run in derived if run.trusted is not None}
    runs = tuple(
        _with_answers(run, trusted.get(named[run.run_id].run) if run.run_id in named else None) for run in derived
    )
    trusted = {run.run_id: run.trusted for run in runs if run.trusted is not None}
    ledgers = tuple(_with_labels(ledger, trusted) for ledger in report.ledgers)
    return ProjectState(ledgers=ledgers, runs=runs, checks=report.checks)


def inspect_run(
    project: Path,
    run_id: str,
    *,
    pins: Mapping[str, str],
    policy: Policy = NO_POLICY,
    how: How = FULL,
    keep: bool = False,
) -> RunState:
    """Verify one run with its ledger, and derive its facts again; the arguments are those of `inspect_project`.

    Raises:
        InputError: There is no such run.
    """
    require_run(project, run_id)
    report = verify_run(project, run_id, pins=pins, policy=policy, how=how)
    answers = answers_named(report.run)
    state = _state(report, keep=keep or answers is not None, workers=how.workers)
    if answers is None or not (project / run_folder(answers.run)).is_dir():
        return _with_answers(state, None)
    source = _state(verify_run(project, answers.run, pins=pins, policy=policy, how=how), keep=True, workers=1)
    return _with_answers(state, source.trusted)


def inspect_alone(project: Path, run_id: str, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> RunState:
    """Verify one run where no other is at hand: answers that it judged again are not compared with their run.

    Raises:
        InputError: There is no such run.
    """
    require_run(project, run_id)
    report = verify_run(project, run_id, pins=pins, policy=policy)
    return _state(report, keep=answers_named(report.run) is not None, workers=FULL.workers)


def load_run(project: Path, run_id: str, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> TrustedRun:
    """Return a run that can be trusted.

    Raises:
        InputError: There is no such run.
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Something that the record names is not there.
    """
    state = inspect_run(project, run_id, pins=pins, policy=policy, keep=True)
    if state.trusted is None:
        refuse(state.checks, at=f"runs/{run_id}")
        raise UndecidedError("expected a run that can be verified", at=f"runs/{run_id}")
    return state.trusted


def load_project(project: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> ProjectState:
    """Return a project whose whole trail can be trusted; open runs are allowed.

    Raises:
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Something that a record names is not there.
    """
    state = inspect_project(project, pins=pins, policy=policy, keep=True)
    refuse((check for _, check in state.all_checks()), at="runs")
    return state


def below_minimum(level: Level, minimum: Level | None) -> bool:
    """Return whether evidence is weaker than what is asked for."""
    return minimum is not None and level.value < minimum.value


def _with_answers(state: RunState, source: TrustedRun | None) -> RunState:
    """Return a run that judged recorded answers again, compared with the run that gave them."""
    run = state.trusted
    if run is None or run.plan.answers is None:
        return state
    check = check_answers(run, run.plan.answers, source)
    checks = (*state.checks, check)
    if check.findings:
        return replace(state, checks=checks, trusted=None, reached=None)
    return replace(state, checks=checks, trusted=replace(run, checks=checks))


def _with_labels(ledger: LedgerReport, runs: Mapping[str, TrustedRun]) -> LedgerReport:
    check = None if ledger.labels is None else check_book(ledger.labels, runs, recompute_seal)
    return ledger if check is None else replace(ledger, checks=(*ledger.checks, check))


def _state(report: RunReport, *, keep: bool, workers: int) -> RunState:
    checks, trusted, reached, vouched = report.checks, None, report.reached, NOBODY
    if report.run is not None:
        checked = recheck(report.run, keep=keep, workers=workers)
        checks, trusted, vouched = checked.checks, checked.trusted, report.run.vouched
        if any(check.findings for check in checks):
            reached = None  # a level says who vouches for a record that holds
    return RunState(
        run_id=report.run_id, ledger=report.ledger, checks=checks, trusted=trusted, reached=reached, vouched=vouched
    )
