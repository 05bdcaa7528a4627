# SPDX-License-Identifier: Apache-2.0
"""The Ollama protocol in front of a real inference engine (llama.cpp), on loopback, for live tests.

    python tests/live/ollama_bridge.py --gguf FILE --name smollm2:135m-instruct-q4_1 [--port 0]

prints ``ready http://127.0.0.1:PORT`` once it listens, and ends on SIGTERM. One slot, one thread
and no prompt cache, so that the same question gets the same answer. It says honestly what it is
(``version``), and differs from a real server where that would need guesswork: a prompt that is too
long is refused instead of cut, ``num_ctx`` cannot exceed its own, nothing is ever unloaded, and its
digest is the SHA-256 of the GGUF file, where Ollama's is that of a manifest.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import uvicorn
import xllamacpp
from gguf_facts import GgufFacts, read_facts
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

VERSION = f"0.0.0-evalsite-bridge+xllamacpp.{version('xllamacpp')}"
NS_PER_MS = 1_000_000
ENGINE_TIMEOUT_S = 3600  # whoever asks has a timeout of their own and hangs up
TOO_LONG = "the prompt is longer than the context length currently available"
#: What a server takes for an option that a request leaves out (Ollama's own defaults).
DEFAULTS = {
    "temperature": 0.8,
    "seed": -1,
    "top_k": 40,
    "top_p": 0.9,
    "min_p": 0.0,
    "repeat_penalty": 1.0,
    "num_predict": -1,
}
#: Ollama's names of options to the engine's; null for what the engine isn't told.
ENGINE_NAMES: dict[str, str | None] = {"num_predict": "max_tokens", "num_ctx": None}


class RefusedError(Exception):
    """A request that gets an error status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class Engine:
    """One GGUF file and the engine that runs it, loaded with the first chat."""

    name: str
    gguf: Path
    context: int
    threads: int
    facts: GgufFacts = field(init=False)
    digest: str = field(init=False)
    _server: Any = None
    _client: httpx.AsyncClient | None = None
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.facts = read_facts(self.gguf)
        with self.gguf.open("rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def loaded(self) -> bool:
        return self._server is not None

    def _load(self) -> Any:
        params = xllamacpp.CommonParams()
        params.model.path = str(self.gguf)
        params.n_ctx = self.context
        params.n_parallel = 1
        params.cpuparams.n_threads = self.threads
        params.cpuparams_batch.n_threads = self.threads
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.verbosity = 0
        return xllamacpp.Server(params)

    async def client(self) -> httpx.AsyncClient:
        """Return a client of the engine, which is loaded once, beside the event loop."""
        async with self._loading:
            if self._client is None:
                self._server = await asyncio.to_thread(self._load)
                self._client = httpx.AsyncClient(
                    base_url=self._server.listening_address, timeout=ENGINE_TIMEOUT_S, trust_env=False
                )
        return self._client

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = await (await self.client()).post(path, json=body)
        if response.status_code != httpx.codes.OK:
            raise RefusedError(response.status_code, response.text)
        return response.json()

    async def count_tokens(self, messages: list[dict[str, Any]]) -> int:
        prompt = (await self.post("/apply-template", {"messages": messages}))["prompt"]
        tokens = await self.post("/tokenize", {"content": prompt, "add_special": True, "parse_special": True})
        return len(tokens["tokens"])

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
        self._server = None

    def details(self) -> dict[str, Any]:
        family = self.facts.text("general.architecture")
        return {
            "parent_model": "",
            "format": "gguf",
            "family": family,
            "families": [family],
            "parameter_size": self.facts.parameter_size,
            "quantization_level": self.facts.quantization,
        }

    def row(self) -> dict[str, Any]:
        status = self.gguf.stat()
        modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat()
        return {
            "name": self.name,
            "model": self.name,
            "modified_at": modified,
            "size": status.st_size,
            "digest": self.digest,
            "details": self.details(),
        }

    def check_name(self, wanted: object) -> None:
        full = wanted if isinstance(wanted, str) and ":" in wanted else f"{wanted}:latest"
        if full != self.name:
            raise RefusedError(404, f"model '{full}' not found")


def engine_of(request: Request) -> Engine:
    """Return the engine of the running application."""
    return request.app.state.engine


async def show(request: Request) -> Response:
    """``POST /api/show``."""
    engine, body = engine_of(request), await request.json()
    engine.check_name(body.get("model") or body.get("name"))
    pairs = {key: value for key, value in engine.facts.pairs.items() if key != "tokenizer.chat_template"}
    return JSONResponse(
        {
            "license": engine.facts.text("general.license"),
            "template": engine.facts.text("tokenizer.chat_template"),
            "details": engine.details(),
            "model_info": {**pairs, "general.parameter_count": engine.facts.weights},
            "capabilities": ["completion"],
            "modified_at": engine.row()["modified_at"],
        }
    )


async def tags(request: Request) -> Response:
    """``GET /api/tags``."""
    return JSONResponse({"models": [engine_of(request).row()]})


async def running(request: Request) -> Response:
    """``GET /api/ps``."""
    engine = engine_of(request)
    extra = {"size_vram": 0, "context_length": engine.context, "expires_at": "9999-12-31T23:59:59Z"}
    return JSONResponse({"models": [{**engine.row(), **extra}] if engine.loaded else []})


async def chat(request: Request) -> Response:
    """``POST /api/chat``: the whole reply at once, or as two lines when a stream is asked for."""
    started = time.perf_counter_ns()
    engine, body = engine_of(request), await request.json()
    engine.check_name(body.get("model"))
    if body.get("think"):
        raise RefusedError(400, f'"{engine.name}" does not support thinking')
    was_loaded = engine.loaded
    await engine.client()
    loaded = time.perf_counter_ns()
    if not body.get("messages"):
        return JSONResponse(_reply(engine, "", "load", {}))
    completion = await _unless_disconnected(request, _complete(engine, body))
    choice, timings = completion["choices"][0], completion["timings"]
    reply = _reply(
        engine,
        choice["message"].get("content") or "",
        choice["finish_reason"],
        {
            "total_duration": time.perf_counter_ns() - started,
            "load_duration": 0 if was_loaded else loaded - started,
            "prompt_eval_count": completion["usage"]["prompt_tokens"],
            "prompt_eval_duration": int(timings["prompt_ms"] * NS_PER_MS),
            "eval_count": completion["usage"]["completion_tokens"],
            "eval_duration": int(timings["predicted_ms"] * NS_PER_MS),
        },
    )
    if body.get("stream", True):
        first = {**{key: reply[key] for key in ("model", "created_at", "message")}, "done": False}
        last = {**reply, "message": {"role": "assistant", "content": ""}}
        return PlainTextResponse(
            "".join(json.dumps(line) + "\n" for line in (first, last)), media_type="application/x-ndjson"
        )
    return JSONResponse(reply)


async def _complete(engine: Engine, body: dict[str, Any]) -> dict[str, Any]:
    options = {**DEFAULTS, "num_ctx": engine.context, **(body.get("options") or {})}
    if options["num_ctx"] > engine.context:
        raise RefusedError(400, f"num_ctx {options['num_ctx']} exceeds the context of this bridge, {engine.context}")
    messages = [{"role": message["role"], "content": message.get("content", "")} for message in body["messages"]]
    room = options["num_ctx"] - await engine.count_tokens(messages)
    if room <= 0:
        raise RefusedError(400, TOO_LONG)
    if options["num_predict"] < 0 or options["num_predict"] > room:
        options["num_predict"] = room
    asked = {ENGINE_NAMES.get(key, key): value for key, value in options.items()}
    asked.pop(None)
    asked |= {"messages": messages, "stream": False, "cache_prompt": False}
    schema = body.get("format")
    if isinstance(schema, dict):
        asked["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    elif schema == "json":
        asked["response_format"] = {"type": "json_object"}
    return await engine.post("/v1/chat/completions", asked)


def _reply(engine: Engine, content: str, reason: str, counts: dict[str, int]) -> dict[str, Any]:
    return {
        "model": engine.name,
        "created_at": datetime.fromtimestamp(time.time_ns() / 1e9, UTC).isoformat(),
        "message": {"role": "assistant", "content": content},
        "done": True,
        "done_reason": reason,
        **counts,
    }


async def _unless_disconnected(request: Request, work: Any) -> Any:
    """Await ``work``, but give it up when the client has gone: the engine then stops generating."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=0.2)
            if not task.done() and await request.is_disconnected():
                raise RefusedError(499, "client closed the request")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def refused(_: Request, exc: Exception) -> Response:
    """Turn a refusal into Ollama's form of an error."""
    if not isinstance(exc, RefusedError):
        raise exc
    return JSONResponse({"error": exc.message}, exc.status)


async def alive(_: Request) -> Response:
    """``GET /``."""
    return PlainTextResponse("Ollama is running")


async def tell_version(_: Request) -> Response:
    """``GET /api/version``."""
    return JSONResponse({"version": VERSION})


def make_app(engine: Engine) -> Starlette:
    """Return the application."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await engine.close()

    app = Starlette(
        routes=[
            Route("/", alive),
            Route("/api/version", tell_version),
            Route("/api/tags", tags),
            Route("/api/ps", running),
            Route("/api/show", show, methods=["POST"]),
            Route("/api/chat", chat, methods=["POST"]),
        ],
        exception_handlers={RefusedError: refused},
        lifespan=lifespan,
    )
    app.state.engine = engine
    return app


def main() -> None:
    """Listen on loopback until SIGTERM."""
    parser = argparse.ArgumentParser(description="The Ollama protocol in front of llama.cpp, for live tests.")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--name", required=True, help="with its tag, for instance smollm2:135m-instruct-q4_1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--context", type=int, default=4096, help="tokens")
    parser.add_argument("--threads", type=int, default=1, help="more only on an otherwise idle machine")
    given = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", given.port))
    app = make_app(Engine(given.name, given.gguf, given.context, given.threads))
    print(f"ready http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
