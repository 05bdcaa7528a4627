# SPDX-License-Identifier: Apache-2.0
"""An Ollama server without any weights, over real HTTP, with scripted faults.

    with FakeOllama(answer=lambda prompt: "{}", faults=[None, Fault.HTTP_503]) as server:
        ...  # server.url, server.requests

The n-th entry of ``faults`` says what happens to the n-th chat; chats beyond the list are answered
normally. Without ``answer``, a normal reply is the smallest text that fits the requested schema.
"""

import gzip
import json
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

DIGEST = "1" * 64
OTHER_DIGEST = "2" * 64
BYTES_PER_TOKEN = 4


class Fault(StrEnum):
    """What can go wrong with a chat."""

    HTTP_302 = "http_302"
    HTTP_400 = "http_400"
    HTTP_404 = "http_404"
    HTTP_500 = "http_500"
    HTTP_503 = "http_503"
    HANG = "hang"  # no byte, until the server is stopped
    DRIP = "drip"  # one byte now and then, for ever
    DISCONNECT = "disconnect"  # closes the connection without a byte
    DISCONNECT_MID_BODY = "disconnect_mid_body"
    BROKEN_JSON = "broken_json"
    NOT_AN_OBJECT = "not_an_object"
    DUPLICATE_KEY = "duplicate_key"
    INVALID_UTF8 = "invalid_utf8"
    DEEP_JSON = "deep_json"
    NO_BODY = "no_body"
    NO_MESSAGE = "no_message"
    CONTENT_IS_NUMBER = "content_is_number"
    NOT_DONE = "not_done"  # done: false, without a reason
    NO_DONE_REASON = "no_done_reason"
    LOADED_ONLY = "loaded_only"  # done_reason: load
    CUT = "cut"  # done_reason: length, content broken off
    NONSENSE = "nonsense"  # fits the schema, says nothing sensible
    SHRUNKEN_COUNT = "shrunken_count"  # far too few prompt tokens for the bytes
    HALF_CONTEXT = "half_context"  # what is left when a server cuts a prompt
    NO_ROOM = "no_room"  # prompt plus output exceed the context
    MISSING_COUNTS = "missing_counts"
    NEGATIVE_COUNTS = "negative_counts"
    DIGEST_CHANGE = "digest_change"  # from the end of this chat on
    UNLISTED = "unlisted"  # from the end of this chat on, the list is empty
    THINKING = "thinking"
    LONE_SURROGATES = "lone_surrogates"
    MEGABYTE_LINE = "megabyte_line"
    EMPTY_CONTENT = "empty_content"
    NULL_CONTENT = "null_content"
    WRONG_CONTENT_TYPE = "wrong_content_type"
    HUGE_BODY = "huge_body"
    GZIP = "gzip"  # compressed although nobody asked for it


@dataclass
class About:
    """What the server says of itself; a test changes what it needs."""

    model: str = "stub:latest"
    version: str = "0.0.0-fake"
    digest: str = DIGEST
    context_length: int = 32768
    capabilities: list[str] = field(default_factory=lambda: ["completion"])
    remote_host: str | None = None
    broken: dict[str, bytes | int] = field(default_factory=dict)  # path to a body or a status

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "name": self.model,
            "model": self.model,
            "modified_at": "2026-11-30T12:00:00Z",
            "size": 1234,
            "digest": self.digest,
            "details": {"format": "gguf", "family": "stub", "parameter_size": "1K", "quantization_level": "Q4_1"},
        }
        if self.remote_host is not None:
            row["remote_host"] = self.remote_host
        return row

    def show(self) -> dict[str, Any]:
        return {
            "license": "none",
            "modelfile": "FROM /home/somebody/.ollama/blobs/sha256-1",
            "parameters": "stop x",
            "template": "{{ .Prompt }}",
            "details": self.row()["details"],
            "model_info": {
                "general.architecture": "stub",
                "stub.context_length": self.context_length,
                "stub.attention.layer_norm_rms_epsilon": 1e-05,
            },
            "capabilities": self.capabilities,
        }


