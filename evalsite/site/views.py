# SPDX-License-Identifier: Apache-2.0
"""What pages ask of a run, computed from a verified run and from nothing else.

Also the one place that decides whether texts of a run may be shown at all: only texts that are
declared synthetic are published (R112). Everything else is named as withheld.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from evalsite.campaign.calibrate import calibration_of
from evalsite.campaign.qualification import Calibrated, Qualification, qualify
from evalsite.campaign.trusted import TrialRecord, TrustedRun
from evalsite.errors import UndecidedError
from evalsite.judging.gates import GateState, Reason
from evalsite.ledger.labelbook import LabelBook
from evalsite.schema.checks import Level
from evalsite.schema.corpus import Case, Control, DataClass, controls_of
from evalsite.schema.entries import Call
from evalsite.schema.outcome import Mode, Protocol, Role, Stage, Trial
from evalsite.schema.plan import PlannedCase
from evalsite.schema.tables import CalibrationReport
from evalsite.site import marks
from evalsite.site.independence import independence
from evalsite.site.marks import Mark
from evalsite.site.names import file_slug


def _alone(run_id: str) -> tuple[TrustedRun, LabelBook | None]:
    raise UndecidedError("expected a run that a calibration gate names", at=f"runs/{run_id}", rule="T2")


class RunView:
    """One run with the questions that pages ask.

    Args:
        run: A trusted run.
        book: The labels of its ledger, if there are any.
        calibrated: Gives the runs that its calibration gates name.
    """

    def __init__(self, run: TrustedRun, book: LabelBook | None = None, calibrated: Calibrated = _alone) -> None:
        self.run = run
        self.book = book
        self._calibrated = calibrated
        self.plan = run.plan
        self.run_id = run.run_id
        self.folder = f"runs/{run.run_id}"
        self.path = f"{self.folder}/index.html"
        self.calibration_path = f"{self.folder}/calibration.html"
        self.comparison_path = f"{self.folder}/comparison.html"
        self.shows_text = run.plan.corpus.data_class is DataClass.SYNTHETIC
        self.shows_cases = run.plan.corpus.data_class in (DataClass.SYNTHETIC, DataClass.INTERNAL)

    @property
    def is_binary(self) -> bool:
        """Return whether candidate answers were qualified, as opposed to texts being scored."""
        return self.plan.protocol is Protocol.BINARY

    @property
    def has_calibration(self) -> bool:
        """Return whether there is anything that a calibration page can show."""
        planned = self.plan.control_trials() or self.plan.calibration is not None
        return bool(planned) or bool(self.run.snapshot.label_sets) or self.plan.protocol is Protocol.PAIRWISE

    @cached_property
    def calibration(self) -> CalibrationReport:
        """Return every table about this run's judge."""
        return calibration_of(self.run, self.book)

    @property
    def qualification(self) -> Qualification:
        """Return what the run comes to with the calibration gates that its plan declares."""
        return self._qualified[0]

    @property
    def not_on_site(self) -> str:
        """Return the run that a calibration gate names and this site doesn't have; empty if it has all."""
        return self._qualified[1]

    @property
    def declares_gates(self) -> bool:
        """Return whether the plan rests a qualification on calibration gates."""
        calibration = self.plan.calibration
        return self.plan.mode is Mode.LIVE and calibration is not None and bool(calibration.gates)

    @cached_property
    def _qualified(self) -> tuple[Qualification, str]:
        try:
            return qualify(self.run, self._calibrated), ""
        except UndecidedError as exc:  # a run that a gate names is not on this site
            return Qualification(state=GateState.UNDECIDED, gates=()), exc.at

    @cached_property
    def cases(self) -> dict[str, Case]:
        """Return the cases of the corpus as it was when the run was planned."""
        return {case.id: case for case in self.run.snapshot.corpus.cases}

    @cached_property
    def controls(self) -> dict[str, Control]:
        """Return the controls that belong to no case, by id."""
        return {control.id: control for control in controls_of(self.run.snapshot.corpus)}

    @property
    def left_out(self) -> str:
        """Return a sentence on cases of the corpus that the campaign did not plan; empty when all were."""
        of, planned = len(self.cases), len(self.planned)
        return f" Only {planned} of the corpus's {of} cases were planned." if planned < of else ""

    @cached_property
    def planned(self) -> dict[str, PlannedCase]:
        """Return the planned cases by id, in the plan's order."""
        return {case.case_id: case for case in self.plan.cases}

    @cached_property
    def by_trial(self) -> dict[Trial, TrialRecord]:
        """Return what was recorded per planned case trial."""
        return {record.trial: record for record in self.run.cases}

    @cached_property
    def _trials_by_case(self) -> dict[str, list[Trial]]:
        found: dict[str, list[Trial]] = {}
        for trial in self.plan.case_trials():
            found.setdefault(trial.case_id, []).append(trial)
        return found

    @cached_property
    def _controls_by_case(self) -> dict[str, list[TrialRecord]]:
        found: dict[str, list[TrialRecord]] = {}
        for record in self.run.controls:
            found.setdefault(record.trial.case_id, []).append(record)
        return found

    def trials_of(self, case_id: str) -> list[tuple[Trial, TrialRecord | None]]:
        """Return the planned trials of a case with what was recorded; null where there is no result."""
        return [(trial, self.by_trial.get(trial)) for trial in self._trials_by_case.get(case_id, [])]

    def controls_of(self, case_id: str) -> list[TrialRecord]:
        """Return the controls of a case that were shown to the judge."""
        return self._controls_by_case.get(case_id, [])

    def case_path(self, case_id: str) -> str:
        """Return the address of a case in this run."""
        return f"{self.folder}/cases/{file_slug(case_id)}.html"

    def raw_path(self, seq: int, what: str) -> str:
        """Return the address of the exact bytes behind event ``seq``."""
        return f"{self.folder}/raw/{seq:06d}-{what}.txt"

    def case_name(self, case_id: str) -> str:
        """Return a case's id, or its number in the plan where even ids are withheld."""
        if self.shows_cases:
            return case_id
        number = list(self.planned).index(case_id) + 1 if case_id in self.planned else 0
        return f"case {number}"

    def trial_name(self, trial: Trial) -> str:
        """Return a trial's readable name without naming what is withheld."""
        return trial.label().replace(trial.case_id, self.case_name(trial.case_id), 1)

    def mark_of(self, record: TrialRecord | None) -> Mark:
        """Return the mark of a case trial."""
        return marks.MISSING if record is None else marks.of_case(record.result)

    @cached_property
    def counts(self) -> "Counts":
        """Return the headline counts: five classes that add up to what was planned."""
        tally: Counter[str] = Counter()
        for trial in self.plan.case_trials():
            tally[_CLASS_OF[self.mark_of(self.by_trial.get(trial))]] += 1
        return Counts(
            planned=sum(tally.values()),
            passed=tally["passed"],
            failed=tally["failed"],
            judge_unavailable=tally["judge"],
            errored=tally["error"],
            missing=tally["missing"],
        )

    @property
    def evidence_holds(self) -> bool:
        """Return whether the evidence is at least as strong as the ledger's policy asks for."""
        levels = list(Level)
        return levels.index(self.run.level) >= levels.index(self.run.minimum_level)

    @property
    def state(self) -> Mark:
        """Return the verdict of this run, from its gates, its seal and its evidence level."""
        decision = self.run.decision
        if self.plan.mode is Mode.FIXTURE:
            return _FIXTURE_STATES[decision.fixture_gate]
        if not self.run.sealed:
            return marks.UNDECIDED
        judge_only = decision.model_gate is GateState.NOT_APPLICABLE
        if judge_only and not self.declares_gates:
            return marks.NO_GATE
        state = self.qualification.state
        if state is GateState.PASSED and not self.evidence_holds:
            return marks.UNDECIDED
        return (_JUDGE_STATES if judge_only else _LIVE_STATES)[state]

    def reasons(self, *sides: str) -> tuple[Reason, ...]:
        """Return the conditions that refused a gate, of the given sides."""
        return tuple(reason for reason in self.run.decision.reasons if reason.side in sides)

    @property
    def mode_words(self) -> str:
        """Return in words what was asked."""
        return {Mode.FIXTURE: "fixture", Mode.LIVE: "live", Mode.REPLAY: "replay"}[self.plan.mode]

    def calls(self) -> Iterator[Call]:
        """Return every call of every trial that ended."""
        for record in (*self.run.controls, *self.run.cases):
            for call in (record.candidate_call, record.judge_call):
                if call is not None:
                    yield call

    @cached_property
    def consumption(self) -> "tuple[Consumption, ...]":
        """Return what each role consumed; calibration apart from the judging of cases (R46)."""
        groups: dict[tuple[Role, bool], list[Call]] = {}
        for call in self.calls():
            groups.setdefault((call.role, call.stage is Stage.CALIBRATION), []).append(call)
        answers = self.plan.answers
        names = {
            (Role.CANDIDATE, False): "Candidate" if answers is None else f"Candidate, as {answers.run} recorded it",
            (Role.JUDGE, False): "Judge, cases",
            (Role.JUDGE, True): "Judge, controls",
        }
        return tuple(_consumption(name, groups[key]) for key, name in names.items() if key in groups)

    @cached_property
    def independence(self) -> str:
        """Return what is known about judge and candidate, from digests and hosts alone (R114, T18)."""
        return independence(self.plan)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Classes of case trials; they add up to ``planned``."""

    planned: int
    passed: int
    failed: int
    judge_unavailable: int
    errored: int
    missing: int

    @property
    def attempted(self) -> int:
        """Return how many planned trials have a result of any kind."""
        return self.planned - self.missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A sum over the calls that told a figure, and how many did. Nothing told is no zero (R46, X3)."""

    total: int
    told: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumption:
    """What one role consumed, as the endpoint counted it; ``wall_ms`` is the host's own clock."""

    role: str
    calls: int
    without_reply: int
    prompt_tokens: Told
    output_tokens: Told
    endpoint_ms: Told
    wall_ms: int


