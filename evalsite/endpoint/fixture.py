# SPDX-License-Identifier: Apache-2.0
"""The deterministic stand-in: a table from prompt to answer.

It knows no case (R8): whoever prepares a fixture campaign writes the table beforehand. A run of
it shows that code and contracts were exercised, and nothing about a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evalsite.endpoint.base import NO_USAGE, Ask, Description, Reply
from evalsite.endpoint.content import ask_bytes
from evalsite.schema.plan import Identity

Fault = Literal["timeout", "disconnect", "missing"]

#: The name that the real transport gives to the same fault; null: the reply is whole, but empty.
_ERROR_OF_FAULT: dict[Fault, str | None] = {
    "timeout": "ReadTimeout",
    "disconnect": "RemoteProtocolError",
    "missing": None,
}


@dataclass(frozen=True, slots=True)
class FixtureAnswer:
    """What the table holds for one prompt: the raw bytes of an answer, or a fault.

    Raises:
        ValueError: Both or neither are given (a bug in the caller).
    """

    raw: bytes | None = None
    fault: Fault | None = None

    def __post_init__(self) -> None:
        """Check that exactly one of the two is given."""
        if (self.raw is None) == (self.fault is None):
            raise ValueError(self)


def fixture_identity() -> Identity:
    """Return the identity of a stand-in: it has no server, no name and no digest."""
    return Identity(
        endpoint_kind="fixture",
        endpoint_host=None,
        server_version=None,
        client_version=None,
        model_name=None,
        model_digest=None,
        model_size_bytes=None,
        family=None,
        parameter_size=None,
        quantization=None,
        trained_context_tokens=None,
        capabilities=None,
        remote_host=None,
        replayed_run=None,
        raw=None,
    )


class FixtureEndpoint:
    """Answers from a table, always the same (an `evalsite.endpoint.base.Endpoint`).

    Args:
        identity: What it says of itself (`fixture_identity`).
        replies: Exact text of the prompt to its answer.
    """

    def __init__(self, identity: Identity, replies: Mapping[str, FixtureAnswer]) -> None:
        self._identity = identity
        self._replies = dict(replies)

    async def describe(self) -> Description:
        """Return the identity; a stand-in is always there."""
        return Description(identity=self._identity, raw=None)

    async def ask(self, ask: Ask) -> Reply:
        """Look the prompt up; a prompt without an answer is ``FixtureHasNoAnswer``."""
        answer = self._replies.get(ask.prompt)
        if answer is None:
            raw, error_type = None, "FixtureHasNoAnswer"
        elif answer.fault is None:
            raw, error_type = answer.raw, None
        else:
            raw, error_type = (b"" if answer.fault == "missing" else None), _ERROR_OF_FAULT[answer.fault]
        return Reply(
            request=ask_bytes(ask),
            raw=raw,
            reply_format="text",
            error_type=error_type,
            http_status=None,
            done_reason=None,
            model_digest=None,
            usage=NO_USAGE,
        )

    async def close(self) -> None:
        """Nothing to release."""
