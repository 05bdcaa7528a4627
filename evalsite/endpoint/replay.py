# SPDX-License-Identifier: Apache-2.0
"""The recorded raw replies of an earlier run, given again.

With them any past run can be judged anew, offline. What was recorded is trusted because the caller
verified the run; this module neither reads nor checks records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evalsite.canonical.digest import digest_text
from evalsite.endpoint.base import NO_USAGE, Ask, Description, Reply
from evalsite.endpoint.content import ReplyFormat, ask_bytes
from evalsite.schema.entries import Usage
from evalsite.schema.plan import Identity


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedReply:
    """One reply as a verified run recorded it, failures included."""

    raw: bytes | None
    reply_format: ReplyFormat
    error_type: str | None
    http_status: int | None
    done_reason: str | None
    model_digest: str | None
    usage: Usage


#: What is given where a run recorded no reply (or none is left).
NOT_RECORDED = RecordedReply(
    raw=None,
    reply_format="text",
    error_type="NotRecorded",
    http_status=None,
    done_reason=None,
    model_digest=None,
    usage=NO_USAGE,
)


def replay_identity(recorded: Identity, run: str) -> Identity:
    """Return what a replay says of itself: the recorded identity, marked with the run it comes from.

    Args:
        recorded: The identity in the plan of the replayed run.
        run: The id of that run.
    """
    return recorded.model_copy(update={"endpoint_kind": "replay", "replayed_run": run, "raw": None})


class ReplayEndpoint:
    """Gives recorded replies in their recorded order (an `evalsite.endpoint.base.Endpoint`).

    Args:
        identity: See `replay_identity`.
        recorded: Digest of the exact prompt (`evalsite.canonical.digest.digest_text`) to the
            replies to it, in the order of the record: repetitions of a case share a prompt.
        raw: What the recorded endpoint said of itself, to be kept with the new run as well.
    """

    def __init__(
        self, identity: Identity, recorded: Mapping[str, Sequence[RecordedReply]], *, raw: bytes | None = None
    ) -> None:
        self._identity = identity
        self._raw = raw
        self._waiting = {prompt: iter(tuple(replies)) for prompt, replies in recorded.items()}

    async def describe(self) -> Description:
        """Return the identity; nothing is asked."""
        return Description(identity=self._identity, raw=self._raw)

    async def ask(self, ask: Ask) -> Reply:
        """Give the next recorded reply to this prompt; ``NotRecorded`` when there is none (left)."""
        recorded = next(self._waiting.get(digest_text(ask.prompt), iter(())), None)
        if recorded is None:
            recorded = NOT_RECORDED
        return Reply(
            request=ask_bytes(ask),
            raw=recorded.raw,
            reply_format=recorded.reply_format,
            error_type=recorded.error_type,
            http_status=recorded.http_status,
            done_reason=recorded.done_reason,
            model_digest=recorded.model_digest,
            usage=recorded.usage,
        )

    def skip(self, prompts: Iterable[str]) -> None:
        """Pass over replies that an earlier sitting of the same run was given.

        Args:
            prompts: Digest of each prompt that was answered then, once per reply.
        """
        for prompt in prompts:
            next(self._waiting.get(prompt, iter(())), None)

    async def close(self) -> None:
        """Nothing to release."""