class FakeOllama:
    """A server on a free loopback port, running while its ``with`` block does.

    Args:
        model: The one name that it serves.
        answer: Prompt (the last message's text) to content.
        faults: What happens to each chat, in their order; null for a normal one.
        about: What it says of itself.
        huge_bytes: Length of the body of `Fault.HUGE_BODY`.
    """

    def __init__(
        self,
        *,
        model: str = "stub:latest",
        answer: Callable[[str], str] | None = None,
        faults: Sequence[Fault | None] = (),
        about: About | None = None,
        huge_bytes: int = 17 * 1024 * 1024,
    ) -> None:
        self.about = about or About(model=model)
        self.answer = answer
        self.huge_bytes = huge_bytes
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []  # of all requests, names in lower case
        self.replies: list[bytes] = []  # bodies of chats as they were sent, or were meant to be
        self.paths: list[str] = []
        self.stopping = threading.Event()
        self._faults = list(faults)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Die: hanging chats are dropped, new connections refused."""
        if not self.stopping.is_set():
            self.stopping.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def next_fault(self, raw: bytes) -> Fault | None:
        """Note a chat and return what is to happen to it."""
        with self._lock:
            index = len(self.requests)
            self.bodies.append(raw)
            self.requests.append(json.loads(raw))
            return self._faults[index] if index < len(self._faults) else None


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # stop() waits for all handlers, so that no socket outlives a test
    block_on_close = True
    fake: FakeOllama

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent: clients that hang up are what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # a client that says nothing cannot keep stop() waiting
    server: _Server

    def log_message(self, *args: object) -> None:
        """Stay silent."""

    def do_GET(self) -> None:
        about = self._note()
        if self.path == "/api/version":
            self._json({"version": about.version})
        elif self.path == "/api/tags":
            self._json({"models": [about.row()] if about.model else []})
        elif self.path == "/api/ps":
            self._json({"models": []})
        else:
            self._json({"error": "not found"}, 404)

    def do_POST(self) -> None:
        about = self._note()
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.path == "/api/show":
            self._json(about.show())
        elif self.path == "/api/chat":
            self._chat(raw)
        else:
            self._json({"error": "not found"}, 404)

    def _note(self) -> About:
        fake = self.server.fake
        fake.paths.append(self.path)
        fake.headers.append({key.lower(): value for key, value in self.headers.items()})
        return fake.about

    def _json(self, value: object, status: int = 200) -> None:
        broken = self.server.fake.about.broken.get(self.path)
        if isinstance(broken, int):
            self._send(b'{"error":"scripted"}', broken)
        elif broken is not None:
            self._send(broken)
        else:
            self._send(json.dumps(value).encode(), status)

    def _send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _chat(self, raw: bytes) -> None:
        fake = self.server.fake
        fault = fake.next_fault(raw)
        request = fake.requests[-1]
        if fault is None and request["model"] not in (fake.about.model, fake.about.model.removesuffix(":latest")):
            fault = Fault.HTTP_404
        if fault in _STATUS:
            self._send(json.dumps({"error": f"scripted {fault}"}).encode(), _STATUS[fault], location="/elsewhere")
        elif fault in _BROKEN_WIRE:
            _BROKEN_WIRE[fault](self)
        else:
            self._reply(request, fault)

    def _reply(self, request: dict[str, Any], fault: Fault | None) -> None:
        fake = self.server.fake
        if fault in _BODIES:
            body = _BODIES[fault]
        else:
            reply = normal_reply(request, fake.answer)
            if fault in _CHANGES:
                _CHANGES[fault](reply, request)
            body = json.dumps(reply).encode()
        if fault is Fault.DIGEST_CHANGE:
            fake.about.digest = OTHER_DIGEST
        elif fault is Fault.UNLISTED:
            fake.about.model = ""
        headers = {}
        if fault is Fault.WRONG_CONTENT_TYPE:
            headers["content_type"] = "text/html; charset=utf-16"
        elif fault is Fault.GZIP:
            body, headers["content_encoding"] = gzip.compress(body), "gzip"
        fake.replies.append(body)
        self._send(body, **headers)

    def _hang(self) -> None:
        self.server.fake.stopping.wait(60)
        self._disconnect()

    def _drip(self) -> None:
        self._head(10_000)
        while not self.server.fake.stopping.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def _disconnect(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _disconnect_mid_body(self) -> None:
        self._head(1000)
        self.wfile.write(b'{"model":"stub:latest","mess')
        self.wfile.flush()
        self._disconnect()

    def _huge(self) -> None:
        total = self.server.fake.huge_bytes
        self._head(total)
        block = b"a" * 65536
        for _ in range(0, total, len(block)):
            self.wfile.write(block)

    def _head(self, length: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.send_header("connection", "close")
        self.end_headers()


def normal_reply(request: dict[str, Any], answer: Callable[[str], str] | None) -> dict[str, Any]:
    """Return what a sound server would reply."""
    prompt_bytes = sum(len(message["content"].encode()) for message in request["messages"])
    content = json.dumps(smallest(request["format"])) if answer is None else answer(request["messages"][-1]["content"])
    return {
        "model": request["model"],
        "created_at": "2026-11-30T12:00:00Z",
        "message": {"role": "assistant", "content": content},
        "done": True,
        "done_reason": "stop",
        "total_duration": 7_900_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": max(8, prompt_bytes // BYTES_PER_TOKEN),
        "prompt_eval_duration": 2_000_000_000,
        "eval_count": max(1, len(content.encode(errors="surrogatepass")) // BYTES_PER_TOKEN),
        "eval_duration": 5_000_000_000,
    }


def smallest(schema: dict[str, Any]) -> Any:
    """Return a small value that fits a schema of replies."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return smallest(schema["anyOf"][0])
    kind = schema.get("type")
    if kind == "object":
        return {name: smallest(schema["properties"][name]) for name in schema["required"]}
    if kind == "array":
        return [smallest(schema["items"])] * schema.get("minItems", 0)
    if kind == "string":
        return "x" * max(1, schema.get("minLength", 0))
    return {"boolean": False, "integer": schema.get("minimum", 0), "null": None}[kind]


