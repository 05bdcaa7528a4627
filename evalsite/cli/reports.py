# SPDX-License-Identifier: Apache-2.0
"""What ``--json`` prints, as data contracts: their JSON Schemas are published by `evalsite corpus schema`."""

from typing import Literal

from evalsite.schema.base import Count, Finding, StrictModel
from evalsite.schema.outcome import Mode, Protocol


class CheckReport(StrictModel):
    """One numbered step of a verification and what it belongs to."""

    of: str
    step: Count
    name: str
    area: Literal["integrity", "completeness", "availability"]
    checked: Count
    findings: tuple[Finding, ...]


class LevelReport(StrictModel):
    """The evidence level reached for a ledger and the one that it asks for; null if that cannot be read.

    ``vouched_by`` says who vouches from outside, ``vouched_at`` the earliest time (UTC) that they state.
    """

    level: str
    asked: str | None
    vouched_at: str | None
    vouched_by: tuple[str, ...]


class VerifyReport(StrictModel):
    """``evalsite verify --json``. ``notes`` say what a bundle does not hold; a project has none."""

    verdicts: dict[str, Literal["holds", "FAILED", "nothing checked"]]
    levels: dict[str, LevelReport]
    checks: tuple[CheckReport, ...]
    notes: tuple[str, ...]
    exit_code: Count


class ReasonReport(StrictModel):
    """One condition that refused a gate."""

    code: str
    side: Literal["candidate", "judge", "campaign", "host"]
    message: str
    rule: str
    trials: tuple[str, ...]


class GateReport(StrictModel):
    """``evalsite gate --json``. ``calibration_passed`` is null where no control is shown (R54)."""

    run: str
    profile: str
    mode: Mode
    protocol: Protocol
    fixture_gate: Literal["passed", "refused", "undecided", "not applicable"]
    model_gate: Literal["passed", "refused", "undecided", "not applicable"]
    calibration_passed: bool | None
    expected: Count
    observed: Count
    by_status: dict[str, Count]
    critical_failures: Count
    contract_errors: Count
    reasons: tuple[ReasonReport, ...]
    evidence_level: str
    exit_code: Count


class RunReport(StrictModel):
    """``evalsite run --json``. ``statuses`` counts the trials of this sitting."""

    run: str
    ledger: str
    record: str
    statuses: dict[str, Count]


class BuildReport(StrictModel):
    """``evalsite build --json``. ``digest`` is the SHA-256 of the site's manifest."""

    site: str
    pages: Count
    files: Count
    written: Count
    removed: Count
    digest: str


class CorpusRow(StrictModel):
    """One corpus of ``evalsite corpus check --json``."""

    name: str
    protocol: Protocol
    cases: Count
    campaigns: Count
    findings: Count


class CorpusCheckReport(StrictModel):
    """``evalsite corpus check --json``."""

    corpora: tuple[CorpusRow, ...]
    findings: tuple[Finding, ...]


class CaseRow(StrictModel):
    """One case of ``evalsite corpus show --json``: its fingerprint and the digest of what a candidate is sent."""

    case_id: str
    fingerprint: str
    candidate_message: str | None


class CorpusShowReport(StrictModel):
    """``evalsite corpus show --json``."""

    name: str
    version: str
    protocol: Protocol
    fingerprint: str
    cases: tuple[CaseRow, ...]


REPORTS: dict[str, type[StrictModel]] = {
    "verify-report": VerifyReport,
    "gate-report": GateReport,
    "run-report": RunReport,
    "build-report": BuildReport,
    "corpus-check-report": CorpusCheckReport,
    "corpus-show-report": CorpusShowReport,
}
