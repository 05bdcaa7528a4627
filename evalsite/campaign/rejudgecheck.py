# SPDX-License-Identifier: Apache-2.0
"""Step 30 of a verification: answers that were judged again are those of the run that the plan names.

The replies stand in the judging run as well, so that its results can be derived without the other run.
Whether they are the ones that the candidate gave, only the other run can tell.
"""

from dataclasses import replace

from evalsite.campaign.replaying import recorded_reply
from evalsite.campaign.trusted import TrialRecord, TrustedRun
from evalsite.endpoint.replay import NOT_RECORDED, RecordedReply, replay_identity
from evalsite.errors import IntegrityError
from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.layout import run_folder
from evalsite.ledger.steps import Step
from evalsite.schema.base import Finding, Severity
from evalsite.schema.checks import Area, Check
from evalsite.schema.entries import RunOpened
from evalsite.schema.outcome import Trial
from evalsite.schema.plan import AnswersRef

_STEP = 30
_NAME = "answers judged again are those that were given"
RULE = "run-record §4"


def answers_named(run: AuthenticRun | None) -> AnswersRef | None:
    """Return whose answers a run judges again; null for every other run."""
    opened = run.events[0] if run is not None and run.events else None
    return opened.plan.answers if isinstance(opened, RunOpened) else None


def check_answers(run: TrustedRun, answers: AnswersRef, source: TrustedRun | None) -> Check:
    """Compare the answers of a run with those of the run that it names.

    Args:
        run: The run that judged them again.
        answers: What its plan says of them.
        source: The run that gave them; null if it is not there or does not hold.
    """
    if source is None:
        finding = Finding(
            code="answers.source",
            severity=Severity.ERROR,
            at=run_folder(run.run_id),
            message=f"expected the run {answers.run}, whose answers were judged again, and found none that holds",
            rule=RULE,
        )
        return Check(step=_STEP, name=_NAME, area=Area.AVAILABILITY, checked=1, findings=(finding,))
    step = Step(_STEP, _NAME)
    with step.item("answers.source", run_folder(run.run_id)):
        _check_plan(run, answers, source)
    given = {record.trial: record for record in source.cases}
    for record in run.cases:
        with step.item("answers.reply", f"{run_folder(run.run_id)}: {record.trial.label()}"):
            _check_reply(run, source, record, given.get(_asked(run, record)))
    return step.done()


def _check_plan(run: TrustedRun, answers: AnswersRef, source: TrustedRun) -> None:
    sealed = (source.head.root, source.head.statement_digest, source.plan.repetitions)
    if (answers.root, answers.statement, answers.repetitions) != sealed or not source.sealed:
        raise IntegrityError(f"expected {source.run_id} as it was sealed, the plan names another", rule=RULE)
    ours, theirs = run.plan, source.plan
    if theirs.answers is not None:
        raise IntegrityError(f"expected a run that asked its candidate, {source.run_id} did not", rule=RULE)
    if ours.cases != theirs.cases or ours.corpus.fingerprint != theirs.corpus.fingerprint:
        raise IntegrityError(f"expected the cases and the corpus of {source.run_id}", rule=RULE)
    if ours.candidate is None or theirs.candidate is None:
        raise IntegrityError(f"expected answers of a candidate in {source.run_id}", rule=RULE)
    said = ours.candidate.identity.model_copy(update={"raw": None})
    if said != replay_identity(theirs.candidate.identity, source.run_id):
        raise IntegrityError(f"expected the candidate of {source.run_id}, the plan tells of another", rule=RULE)


def _asked(run: TrustedRun, record: TrialRecord) -> Trial:
    """Return the trial whose answer was judged."""
    repetition = record.trial.repetition or 1
    return record.trial.model_copy(update={"repetition": run.plan.answered(repetition)})


def _check_reply(run: TrustedRun, source: TrustedRun, record: TrialRecord, given: TrialRecord | None) -> None:
    if record.candidate_call is None:
        return  # the host failed before the answer came, and the result says so
    call = None if given is None else given.candidate_call
    expected = NOT_RECORDED if call is None else recorded_reply(source, call)
    if _stored(recorded_reply(run, record.candidate_call)) != _stored(expected):
        message = f"the answer is not the one that {source.run_id} recorded"
        raise IntegrityError(message, rule=RULE)


def _stored(reply: RecordedReply) -> RecordedReply:
    """Return a reply as a record keeps it: short texts of servers are bounded when a call is recorded."""
    return replace(reply, done_reason=None)
