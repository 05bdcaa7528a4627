# SPDX-License-Identifier: Apache-2.0
"""What a campaign asks for, and the plan that is fixed and logged before its first case."""

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evalsite.schema import bounds
from evalsite.schema.base import CaseId, Count, DigestText, FolderName, Later, ShortText, StrictModel, Text
from evalsite.schema.calibration import CalibrationPlan, CalibrationSpec, Criterion
from evalsite.schema.codechecks import CodeChecks
from evalsite.schema.corpus import DataClass, Language
from evalsite.schema.outcome import Dimension, Mode, Place, Polarity, Probe, Protocol, Trial, TrialKind, aspects_of
from evalsite.schema.replies import Action

#: A decimal number as text, since signed bytes hold no floats.
Decimal = Annotated[str, StringConstraints(pattern=r"^-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$")]
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$")]


def _known_port(url: str) -> str:
    """Refuse what fits the pattern and is no address, before a client library meets it."""
    _ = urlsplit(url).port  # ValueError: brackets that don't match, a port that is none or too high
    return url


Url = Annotated[
    str,
    StringConstraints(pattern=r"^https?://([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?/?$"),
    AfterValidator(_known_port),
]


class Sampling(StrictModel):
    """Every sampling option that is sent, explicitly, on every call (R35).

    Defaults of a server change from release to release and with a model's own parameters, so none
    is left to it. ``think`` false asks a thinking model not to.
    """

    temperature: Decimal = "0"
    seed: Count = 7
    top_k: Count = 40
    top_p: Decimal = "1"
    min_p: Decimal = "0"
    repeat_penalty: Decimal = "1"
    max_output_tokens: Annotated[int, Field(ge=1, le=100_000)] = bounds.DEFAULT_MAX_OUTPUT_TOKENS
    context_tokens: Annotated[int, Field(ge=256, le=10_000_000)] = bounds.DEFAULT_CONTEXT_TOKENS
    think: bool = False


class FixtureReply(StrictModel):
    """What the fixture endpoint says instead of the corpus's own answer: text or a fault."""

    case_id: CaseId
    role: Literal["candidate", "judge"]
    text: Annotated[str, StringConstraints(max_length=2_000_000)] | None = None
    fault: Literal["timeout", "disconnect", "missing"] | None = None

    @model_validator(mode="after")
    def _one_of(self) -> "FixtureReply":
        if (self.text is None) == (self.fault is None):
            message = "exactly one of text and fault must be given"
            raise ValueError(message)
        return self


class FixtureEndpointSpec(StrictModel):
    """The deterministic stand-in that answers from the corpus; it says nothing about a model."""

    kind: Literal["fixture"]
    replies: tuple[FixtureReply, ...] = ()


class OllamaEndpointSpec(StrictModel):
    """An Ollama server. The address and the model are always stated, never taken from the environment (R44)."""

    kind: Literal["ollama"]
    host: Url
    model_name: ModelName
    timeout_s: Annotated[int, Field(ge=1, le=3600)] = bounds.DEFAULT_TIMEOUT_S


class ReplayEndpointSpec(StrictModel):
    """The recorded raw replies of an earlier, verified run."""

    kind: Literal["replay"]
    run: FolderName


EndpointSpec: TypeAlias = Annotated[
    FixtureEndpointSpec | OllamaEndpointSpec | ReplayEndpointSpec, Field(discriminator="kind")
]


class RoleSpec(StrictModel):
    """One role of a campaign: its endpoint and its sampling options."""

    endpoint: EndpointSpec
    sampling: Sampling = Sampling()


class CampaignSpec(StrictModel):
    """A campaign file: ``corpora/<name>/campaigns/<campaign>.yaml``.

    ``cases`` null means all cases of the corpus; an empty list is a campaign without cases, which
    is recorded and never accepted (R51). ``candidate`` is null for the evidence and graded
    protocols, where the judge reads texts of the corpus.
    """

    format: Literal["evalsite/campaign/v1"]
    name: FolderName
    title: ShortText
    profile: FolderName
    purpose: Text
    repetitions: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)]
    cases: tuple[CaseId, ...] | None
    candidate: RoleSpec | None
    judge: RoleSpec
    calibration: Later[CalibrationSpec] = None

    @property
    def mode(self) -> Mode:
        """Return what this campaign asks; a fixture and a model are never mixed (R39).

        Raises:
            ValueError: One role is a fixture and the other is not (refused when the file is loaded).
        """
        kinds = {role.endpoint.kind for role in (self.candidate, self.judge) if role is not None}
        if kinds == {"fixture"}:
            return Mode.FIXTURE
        if "fixture" in kinds:
            message = "a campaign is either fixture or not: candidate and judge must not mix"
            raise ValueError(message)
        return Mode.REPLAY if "replay" in kinds else Mode.LIVE

    @model_validator(mode="after")
    def _mode_is_one(self) -> "CampaignSpec":
        _ = self.mode
        return self


class Identity(StrictModel):
    """What an endpoint said of itself before the first call. Null means: not told, never a guess.

    ``raw`` names the blob with the server's own replies (version, list row, show, running).
    """

    endpoint_kind: Literal["fixture", "ollama", "replay"]
    endpoint_host: str | None
    server_version: str | None
    client_version: str | None
    model_name: str | None
    model_digest: DigestText | None
    model_size_bytes: Count | None
    family: str | None
    parameter_size: str | None
    quantization: str | None
    trained_context_tokens: Count | None
    capabilities: tuple[str, ...] | None
    remote_host: str | None
    replayed_run: FolderName | None
    raw: DigestText | None


