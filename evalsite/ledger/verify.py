# SPDX-License-Identifier: Apache-2.0
"""Verification: from files that nobody needs to trust to authentic runs.

Every step counts what it looked at; a step that looked at nothing has not held. A finding names the
file, relative to the project. Integrity, completeness and availability are three verdicts.

For each ledger:

1. Public key files: plain files, plain names, no links.
2. Keyring: each version's envelope, signed by the root key it names and by the root key before;
   distinct keys that prove something; the pinned fingerprint, if the verifier has one.
3. Key files for other tools: byte for byte what follows from the keyring; no other file.
4. Log files: as 1, and no other file.
5. Log checkpoints: every note is one signature of the log key over this origin and size, and
   ``checkpoint`` repeats the newest.
6. Log entries: each line strict JSON of its schema, ``seq`` its index, ``prev`` the leaf hash of the
   line before, and the RFC 6962 root at every signed size the signed one.
7. What the entries say: the keyring versions as they stand; each run opened once, closed once.
8. Completeness: nothing stands behind the newest checkpoint.

For each run, against a ledger whose integrity holds:

9. Run files: as 1, and no other file.
10. Run checkpoints: as 5, under the run's origin.
11. Run events: as 6.
12. Order: the state machine of `evalsite.ledger.order`, and totals that equal the recomputed ones.
13. Log: the first event is the one that the log holds, the closed size is the logged one, and both
    proofs lead from the entry to a checkpoint of the log.
14. Statement: signed by a runner key, and byte for byte what follows from the record.
15. Blobs and quarantined bytes: content has the digest of its name, and an event names it.
16. Completeness: every planned trial ended, the run is closed, stated and logged as closed.
17. Availability: every blob that an event names is there.

For the anchors of each ledger's log, and for what the verifier holds of it (if there are any):

24. Anchors: each is what it says, about a checkpoint of this log. Whether it counts is for the
    verifier's policy to say (`evalsite.ledger.evidence`).
25. Heads: the log extends every head that the verifier holds; a smaller log was rolled back, another
    root was forked.
26. to 28. Labels (`evalsite.ledger.labelsteps`): entries in their order (26), revealed labels those that were
    committed (27) and there (28). That a run could name its labels is part of 13.

For the project:

18. The runs folder holds ledgers and runs only.
19. Every run that a log opened is there.
20. Completeness: there is at least one ledger and one run; nothing to verify is never in order.
"""

from collections.abc import Mapping
from pathlib import Path

from evalsite.errors import InputError, UndecidedError, shorten
from evalsite.ledger.assess import assess
from evalsite.ledger.authentic import AuthenticRun, LedgerReport, ProjectReport, RunReport
from evalsite.ledger.evidence import NO_POLICY, Policy
from evalsite.ledger.layout import EVENTS, LOG, RESERVED, RUNS, TRUST, check_name, is_name, run_folder
from evalsite.ledger.ledgercheck import CheckedLedger, check_ledger
from evalsite.ledger.recovery import claimed_ledger
from evalsite.ledger.runcheck import FULL, How, check_run
from evalsite.ledger.steps import MISPLACED, Step, check_places, unread
from evalsite.schema.checks import Area
from evalsite.storage import is_folder

__all__ = [
    "AuthenticRun",
    "LedgerReport",
    "ProjectReport",
    "RunReport",
    "ledger_names",
    "require_run",
    "verify_project",
    "verify_run",
]

Ledgers = dict[str, CheckedLedger]
_PLACES = "runs folder holds ledgers and runs"


def verify_project(
    project: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY, how: How = FULL
) -> ProjectReport:
    """Verify every ledger and every run of a project.

    A fast verification reads no lines of runs but the first and the last of each (see
    `evalsite.ledger.runcheck`): it gives checks and never an authentic run.

    Args:
        project: The project's root folder.
        pins: Root fingerprints that the verifier trusts, by ledger; they must not come from the project.
        policy: What else the verifier holds and trusts: heads, witnesses, time stamp authorities.
        how: In full or fast, and with how many processes for long runs.
    """
    layout = Step(18, _PLACES)
    run_ids = _list_runs(project, layout)
    if any(finding.code == MISPLACED for finding in layout.findings):
        return ProjectReport(ledgers=(), runs=(), checks=(layout.done(),))  # nothing below it is the project's
    ledgers = check_ledgers(project, pins=pins, policy=policy)
    something = Step(20, "there is something to verify", Area.COMPLETENESS)
    something.checked = 2
    if not ledgers:
        something.find("project.ledgers", TRUST, "expected at least one ledger", "run-record §2")
    if not run_ids:
        something.find("project.runs", RUNS, "expected at least one run", "run-record §2")
    present = Step(19, "every run that a log opened is there")
    for ledger in ledgers.values():
        for run_id in () if ledger.facts is None else ledger.facts.opened:
            present.checked += 1
            if run_id not in run_ids:
                present.find("project.run-missing", run_folder(run_id), "expected a run that the log opened")
    reports = tuple(verify_in(project, run_id, ledgers, how) for run_id in run_ids)
    return ProjectReport(
        ledgers=tuple(ledger.report for ledger in ledgers.values()),
        runs=reports,
        checks=tuple(step.done() for step in (layout, present, something) if step.checked),
    )


