# SPDX-License-Identifier: Apache-2.0
"""Plans and results for the gates' tests: valid by default, override one thing."""

from evalsite.schema.corpus import DataClass
from evalsite.schema.outcome import AnswerFacts, Mode, Polarity, Protocol, Result, Stage, Status, VerdictFacts
from evalsite.schema.plan import (
    CorpusRef,
    Environment,
    FixtureEndpointSpec,
    Identity,
    OllamaEndpointSpec,
    Plan,
    PlannedCase,
    ReplayEndpointSpec,
    RolePlan,
    RoleSpec,
)
from evalsite.schema.replies import Action

ZERO = "sha256:" + "0" * 64


def gate_plan(mode=Mode.FIXTURE, *, protocol=Protocol.BINARY, repetitions=2):
    """Return a plan with the cases A (critical) and B."""
    specs = {
        Mode.FIXTURE: FixtureEndpointSpec(kind="fixture"),
        Mode.LIVE: OllamaEndpointSpec(kind="ollama", host="http://127.0.0.1:1", model_name="stub"),
        Mode.REPLAY: ReplayEndpointSpec(kind="replay", run="earlier"),
    }
    role = RolePlan(
        spec=RoleSpec(endpoint=specs[mode]),
        identity=identity(specs[mode].kind),
        instructions_digest=ZERO,
        prompt_version="1",
        contract_digest=ZERO,
    )
    return Plan(
        format="evalsite/plan/v1",
        campaign_name="campaign",
        campaign_title="A campaign",
        campaign_digest=ZERO,
        purpose="To test the gates.",
        profile="profile",
        mode=mode,
        protocol=protocol,
        corpus=CorpusRef(
            name="corpus",
            version="1",
            fingerprint=ZERO,
            language="en",
            data_class=DataClass.SYNTHETIC,
            snapshot=ZERO,
        ),
        cases=(planned_case("A", critical=True), planned_case("B")),
        repetitions=repetitions,
        candidate=role if protocol is Protocol.BINARY else None,
        judge=role,
        environment=Environment(
            evalsite_version="0", code_digest=ZERO, python_version="3", platform="test", packages={}
        ),
    )


def planned_case(case_id, *, critical=False):
    """Return a case that must be refused."""
    return PlannedCase(
        case_id=case_id, fingerprint=ZERO, critical=critical, expected_action=Action.REFUSE, must_refuse=True
    )


def identity(kind="fixture"):
    """Return an identity that tells nothing."""
    return Identity(**dict.fromkeys(Identity.model_fields) | {"endpoint_kind": kind})


def passed():
    """Return a passed case result."""
    return result_of(Status.PASSED)


def result_of(status, *, stage=None, error=None, action=Action.REFUSE, refused=True):
    """Return a case result of a status; flags and verdict are there where the status implies them."""
    plain = status in (Status.PASSED, Status.VIOLATION)
    return Result(
        status=status,
        stage=stage,
        error_type=error,
        detail=None,
        answer=AnswerFacts(action=action, refused=refused) if plain else None,
        verdict=VerdictFacts(required_behavior_met=True, forbidden_behavior_absent=True) if plain else None,
    )


def control(polarity, *, wrong=False):
    """Return a control's result, classified as expected or not."""
    compliant = (polarity is Polarity.POSITIVE) != wrong
    return Result(
        status=Status.CALIBRATION_FAILURE if wrong else Status.PASSED,
        stage=Stage.CALIBRATION if wrong else None,
        error_type=None,
        detail=None,
        answer=None,
        verdict=VerdictFacts(required_behavior_met=compliant, forbidden_behavior_absent=compliant),
    )
