# SPDX-License-Identifier: Apache-2.0
"""From a campaign file and a corpus to the plan that is fixed before the first case (R99)."""

from dataclasses import dataclass

from evalsite.campaign.casebook import CaseBook
from evalsite.canonical.digest import digest_text
from evalsite.corpus.load import LoadedCampaign
from evalsite.errors import InputError
from evalsite.judging import prompts
from evalsite.judging.constructs import planned_constructs
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import CalibrationPlan
from evalsite.schema.corpus import DataClass
from evalsite.schema.outcome import Mode, Protocol
from evalsite.schema.plan import (
    CampaignSpec,
    CorpusRef,
    Environment,
    Identity,
    Plan,
    PlannedControl,
    RolePlan,
    RoleSpec,
)
from evalsite.schema.replies import CandidateAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What the endpoints said of themselves before the run; ``candidate`` null where there is none."""

    candidate: Identity | None
    judge: Identity


def check_campaign(campaign: LoadedCampaign) -> None:
    """Refuse a campaign that does not fit its corpus, before anything is asked or written.

    Raises:
        InputError: A candidate where the protocol has none or none where it has one; raw texts that
            are not declared synthetic (R112).
    """
    spec = campaign.spec
    corpus = campaign.corpus.corpus
    protocol = Protocol(corpus.protocol)
    if (spec.candidate is not None) != (protocol is Protocol.BINARY):
        expected = "a candidate" if protocol is Protocol.BINARY else "no candidate: the judge reads the corpus's texts"
        raise InputError(
            f"expected {expected} for the {protocol.value} protocol",
            at=campaign.document.place("candidate"),
            rule="T6",
            advice="Add the candidate's endpoint." if spec.candidate is None else "Write candidate: null.",
        )
    if corpus.data_class is not DataClass.SYNTHETIC:
        raise InputError(
            f"expected a corpus of class synthetic, got {corpus.data_class.value}",
            at=campaign.corpus.place("corpus.yaml", "data_class"),
            rule="R112",
            advice="Raw outputs of other data need sealed storage, which this version does not have.",
        )


def make_plan(
    campaign: LoadedCampaign,
    spec: CampaignSpec,
    identities: Identities,
    *,
    snapshot: str,
    environment: Environment,
    calibration: CalibrationPlan | None = None,
) -> Plan:
    """Return the plan of a run.

    Args:
        campaign: The campaign file with its corpus.
        spec: What is run: the file's content, with what the command line replaced (R38).
        identities: What the endpoints said of themselves.
        snapshot: Digest of the blob that holds the corpus snapshot.
        environment: Versions of the runner.
        calibration: What the plan says of labels.
    """
    corpus = campaign.corpus
    book = CaseBook(corpus.snapshot)
    instructions = book.candidate_instructions()
    candidate = None
    if spec.candidate is not None and identities.candidate is not None and instructions is not None:
        candidate = RolePlan(
            spec=spec.candidate,
            identity=identities.candidate,
            instructions_digest=digest_text(instructions),
            prompt_version=book.version,
            contract_digest=prompts.contract_digest(CandidateAnswer),
        )
    return Plan(
        format="evalsite/plan/v1",
        campaign_name=spec.name,
        campaign_title=spec.title,
        campaign_digest=campaign.digest,
        purpose=spec.purpose,
        profile=spec.profile,
        mode=spec.mode,
        protocol=book.protocol,
        corpus=CorpusRef(
            name=corpus.corpus.name,
            version=corpus.corpus.version,
            fingerprint=corpus.fingerprint,
            language=corpus.corpus.language,
            data_class=corpus.corpus.data_class,
            snapshot=snapshot,
        ),
        cases=book.planned_cases(spec.cases, corpus.case_fingerprints),
        repetitions=spec.repetitions,
        candidate=candidate,
        judge=planned_judge(book, spec.judge, identities.judge),
        environment=environment,
        calibration=calibration,
        constructs=planned_constructs(book.protocol),
        controls=planned_controls(book, spec.mode, calibration),
    )


def planned_judge(book: CaseBook, spec: RoleSpec, identity: Identity) -> RolePlan:
    """Return what a plan says of a judge that is asked about a corpus."""
    policy, version = book.corpus.instructions.judge, book.version
    return RolePlan(
        spec=spec,
        identity=identity,
        instructions_digest=prompts.judge_instructions_digest(policy, book.protocol, version=version),
        prompt_version=version,
        contract_digest=prompts.contract_digest(prompts.verdict_model(book.protocol, version)),
    )


def planned_controls(
    book: CaseBook, mode: Mode, calibration: CalibrationPlan | None
) -> tuple[PlannedControl, ...] | None:
    """Return the table of controls that a plan holds beside its cases; null if there are none to show.

    A grade is high or low by the constants of the run's labels, else by the software's.
    """
    if mode is Mode.FIXTURE:
        return None
    return book.planned_controls(DEFAULT_LOCK if calibration is None else calibration.design_lock)
