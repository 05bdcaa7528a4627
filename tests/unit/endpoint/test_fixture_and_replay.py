# SPDX-License-Identifier: Apache-2.0
"""The two endpoints that send nothing over a wire."""

import asyncio
import inspect

import pytest

from evalsite.canonical.digest import digest_text
from evalsite.endpoint.base import NO_USAGE, Ask, Endpoint, Reply
from evalsite.endpoint.content import ask_bytes
from evalsite.endpoint.fixture import FixtureAnswer, FixtureEndpoint, fixture_identity
from evalsite.endpoint.ollama import OllamaEndpoint
from evalsite.endpoint.replay import RecordedReply, ReplayEndpoint, replay_identity
from evalsite.schema.entries import Usage
from evalsite.schema.plan import Sampling


def ask_for(prompt: str) -> Ask:
    return Ask(instructions="Be brief.", prompt=prompt, schema={"type": "object"}, sampling=Sampling())


def ask(endpoint: Endpoint, prompt: str) -> Reply:
    return asyncio.run(endpoint.ask(ask_for(prompt)))


def recorded(raw: bytes | None, error_type: str | None = None) -> RecordedReply:
    return RecordedReply(
        raw=raw,
        reply_format="ollama-chat",
        error_type=error_type,
        http_status=200,
        done_reason="stop",
        model_digest=f"sha256:{'1' * 64}",
        usage=NO_USAGE.model_copy(update={"prompt_tokens": 3}),
    )


@pytest.mark.parametrize(
    ("answer", "raw", "error_type"),
    [
        (FixtureAnswer(b"\xff<b>"), b"\xff<b>", None),
        (FixtureAnswer(b""), b"", None),
        (FixtureAnswer(fault="timeout"), None, "ReadTimeout"),
        (FixtureAnswer(fault="disconnect"), None, "RemoteProtocolError"),
        (FixtureAnswer(fault="missing"), b"", None),
    ],
    ids=["bytes", "empty", "timeout", "disconnect", "missing"],
)
def test_the_fixture_gives_what_its_table_holds(
    answer: FixtureAnswer, raw: bytes | None, error_type: str | None
) -> None:
    reply = ask(FixtureEndpoint(fixture_identity(), {"p": answer}), "p")
    assert reply == Reply(
        request=ask_bytes(ask_for("p")),
        raw=raw,
        reply_format="text",
        error_type=error_type,
        http_status=None,
        done_reason=None,
        model_digest=None,
        usage=NO_USAGE,
    )


def test_the_fixture_has_no_answer_to_an_unknown_prompt() -> None:
    reply = ask(FixtureEndpoint(fixture_identity(), {"p": FixtureAnswer(b"x")}), "p ")
    assert (reply.raw, reply.error_type) == (None, "FixtureHasNoAnswer")


def test_the_table_is_taken_over_when_the_endpoint_is_made() -> None:
    table = {"p": FixtureAnswer(b"x")}
    endpoint = FixtureEndpoint(fixture_identity(), table)
    table.clear()
    assert ask(endpoint, "p").raw == b"x"


@pytest.mark.parametrize("fields", [{}, {"raw": b"", "fault": "timeout"}], ids=["neither", "both"])
def test_a_fixture_answer_is_bytes_or_a_fault(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="FixtureAnswer"):
        FixtureAnswer(**fields)


def test_the_fixture_claims_no_model() -> None:
    description = asyncio.run(FixtureEndpoint(fixture_identity(), {}).describe())
    assert description.raw is None
    assert description.identity.endpoint_kind == "fixture"
    assert {value for key, value in description.identity.plain().items() if key != "endpoint_kind"} == {None}


def test_a_replay_gives_recorded_replies_in_their_order_and_then_none() -> None:
    first, second = recorded(b"1"), recorded(None, "ReadTimeout")
    endpoint = ReplayEndpoint(fixture_identity(), {digest_text("p"): [first, second], digest_text("q"): [first]})
    replies = [ask(endpoint, prompt) for prompt in ("p", "q", "p", "p", "q", "never")]
    assert [reply.raw for reply in replies] == [b"1", b"1", None, None, None, None]
    assert [reply.error_type for reply in replies] == [
        None, None, "ReadTimeout", "NotRecorded", "NotRecorded", "NotRecorded",
    ]  # fmt: skip
    assert replies[0] == Reply(
        request=ask_bytes(ask_for("p")),
        raw=b"1",
        reply_format="ollama-chat",
        error_type=None,
        http_status=200,
        done_reason="stop",
        model_digest=f"sha256:{'1' * 64}",
        usage=Usage(**{**NO_USAGE.plain(), "prompt_tokens": 3}),
    )


def test_a_replay_names_the_run_that_it_repeats() -> None:
    original = fixture_identity().model_copy(update={"endpoint_kind": "ollama", "model_name": "stub:latest"})
    identity = replay_identity(original, "run-1")
    description = asyncio.run(ReplayEndpoint(identity, {}).describe())
    assert description.identity.endpoint_kind == "replay"
    assert (description.identity.replayed_run, description.identity.model_name) == ("run-1", "stub:latest")
    type(identity).model_validate(identity.model_dump())


@pytest.mark.parametrize("endpoint", [FixtureEndpoint(fixture_identity(), {}), ReplayEndpoint(fixture_identity(), {})])
def test_closing_is_harmless(endpoint: Endpoint) -> None:
    asyncio.run(endpoint.close())


def test_no_endpoint_can_be_given_a_case() -> None:
    """R8: a question is four values, none of which can be a case."""
    for endpoint in (FixtureEndpoint, ReplayEndpoint, OllamaEndpoint):
        assert list(inspect.signature(endpoint.ask).parameters) == ["self", "ask"]
    assert Ask.__annotations__.keys() == {"instructions", "prompt", "schema", "sampling"}
    assert Ask.__annotations__["instructions"] is str
    assert Ask.__annotations__["prompt"] is str
