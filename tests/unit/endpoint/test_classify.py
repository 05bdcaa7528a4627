# SPDX-License-Identifier: Apache-2.0
"""What a chat reply's counts and reasons tell."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.endpoint.base import NO_USAGE
from evalsite.endpoint.classify import Reading, fits, read_chat
from evalsite.schema.plan import Sampling

SAMPLING = Sampling(max_output_tokens=100, context_tokens=1000)
WHOLE = {
    "message": {"role": "assistant", "content": "{}"},
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 50,
    "eval_count": 2,
    "total_duration": 1_999_999,
    "load_duration": 0,
    "prompt_eval_duration": 2_000_000,
    "eval_duration": 3_500_000_000,
}


def read(prompt_bytes: int = 200, **changes: object) -> Reading:
    body = {key: value for key, value in {**WHOLE, **changes}.items() if value != "absent"}
    return read_chat(json.dumps(body).encode(), prompt_bytes=prompt_bytes, sampling=SAMPLING)


def test_a_whole_reply_has_no_error_and_whole_milliseconds() -> None:
    reading = read()
    assert (reading.error_type, reading.done_reason) == (None, "stop")
    assert reading.usage.plain() == {
        "prompt_tokens": 50,
        "output_tokens": 2,
        "total_duration_ms": 1,
        "load_duration_ms": 0,
        "prompt_duration_ms": 2,
        "output_duration_ms": 3500,
    }


@pytest.mark.parametrize(
    ("changes", "error_type"),
    [
        ({"done": False}, "IncompleteReply"),
        ({"done": 1}, "IncompleteReply"),
        ({"done": "absent"}, "IncompleteReply"),
        ({"done_reason": "absent"}, "IncompleteReply"),
        ({"done_reason": ""}, "IncompleteReply"),
        ({"done_reason": "load"}, "IncompleteReply"),
        ({"done_reason": "\ud800"}, "IncompleteReply"),
        ({"done_reason": "x" * 301}, "IncompleteReply"),
        ({"done_reason": 7}, "IncompleteReply"),
        ({"prompt_eval_count": "absent"}, "MissingCounts"),
        ({"prompt_eval_count": -1}, "MissingCounts"),
        ({"prompt_eval_count": True}, "MissingCounts"),
        ({"prompt_eval_count": 2**53}, "MissingCounts"),
        ({"prompt_eval_count": 1.5}, "MissingCounts"),
        ({"prompt_eval_count": 901}, "ContextOverflow"),
        ({"prompt_eval_count": 900}, None),
        ({"done_reason": "length"}, "TruncatedReply"),
        ({"done_reason": "length", "prompt_eval_count": 901}, "ContextOverflow"),
        ({"message": "absent"}, "MalformedBody"),
        ({"message": {"content": ""}}, None),
        ({"eval_count": "absent", "total_duration": "absent"}, None),
    ],
)
def test_the_first_reason_counts(changes: dict[str, object], error_type: str | None) -> None:
    assert read(**changes).error_type == error_type


@pytest.mark.parametrize(
    ("prompt_bytes", "tokens", "error_type"),
    [
        (800, 100, None),
        (800, 99, "ContextOverflow"),  # below a token for eight bytes
        (999, 502, None),  # half a context, but too short to have been cut
        (1000, 502, "ContextOverflow"),
        (1000, 500, "ContextOverflow"),
        (1000, 504, "ContextOverflow"),
        (1000, 499, None),
        (1000, 505, None),
    ],
)
def test_a_prompt_that_was_cut_is_noticed(prompt_bytes: int, tokens: int, error_type: str | None) -> None:
    assert read(prompt_bytes, prompt_eval_count=tokens).error_type == error_type


def test_a_malformed_body_has_no_usage() -> None:
    reading = read_chat(b"{", prompt_bytes=1, sampling=SAMPLING)
    assert reading == Reading(error_type="MalformedBody", done_reason=None, usage=NO_USAGE)


@given(st.integers(0, 20_000), st.integers(0, 2000))
def test_what_does_not_fit_would_be_refused_whatever_the_server_counts(prompt_bytes: int, tokens: int) -> None:
    if not fits(prompt_bytes, SAMPLING):
        assert read(prompt_bytes, prompt_eval_count=tokens).error_type == "ContextOverflow"


@given(st.binary(max_size=300))
def test_any_bytes_are_classified(raw: bytes) -> None:
    assert read_chat(raw, prompt_bytes=10, sampling=SAMPLING).error_type == "MalformedBody"
