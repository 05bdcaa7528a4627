# SPDX-License-Identifier: Apache-2.0
"""One sitting of a campaign: from its file to a sealed run, or on from where a run stopped.

Order matters: everything that can be refused is refused before anything is written; the endpoints
describe themselves before the plan is fixed; the plan is logged before the first case.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.execute import Clock, Execution, Progress, Step
from evalsite.campaign.fixture import candidate_table, judge_table
from evalsite.campaign.labelplan import Judged, planned_calibration
from evalsite.campaign.planning import Identities, check_campaign, make_plan
from evalsite.campaign.provenance import environment
from evalsite.campaign.replaying import replay_endpoint, skip_given
from evalsite.campaign.trusted import TrustedRun
from evalsite.corpus.load import LoadedCampaign
from evalsite.endpoint.base import Description, Endpoint
from evalsite.endpoint.fixture import FixtureEndpoint, fixture_identity
from evalsite.endpoint.ollama import OllamaEndpoint
from evalsite.errors import InputError, UndecidedError
from evalsite.ledger.labelbook import LabelBook
from evalsite.ledger.totals import totals_of
from evalsite.ledger.writer import LedgerWriter, RunWriter
from evalsite.schema import bounds
from evalsite.schema.calibration import CalibrationPlan
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import Event, RunOpened
from evalsite.schema.outcome import Role
from evalsite.schema.plan import (
    CampaignSpec,
    FixtureEndpointSpec,
    Identity,
    OllamaEndpointSpec,
    Plan,
    ReplayEndpointSpec,
    RoleSpec,
)

LoadRun = Callable[[str], TrustedRun]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What a sitting needs of the outside: the clock, who watches, and verified earlier runs.

    ``planned`` is called with the plan before the first trial of a sitting.
    """

    clock: Clock
    watch: Callable[[Step], None]
    load_run: LoadRun
    planned: Callable[[Plan], None] = lambda _: None


