# SPDX-License-Identifier: Apache-2.0
"""The endpoint protocol: strings in, raw bytes out.

An endpoint is never given a case (R8): only instructions, a prompt, a schema and sampling options.
Anything that goes wrong with one call comes back as data in the `Reply`; `EndpointError` is raised
by `describe` only, before anything was evaluated.
"""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from evalsite.schema.entries import Usage
from evalsite.schema.plan import Identity, Sampling

NO_USAGE = Usage(
    prompt_tokens=None,
    output_tokens=None,
    total_duration_ms=None,
    load_duration_ms=None,
    prompt_duration_ms=None,
    output_duration_ms=None,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question, in strings."""

    instructions: str
    prompt: str
    schema: dict[str, Any]
    sampling: Sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back, whole or not.

    ``request`` are the exact bytes that were sent. ``raw`` are the exact bytes of the reply's body,
    null when none came. ``error_type`` names what went wrong (``ReadTimeout``, ``HttpStatus503``,
    ``IncompleteReply``, ``ContextOverflow``, ``DigestChanged``...), null for a complete reply.
    """

    request: bytes
    raw: bytes | None
    reply_format: Literal["text", "ollama-chat"]
    error_type: str | None
    http_status: int | None
    done_reason: str | None
    model_digest: str | None
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What an endpoint says of itself; ``raw`` are the bytes of its own replies, if it has any."""

    identity: Identity
    raw: bytes | None


class Endpoint(Protocol):
    """Where answers come from. One instance serves one role (R37)."""

    async def describe(self) -> Description:
        """Say what this endpoint is, without evaluating anything.

        Raises:
            EndpointError: It is unreachable, or does not have what the plan asks for.
        """
        ...

    async def ask(self, ask: Ask) -> Reply:
        """Ask once; never again on failure (R23). Cancellation passes through."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
