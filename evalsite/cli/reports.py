# SPDX-License-Identifier: Apache-2.0
"""What ``--json`` prints, as data contracts: their JSON Schemas are published by `evalsite corpus schema`."""

from typing import Literal

from evalsite.schema.base import Count, Finding, StrictModel
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.outcome import Mode, Protocol
from evalsite.schema.tables import CalibrationReport, GateResult, ImportReport


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

    verdicts: dict[str, Literal["holds", "FAILED", "not decided", "nothing checked"]]
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
    """``evalsite gate --json``. ``calibration_passed`` is null where no control is shown (R54).

    ``calibration_gates`` are those that the plan declares, and ``qualification`` is the conjunction of everything;
    without a declared gate it is the state of the run's own gate. ``independence`` is what may be said of judge and
    candidate (R114).
    """

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
    calibration_gates: tuple[GateResult, ...]
    qualification: Literal["passed", "refused", "undecided", "not applicable"]
    independence: str
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


class LabelRow(StrictModel):
    """One commitment of ``evalsite label list --json``; ``committed`` and ``revealed`` are positions in the log."""

    name: str
    ledger: str
    kind: Literal["annotator", "adjudication"]
    criterion: Criterion
    corpus: str
    count: Count
    claimed_level: LabelLevel
    blind: bool
    root: str
    committed: Count
    revealed: Count | None
    named_by: tuple[str, ...]


class LabelListReport(StrictModel):
    """``evalsite label list --json``."""

    labels: tuple[LabelRow, ...]


class ComparedRun(StrictModel):
    """One run of a comparison, with what its own gate says."""

    run: str
    profile: str
    mode: Mode
    opened_at: str
    fixture_gate: Literal["passed", "refused", "undecided", "not applicable"]
    model_gate: Literal["passed", "refused", "undecided", "not applicable"]
    calibration_passed: bool | None


class DifferenceReport(StrictModel):
    """One field that differs between two plans."""

    field: str
    before: str
    after: str


class BreakReport(StrictModel):
    """A criterion whose construct changed: its scores are two series (R98)."""

    criterion: str
    before: str
    after: str


class CellReport(StrictModel):
    """One outcome: a value (1 and 0, or the bin of a grade), or null with whose failure it was."""

    value: Count | None
    status: str
    side: Literal["candidate", "judge", "campaign", "host"] | None


_CHANGE = Literal["same", "down", "up", "excluded", "series break"]


class PairReport(StrictModel):
    """One repetition in both runs."""

    repetition: Count | None
    before: CellReport
    after: CellReport
    change: _CHANGE
    cause: Literal["answer", "judge", "case"] | None


class ComparedCase(StrictModel):
    """One case in both runs. ``pass_power_*`` is pass^k over all planned repetitions, null while one is missing."""

    case_id: str
    dimension: str | None
    critical: bool
    change: _CHANGE
    compared: Count
    passed_before: Count
    passed_after: Count
    pass_power_before: str | None
    pass_power_after: str | None
    pairs: tuple[PairReport, ...]


class OverallReport(StrictModel):
    """Compared pairs that passed, which stand beside the cases and never instead of them (R94)."""

    compared: Count
    passed_before: Count
    passed_after: Count


class RetestReport(StrictModel):
    """The judge on identical questions; with ``same_judge`` that is test-retest."""

    asked_twice: Count
    said_the_same: Count
    same_judge: bool


class ExactTestReport(StrictModel):
    """The exact McNemar test over cases, and what it would take; decimal text, null where there is no number."""

    compared: Count
    down: Count
    up: Count
    p: str | None
    alpha: str
    power: str
    conclusive: bool
    discordant_needed: Count
    cases_needed: Count | None
    least_visible_share: str | None


class ComparisonReport(StrictModel):
    """``evalsite compare --json``. ``pairs`` counts by change; ``words`` is what the terminal says below its table."""

    before: ComparedRun
    after: ComparedRun
    protocol: Protocol
    variable: str | None
    differences: tuple[DifferenceReport, ...]
    series_breaks: tuple[BreakReport, ...]
    pairs: dict[_CHANGE, Count]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    cases: tuple[ComparedCase, ...]
    overall: OverallReport
    excluded_by_side: dict[Literal["candidate", "judge", "campaign", "host"], Count]
    flips_by_cause: dict[Literal["answer", "judge", "case"], Count]
    retest: RetestReport
    exact_test: ExactTestReport
    regressions: tuple[str, ...]
    open_points: tuple[str, ...]
    outcome: Literal["no regression", "regression", "undecided"]
    words: tuple[str, ...]
    exit_code: Count


class PowerRow(StrictModel):
    """How many cases show a difference of these shares; null beyond what is searched."""

    repetitions: Count
    worse: str
    better: str
    cases: Count | None


class PowerReport(StrictModel):
    """``evalsite power difference --json``."""

    alpha: str
    power: str
    rows: tuple[PowerRow, ...]


class BoundRow(StrictModel):
    """How many labels show a bound with so many errors, and how likely a judge of the true rate gets there."""

    errors: Count
    labels: Count
    power: str


class BoundReport(StrictModel):
    """``evalsite power bound --json``."""

    tolerance: str
    alpha: str
    true_rate: str
    rows: tuple[BoundRow, ...]


REPORTS: dict[str, type[StrictModel]] = {
    "verify-report": VerifyReport,
    "gate-report": GateReport,
    "run-report": RunReport,
    "build-report": BuildReport,
    "corpus-check-report": CorpusCheckReport,
    "corpus-show-report": CorpusShowReport,
    "label-list-report": LabelListReport,
    "calibration-report": CalibrationReport,
    "import-report": ImportReport,
    "comparison-report": ComparisonReport,
    "power-report": PowerReport,
    "bound-report": BoundReport,
}