class RolePlan(StrictModel):
    """One role as planned: endpoint, what it said of itself, sampling, prompt and contract."""

    spec: RoleSpec
    identity: Identity
    instructions_digest: DigestText
    prompt_version: ShortText
    contract_digest: DigestText


class PlannedCase(StrictModel):
    """What the host needs to decide a case, fixed before it runs (R48)."""

    case_id: CaseId
    fingerprint: DigestText
    critical: bool
    expected_action: Action | None
    must_refuse: bool | None
    checks: Later[CodeChecks] = None


class PlannedControl(StrictModel):
    """What the host expects of a judge before it judges: a score between ``lowest`` and ``highest``.

    The range of the graded protocol is the low or the high bin of the constants in force.
    """

    control_id: CaseId
    fingerprint: DigestText
    polarity: Polarity
    dimension: Dimension | None
    probe: Probe
    place: Place | None
    lowest: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)]
    highest: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)]

    @property
    def trial(self) -> Trial:
        """Return the key of the trial in which it is shown."""
        return Trial(
            kind=TrialKind.CONTROL,
            case_id=self.control_id,
            repetition=None,
            polarity=self.polarity,
            dimension=self.dimension,
        )


class CorpusRef(StrictModel):
    """Which corpus, exactly; ``snapshot`` names the blob with all of it."""

    name: FolderName
    version: ShortText
    fingerprint: DigestText
    language: Language
    data_class: DataClass
    snapshot: DigestText


class Environment(StrictModel):
    """Where the runner ran: versions only, never a path or a host name."""

    evalsite_version: str
    code_digest: DigestText
    python_version: str
    platform: str
    packages: dict[str, str]


class AnswersRef(StrictModel):
    """The sealed run whose recorded answers are judged again; the candidate is not asked.

    ``root`` and ``statement`` are what that run was sealed with. ``repetitions`` is how often it asked its
    candidate each case: repetition 1 of the judging run judges its first answer, and after the last one
    the first comes again.
    """

    run: FolderName
    root: DigestText
    statement: DigestText
    repetitions: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)]


class Plan(StrictModel):
    """Everything that is fixed before the first case; its digest goes into the project log.

    ``answers`` names the run whose answers are judged again. ``mode`` then says how the judge was reached, and
    no gate opens. ``constructs`` are the versions of the constructs that the judge is asked about, where one is
    not ``1`` (R98).
    """

    format: Literal["evalsite/plan/v1"]
    campaign_name: FolderName
    campaign_title: ShortText
    campaign_digest: DigestText
    purpose: Text
    profile: FolderName
    mode: Mode
    protocol: Protocol
    corpus: CorpusRef
    cases: tuple[PlannedCase, ...]
    repetitions: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)]
    candidate: RolePlan | None
    judge: RolePlan
    environment: Environment
    calibration: Later[CalibrationPlan] = None
    constructs: Later[dict[Criterion, ShortText]] = None
    answers: Later[AnswersRef] = None
    controls: Later[tuple[PlannedControl, ...]] = None

    @model_validator(mode="after")
    def _answers_are_judged_again(self) -> "Plan":
        answers = self.answers
        if answers is None:
            return self
        endpoint = None if self.candidate is None else self.candidate.spec.endpoint
        if not isinstance(endpoint, ReplayEndpointSpec) or endpoint.run != answers.run:
            message = f"expected a candidate that replays {answers.run}, whose answers are judged again"
            raise ValueError(message)
        if self.protocol is not Protocol.BINARY or self.mode is Mode.REPLAY:
            message = "expected the binary protocol and a judge that is asked: nothing else judges answers again"
            raise ValueError(message)
        if self.repetitions % answers.repetitions:
            message = "expected every answer to be judged equally often"
            raise ValueError(message)
        return self

    def answered(self, repetition: int) -> int:
        """Return which repetition of the candidate's answer is judged in a repetition of this run.

        A candidate that is asked answers anew every time; frozen answers come round again.
        """
        return repetition if self.answers is None else (repetition - 1) % self.answers.repetitions + 1

    def case_trials(self) -> tuple[Trial, ...]:
        """Return the key of every case trial, in the order in which they run."""
        return tuple(
            Trial(
                kind=TrialKind.CASE,
                case_id=case.case_id,
                repetition=repetition,
                polarity=None,
                dimension=dimension,
                order=order,
            )
            for repetition in range(1, self.repetitions + 1)
            for case in self.cases
            for dimension, order in aspects_of(self.protocol)
        )

    def control_trials(self) -> tuple[Trial, ...]:
        """Return the key of every control that the judge must classify first (R41).

        A fixture shows none: its judge reads the expected classification from the corpus, so that showing it
        controls would prove nothing. Controls of the evidence and graded protocols are those of the corpus.
        """
        if self.mode is Mode.FIXTURE:
            return ()
        if self.protocol is not Protocol.BINARY:
            return tuple(control.trial for control in self.controls or ())
        return tuple(
            Trial(kind=TrialKind.CONTROL, case_id=case.case_id, repetition=None, polarity=polarity, dimension=None)
            for case in self.cases
            for polarity in Polarity
        )
