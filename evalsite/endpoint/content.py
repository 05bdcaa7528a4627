# SPDX-License-Identifier: Apache-2.0
"""What a raw reply says, without judging it: bytes to content, and questions to bytes.

Pure. The content of a reply is kept as it was recorded, lone surrogates included (a JSON body may
hold them as escapes): it can then be shown, and the reader of the contract refuses it. Errors name
types and places only, since text of a reply stands in blobs and nowhere else.
"""

from typing import Any, Literal, TypeAlias

from evalsite.canonical.digest import digest_value
from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.endpoint.base import Ask
from evalsite.errors import InputError
from evalsite.schema import bounds

ReplyFormat: TypeAlias = Literal["text", "ollama-chat"]


def chat_body(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of an Ollama chat reply.

    Raises:
        InputError: Not strict JSON, not an object, too deep or too long. Lone surrogates pass.
    """
    body = parse_json(raw, max_bytes=bounds.MAX_REPLY_BYTES, max_depth=bounds.MAX_REPLY_DEPTH, lone_surrogates=True)
    if not isinstance(body, dict):
        raise InputError(
            f"expected a JSON object as the reply's body, got {type(body).__name__}", rule="Ollama /api/chat"
        )
    return body


def reply_content(raw: bytes, reply_format: ReplyFormat) -> str:
    """Return the content of a reply; empty when the endpoint delivered none.

    The caller must still tell an empty content (a missing answer, R43) from an answer.

    Args:
        raw: The exact bytes of the reply's body.
        reply_format: ``text`` (the body is the content) or ``ollama-chat`` (a JSON object around it).

    Raises:
        InputError: The body isn't what its format claims.
    """
    if reply_format == "text":
        return _utf8(raw)
    return _message_text(raw, "content")


def reply_thinking(raw: bytes, reply_format: ReplyFormat) -> str:
    """Return what a thinking candidate or judge wrote before its answer; empty when there is none.

    Never part of the answer: it is shown apart and no contract reads it.

    Raises:
        InputError: The body isn't what its format claims.
    """
    if reply_format == "text":
        return ""
    return _message_text(raw, "thinking")


def ask_bytes(ask: Ask) -> bytes:
    """Return the canonical bytes of a question, for endpoints that send nothing over a wire.

    Raises:
        CanonicalizationError: A text holds a lone surrogate, or the schema a float.
    """
    return canonical_bytes(
        {
            "instructions": ask.instructions,
            "prompt": ask.prompt,
            "sampling": ask.sampling.plain(),
            "schema": digest_value(ask.schema),
        }
    )


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InputError(
            f"expected UTF-8 in the reply, got byte 0x{raw[exc.start]:02x}", at=f"byte {exc.start}", rule="RFC 3629"
        ) from exc


def _message_text(raw: bytes, field: str) -> str:
    message = chat_body(raw).get("message")
    if not isinstance(message, dict):
        raise InputError(f"expected an object, got {type(message).__name__}", at="message", rule="Ollama /api/chat")
    text = message.get(field)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError(f"expected text, got {type(text).__name__}", at=f"message.{field}", rule="Ollama /api/chat")
    return text
