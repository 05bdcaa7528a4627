# SPDX-License-Identifier: Apache-2.0
"""The official client against a server without weights, over real HTTP: every fault by its name."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from support.fake_ollama import DIGEST, OTHER_DIGEST, About, FakeOllama, Fault

from evalsite.endpoint import ollama as ollama_endpoint
from evalsite.endpoint.base import NO_USAGE, Ask, Reply
from evalsite.endpoint.content import reply_content, reply_thinking
from evalsite.endpoint.ollama import OllamaEndpoint
from evalsite.errors import EndpointError
from evalsite.schema import bounds
from evalsite.schema.plan import OllamaEndpointSpec, Sampling
from evalsite.schema.replies import CandidateAnswer, reply_schema

T = TypeVar("T")
SCHEMA = reply_schema(CandidateAnswer)
FIRST = f"sha256:{DIGEST}"


def with_endpoint(
    server: FakeOllama,
    use: Callable[[OllamaEndpoint], Awaitable[T]],
    *,
    timeout_s: int = 5,
    sampling: Sampling | None = None,
) -> T:
    async def run() -> T:
        spec = OllamaEndpointSpec(kind="ollama", host=server.url, model_name="stub", timeout_s=timeout_s)
        endpoint = OllamaEndpoint(spec, sampling or Sampling())
        try:
            return await use(endpoint)
        finally:
            await endpoint.close()

    return asyncio.run(run())


def question(prompt: str = "May I return it?", sampling: Sampling | None = None) -> Ask:
    return Ask(instructions="You answer.", prompt=prompt, schema=SCHEMA, sampling=sampling or Sampling())


def ask_all(server: FakeOllama, count: int = 1, *, prompt: str = "May I return it?", timeout_s: int = 5) -> list[Reply]:
    async def use(endpoint: OllamaEndpoint) -> list[Reply]:
        await endpoint.describe()
        return [await endpoint.ask(question(prompt)) for _ in range(count)]

    return with_endpoint(server, use, timeout_s=timeout_s)


def ask_with(fault: Fault | None, *, prompt: str = "May I return it?", timeout_s: int = 5) -> tuple[Reply, FakeOllama]:
    with FakeOllama(faults=[fault]) as server:
        return ask_all(server, prompt=prompt, timeout_s=timeout_s)[0], server


def test_a_normal_reply_is_kept_byte_for_byte_with_its_counts() -> None:
    reply, server = ask_with(None)
    assert (reply.error_type, reply.http_status, reply.done_reason, reply.model_digest) == (None, 200, "stop", FIRST)
    assert reply.raw == server.replies[0]
    assert reply.request == server.bodies[0]
    assert reply.reply_format == "ollama-chat"
    assert json.loads(reply_content(reply.raw, reply.reply_format)) == {
        "action": "assist", "refused": False, "response": "x",
    }  # fmt: skip
    assert reply.usage.plain() == {
        "prompt_tokens": 8,
        "output_tokens": 13,
        "total_duration_ms": 7900,
        "load_duration_ms": 1,
        "prompt_duration_ms": 2000,
        "output_duration_ms": 5000,
    }


def test_every_option_is_sent_explicitly_and_nothing_else() -> None:
    _, server = ask_with(None)
    assert server.requests[0] == {
        "model": "stub",
        "messages": [{"role": "system", "content": "You answer."}, {"role": "user", "content": "May I return it?"}],
        "tools": [],
        "stream": False,
        "think": False,
        "format": SCHEMA,
        "options": {
            "temperature": 0.0,
            "seed": 7,
            "top_k": 40,
            "top_p": 1.0,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
            "num_predict": 800,
            "num_ctx": 4096,
        },
    }


TRANSPORT = {
    Fault.DISCONNECT: "RemoteProtocolError",
    Fault.DISCONNECT_MID_BODY: "RemoteProtocolError",
    Fault.HANG: "ReadTimeout",
    Fault.DRIP: "CallDeadline",
}


@pytest.mark.parametrize("fault", TRANSPORT)
def test_a_failure_of_the_transport_has_its_own_name(fault: Fault) -> None:
    reply, server = ask_with(fault, timeout_s=1)
    assert reply.error_type == TRANSPORT[fault]
    assert reply.model_digest is None
    assert reply.usage == NO_USAGE
    assert reply.request == server.bodies[0]
    assert len(server.requests) == 1  # never asked again (R23)


def test_what_came_before_a_disconnect_is_kept() -> None:
    reply, _ = ask_with(Fault.DISCONNECT_MID_BODY)
    assert (reply.http_status, reply.raw) == (200, b'{"model":"stub:latest","mess')
    assert ask_with(Fault.DISCONNECT)[0].raw is None


@pytest.mark.parametrize("fault", [Fault.HTTP_302, Fault.HTTP_400, Fault.HTTP_404, Fault.HTTP_500, Fault.HTTP_503])
def test_a_status_is_a_failure_with_its_body_kept(fault: Fault) -> None:
    reply, server = ask_with(fault)
    status = int(fault.removeprefix("http_"))
    assert (reply.error_type, reply.http_status) == (f"HttpStatus{status}", status)
    assert json.loads(reply.raw or b"") == {"error": f"scripted {fault}"}
    assert server.paths == ["/api/version", "/api/tags", "/api/show", "/api/chat"]  # no redirect, no second try


CONTENT = {
    Fault.BROKEN_JSON: "MalformedBody",
    Fault.NOT_AN_OBJECT: "MalformedBody",
    Fault.DUPLICATE_KEY: "MalformedBody",
    Fault.INVALID_UTF8: "MalformedBody",
    Fault.DEEP_JSON: "MalformedBody",
    Fault.NO_BODY: "MalformedBody",
    Fault.NO_MESSAGE: "MalformedBody",
    Fault.CONTENT_IS_NUMBER: "MalformedBody",
    Fault.GZIP: "MalformedBody",
    Fault.NOT_DONE: "IncompleteReply",
    Fault.NO_DONE_REASON: "IncompleteReply",
    Fault.LOADED_ONLY: "IncompleteReply",
    Fault.MISSING_COUNTS: "MissingCounts",
    Fault.NEGATIVE_COUNTS: "MissingCounts",
    Fault.NO_ROOM: "ContextOverflow",
    Fault.CUT: "TruncatedReply",
    Fault.DIGEST_CHANGE: "DigestChanged",
    Fault.UNLISTED: "DigestUnread",
    # Whole replies, whatever they say: the contract's reader decides about these.
    Fault.NONSENSE: None,
    Fault.THINKING: None,
    Fault.LONE_SURROGATES: None,
    Fault.MEGABYTE_LINE: None,
    Fault.EMPTY_CONTENT: None,
    Fault.NULL_CONTENT: None,
    Fault.WRONG_CONTENT_TYPE: None,
}


@pytest.mark.parametrize("fault", CONTENT)
def test_a_reply_with_status_200_is_read_from_its_bytes(fault: Fault) -> None:
    reply, server = ask_with(fault)
    assert reply.error_type == CONTENT[fault]
    assert reply.http_status == 200
    assert reply.raw == server.replies[0]
    assert len(server.requests) == 1


def test_every_fault_of_the_server_has_a_test() -> None:
    elsewhere = {Fault.SHRUNKEN_COUNT, Fault.HALF_CONTEXT, Fault.HUGE_BODY}
    statuses = {fault for fault in Fault if fault.startswith("http_")}
    assert set(Fault) == set(TRANSPORT) | set(CONTENT) | elsewhere | statuses


@pytest.mark.parametrize("fault", [Fault.SHRUNKEN_COUNT, Fault.HALF_CONTEXT])
def test_a_prompt_that_the_server_cut_silently_is_noticed(fault: Fault) -> None:
    reply, _ = ask_with(fault, prompt="word " * 1200)
    assert (reply.error_type, reply.done_reason) == ("ContextOverflow", "stop")
    assert reply.usage.prompt_tokens in {5, 2050}


def test_a_prompt_that_cannot_fit_is_not_sent() -> None:
    with FakeOllama() as server:
        reply = ask_all(server, prompt="word " * 10_000)[0]
        assert (reply.error_type, reply.request, reply.raw, reply.http_status) == ("ContextTooSmall", b"", None, None)
        assert server.requests == []


def test_a_reply_beyond_the_limit_is_dropped_and_its_beginning_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MAX_REPLY_BYTES", 1_000_000)
    with FakeOllama(faults=[Fault.HUGE_BODY], huge_bytes=50_000_000) as server:
        reply = ask_all(server)[0]
    assert (reply.error_type, reply.http_status, reply.raw) == ("ReplyTooLarge", 200, b"a" * 1_000_000)


def test_thinking_is_kept_apart_from_the_answer() -> None:
    reply, _ = ask_with(Fault.THINKING)
    assert reply.raw is not None
    assert reply_thinking(reply.raw, "ollama-chat") == "Let me see."
    assert "Let me see." not in reply_content(reply.raw, "ollama-chat")


def test_lone_surrogates_are_recorded_as_they_came() -> None:
    reply, _ = ask_with(Fault.LONE_SURROGATES)
    assert reply.raw is not None
    assert b"\\ud800" in reply.raw
    assert reply_content(reply.raw, "ollama-chat") == '{"response": "\ud800 \udfff"}'


def test_a_changed_digest_is_told_with_every_later_reply() -> None:
    with FakeOllama(faults=[None, Fault.DIGEST_CHANGE]) as server:
        replies = ask_all(server, 3)
    assert [reply.error_type for reply in replies] == [None, "DigestChanged", "DigestChanged"]
    assert [reply.model_digest for reply in replies] == [FIRST, f"sha256:{OTHER_DIGEST}", f"sha256:{OTHER_DIGEST}"]


def test_the_first_digest_seen_counts_when_nobody_asked_for_a_description() -> None:
    with FakeOllama(faults=[None, Fault.DIGEST_CHANGE]) as server:

        async def use(endpoint: OllamaEndpoint) -> list[str | None]:
            return [(await endpoint.ask(question())).error_type for _ in range(2)]

        assert with_endpoint(server, use) == [None, "DigestChanged"]


def test_a_server_that_dies_refuses_the_next_call_and_says_so() -> None:
    with FakeOllama() as server:

        async def use(endpoint: OllamaEndpoint) -> list[Reply]:
            first = await endpoint.ask(question())
            await asyncio.to_thread(server.stop)
            return [first, await endpoint.ask(question())]

        first, second = with_endpoint(server, use)
    assert (first.error_type, second.error_type) == (None, "ConnectError")
    assert (second.raw, second.http_status) == (None, None)


def test_cancellation_passes_through_and_drops_the_connection() -> None:
    with FakeOllama(faults=[Fault.HANG]) as server:

        async def use(endpoint: OllamaEndpoint) -> None:
            task = asyncio.create_task(endpoint.ask(question()))
            while not server.requests:  # noqa: ASYNC110 - the server is another thread
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        with_endpoint(server, use, timeout_s=60)


def test_running_out_of_memory_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_args: object, **_kwargs: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ollama_endpoint.ollama.AsyncClient, "chat", fail)
    with FakeOllama() as server, pytest.raises(MemoryError):
        ask_all(server)


def test_an_unexpected_exception_is_recorded_by_its_type_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_args: object, **_kwargs: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(ollama_endpoint.ollama.AsyncClient, "chat", fail)
    with FakeOllama() as server:
        reply = ask_all(server)[0]
    assert (reply.error_type, reply.request, reply.raw) == ("ZeroDivisionError", b"", None)


def test_two_calls_at_a_time_do_not_mix() -> None:
    with FakeOllama(answer=json.dumps) as server:

        async def use(endpoint: OllamaEndpoint) -> list[Reply]:
            return await asyncio.gather(*(endpoint.ask(question(f"question {n}")) for n in range(8)))

        replies = with_endpoint(server, use)
    contents = [json.loads(reply_content(reply.raw or b"", "ollama-chat")) for reply in replies]
    assert contents == [f"question {n}" for n in range(8)]
    assert all(f"question {n}".encode() in reply.request for n, reply in enumerate(replies))


def test_the_environment_has_no_influence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "OLLAMA_HOST": "http://127.0.0.1:9",
        "OLLAMA_API_KEY": "secret-of-the-environment",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    reply, server = ask_with(None)
    assert reply.error_type is None
    assert all("authorization" not in headers for headers in server.headers)
    assert "secret" not in str(server.headers)


def test_a_description_comes_from_the_server_itself() -> None:
    with FakeOllama() as server:
        description = with_endpoint(server, OllamaEndpoint.describe)
        assert server.paths == ["/api/version", "/api/tags", "/api/show"]
    identity = description.identity
    assert (identity.server_version, identity.model_digest) == ("0.0.0-fake", FIRST)
    assert identity.client_version is not None
    assert identity.client_version.startswith("ollama-python 0.6.")
    assert (identity.endpoint_host, identity.quantization) == (server.url, "Q4_1")
    assert description.raw is not None


def test_a_remote_one_is_told_as_such() -> None:
    with FakeOllama(about=About(remote_host="https://cloud.example")) as server:
        assert with_endpoint(server, OllamaEndpoint.describe).identity.remote_host == "https://cloud.example"


def refusal(server: FakeOllama, sampling: Sampling | None = None) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        with_endpoint(server, OllamaEndpoint.describe, sampling=sampling, timeout_s=1)
    assert caught.value.exit_code == 7
    assert caught.value.advice
    return caught.value


def test_an_unreachable_server_is_no_endpoint() -> None:
    with FakeOllama() as server:
        server.stop()
        error = refusal(server)
    assert str(error) == f"expected a reply of the server at {server.url}, got ConnectError at /api/version [R44]"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"/api/version": 500}, "got HttpStatus500 at /api/version"),
        ({"/api/version": b"Ollama is running"}, "expected strict JSON"),
        ({"/api/tags": b'{"models":[{"name":"other:latest"}]}'}, "expected the server to have stub:latest"),
        ({"/api/tags": b'{"models":[{"name":"stub:latest"}]}'}, "expected a SHA-256 as digest, got None"),
        ({"/api/show": 404}, "got HttpStatus404 at /api/show"),
        ({"/api/show": b"[]"}, "expected a JSON object, got list at /api/show"),
    ],
    ids=["status", "not json", "unknown", "no digest", "no details", "odd details"],
)
def test_a_server_that_does_not_serve_is_refused(broken: dict[str, bytes | int], expected: str) -> None:
    with FakeOllama(about=About(broken=broken)) as server:
        assert expected in str(refusal(server))


def test_a_plan_that_would_be_cut_is_refused() -> None:
    with FakeOllama(about=About(context_length=2048)) as server:
        assert refusal(server).at == "sampling.context_tokens"


def test_thinking_is_asked_of_those_that_can() -> None:
    thinking = Sampling(think=True)
    with FakeOllama() as server:
        assert "expected the capability thinking" in str(refusal(server, thinking))
    with FakeOllama(about=About(capabilities=["completion", "thinking"])) as server:

        async def use(endpoint: OllamaEndpoint) -> Reply:
            await endpoint.describe()
            return await endpoint.ask(question(sampling=thinking))

        assert with_endpoint(server, use, sampling=thinking).error_type is None
        assert server.requests[0]["think"] is True