async def start_run(
    ledger: LedgerWriter, campaign: LoadedCampaign, run_id: str, host: Host, *, judge_model: str | None = None
) -> None:
    """Run a campaign and seal its record.

    Args:
        ledger: The open ledger that the run is logged in.
        campaign: The campaign file with its corpus.
        run_id: Name of the run's folder.
        host: Clock, watcher, verified earlier runs.
        judge_model: Another model name for the judge, same endpoint and protocol (R38).

    Raises:
        InputError: The campaign cannot be run as it stands; nothing was written.
        EndpointError: An endpoint is unreachable or unfit; nothing was written.
        RunInterruptedError: Told to stop; what was recorded is whole.
    """
    check_campaign(campaign)
    spec = campaign.spec
    if judge_model is not None:
        spec = spec.model_copy(update={"judge": with_model(spec.judge, judge_model)})
    snapshot = campaign.corpus.snapshot
    calibration = _calibration(campaign, spec, ledger.labels.book)
    endpoints = make_endpoints(spec.candidate, spec.judge, snapshot, host.load_run)

    def planned(identities: Identities, digest: str) -> Plan:
        return make_plan(
            campaign, spec, identities, snapshot=digest, environment=environment(), calibration=calibration
        )

    await begin(ledger, run_id, host, Sitting(snapshot=snapshot, endpoints=endpoints), planned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """What is asked about, and whom: one endpoint per role."""

    snapshot: CorpusSnapshot
    endpoints: Mapping[Role, Endpoint]


async def begin(
    ledger: LedgerWriter, run_id: str, host: Host, sitting: Sitting, planned: Callable[[Identities, str], Plan]
) -> None:
    """Let the endpoints describe themselves, log the plan, run it and seal it; the endpoints are closed.

    Args:
        ledger: The open ledger that the run is logged in.
        run_id: Name of the run's folder.
        host: Clock, watcher, verified earlier runs.
        sitting: What is asked about, and whom.
        planned: Gives the plan, from what the endpoints said and the digest of the corpus snapshot's blob.
    """
    try:
        described = {role: await endpoint.describe() for role, endpoint in sitting.endpoints.items()}
        writer = ledger.create_run(run_id)
        kept = {role: _kept(writer, description) for role, description in described.items()}
        identities = Identities(candidate=kept.get(Role.CANDIDATE), judge=kept[Role.JUDGE])
        plan = planned(identities, writer.put_blob(sitting.snapshot.to_bytes()))
        writer.begin(plan, now=host.clock.now())
        await _run_on(writer, plan, sitting, host, Progress())
    finally:
        await _close(sitting.endpoints)


async def resume_run(ledger: LedgerWriter, campaign: LoadedCampaign, run_id: str, host: Host) -> None:
    """Go on with a run that was interrupted or killed.

    The corpus is the one in the run's own blob and the endpoints are the planned ones: what is
    resumed is the plan, and a campaign file that changed since is refused.

    Raises:
        InputError: The campaign file is not the one of this run.
        IntegrityError: The record does not match its signed checkpoint; nothing was changed.
        UndecidedError: An endpoint is not the one that was planned; nothing was changed.
        EndpointError: An endpoint is unreachable or unfit; nothing was changed.
    """
    plan = interrupted_plan(ledger, run_id)
    if plan.answers is not None:
        raise InputError(
            f"expected a run of a campaign, {run_id} judges answers of {plan.answers.run} again",
            at=f"runs/{run_id}",
            advice=f"Go on with: evalsite rejudge {plan.answers.run} --resume {run_id}",
        )
    if plan.campaign_digest != campaign.digest:
        raise InputError(
            f"expected the campaign file that run {run_id} was planned with, got another one",
            at=campaign.document.place(""),
            rule="R99",
            advice="Resume with the file as it was, or start a new run.",
        )
    snapshot = snapshot_of(ledger, run_id, plan)
    candidate = plan.candidate.spec if plan.candidate is not None else None
    endpoints = make_endpoints(candidate, plan.judge.spec, snapshot, host.load_run)
    await go_on(ledger, run_id, host, Sitting(snapshot=snapshot, endpoints=endpoints), plan)


def interrupted_plan(ledger: LedgerWriter, run_id: str) -> Plan:
    """Return the plan of a run that can be resumed.

    Raises:
        InputError: No such run, one without a plan, or a sealed one.
    """
    plan = _planned(ledger.peek_run(run_id), run_id)
    if ledger.is_sealed(run_id):
        raise InputError(
            f"expected an interrupted run, {run_id} is sealed", at=f"runs/{run_id}", advice="Start a new run."
        )
    return plan


def snapshot_of(ledger: LedgerWriter, run_id: str, plan: Plan) -> CorpusSnapshot:
    """Return the corpus that a run was planned with, from its own blob."""
    return CorpusSnapshot.parse(
        ledger.peek_blob(run_id, plan.corpus.snapshot), max_bytes=bounds.MAX_BLOB_OF_CORPUS_BYTES
    )


async def go_on(ledger: LedgerWriter, run_id: str, host: Host, sitting: Sitting, plan: Plan) -> None:
    """Go on with an interrupted run at the endpoints of its plan; they are closed.

    Raises:
        UndecidedError: An endpoint is not the one that was planned; nothing was changed.
    """
    try:
        for role, endpoint in sitting.endpoints.items():
            _same_identity(plan, role, await endpoint.describe())
        now = host.clock.now()
        writer, events, recovery = ledger.resume_run(run_id, now=now)
        for role, endpoint in sitting.endpoints.items():
            skip_given(endpoint, events, role)
        progress = Progress.of(events)
        if not progress.closed:
            changed = plan.environment != environment()
            writer.append("run.resumed", {**recovery.plain(), "environment_changed": changed}, now=now)
        await _run_on(writer, plan, sitting, host, progress)
    finally:
        await _close(sitting.endpoints)


def make_endpoints(
    candidate: RoleSpec | None, judge: RoleSpec, snapshot: CorpusSnapshot, load_run: LoadRun
) -> dict[Role, Endpoint]:
    """Return one endpoint per role, each with its own client (R37)."""
    endpoints: dict[Role, Endpoint] = {}
    if candidate is not None:
        spec = candidate.endpoint
        if isinstance(spec, FixtureEndpointSpec):
            endpoints[Role.CANDIDATE] = FixtureEndpoint(fixture_identity(), candidate_table(snapshot, spec))
        elif isinstance(spec, OllamaEndpointSpec):
            endpoints[Role.CANDIDATE] = OllamaEndpoint(spec, candidate.sampling)
        else:
            endpoints[Role.CANDIDATE] = replay_endpoint(load_run(spec.run), Role.CANDIDATE)
    spec = judge.endpoint
    if isinstance(spec, FixtureEndpointSpec):
        fixture = candidate.endpoint if candidate is not None else None
        scripted = fixture if isinstance(fixture, FixtureEndpointSpec) else None
        endpoints[Role.JUDGE] = FixtureEndpoint(fixture_identity(), judge_table(snapshot, spec, scripted))
    elif isinstance(spec, OllamaEndpointSpec):
        endpoints[Role.JUDGE] = OllamaEndpoint(spec, judge.sampling)
    else:
        endpoints[Role.JUDGE] = replay_endpoint(load_run(spec.run), Role.JUDGE)
    return endpoints


def _calibration(campaign: LoadedCampaign, spec: CampaignSpec, book: LabelBook) -> CalibrationPlan | None:
    if spec.calibration is None:
        return None
    corpus = campaign.corpus
    candidate = None if spec.candidate is None else spec.candidate.endpoint
    answers_of = candidate.run if isinstance(candidate, ReplayEndpointSpec) else None
    judged = Judged(corpus=corpus.corpus, fingerprint=corpus.fingerprint, answers_of=answers_of)
    try:
        return planned_calibration(spec.calibration, book, judged)
    except InputError as exc:
        raise campaign.document.located(exc) from exc


def with_model(judge: RoleSpec, model_name: str) -> RoleSpec:
    """Return a judge with another model name, same server and sampling (R38).

    Raises:
        InputError: The judge is on no server, or the name is none.
    """
    endpoint = judge.endpoint
    if not isinstance(endpoint, OllamaEndpointSpec):
        raise InputError(
            f"expected a judge on an Ollama server, got a {endpoint.kind} judge", at="--judge-model", rule="R38"
        )
    value = judge.plain()
    value["endpoint"]["model_name"] = model_name
    return RoleSpec.from_value(value)


def _kept(writer: RunWriter, description: Description) -> Identity:
    if description.raw is None:
        return description.identity
    return description.identity.model_copy(update={"raw": writer.put_blob(description.raw)})


def _planned(events: list[Event], run_id: str) -> Plan:
    if not events or not isinstance(events[0], RunOpened):
        raise InputError("expected a run with a plan, this one has none", at=f"runs/{run_id}", rule="R99")
    return events[0].plan


def _same_identity(plan: Plan, role: Role, description: Description) -> None:
    planned = plan.candidate if role is Role.CANDIDATE else plan.judge
    if planned is None:  # pragma: no cover - endpoints are made from the plan
        raise ValueError(role)
    found = description.identity.model_copy(update={"raw": planned.identity.raw})
    differing = [name for name in Identity.model_fields if getattr(found, name) != getattr(planned.identity, name)]
    if differing:
        raise UndecidedError(
            f"expected the {role.value} endpoint of the plan, it differs in {', '.join(differing)}",
            rule="R99",
            advice="A tag can be changed on the server: restore what was planned, or start a new run.",
        )


async def _run_on(writer: RunWriter, plan: Plan, sitting: Sitting, host: Host, progress: Progress) -> None:
    host.planned(plan)
    writer.group_commits()  # the execution syncs once a second
    execution = Execution(
        plan=plan,
        book=CaseBook(sitting.snapshot, plan.judge.prompt_version),
        recorder=writer,
        endpoints=sitting.endpoints,
        clock=host.clock,
        watch=host.watch,
    )
    await execution.run(progress, lambda: totals_of(plan, writer.events()).plain())


async def _close(endpoints: Mapping[Role, Endpoint]) -> None:
    for endpoint in endpoints.values():
        await endpoint.close()
