# SPDX-License-Identifier: Apache-2.0
"""The entries of a run and of a ledger's log. One entry is one line of canonical JSON.

A run's events and a log's entries share their frame: ``format``, ``seq`` (the line's index),
``prev`` (the RFC 6962 leaf hash of the line before, null for the first) and ``recorded_at``, which
is the writer's claim: only an outside anchor proves a time.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from evalsite.schema.base import Count, DigestText, FolderName, Later, ShortText, StrictModel, UtcTime
from evalsite.schema.calibration import CalibrationSeal, DesignLock
from evalsite.schema.labels import LabelCommitment
from evalsite.schema.outcome import Result, Role, Stage, Trial
from evalsite.schema.plan import Plan


class Usage(StrictModel):
    """Consumption of one call as the endpoint counted it; null is: not told (R46, X3)."""

    prompt_tokens: Count | None
    output_tokens: Count | None
    total_duration_ms: Count | None
    load_duration_ms: Count | None
    prompt_duration_ms: Count | None
    output_duration_ms: Count | None


class Framing(StrictModel):
    """How much of the material a judge was shown: nothing is cut without saying so.

    ``mode`` is what the prompt holds: the case with its answer, the evidence, a pair of answers, or cards in full or
    their heads.
    ``rendered_chars`` counts the prompt's characters, ``sent_chars`` those that the request's body carries; null
    when nothing was sent. ``nonce`` closes the cards (graded protocol, prompts of version 2).
    """

    mode: Literal["answer", "evidence", "full", "head", "pair"]
    rendered_chars: Count
    sent_chars: Count | None
    nonce: ShortText | None

    @property
    def cut(self) -> bool:
        """Return whether the judge was sent something else than what was rendered."""
        return self.sent_chars is not None and self.sent_chars != self.rendered_chars


class Call(StrictModel):
    """One call of one role, as it was sent and as it came back.

    ``request`` and ``reply`` name blobs with the exact bytes; ``reply`` is null when no byte came.
    ``error_type`` is null exactly when a complete reply was delivered. ``framing`` is told of a judge's calls.
    """

    trial: Trial
    attempt: Annotated[int, Field(ge=1)]
    role: Role
    stage: Stage
    prompt_digest: DigestText
    request: DigestText
    reply: DigestText | None
    reply_format: Literal["text", "ollama-chat"]
    error_type: ShortText | None
    http_status: Count | None
    done_reason: ShortText | None
    model_digest: DigestText | None
    started_at: UtcTime
    wall_ms: Count
    usage: Usage
    framing: Later[Framing] = None


class _Event(StrictModel):
    format: Literal["evalsite/event/v1"]
    run: FolderName
    seq: Count
    prev: DigestText | None
    recorded_at: UtcTime


class RunOpened(_Event):
    """The first event: the plan."""

    type: Literal["run.opened"]
    ledger: FolderName
    plan: Plan


class TrialStarted(_Event):
    """A trial begins; a trial that was in flight at a crash begins again as the next attempt."""

    type: Literal["trial.started"]
    trial: Trial
    attempt: Annotated[int, Field(ge=1)]


class CallRecorded(_Event):
    """A call came back, or failed."""

    type: Literal["call.recorded"]
    call: Call


class TrialEnded(_Event):
    """A trial ended; ``candidate_call`` and ``judge_call`` are the ``seq`` of its calls."""

    type: Literal["trial.ended"]
    trial: Trial
    attempt: Annotated[int, Field(ge=1)]
    candidate_call: Count | None
    judge_call: Count | None
    result: Result


class RunInterrupted(_Event):
    """The host was told to stop; ``cause`` is a signal's name or an exception's type name."""

    type: Literal["run.interrupted"]
    cause: ShortText
    in_flight: tuple[Trial, ...]


class RunResumed(_Event):
    """The run goes on after an interruption or a crash.

    ``kept`` events were whole. ``quarantine`` names the file with the torn rest, if there was one:
    ``quarantine/<seq of this event>.bin`` with ``dropped_bytes`` bytes of SHA-256 ``quarantine``.
    """

    type: Literal["run.resumed"]
    kept: Count
    dropped_bytes: Count
    quarantine: DigestText | None
    environment_changed: bool


class Totals(StrictModel):
    """Counts of a closed run; recomputed and compared by every verification."""

    planned: Count
    ended: Count
    by_status: dict[str, Count]
    controls_planned: Count
    controls_ended: Count
    controls_by_status: dict[str, Count]
    attempts: Count
    calls_by_role: dict[str, Count]


class RunClosed(_Event):
    """The last event. ``complete`` is true when every planned trial ended."""

    type: Literal["run.closed"]
    complete: bool
    totals: Totals


Event: TypeAlias = Annotated[
    RunOpened | TrialStarted | CallRecorded | TrialEnded | RunInterrupted | RunResumed | RunClosed,
    Field(discriminator="type"),
]


class _LogEntry(StrictModel):
    format: Literal["evalsite/log/v1"]
    ledger: FolderName
    seq: Count
    prev: DigestText | None
    recorded_at: UtcTime


class LedgerOpened(_LogEntry):
    """The first entry of a log: under which root key it stands."""

    type: Literal["ledger.opened"]
    root_fingerprint: DigestText


class KeysPublished(_LogEntry):
    """A version of the keyring came into force; ``envelope`` is the SHA-256 of its file."""

    type: Literal["keys.published"]
    version: Annotated[int, Field(ge=1)]
    envelope: DigestText


class KeysRevoked(_LogEntry):
    """Why a key was revoked; the keyring version in force says that it was."""

    type: Literal["keys.revoked"]
    key_id: DigestText
    reason: ShortText


class RunOpenedLogged(_LogEntry):
    """A run is about to start: logged before its first trial.

    ``opened_leaf`` is the leaf hash of the run's first event, which holds the plan.
    """

    type: Literal["run.opened"]
    run: FolderName
    opened_leaf: DigestText
    plan_digest: DigestText


class RunClosedLogged(_LogEntry):
    """A run is sealed: size and root of its tree, and the SHA-256 of its statement's payload."""

    type: Literal["run.closed"]
    run: FolderName
    size: Annotated[int, Field(ge=1)]
    root: DigestText
    statement: DigestText


