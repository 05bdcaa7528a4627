# SPDX-License-Identifier: Apache-2.0
"""The replay's table of replies, made from a verified run."""

from collections.abc import Iterable

from evalsite.campaign.trusted import TrustedRun
from evalsite.endpoint.base import Endpoint
from evalsite.endpoint.replay import RecordedReply, ReplayEndpoint, replay_identity
from evalsite.errors import InputError
from evalsite.schema.entries import Call, CallRecorded, Event, TrialEnded
from evalsite.schema.outcome import Mode, Role


def replay_endpoint(run: TrustedRun, role: Role) -> ReplayEndpoint:
    """Return an endpoint that gives a role's recorded raw replies again.

    Args:
        run: The verified run to replay.
        role: Whose replies.

    Raises:
        InputError: The run has no such role, or is a fixture run.
    """
    if run.plan.mode is Mode.FIXTURE:
        raise InputError(
            f"expected a run with replies of an endpoint, {run.run_id} is a fixture run",
            at=run.run_id,
            rule="R39",
            advice="A fixture answers from the corpus: run its campaign again instead.",
        )
    planned = run.plan.candidate if role is Role.CANDIDATE else run.plan.judge
    if planned is None:
        raise InputError(f"expected a run with a {role.value}, {run.run_id} has none", at=run.run_id)
    recorded: dict[str, list[RecordedReply]] = {}
    for record in (*run.controls, *run.cases):
        call = record.candidate_call if role is Role.CANDIDATE else record.judge_call
        if call is not None:
            recorded.setdefault(call.prompt_digest, []).append(recorded_reply(run, call))
    said = planned.identity.raw
    raw = None if said is None else run.blob(said)
    return ReplayEndpoint(replay_identity(planned.identity, run.run_id), recorded, raw=raw)


def skip_given(endpoint: Endpoint, events: Iterable[Event], role: Role) -> None:
    """Make a replay go on where an interrupted run stopped; other endpoints are left alone.

    Repetitions of a case share a prompt, so that their replies come by order. Trials that ended
    used theirs up; a trial that was in flight is asked again and gets the same reply again.
    """
    if not isinstance(endpoint, ReplayEndpoint):
        return
    calls: dict[int, Call] = {}
    for event in events:
        if isinstance(event, CallRecorded):
            calls[event.seq] = event.call
        elif isinstance(event, TrialEnded):
            seq = event.candidate_call if role is Role.CANDIDATE else event.judge_call
            if seq is not None:
                endpoint.skip([calls[seq].prompt_digest])


def recorded_reply(run: TrustedRun, call: Call) -> RecordedReply:
    """Return the reply that a call of a verified run recorded, failures included."""
    return RecordedReply(
        raw=None if call.reply is None else run.blob(call.reply),
        reply_format=call.reply_format,
        error_type=call.error_type,
        http_status=call.http_status,
        done_reason=call.done_reason,
        model_digest=call.model_digest,
        usage=call.usage,
    )
