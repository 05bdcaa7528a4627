# SPDX-License-Identifier: Apache-2.0
"""Recorded answers of a sealed run before a judge once more (R97, T6; docs/reference/calibration.md).

Only the judge is asked: controls first, then every answer as it was recorded, each as often as wanted. What
differs between two such runs is the judge alone, and answers that were labelled stay the ones that were
labelled. The candidate is not asked, so that no gate opens.
"""

from dataclasses import dataclass

from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.fixture import judge_table
from evalsite.campaign.labelplan import Judged, planned_calibration
from evalsite.campaign.planning import Identities, planned_judge
from evalsite.campaign.provenance import environment
from evalsite.campaign.replaying import recorded_reply
from evalsite.campaign.session import Host, Sitting, begin, go_on, interrupted_plan, snapshot_of
from evalsite.campaign.trusted import TrustedRun
from evalsite.corpus.load import LoadedCampaign
from evalsite.endpoint.fixture import FixtureEndpoint, fixture_identity
from evalsite.endpoint.ollama import OllamaEndpoint
from evalsite.endpoint.replay import NOT_RECORDED, RecordedReply, ReplayEndpoint, replay_identity
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.constructs import planned_constructs
from evalsite.ledger.labelbook import LabelBook
from evalsite.ledger.writer import LedgerWriter
from evalsite.schema import bounds
from evalsite.schema.calibration import CalibrationPlan, CalibrationSpec
from evalsite.schema.outcome import Mode, Protocol, Role
from evalsite.schema.plan import (
    AnswersRef,
    FixtureEndpointSpec,
    OllamaEndpointSpec,
    Plan,
    ReplayEndpointSpec,
    RolePlan,
    RoleSpec,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudging:
    """What is wanted.

    ``judge`` replaces that of the run, or of ``campaign`` where one is stated; ``times`` is how often each
    answer is judged. ``calibration`` names labels of the answers.
    """

    judge: RoleSpec
    times: int = 1
    campaign: LoadedCampaign | None = None
    calibration: CalibrationSpec | None = None


def judge_of(source: TrustedRun, campaign: LoadedCampaign | None = None) -> RoleSpec:
    """Return the judge of a run, or of a campaign over the same corpus.

    Raises:
        InputError: The campaign is over another corpus than the run, or one with other texts.
    """
    if campaign is None:
        return source.plan.judge.spec
    if campaign.corpus.fingerprint != source.plan.corpus.fingerprint:
        raise InputError(
            f"expected a campaign over {source.plan.corpus.name} as {source.run_id} was asked about it, "
            f"got one over {campaign.corpus.corpus.name} with another fingerprint",
            at=campaign.document.place(""),
            rule="R95",
            advice="Answers can only be judged by what they were asked: restore the corpus, or run the campaign.",
        )
    return campaign.spec.judge


def check_source(source: TrustedRun, judge: RoleSpec, times: int) -> None:
    """Refuse what has no frozen answers, or what this judge says nothing about.

    Raises:
        InputError: Another protocol, answers that are no first-hand ones, a fixture on one side only, too often.
        UndecidedError: The run is not sealed.
    """
    plan, at = source.plan, f"runs/{source.run_id}"
    if plan.protocol is not Protocol.BINARY:
        raise InputError(
            f"expected a run of the binary protocol, {source.run_id} is of the {plan.protocol.value} one: "
            "its judge read texts of the corpus, which stand frozen in it",
            at=at,
            rule="T6",
            advice="Run its campaign again, or with more repetitions: evalsite run CAMPAIGN [--judge-model NAME]",
        )
    if not source.sealed:
        raise UndecidedError("expected a sealed run: its answers must not change", at=at, rule="R93")
    if plan.answers is not None or plan.mode is Mode.REPLAY:
        first = plan.answers.run if plan.answers is not None else "the run that it replays"
        raise InputError(
            f"expected a run that asked its candidate, {source.run_id} has its answers from another run",
            at=at,
            rule="R97",
            advice=f"Judge the answers of {first}.",
        )
    expected = FixtureEndpointSpec if plan.mode is Mode.FIXTURE else OllamaEndpointSpec
    if not isinstance(judge.endpoint, expected):
        raise InputError(
            f"expected a judge of a {plan.mode.value} run, got a {judge.endpoint.kind} endpoint",
            at=at,
            rule="R39",
            advice="A fixture and a model are never mixed, and a recorded verdict is no new one.",
        )
    if not 1 <= times * plan.repetitions <= bounds.MAX_REPETITIONS:
        raise InputError(
            f"expected at most {bounds.MAX_REPETITIONS} verdicts for a case, "
            f"got {times} for each of {plan.repetitions} answers",
            at="--repetitions",
            rule="bounds",
        )


async def start_rejudge(ledger: LedgerWriter, source: TrustedRun, wanted: Rejudging, run_id: str, host: Host) -> None:
    """Judge a run's answers again and seal the record.

    Args:
        ledger: The open ledger that the new run is logged in.
        source: The verified run whose answers are judged.
        wanted: By whom, how often, and beside which labels.
        run_id: Name of the new run's folder.
        host: Clock and watcher.

    Raises:
        InputError: It cannot be judged again like this; nothing was written.
        UndecidedError: The run is not sealed; nothing was written.
        EndpointError: The judge is unreachable or unfit; nothing was written.
        RunInterruptedError: Told to stop; what was recorded is whole.
    """
    check_source(source, wanted.judge, wanted.times)
    calibration = _calibration(source, wanted.calibration, ledger.labels.book)

    def planned(identities: Identities, digest: str) -> Plan:
        return _plan(source, wanted, identities, digest, calibration)

    await begin(ledger, run_id, host, _sitting(source, wanted.judge, wanted.times), planned)


async def resume_rejudge(ledger: LedgerWriter, source: TrustedRun, run_id: str, host: Host) -> None:
    """Go on with an interrupted judging of a run's answers.

    Raises:
        InputError: The interrupted run does not judge the answers of this one.
        IntegrityError: The record does not match its signed checkpoint; nothing was changed.
        UndecidedError: The judge is not the one that was planned; nothing was changed.
        EndpointError: The judge is unreachable or unfit; nothing was changed.
    """
    plan = interrupted_plan(ledger, run_id)
    if plan.answers != _reference(source):
        raise InputError(
            f"expected an interrupted run that judges the answers of {source.run_id}, {run_id} does not",
            at="--resume",
            rule="R99",
        )
    times = plan.repetitions // source.plan.repetitions
    sitting = _sitting(source, plan.judge.spec, times)
    kept = Sitting(snapshot=snapshot_of(ledger, run_id, plan), endpoints=sitting.endpoints)
    await go_on(ledger, run_id, host, kept, plan)


def answers_endpoint(source: TrustedRun, times: int) -> ReplayEndpoint:
    """Return an endpoint that gives each recorded answer of a candidate again, in the order of the plan.

    Args:
        source: The run whose answers they are.
        times: How often all of them come round.
    """
    book, by_trial = CaseBook(source.snapshot), {record.trial: record for record in source.cases}
    recorded: dict[str, list[RecordedReply]] = {}
    for trial in source.plan.case_trials():
        record = by_trial.get(trial)
        call = None if record is None else record.candidate_call
        reply = NOT_RECORDED if call is None else recorded_reply(source, call)
        recorded.setdefault(book.candidate_question(trial).prompt_digest, []).append(reply)
    candidate = _candidate(source)
    said = candidate.identity.raw
    return ReplayEndpoint(
        replay_identity(candidate.identity, source.run_id),
        {prompt: replies * times for prompt, replies in recorded.items()},
        raw=None if said is None else source.blob(said),
    )


def _candidate(source: TrustedRun) -> RolePlan:
    if source.plan.candidate is None:  # pragma: no cover - the binary protocol has one
        raise ValueError(source.run_id)
    return source.plan.candidate


def _sitting(source: TrustedRun, judge: RoleSpec, times: int) -> Sitting:
    answers, asked = answers_endpoint(source, times), _judge(source, judge)
    return Sitting(snapshot=source.snapshot, endpoints={Role.CANDIDATE: answers, Role.JUDGE: asked})


def _judge(source: TrustedRun, judge: RoleSpec) -> FixtureEndpoint | OllamaEndpoint:
    spec = judge.endpoint
    if isinstance(spec, OllamaEndpointSpec):
        return OllamaEndpoint(spec, judge.sampling)
    if not isinstance(spec, FixtureEndpointSpec):  # pragma: no cover - refused before
        raise TypeError(spec.kind)
    scripted = _candidate(source).spec.endpoint
    answers = scripted if isinstance(scripted, FixtureEndpointSpec) else None
    return FixtureEndpoint(fixture_identity(), judge_table(source.snapshot, spec, answers))


def _reference(source: TrustedRun) -> AnswersRef:
    if source.head.statement_digest is None:  # pragma: no cover - a sealed run has a statement
        raise ValueError(source.run_id)
    return AnswersRef(
        run=source.run_id,
        root=source.head.root,
        statement=source.head.statement_digest,
        repetitions=source.plan.repetitions,
    )


def _calibration(source: TrustedRun, spec: CalibrationSpec | None, book: LabelBook) -> CalibrationPlan | None:
    if spec is None:
        return None
    fingerprint = source.plan.corpus.fingerprint
    judged = Judged(corpus=source.snapshot.corpus, fingerprint=fingerprint, answers_of=source.run_id)
    return planned_calibration(spec, book, judged)


def _plan(
    source: TrustedRun, wanted: Rejudging, identities: Identities, snapshot: str, calibration: CalibrationPlan | None
) -> Plan:
    """Return the plan: that of the run, with another judge or the same one, and nobody else to ask."""
    plan, asked = source.plan, _candidate(source)
    spec = asked.spec.model_copy(update={"endpoint": ReplayEndpointSpec(kind="replay", run=source.run_id)})
    changes: dict[str, object] = {
        "corpus": plan.corpus.model_copy(update={"snapshot": snapshot}),
        "repetitions": plan.repetitions * wanted.times,
        "candidate": asked.model_copy(update={"spec": spec, "identity": identities.candidate}),
        "judge": planned_judge(CaseBook(source.snapshot), wanted.judge, identities.judge),
        "environment": environment(),
        "calibration": calibration,
        "constructs": planned_constructs(plan.protocol),
        "answers": _reference(source),
    }
    if wanted.campaign is not None:
        stated = wanted.campaign.spec
        changes |= {
            "campaign_name": stated.name,
            "campaign_title": stated.title,
            "campaign_digest": wanted.campaign.digest,
            "purpose": stated.purpose,
            "profile": stated.profile,
        }
    return Plan.model_validate({**dict(plan), **changes})
