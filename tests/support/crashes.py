# SPDX-License-Identifier: Apache-2.0
"""What tests of crashes and refusals do with a ledger of `support.ledgers` before and after the event."""

from pathlib import Path

from support.ledgers import RUN, finish_run, make_sealed_run, reopen

from evalsite.errors import InputError
from evalsite.ledger.authentic import ProjectReport
from evalsite.ledger.verify import verify_project
from evalsite.schema.checks import Area

EVENTS = Path("runs") / RUN / "events" / "000.jsonl"


def finish_or_begin(project: Path, run_id: str = RUN, **changes: object) -> None:
    """Carry a run to its seal, as the next process would: go on with what there is, or begin it anew."""
    with reopen(project) as ledger:
        try:
            ledger.peek_run(run_id)
        except InputError:
            begun = False
        else:
            begun = True
            finish_run(ledger, run_id)
    if not begun:
        make_sealed_run(project, run_id, **changes)


def assert_whole(project: Path) -> ProjectReport:
    """Verify a project in which nothing may be wrong, open or missing; return the report."""
    report = verify_project(project, pins={})
    assert [(finding.code, finding.at, finding.message) for finding in report.findings()] == []
    return report


def blamed(project: Path) -> set[str]:
    """Return the codes of everything that speaks against the integrity of a project."""
    checks = verify_project(project, pins={}).all_checks()
    return {finding.code for check in checks if check.area is Area.INTEGRITY for finding in check.findings}
