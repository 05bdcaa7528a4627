# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a chat reply that came with HTTP 200, if anything.

Pure. An Ollama server answers 200 to a prompt that it silently cut, to a reply that ran into the
output limit and to one that was given up half way; only its counts and its done reason tell.
"""

from dataclasses import dataclass
from typing import Any

from evalsite.canonical.jcs import MAX_SAFE_INTEGER
from evalsite.endpoint.base import NO_USAGE
from evalsite.endpoint.content import chat_body, reply_content
from evalsite.errors import InputError
from evalsite.schema.entries import Usage
from evalsite.schema.plan import Sampling

#: No tokenizer packs natural text into fewer tokens than a byte count divided by this.
MAX_BYTES_PER_TOKEN = 8
#: A prompt that was cut has about half the context plus two tokens left.
_CUT_MARGIN_TOKENS = 2
_NS_PER_MS = 1_000_000
_MAX_DONE_REASON_CHARS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a chat reply says of itself; ``error_type`` is null for a whole one."""

    error_type: str | None
    done_reason: str | None
    usage: Usage


def fits(prompt_bytes: int, sampling: Sampling) -> bool:
    """Return whether a prompt of that many bytes (instructions included) can be answered at all.

    False means: whatever count the server reports, `read_chat` would refuse the reply, since the
    count either leaves no room for the output or is too small for the bytes.
    """
    return prompt_bytes // MAX_BYTES_PER_TOKEN + sampling.max_output_tokens <= sampling.context_tokens


def read_chat(raw: bytes, *, prompt_bytes: int, sampling: Sampling) -> Reading:
    """Classify the body of a chat reply; the first reason that applies counts.

    Args:
        raw: The exact bytes of the body.
        prompt_bytes: UTF-8 bytes of the instructions and the prompt that were sent. The schema
            doesn't count: the server compiles it into a grammar and puts it in no prompt.
        sampling: What was asked for.

    Returns:
        ``MalformedBody`` (not a strict JSON object with a message), ``IncompleteReply`` (not done,
        or done for no reason that ends a reply), ``MissingCounts`` (nothing shows that the whole
        prompt was read), ``ContextOverflow`` (the prompt was cut, or left no room for the output),
        ``TruncatedReply`` (the output limit was reached), or null.
    """
    try:
        body = chat_body(raw)
        reply_content(raw, "ollama-chat")
    except InputError:
        return Reading(error_type="MalformedBody", done_reason=None, usage=NO_USAGE)
    usage = _usage(body)
    reason = _done_reason(body)
    if body.get("done") is not True or reason not in {"stop", "length"}:
        error_type: str | None = "IncompleteReply"
    elif usage.prompt_tokens is None:
        error_type = "MissingCounts"
    elif _overflows(usage.prompt_tokens, prompt_bytes, sampling):
        error_type = "ContextOverflow"
    else:
        error_type = "TruncatedReply" if reason == "length" else None
    return Reading(error_type=error_type, done_reason=reason, usage=usage)


def _overflows(prompt_tokens: int, prompt_bytes: int, sampling: Sampling) -> bool:
    if prompt_tokens + sampling.max_output_tokens > sampling.context_tokens:
        return True
    if prompt_tokens < prompt_bytes // MAX_BYTES_PER_TOKEN:
        return True
    # A token is a byte at least: a shorter prompt cannot have been cut.
    could_be_cut = prompt_bytes >= sampling.context_tokens
    left_by_a_cut = sampling.context_tokens // 2 + 2
    return could_be_cut and abs(prompt_tokens - left_by_a_cut) <= _CUT_MARGIN_TOKENS


def _done_reason(body: dict[str, Any]) -> str | None:
    reason = body.get("done_reason")
    if not isinstance(reason, str) or not 0 < len(reason) <= _MAX_DONE_REASON_CHARS or not reason.isascii():
        return None
    return reason


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SAFE_INTEGER:
        return None
    return value


def _duration_ms(value: object) -> int | None:
    nanoseconds = _count(value)
    return None if nanoseconds is None else nanoseconds // _NS_PER_MS


def _usage(body: dict[str, Any]) -> Usage:
    return Usage(
        prompt_tokens=_count(body.get("prompt_eval_count")),
        output_tokens=_count(body.get("eval_count")),
        total_duration_ms=_duration_ms(body.get("total_duration")),
        load_duration_ms=_duration_ms(body.get("load_duration")),
        prompt_duration_ms=_duration_ms(body.get("prompt_eval_duration")),
        output_duration_ms=_duration_ms(body.get("eval_duration")),
    )
