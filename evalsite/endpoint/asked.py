# SPDX-License-Identifier: Apache-2.0
"""What a recorded request asked, read back from its exact bytes."""

from dataclasses import dataclass

from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError
from evalsite.schema import bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The two strings of a request."""

    instructions: str
    prompt: str


def read_request(raw: bytes) -> Asked:
    """Return instructions and prompt of a request, in either form in which requests are recorded.

    Args:
        raw: The body of an Ollama chat request (``messages``), or the canonical form that fixture
            and replay record (``instructions`` and ``prompt``).

    Raises:
        InputError: Not strict JSON, or of neither form.
    """
    body = parse_json(raw, max_bytes=bounds.MAX_REPLY_BYTES)
    if isinstance(body, dict) and isinstance(body.get("messages"), list):
        texts = [(part.get("role"), part.get("content")) for part in body["messages"] if isinstance(part, dict)]
        if [role for role, _ in texts] == ["system", "user"] and all(isinstance(text, str) for _, text in texts):
            return Asked(instructions=str(texts[0][1]), prompt=str(texts[1][1]))
    elif isinstance(body, dict) and isinstance(body.get("instructions"), str) and isinstance(body.get("prompt"), str):
        return Asked(instructions=body["instructions"], prompt=body["prompt"])
    raise InputError("expected a request with one system and one user text", at="request", rule="R37")