def verify_run(
    project: Path,
    run_id: str,
    *,
    pins: Mapping[str, str],
    policy: Policy = NO_POLICY,
    how: How = FULL,
) -> RunReport:
    """Verify one run, and the ledgers that it could belong to.

    Args:
        project: The project's root folder.
        run_id: Name of the run.
        pins: Root fingerprints that the verifier trusts, by ledger.
        policy: What else the verifier holds and trusts.
        how: As for `verify_project`.

    Raises:
        InputError: No such name.
    """
    places = Step(18, _PLACES)
    check_places(places, project)
    if places.findings:
        return RunReport(run_id=check_name(run_id, "run"), ledger=None, checks=(places.done(),), run=None)
    return verify_in(project, run_id, check_ledgers(project, pins=pins, policy=policy), how)


def check_ledgers(project: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> Ledgers:
    """Check every ledger of a project once, for any number of `verify_in`.

    A pin for a ledger that is not there counts for nothing here; `verify_project` has no run of it.
    """
    names = ledger_names(project)
    alone = len(names) == 1
    return {name: assess(project, check_ledger(project, name, pins.get(name)), policy, alone=alone) for name in names}


def ledger_names(project: Path) -> list[str]:
    """Return the names of a project's ledgers, whether they verify or not, sorted."""
    return sorted({*_folder_names(project / TRUST), *_folder_names(project / LOG)})


def verify_in(project: Path, run_id: str, ledgers: Ledgers, how: How = FULL) -> RunReport:
    """Verify one run against ledgers that were checked before.

    Raises:
        InputError: No such name.
    """
    check_name(run_id, "run")
    holding = [name for name, ledger in ledgers.items() if ledger.facts is not None and run_id in ledger.facts.opened]
    if len(holding) > 1:
        message = f"expected one ledger to hold the run, found {', '.join(holding)}"
        return _refused(run_id, run_folder(run_id), message)
    at = f"{run_folder(run_id)}/{EVENTS}/000.jsonl"
    try:
        name = holding[0] if holding else claimed_ledger(project, run_id)
    except UndecidedError as exc:
        return RunReport(run_id=run_id, ledger=None, checks=unread(exc), run=None)
    if not name and not any((project / run_folder(run_id)).glob("checkpoint*")):
        return _never_began(run_id)
    if name not in ledgers:
        return _refused(run_id, at, "expected a first event that names a ledger of this project")
    return check_run(project, run_id, ledgers[name], how)


def require_run(project: Path, run_id: str) -> None:
    """Refuse a run of which there is no folder; where ``runs`` is no folder either, that is for `verify_run` to say.

    Raises:
        InputError: There is no such folder, or it is none of a run.
        UndecidedError: The operating system refused to tell.
    """
    place = project / run_folder(run_id)
    if not is_name(run_id) or (is_folder(project / RUNS) and not (is_folder(place) or place.is_symlink())):
        raise InputError(f"expected a run, found no folder {shorten(place.name)}", at=RUNS, rule="layout")


def _refused(run_id: str, at: str, message: str) -> RunReport:
    step = Step(9, "run files")
    step.checked = 1
    step.find("run.ledger", at, message, "run-record §8")
    return RunReport(run_id=run_id, ledger=None, checks=(step.done(),), run=None)


def _never_began(run_id: str) -> RunReport:
    """A folder without a whole first event, that no log and no checkpoint knows: a crash before the run began."""
    step = Step(16, "run is closed and sealed", Area.COMPLETENESS)
    step.checked = 1
    message = "this run never began, it holds no whole event: start it anew with this --run-id, or remove the folder"
    step.find("run.never-began", run_folder(run_id), message, "run-record §4")
    return RunReport(run_id=run_id, ledger=None, checks=(step.done(),), run=None)


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as exc:
        raise UndecidedError(f"could not read: {exc.strerror}", at=folder.name) from exc


def _folder_names(folder: Path) -> list[str]:
    if not is_folder(folder):
        return []
    names = [path.name for path in _children(folder) if is_folder(path)]
    return [name for name in names if is_name(name)]  # step 18 tells the others


def _list_runs(project: Path, step: Step) -> list[str]:
    run_ids: list[str] = []
    if not (project / RUNS).exists() and not (project / RUNS).is_symlink():
        return run_ids  # a project in which nothing was recorded yet, or from which everything was taken
    check_places(step, project)
    for name in (RUNS, TRUST, LOG):
        folder = project / name
        for path in sorted(_children(folder)) if is_folder(folder) else ():
            step.checked += 1
            if not is_folder(path):
                step.find("project.unknown", f"{name}/{path.name}", "expected folders only", "run-record §2")
            elif path.name not in RESERVED or name != RUNS:
                try:
                    check_name(path.name, "run" if name == RUNS else "ledger")
                except InputError as exc:
                    step.find("project.name", f"{name}/{path.name}", exc.message, "run-record §2")
                    continue
                if name == RUNS:
                    run_ids.append(path.name)
    return run_ids