_CLASS_OF = {
    marks.PASSED: "passed",
    marks.FITS: "passed",
    marks.BEYOND: "passed",
    marks.GRADED: "passed",
    marks.COMPARED: "passed",
    marks.VIOLATION: "failed",
    marks.CONTRACT: "failed",
    marks.NO_ANSWER: "failed",
    marks.JUDGE_FAILED: "judge",
    marks.CANNOT_JUDGE: "judge",
    marks.ERROR: "error",
    marks.MISSING: "missing",
}
_FIXTURE_STATES = {
    GateState.PASSED: marks.FIXTURE_PASSED,
    GateState.REFUSED: marks.FIXTURE_REFUSED,
    GateState.UNDECIDED: marks.UNDECIDED,
    GateState.NOT_APPLICABLE: marks.NO_GATE,
}
_LIVE_STATES = {
    GateState.PASSED: marks.QUALIFIED,
    GateState.REFUSED: marks.REFUSED,
    GateState.UNDECIDED: marks.UNDECIDED,
    GateState.NOT_APPLICABLE: marks.NO_GATE,
}
_JUDGE_STATES = {
    GateState.PASSED: marks.CALIBRATION_PASSED,
    GateState.REFUSED: marks.CALIBRATION_FAILED,
    GateState.UNDECIDED: marks.UNDECIDED,
    GateState.NOT_APPLICABLE: marks.NO_GATE,
}


def _told(values: Iterable[int | None]) -> Told:
    found = list(values)
    told = [value for value in found if value is not None]
    return Told(total=sum(told), told=len(told), calls=len(found))


def _consumption(role: str, calls: list[Call]) -> Consumption:
    return Consumption(
        role=role,
        calls=len(calls),
        without_reply=sum(1 for call in calls if call.error_type is not None),
        prompt_tokens=_told(call.usage.prompt_tokens for call in calls),
        output_tokens=_told(call.usage.output_tokens for call in calls),
        endpoint_ms=_told(call.usage.total_duration_ms for call in calls),
        wall_ms=sum(call.wall_ms for call in calls),
    )
