# SPDX-License-Identifier: Apache-2.0
"""One HTTP exchange, kept byte for byte.

A client library parses a reply and throws its bytes away, and reports failures in its own words.
The transport below sits under it and keeps what really went over the wire: the request's body, the
status, the reply's body as far as it came, and the type of the transport's own failure.

It also takes away what must not influence a call: credentials and cookies that a client picked up
on the way, connections kept open (a stale one would fail a call that nobody may repeat, R23), and
compressed bodies (16 MiB of them may unpack to gigabytes).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from evalsite.schema import bounds

#: The transport's own timeouts are per operation. A server that sends a byte now and then never
#: meets them, so the whole call ends this many seconds after the timeout at the latest.
DEADLINE_GRACE_S = 1.0

DEADLINE = "CallDeadline"
TOO_LARGE = "ReplyTooLarge"


@dataclass(slots=True)
class Exchange:
    """What one exchange left behind.

    ``complete`` is true when the reply's body came to its end. ``failure`` is the type name of what
    went wrong on the way, null when nothing did.
    """

    request: bytes = b""
    status: int | None = None
    body: bytearray = field(default_factory=bytearray)
    complete: bool = False
    failure: str | None = None

    @property
    def raw(self) -> bytes | None:
        """The reply's bytes, whole or cut; null when no reply began."""
        return None if self.status is None else bytes(self.body)

    @property
    def error_type(self) -> str | None:
        """What went wrong below the reply's content: a failure, or a status other than 200."""
        if not self.complete:
            return self.failure or "IncompleteExchange"
        return None if self.status == httpx.codes.OK else f"HttpStatus{self.status}"


_CURRENT: ContextVar[Exchange] = ContextVar("evalsite_exchange")


class _ReplyTooLargeError(httpx.ReadError):
    pass


class _RecordedStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, exchange: Exchange) -> None:
        self._stream = stream
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = self._exchange.body
        try:
            async for chunk in self._stream:
                room = bounds.MAX_REPLY_BYTES - len(body)
                body += chunk[:room]
                if len(chunk) > room:
                    self._exchange.failure = TOO_LARGE
                    raise _ReplyTooLargeError(TOO_LARGE)
                yield chunk
        except httpx.TransportError as exc:
            self._exchange.failure = self._exchange.failure or type(exc).__name__
            raise
        self._exchange.complete = True

    async def aclose(self) -> None:
        await self._stream.aclose()


class RecordingTransport(httpx.AsyncBaseTransport):
    """A transport that fills the `Exchange` of the call in progress (see `recording`)."""

    def __init__(self) -> None:
        self._inner = httpx.AsyncHTTPTransport(
            trust_env=False, retries=0, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request and hand on its reply, keeping both."""
        exchange = _CURRENT.get()
        for header in ("authorization", "cookie"):
            request.headers.pop(header, None)
        request.headers["accept-encoding"] = "identity"
        exchange.request = await request.aread()
        try:
            response = await self._inner.handle_async_request(request)
        except httpx.TransportError as exc:
            exchange.failure = type(exc).__name__
            raise
        exchange.status = response.status_code
        if not isinstance(response.stream, httpx.AsyncByteStream):  # pragma: no cover - httpx's own promise
            raise TypeError(response.stream)
        headers = [(key, value) for key, value in response.headers.raw if key.lower() != b"content-encoding"]
        return httpx.Response(
            status_code=response.status_code,
            headers=headers,
            stream=_RecordedStream(response.stream, exchange),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


@contextmanager
def recording() -> Iterator[Exchange]:
    """Provide the exchange that requests of this task fill.

    Unexpected exceptions inside end here, by their type name (R42); running out of memory and
    cancellation pass. The name in the exchange is the transport's own, if it had one.
    """
    exchange = Exchange()
    token = _CURRENT.set(exchange)
    try:
        yield exchange
    except MemoryError:
        raise
    except TimeoutError:
        exchange.failure = exchange.failure or DEADLINE
    except Exception as exc:  # noqa: BLE001 - the endpoint boundary of R42: one call fails, the run goes on
        exchange.failure = exchange.failure or type(exc).__name__
    finally:
        _CURRENT.reset(token)


class PlainClient:
    """Asks a server about itself, beside the client that asks questions.

    Args:
        host: ``http://`` or ``https://`` address of the server.
        transport: Shared with the other client.
        timeout_s: For each operation.
    """

    def __init__(self, host: str, transport: RecordingTransport, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._client = httpx.AsyncClient(
            base_url=host, transport=transport, timeout=timeout_s, trust_env=False, follow_redirects=False
        )

    async def fetch(self, method: str, path: str, body: dict[str, Any] | None = None) -> Exchange:
        """Make one exchange; whatever goes wrong is in it."""
        with recording() as exchange:
            async with asyncio.timeout(self._timeout_s + DEADLINE_GRACE_S):
                await self._client.request(method, path, json=body)
        return exchange

    async def close(self) -> None:
        """Release connections."""
        await self._client.aclose()
