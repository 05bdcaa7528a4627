# SPDX-License-Identifier: Apache-2.0
"""Bytes of a reply to its content."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.canonical.strictjson import parse_json
from evalsite.endpoint.base import Ask
from evalsite.endpoint.content import ask_bytes, reply_content, reply_thinking
from evalsite.errors import CanonicalizationError, InputError
from evalsite.schema.plan import Sampling


def body(**message: object) -> bytes:
    return json.dumps({"message": {"role": "assistant", **message}}).encode()


def test_text_is_the_body_itself() -> None:
    assert reply_content("naïve\x00 answer".encode(), "text") == "naïve\x00 answer"
    assert reply_content(b"", "text") == ""
    assert reply_thinking(b"anything", "text") == ""


def test_text_that_is_not_utf8_is_refused_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        reply_content(b"ab\xff", "text")
    assert str(caught.value) == "expected UTF-8 in the reply, got byte 0xff at byte 2 [RFC 3629]"


def test_chat_content_and_thinking_stand_apart() -> None:
    raw = body(content='{"action": "assist"}', thinking="hm")
    assert reply_content(raw, "ollama-chat") == '{"action": "assist"}'
    assert reply_thinking(raw, "ollama-chat") == "hm"


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": ""}], ids=["absent", "null", "empty"])
def test_no_content_is_empty_and_not_an_error(message: dict[str, object]) -> None:
    assert reply_content(body(**message), "ollama-chat") == ""


def test_escaped_lone_surrogates_are_kept_as_recorded() -> None:
    raw = b'{"message": {"content": "a\\ud800b"}}'
    assert reply_content(raw, "ollama-chat") == "a\ud800b"
    with pytest.raises(InputError, match="lone surrogate"):
        parse_json(raw, max_bytes=1000)


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        (b"[]", ""),
        (b'{"message": "x"}', "message"),
        (b"{}", "message"),
        (b'{"message": {"content": 7}}', "message.content"),
        (b'{"message": {"content": "\xed\xa0\x80"}}', "byte 25"),
        (b'{"message": {}, "message": {}}', "key 'message'"),
        (b'{"message": {"content": "x"}', "line 1, column 29"),
        (b"", "line 1, column 1"),
    ],
    ids=["array", "text message", "no message", "number", "raw surrogate", "twice", "cut", "empty"],
)
def test_a_body_that_is_no_chat_reply_is_refused(raw: bytes, at: str) -> None:
    with pytest.raises(InputError) as caught:
        reply_content(raw, "ollama-chat")
    assert caught.value.at == at


def test_errors_never_quote_the_reply() -> None:
    with pytest.raises(InputError) as caught:
        reply_content(b'{"message": ["private words"]}', "ollama-chat")
    assert "private" not in str(caught.value)


@given(st.binary(max_size=200))
def test_any_bytes_give_text_or_an_input_error(raw: bytes) -> None:
    for reply_format in ("text", "ollama-chat"):
        with contextlib.suppress(InputError):
            assert isinstance(reply_content(raw, reply_format), str)


@given(st.text(alphabet=st.characters(), max_size=50))
def test_content_survives_the_wire(text: str) -> None:
    assert reply_content(body(content=text), "ollama-chat") == text


def test_ask_bytes_tell_apart_what_was_asked() -> None:
    base = {"instructions": "i", "prompt": "p", "schema": {"type": "object"}, "sampling": Sampling()}
    changed = [{"instructions": "j"}, {"prompt": "q"}, {"schema": {}}, {"sampling": Sampling(seed=8)}]
    assert len({ask_bytes(Ask(**{**base, **change})) for change in [{}, *changed]}) == 5
    with pytest.raises(CanonicalizationError):
        ask_bytes(Ask(**{**base, "prompt": "\ud800"}))
