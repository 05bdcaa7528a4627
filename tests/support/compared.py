# SPDX-License-Identifier: Apache-2.0
"""Runs as a comparison sees them, made of plans and results."""

from dataclasses import replace

from support.campaigns import ZERO, control, gate_plan, passed, planned_case, result_of

from evalsite.judging.comparison import RunFacts
from evalsite.judging.gates import Observed, decide
from evalsite.schema.outcome import Mode, Protocol, Result, Stage, Status, VerdictFacts
from evalsite.schema.plan import AnswersRef

#: Outcomes by letter: passed, violation, transport error, broken contract.
LETTERS = {
    "P": passed(),
    "V": result_of(Status.VIOLATION),
    "T": result_of(Status.TRANSPORT_ERROR, stage=Stage.JUDGE, error="ReadTimeout"),
    "C": result_of(Status.CONTRACT_ERROR, stage=Stage.CANDIDATE, error="NotJson"),
}


def plan_of(case_ids, *, repetitions=1, mode=Mode.LIVE, protocol=Protocol.BINARY, critical=()):
    """Return a plan with these cases."""
    cases = tuple(planned_case(case_id, critical=case_id in critical) for case_id in case_ids)
    return gate_plan(mode, protocol=protocol, repetitions=repetitions).model_copy(update={"cases": cases})


def run_of(outcomes, *, run="a", answers=None, **plan):
    """Return a run from its outcomes by case: a letter for each repetition, ``-`` where there is no result.

    ``answers`` names the answer of each repetition by a letter, likewise; the same letter is the same answer.
    """
    made = plan_of(outcomes, repetitions=max(map(len, outcomes.values()), default=1), **plan)
    results = {
        trial: LETTERS[letter]
        for trial in made.case_trials()
        if (letter := outcomes[trial.case_id][trial.repetition - 1]) != "-"
    }
    told = {trial: answers[trial.case_id][trial.repetition - 1] if answers else "same" for trial in results}
    return facts_of(made, results, run=run, answers=told)


def scored_run(scores, *, run="a", protocol=Protocol.GRADED, **plan):
    """Return a run of a protocol without a candidate, from scores by trial label; null is "cannot judge"."""
    case_ids = tuple(dict.fromkeys(label.split()[0] for label in scores))
    made = plan_of(case_ids, protocol=protocol, **plan)
    results = {trial: score_of(scores[trial.label()]) for trial in made.case_trials() if trial.label() in scores}
    return facts_of(made, results, run=run, answers={})


def score_of(score):
    """Return the result of a score."""
    return Result(
        status=Status.CANNOT_JUDGE if score is None else Status.JUDGED,
        stage=None,
        error_type=None,
        detail=None,
        answer=None,
        verdict=VerdictFacts(scored=score is not None, score=score),
    )


def facts_of(plan, results, *, run="a", answers):
    """Return the facts of a run whose controls were all classified rightly."""
    controls = {trial: control(trial.polarity) for trial in plan.control_trials()}
    decision = decide(Observed(plan=plan, cases=results, controls=controls, sealed=True))
    return RunFacts(
        run=run, plan=plan, opened_at="2026-12-01T00:00:00Z", results=results, answers=answers, decision=decision
    )


def with_plan(facts, **changes):
    """Return a run with another plan."""
    return replace(facts, plan=facts.plan.model_copy(update=changes))


def with_role(facts, role, **changes):
    """Return a run with another candidate or judge; a change of ``sampling`` or ``identity`` is a dict of fields."""
    planned = getattr(facts.plan, role)
    if "sampling" in changes:
        sampling = planned.spec.sampling.model_copy(update=changes.pop("sampling"))
        changes["spec"] = planned.spec.model_copy(update={"sampling": sampling})
    if "endpoint" in changes:
        endpoint = planned.spec.endpoint.model_copy(update=changes.pop("endpoint"))
        changes["spec"] = planned.spec.model_copy(update={"endpoint": endpoint})
    if "identity" in changes:
        changes["identity"] = planned.identity.model_copy(update=changes.pop("identity"))
    return with_plan(facts, **{role: planned.model_copy(update=changes)})


def rejudged(facts, run, *, repetitions=1):
    """Return a run as one that judged the answers of another again."""
    answers = AnswersRef(run=run, root=ZERO, statement=ZERO, repetitions=repetitions)
    return with_plan(facts, answers=answers)


OTHER = ZERO.replace("0", "1")
