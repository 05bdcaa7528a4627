# SPDX-License-Identifier: Apache-2.0
"""The Ollama endpoint on a real small language model: plumbing only, never the quality of an answer."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import ollama
import pytest
from live.run_live import MODEL_NAME

from evalsite.endpoint.base import Ask, Description, Reply
from evalsite.endpoint.content import reply_content
from evalsite.endpoint.ollama import OllamaEndpoint
from evalsite.errors import EndpointError
from evalsite.schema.plan import OllamaEndpointSpec, Sampling
from evalsite.schema.replies import BinaryVerdict, CandidateAnswer, reply_schema

pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

T = TypeVar("T")
SAMPLING = Sampling(repeat_penalty="1.1", max_output_tokens=300)
DIGEST = "sha256:b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def with_endpoint(
    url: str,
    use: Callable[[OllamaEndpoint], Awaitable[T]],
    *,
    timeout_s: int = 600,
    model_name: str = MODEL_NAME,
    sampling: Sampling = SAMPLING,
) -> T:
    async def run() -> T:
        spec = OllamaEndpointSpec(kind="ollama", host=url, model_name=model_name, timeout_s=timeout_s)
        endpoint = OllamaEndpoint(spec, sampling)
        try:
            return await use(endpoint)
        finally:
            await endpoint.close()

    return asyncio.run(run())


def question(prompt: str, model: type = CandidateAnswer, sampling: Sampling = SAMPLING) -> Ask:
    instructions = "You are a support assistant. Reply with one JSON object with the fields of the schema."
    return Ask(instructions=instructions, prompt=prompt, schema=reply_schema(model), sampling=sampling)


def ask(url: str, asked: Ask, *, timeout_s: int = 600) -> Reply:
    return with_endpoint(url, lambda endpoint: endpoint.ask(asked), timeout_s=timeout_s)


def test_the_server_says_what_it_is(bridge_url: str) -> None:
    description: Description = with_endpoint(bridge_url, OllamaEndpoint.describe)
    identity = description.identity
    assert (identity.model_digest, identity.quantization) == (DIGEST, "Q4_1")
    assert (identity.parameter_size, identity.trained_context_tokens) == ("134.52M", 8192)
    assert "evalsite-bridge" in (identity.server_version or "")


@pytest.mark.parametrize("model", [CandidateAnswer, BinaryVerdict])
def test_a_reply_fits_the_schema_and_is_counted(bridge_url: str, model: type[CandidateAnswer | BinaryVerdict]) -> None:
    reply = ask(bridge_url, question("My parcel is late. What can I do?", model))
    assert (reply.error_type, reply.http_status, reply.done_reason, reply.model_digest) == (None, 200, "stop", DIGEST)
    assert reply.raw is not None
    model.parse(reply_content(reply.raw, reply.reply_format).encode(), max_bytes=100_000)
    assert (reply.usage.prompt_tokens or 0) > 20
    assert (reply.usage.output_tokens or 0) > 5


def test_the_same_question_gets_the_same_answer(bridge_url: str) -> None:
    asked = question("Can I return shoes that I wore once?")
    first, second = (ask(bridge_url, asked) for _ in range(2))
    assert first.request == second.request
    assert reply_content(first.raw or b"", "ollama-chat") == reply_content(second.raw or b"", "ollama-chat")


def test_a_reply_that_hits_the_limit_is_told(bridge_url: str) -> None:
    sampling = SAMPLING.model_copy(update={"max_output_tokens": 8})
    reply = ask(bridge_url, question("Where is my parcel?", sampling=sampling))
    assert (reply.error_type, reply.done_reason, reply.usage.output_tokens) == ("TruncatedReply", "length", 8)


def test_a_prompt_longer_than_the_context_is_refused_by_the_bridge(bridge_url: str) -> None:
    sampling = SAMPLING.model_copy(update={"context_tokens": 512, "max_output_tokens": 8})
    reply = ask(bridge_url, question("\U0001f642\U0001f9ff" * 300, sampling=sampling))
    assert reply.error_type == "HttpStatus400"
    assert "longer than the context length" in json.loads(reply.raw or b"")["error"]


def test_a_timeout_stops_the_engine_too(bridge_url: str) -> None:
    long = SAMPLING.model_copy(update={"max_output_tokens": 2000})
    slow = ask(bridge_url, question("Tell everything. " * 100, sampling=long), timeout_s=1)
    assert slow.error_type == "ReadTimeout"
    started = time.monotonic()
    quick = ask(bridge_url, question("Hello?", sampling=SAMPLING.model_copy(update={"max_output_tokens": 8})))
    assert quick.http_status == 200
    assert time.monotonic() - started < 30


def test_an_unknown_name_is_no_endpoint(bridge_url: str) -> None:
    with pytest.raises(EndpointError, match="expected the server to have nope:latest"):
        with_endpoint(bridge_url, OllamaEndpoint.describe, model_name="nope")


def test_the_official_client_alone_agrees_with_the_bridge(bridge_url: str) -> None:
    client = ollama.Client(host=bridge_url, timeout=600, trust_env=False)
    try:
        assert [row.model for row in client.list().models] == [MODEL_NAME]
        assert client.show(MODEL_NAME).capabilities == ["completion"]
        with pytest.raises(ollama.ResponseError) as caught:
            client.chat(MODEL_NAME, [{"role": "user", "content": "Hi"}], think=True)
        assert (caught.value.status_code, "does not support thinking" in str(caught.value)) == (400, True)
        parts = client.chat(MODEL_NAME, [{"role": "user", "content": "Hi"}], stream=True, options={"num_predict": 4})
        assert [part.done for part in parts] == [False, True]
        assert [row.model for row in client.ps().models] == [MODEL_NAME]
    finally:
        client.close()
