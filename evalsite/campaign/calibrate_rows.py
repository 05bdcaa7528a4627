# SPDX-License-Identifier: Apache-2.0
"""From a trusted run to what its judge said, trial by trial, with what was judged and the judge's own reason."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from evalsite.campaign.trusted import TrialRecord, TrustedRun
from evalsite.canonical.strictjson import parse_json
from evalsite.endpoint.content import reply_content
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.calibrating import Observation
from evalsite.judging.calibrating_runs import outcome_of
from evalsite.judging.constructs import item_of
from evalsite.judging.reading import read_answer
from evalsite.ledger.labelseal import dimension_of
from evalsite.schema import bounds
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import BinaryCase, Case, EvidenceCase, GradedCase
from evalsite.schema.entries import Call
from evalsite.schema.outcome import Trial
from evalsite.schema.replies import CandidateAnswer

_SAYS = ("reason", "explanation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What a trial's judge saw and said, as far as the calibration shows it."""

    chars: int
    supplied: int
    says: str | None


def observations_of(run: TrustedRun, criterion: Criterion, *, texts: bool = True) -> tuple[Observation, ...]:
    """Return what the judge said of each trial of a criterion, in the order of the plan.

    A trial whose candidate gave no answer was not judged: there is no text that a label could be about.

    Args:
        run: A run whose protocol is that of the criterion.
        criterion: Which verdicts.
        texts: Read replies as well, for lengths and reasons; counts and gates need none.
    """
    cases = {case.id: case for case in run.snapshot.corpus.cases}
    return tuple(_observations(run, criterion, cases, texts=texts))


def _observations(
    run: TrustedRun, criterion: Criterion, cases: Mapping[str, Case], *, texts: bool
) -> Iterator[Observation]:
    for record in run.cases:
        trial = record.trial
        if trial.dimension is not dimension_of(criterion):
            continue
        if criterion is Criterion.BINARY and record.result.answer is None:
            continue
        shown = _texts(run, record, cases[trial.case_id]) if texts else Texts(chars=0, supplied=0, says=None)
        verdict = record.result.verdict
        item = item_of(_answered(run, trial), criterion)
        yield Observation(
            item=item,
            repetition=trial.repetition or 1,
            outcome=outcome_of(record.result),
            chars=shown.chars,
            question=_question(record, item.label()),
            cited=() if verdict is None else verdict.evidence or (),
            supplied=shown.supplied,
            says=shown.says,
            trial=trial.label(),
        )


def _answered(run: TrustedRun, trial: Trial) -> Trial:
    """Return the trial whose answer is judged: of frozen answers, that of the run that they come from."""
    if trial.repetition is None:
        return trial
    return trial.model_copy(update={"repetition": run.plan.answered(trial.repetition)})


def _question(record: TrialRecord, item: str) -> str:
    """Return what identical questions have alike: the item, and the prompt where the item is a candidate's answer."""
    if record.result.answer is None:
        return item
    return record.trial.case_id + (record.judge_call.prompt_digest if record.judge_call is not None else "")


def _texts(run: TrustedRun, record: TrialRecord, case: Case) -> Texts:
    says = None if record.judge_call is None else _says(run, record.judge_call)
    match case:
        case EvidenceCase():
            return Texts(chars=len(case.explanation), supplied=len(case.evidence), says=says)
        case GradedCase():
            return Texts(chars=len(case.answer), supplied=0, says=says)
        case BinaryCase():
            return Texts(chars=_answer_chars(run, record), supplied=0, says=says)
        case _:
            return Texts(chars=0, supplied=0, says=says)


def _answer_chars(run: TrustedRun, record: TrialRecord) -> int:
    call = record.candidate_call
    if call is None or call.reply is None:
        return 0
    answer = read_answer(call, run.blob(call.reply))
    return len(answer.response) if isinstance(answer, CandidateAnswer) else 0


def _says(run: TrustedRun, call: Call) -> str | None:
    """Return the judge's own reason, bounded; null where the reply has none that can be read."""
    if call.reply is None:
        return None
    try:
        content = reply_content(run.blob(call.reply), call.reply_format)
        value = parse_json(content.encode("utf-8"), max_bytes=bounds.MAX_REPLY_BYTES)
    except (InputError, UndecidedError, UnicodeEncodeError):
        return None
    if not isinstance(value, dict):
        return None
    said = next((value[name] for name in _SAYS if isinstance(value.get(name), str)), None)
    return None if said is None else said[: bounds.MAX_EXPLANATION_CHARS]
