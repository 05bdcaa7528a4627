# SPDX-License-Identifier: Apache-2.0
"""What verification tests ask of a report."""

from support.ledgers import LEDGER, RUN

from evalsite.ledger.verify import verify_run
from evalsite.schema.checks import Area

EVENTS = f"runs/{RUN}/events/000.jsonl"
ENTRIES = f"runs/log/{LEDGER}/entries/000.jsonl"


def codes(report):
    """Return the codes of all findings."""
    return {finding.code for check in report.checks for finding in check.findings}


def places(report):
    """Return the places of all findings."""
    return {finding.at for check in report.checks for finding in check.findings}


def refused(project, run_id=RUN, pins=None):
    """Verify a run whose integrity must not hold, and return the report."""
    report = verify_run(project, run_id, pins=pins or {})
    assert report.run is None
    assert not report.holds(Area.INTEGRITY)
    return report
