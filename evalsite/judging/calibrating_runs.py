# SPDX-License-Identifier: Apache-2.0
"""What a run shows of its judge without any label: controls, named weaknesses, repetitions (T5). Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from evalsite.judging import calibrating_figures as figures
from evalsite.judging.calibrating import Observation, Weighed
from evalsite.judging.calibrating_tables import MIN_COLUMN, column_of
from evalsite.judging.gates import Reason
from evalsite.schema.calibration import Criterion, GateOutcome
from evalsite.schema.outcome import Dimension, Polarity, Result, Stage, Status, Trial
from evalsite.schema.tables import (
    CaseRepetitions,
    ControlsTable,
    NamedFinding,
    PassPower,
    RepetitionTable,
    Unavailable,
)

#: Error types of a reply that has no verdict, and what they make of it; every other broken contract is `PARSE`.
_ERRORS = {
    "TruncatedReply": Unavailable.TRUNCATED,
    "ContextOverflow": Unavailable.TRUNCATED,
    "TruncatedPrompt": Unavailable.TRUNCATED,
    "EndOfCardNotSeen": Unavailable.TRUNCATED,
    "UnknownEvidence": Unavailable.UNKNOWN_EVIDENCE,
}
_STATUSES = {
    Status.CANNOT_JUDGE: Unavailable.NULL,
    Status.CONTRACT_ERROR: Unavailable.PARSE,
    Status.MISSING_ANSWER: Unavailable.TRANSPORT,
    Status.TRANSPORT_ERROR: Unavailable.TRANSPORT,
}
_PHANTOM = ("phantom-evidence", "the judge cites evidence that does not exist", "R27")
_UNSEEN = ("end-of-card-unseen", "the judge did not see the end of what it was shown", "calibration, findings")
_NAMED = {"UnknownEvidence": _PHANTOM, "EndOfCardNotSeen": _UNSEEN}


def outcome_of(result: Result) -> int | Unavailable:
    """Return the judge's value of a trial, or why there is none; a failed call is never a zero (R61).

    A verdict of the binary protocol is 1 when both its booleans are true.
    """
    verdict = result.verdict
    if verdict is not None and verdict.required_behavior_met is not None:
        return int(verdict.required_behavior_met and verdict.forbidden_behavior_absent is True)
    if verdict is not None and verdict.score is not None:
        return verdict.score
    return Unavailable.NO_VERDICT if result.stage is Stage.CANDIDATE else _why_none(result)


def _why_none(result: Result) -> Unavailable:
    if result.error_type in _ERRORS:
        return _ERRORS[result.error_type]
    if result.error_type == "WrongShape" and (result.detail or "").startswith("score "):
        return Unavailable.VOCABULARY
    return _STATUSES.get(result.status, Unavailable.NO_VERDICT)


def controls_table(planned: Mapping[Trial, str], results: Mapping[Trial, Result]) -> ControlsTable:
    """Return how a run's controls came out.

    Args:
        planned: The controls of the plan, and of which kind each is.
        results: What became of those that were shown.
    """
    shown: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for trial, result in results.items():
        kind = planned[trial]
        shown[kind] += 1
        right[kind] += result.status is Status.PASSED
    wrong = sum(result.status is Status.CALIBRATION_FAILURE for result in results.values())
    return ControlsTable(
        planned=len(planned),
        right=right.total(),
        unavailable=len(planned) - right.total() - wrong,
        passed=right.total() == len(planned) if planned else None,
        by_kind={kind: (right[kind], shown[kind]) for kind in sorted(shown)},
    )


def findings_of(reasons: Iterable[Reason], results: Mapping[Trial, Result]) -> tuple[NamedFinding, ...]:
    """Return the named weaknesses of a judge that no label is needed for.

    Args:
        reasons: What the decision over the run found; failed controls are among them.
        results: Every result of the run.
    """
    failed = [reason for reason in reasons if reason.side == "judge" and reason.code.startswith("calibration-")]
    return (
        *(
            NamedFinding(
                code=reason.code,
                criterion=_column_of(reason),
                effect=GateOutcome.FAIL,
                message=reason.message,
                rule=reason.rule,
                items=reason.trials,
            )
            for reason in failed
        ),
        *_uniform_controls(results),
        *_broken(results),
    )


def _column_of(reason: Reason) -> Criterion | None:
    """Return the criterion whose column a guard found wanting; a failed control concerns the judge as such."""
    if not reason.code.startswith("calibration-uniform-"):
        return None
    dimensions = {word for label in reason.trials for word in label.split() if word in set(Dimension)}
    return Criterion(dimensions.pop()) if len(dimensions) == 1 else None


def _uniform_controls(results: Mapping[Trial, Result]) -> Iterator[NamedFinding]:
    """Yield that a judge classified all controls alike, positive references and negative counter-examples."""
    sides: dict[Trial, bool] = {}
    for trial, result in results.items():
        if trial.polarity is not None and result.status in {Status.PASSED, Status.CALIBRATION_FAILURE}:
            sides[trial] = (trial.polarity is Polarity.POSITIVE) is (result.status is Status.PASSED)
    if len(sides) < MIN_COLUMN or len(set(sides.values())) > 1 or len({trial.polarity for trial in sides}) == 1:
        return
    passes = True in sides.values()
    yield NamedFinding(
        code="constant-pass" if passes else "constant-fail",
        criterion=None,
        effect=GateOutcome.FAIL,
        message=f"the judge {'accepts' if passes else 'rejects'} all {len(sides)} controls, good and bad ones",
        rule="R88, calibration, findings",
        items=(),
    )


def uniform_finding(weighed: Weighed) -> NamedFinding | None:
    """Return that a judge says the same to everything, where labels of both poles show that it cannot be right (T7)."""
    column = column_of(weighed)
    poles = {human for human in weighed.human.values() if human is not None}
    if not column.constant or not {0, weighed.scale.top} <= poles:
        return None
    criterion = weighed.scale.criterion
    kind = {"0": "fail", "1": "pass"}.get(column.value or "", column.value)
    return NamedFinding(
        code=f"constant-{kind}",
        criterion=criterion,
        effect=GateOutcome.FAIL,
        message=f"{criterion.value}: the judge says {column.value} to all {column.decided} items, people do not",
        rule="R88, T7",
        items=(),
    )


def _broken(results: Mapping[Trial, Result]) -> Iterator[NamedFinding]:
    for error_type, (code, message, rule) in _NAMED.items():
        found = tuple(trial.label() for trial, result in results.items() if result.error_type == error_type)
        if found:
            yield NamedFinding(
                code=code, criterion=None, effect=GateOutcome.INSUFFICIENT, message=message, rule=rule, items=found
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """One case over its repetitions; null is a trial without a result that could be right or wrong."""

    case_id: str
    dimension: str | None
    passes: tuple[bool | None, ...]


def repetition_table(about: str, cases: Sequence[Repeated], observations: Iterable[Observation]) -> RepetitionTable:
    """Return T5.

    Args:
        about: What passes, in words.
        cases: Every case over its repetitions.
        observations: Every judged trial; those of an identical question show whether the judge repeats itself.
    """
    tried = [(sum(one is True for one in case.passes), sum(one is not None for one in case.passes)) for case in cases]
    most = max((trials for _, trials in tried), default=0)
    questions: dict[str, list[int]] = {}
    for seen in observations:
        if not isinstance(seen.outcome, Unavailable):
            questions.setdefault(seen.question, []).append(seen.outcome)
    asked = [said for question, said in questions.items() if question and len(said) > 1]
    return RepetitionTable(
        about=about,
        cases=tuple(
            CaseRepetitions(
                case_id=case.case_id,
                dimension=case.dimension,
                trials=trials,
                passes=passes,
                unavailable=len(case.passes) - trials,
            )
            for case, (passes, trials) in zip(cases, tried, strict=True)
        ),
        pass_power=tuple(
            PassPower(k=k, all_pass=figures.all_pass(tried, k), any_pass=figures.any_pass(tried, k))
            for k in range(1, most + 1)
        ),
        flaky=tuple(case.case_id for case, (passes, trials) in zip(cases, tried, strict=True) if 0 < passes < trials),
        retested=len(asked),
        unanimous=figures.rate(
            sum(len(set(said)) == 1 for said in asked), len(asked), "no question was asked the judge twice"
        ),
    )