class ConstantsFrozen(_LogEntry):
    """The constants of calibration gates of a corpus, before the labels that they are for (R64)."""

    type: Literal["constants.frozen"]
    corpus: FolderName
    lock: DesignLock


class CardsFrozen(_LogEntry):
    """The texts that will be labelled and judged: a corpus as it is now, or a sealed run's answers."""

    type: Literal["cards.frozen"]
    corpus: FolderName
    fingerprint: DigestText
    run: FolderName | None


class LabelsCommitted(_LogEntry):
    """Labels exist and can no longer be changed; nobody but their annotator knows them yet (R78)."""

    type: Literal["labels.committed"]
    commitment: LabelCommitment


class AnnotatorsAligned(_LogEntry):
    """How far annotators agree, before anything is judged: Krippendorff's alpha as two integers.

    ``alpha`` is null where it is undefined. It is recomputed once the labels are revealed.
    """

    type: Literal["annotators.aligned"]
    commitments: Annotated[tuple[FolderName, ...], Field(min_length=2)]
    compared: Count
    alpha: tuple[int, Annotated[int, Field(ge=1)]] | None


class LabelsRevealed(_LogEntry):
    """Labels and nonces are public: ``labels/<commitment>.json`` below the log, with this digest."""

    type: Literal["labels.revealed"]
    commitment: FolderName
    file: DigestText


class CalibrationRecorded(_LogEntry):
    """A judge's run was compared with revealed labels; ``attempt`` counts runs against the same labels."""

    type: Literal["calibration.recorded"]
    run: FolderName
    commitment: FolderName
    lock: DigestText
    attempt: Annotated[int, Field(ge=1)]
    seal: CalibrationSeal


LogEntry: TypeAlias = Annotated[
    LedgerOpened
    | KeysPublished
    | KeysRevoked
    | RunOpenedLogged
    | RunClosedLogged
    | ConstantsFrozen
    | CardsFrozen
    | LabelsCommitted
    | AnnotatorsAligned
    | LabelsRevealed
    | CalibrationRecorded,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
LOG_ENTRY: TypeAdapter[LogEntry] = TypeAdapter(LogEntry)


class KeyRole(StrictModel):
    """One public key of the keyring. ``public_key`` is 32 bytes of Ed25519 in base64, or 1,312 of ML-DSA-44.

    ``key_id`` is the SHA-256 of those bytes.
    """

    role: Literal["runner", "log", "approver", "witness"]
    name: ShortText
    algorithm: Literal["ed25519", "ml-dsa-44"]
    public_key: Annotated[str, Field(pattern=r"^([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{1750}==)$")]
    key_id: DigestText
    not_before: UtcTime
    not_after: UtcTime | None
    revoked_at: UtcTime | None


class Keyring(StrictModel):
    """One version of a ledger's keys and evidence policy, signed by its root key."""

    format: Literal["evalsite/keyring/v1"]
    ledger: FolderName
    version: Annotated[int, Field(ge=1)]
    issued_at: UtcTime
    root_public_key: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]
    keys: tuple[KeyRole, ...]
    minimum_level: Literal["A0", "A1", "A2", "A3", "A4"]