def _nonsense(reply: dict[str, Any], request: dict[str, Any]) -> None:
    reply["message"]["content"] = json.dumps(smallest(request["format"])).replace("x", "\u2603 lorem")


def _message(**fields: object) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda reply, _: reply["message"].update(fields)


def _top(**fields: object) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda reply, _: reply.update(fields)


def _without(*names: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(reply: dict[str, Any], _: dict[str, Any]) -> None:
        for name in names:
            del reply[name]

    return change


def _cut(reply: dict[str, Any], _: dict[str, Any]) -> None:
    reply["done_reason"] = "length"
    reply["message"]["content"] = reply["message"]["content"][: len(reply["message"]["content"]) // 2]


def _not_done(reply: dict[str, Any], _: dict[str, Any]) -> None:
    reply["done"] = False
    del reply["done_reason"]


def _half_context(reply: dict[str, Any], request: dict[str, Any]) -> None:
    reply["prompt_eval_count"] = request["options"]["num_ctx"] // 2 + 2


def _no_room(reply: dict[str, Any], request: dict[str, Any]) -> None:
    reply["prompt_eval_count"] = request["options"]["num_ctx"] - request["options"]["num_predict"] + 1


_STATUS = {
    Fault.HTTP_302: 302,
    Fault.HTTP_400: 400,
    Fault.HTTP_404: 404,
    Fault.HTTP_500: 500,
    Fault.HTTP_503: 503,
}
_BROKEN_WIRE = {
    Fault.HANG: _Handler._hang,
    Fault.DRIP: _Handler._drip,
    Fault.DISCONNECT: _Handler._disconnect,
    Fault.DISCONNECT_MID_BODY: _Handler._disconnect_mid_body,
    Fault.HUGE_BODY: _Handler._huge,
}
_BODIES = {
    Fault.BROKEN_JSON: b'{"model":"stub:latest","message":{"role":"assistant","content":"a"',
    Fault.NOT_AN_OBJECT: b"[1]",
    Fault.DUPLICATE_KEY: (
        b'{"message":{"role":"assistant","content":"a"},"done":false,"done":true,"done_reason":"stop",'
        b'"prompt_eval_count":9}'
    ),
    Fault.INVALID_UTF8: b'{"message":{"role":"assistant","content":"\xff"},"done":true,"done_reason":"stop"}',
    Fault.DEEP_JSON: b'{"message":' + b"[" * 5000 + b"]" * 5000 + b"}",
    Fault.NO_BODY: b"",
}
_CHANGES: dict[Fault, Callable[[dict[str, Any], dict[str, Any]], None]] = {
    Fault.NO_MESSAGE: _without("message"),
    Fault.CONTENT_IS_NUMBER: _message(content=7),
    Fault.NOT_DONE: _not_done,
    Fault.NO_DONE_REASON: _without("done_reason"),
    Fault.LOADED_ONLY: _top(done_reason="load"),
    Fault.CUT: _cut,
    Fault.NONSENSE: _nonsense,
    Fault.SHRUNKEN_COUNT: _top(prompt_eval_count=5),
    Fault.HALF_CONTEXT: _half_context,
    Fault.NO_ROOM: _no_room,
    Fault.MISSING_COUNTS: _without("prompt_eval_count", "eval_count", "total_duration", "load_duration"),
    Fault.NEGATIVE_COUNTS: _top(prompt_eval_count=-1, eval_count=True),
    Fault.THINKING: _message(thinking="Let me see."),
    Fault.LONE_SURROGATES: _message(content='{"response": "\ud800 \udfff"}'),
    Fault.MEGABYTE_LINE: _message(content="a" * 1_048_576),
    Fault.EMPTY_CONTENT: _message(content=""),
    Fault.NULL_CONTENT: _message(content=None),
}
