# SPDX-License-Identifier: Apache-2.0
"""An Ollama server, through the official client; the only place that knows it.

Every role has its own endpoint and with it its own client (R37). The address is always stated;
``OLLAMA_HOST``, ``OLLAMA_API_KEY`` and proxy variables of the environment have no influence (R44).
Nothing is sent twice (R23).

The official client can't ask the server to refuse a prompt that is too long (``truncate: false``),
so that a prompt which would be cut is caught on both sides of the call: before it, when no reply
could be accepted (`evalsite.endpoint.classify.fits`), and after it by the server's counts. The
client's own reading of a reply is not used: what counts are the recorded bytes, which it would
partly drop (unknown fields) or refuse to show (lone surrogates).
"""

import asyncio
from importlib.metadata import version as package_version
from typing import Any

import ollama

from evalsite.endpoint.about import (
    check_fitness,
    find_row,
    parse_object,
    raw_description,
    read_identity,
    row_digest,
)
from evalsite.endpoint.base import NO_USAGE, Ask, Description, Reply
from evalsite.endpoint.classify import Reading, fits, read_chat
from evalsite.endpoint.wire import DEADLINE_GRACE_S, Exchange, PlainClient, RecordingTransport, recording
from evalsite.errors import EndpointError
from evalsite.schema.plan import OllamaEndpointSpec, Sampling

#: What a server says of itself needs no inference.
_ABOUT_TIMEOUT_S = 30


class OllamaEndpoint:
    """Asks one role's questions on an Ollama server (an `evalsite.endpoint.base.Endpoint`).

    Args:
        spec: Address, model name and timeout.
        sampling: What the campaign is going to ask for; `describe` checks that it can be had.
    """

    def __init__(self, spec: OllamaEndpointSpec, sampling: Sampling) -> None:
        self._spec = spec
        self._sampling = sampling
        self._digest: str | None = None
        transport = RecordingTransport()
        self._about = PlainClient(spec.host, transport, timeout_s=min(spec.timeout_s, _ABOUT_TIMEOUT_S))
        self._client = ollama.AsyncClient(
            host=spec.host,
            timeout=spec.timeout_s,
            follow_redirects=False,
            trust_env=False,
            transport=transport,
        )

    async def describe(self) -> Description:
        """Ask the server for its version, its list row and its details, and check that they serve.

        The digest found here is the one that every later reply must come from.

        Raises:
            EndpointError: Unreachable, not an Ollama server, without the named model, or unable to
                follow the plan (see `evalsite.endpoint.about.check_fitness`).
        """
        version = await self._read("GET", "/api/version")
        tags = await self._read("GET", "/api/tags")
        row = find_row(parse_object(tags, "/api/tags"), self._spec.model_name)
        show = await self._read("POST", "/api/show", {"model": self._spec.model_name})
        identity = read_identity(
            self._spec.host,
            version=version,
            row=row,
            show=parse_object(show, "/api/show"),
            client=f"ollama-python {package_version('ollama')}",
        )
        check_fitness(identity, self._sampling)
        self._digest = identity.model_digest
        return Description(identity=identity, raw=raw_description(version=version, row=row, show=show))

    async def ask(self, ask: Ask) -> Reply:
        """Ask once. What goes wrong is told by ``error_type`` of the reply.

        Names, in the order in which they are looked for: ``ContextTooSmall`` (nothing was sent);
        the transport's failure by its type (``ConnectError``, ``ReadTimeout``,
        ``RemoteProtocolError``, ``CallDeadline``, ``ReplyTooLarge``...); ``HttpStatus<code>``; those of
        `evalsite.endpoint.classify.read_chat`; ``DigestUnread`` and ``DigestChanged``.
        """
        prompt_bytes = len(ask.instructions.encode("utf-8", "replace")) + len(ask.prompt.encode("utf-8", "replace"))
        if not fits(prompt_bytes, ask.sampling):
            return _reply(Exchange(), Reading(error_type="ContextTooSmall", done_reason=None, usage=NO_USAGE), None)
        exchange = await self._exchange(ask)
        if exchange.error_type is not None:
            return _reply(exchange, Reading(error_type=exchange.error_type, done_reason=None, usage=NO_USAGE), None)
        reading = read_chat(bytes(exchange.body), prompt_bytes=prompt_bytes, sampling=ask.sampling)
        digest = await self._digest_now()
        return _reply(exchange, reading, digest, self._digest_error(digest))

    async def close(self) -> None:
        """Release connections."""
        await self._about.close()
        await self._client.close()  # type: ignore[no-untyped-call]  # the client's own method has no types

    async def _exchange(self, ask: Ask) -> Exchange:
        messages = [{"role": "system", "content": ask.instructions}, {"role": "user", "content": ask.prompt}]
        with recording() as exchange:
            async with asyncio.timeout(self._spec.timeout_s + DEADLINE_GRACE_S):
                await self._client.chat(
                    model=self._spec.model_name,
                    messages=messages,
                    stream=False,
                    think=ask.sampling.think,
                    format=ask.schema,
                    options=_options(ask.sampling),
                )
        return exchange

    async def _digest_now(self) -> str | None:
        """Read the digest again: a name can be moved to other weights between two calls."""
        try:
            tags = await self._read("GET", "/api/tags")
            return row_digest(find_row(parse_object(tags, "/api/tags"), self._spec.model_name))
        except EndpointError:
            return None

    def _digest_error(self, digest: str | None) -> str | None:
        if digest is None:
            return "DigestUnread"
        if self._digest is None:
            self._digest = digest
        return None if digest == self._digest else "DigestChanged"

    async def _read(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        exchange = await self._about.fetch(method, path, body)
        if exchange.error_type is not None:
            raise EndpointError(
                f"expected a reply of the server at {self._spec.host}, got {exchange.error_type}",
                at=path,
                rule="R44",
                advice="Start the server (ollama serve), or correct endpoint.host in the campaign.",
            )
        return bytes(exchange.body)


def _options(sampling: Sampling) -> dict[str, int | float]:
    """Return every option explicitly, as a plain dict: the client's own class drops ``min_p``."""
    return {
        "temperature": float(sampling.temperature),
        "seed": sampling.seed,
        "top_k": sampling.top_k,
        "top_p": float(sampling.top_p),
        "min_p": float(sampling.min_p),
        "repeat_penalty": float(sampling.repeat_penalty),
        "num_predict": sampling.max_output_tokens,
        "num_ctx": sampling.context_tokens,
    }


def _reply(exchange: Exchange, reading: Reading, digest: str | None, digest_error: str | None = None) -> Reply:
    return Reply(
        request=exchange.request,
        raw=exchange.raw,
        reply_format="ollama-chat",
        error_type=reading.error_type or digest_error,
        http_status=exchange.status,
        done_reason=reading.done_reason,
        model_digest=digest,
        usage=reading.usage,
    )
