# SPDX-License-Identifier: Apache-2.0
"""What an Ollama server says of itself and of the candidate or judge it serves, read strictly.

Pure: bytes of ``/api/version``, ``/api/tags`` and ``/api/show`` in, an `Identity` out. What the
server does not tell stays null.
"""

import json
import re
from typing import Any

from evalsite.canonical.digest import PREFIX, digest_bytes
from evalsite.canonical.jcs import MAX_SAFE_INTEGER, canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import EndpointError, InputError, shorten
from evalsite.schema import bounds
from evalsite.schema.plan import Identity, Sampling

_HEX = re.compile(r"(sha256:)?([0-9a-f]{64})")
_MAX_TEXT_CHARS = 300
_MAX_ITEMS = 64


def parse_object(raw: bytes, path: str) -> dict[str, Any]:
    """Return the JSON object that a server replied.

    Raises:
        EndpointError: It isn't one; this is no Ollama server.
    """
    try:
        value = parse_json(raw, max_bytes=bounds.MAX_REPLY_BYTES)
    except InputError as exc:
        raise _unfit(f"expected strict JSON, got something else: {exc}", path) from exc
    if not isinstance(value, dict):
        raise _unfit(f"expected a JSON object, got {type(value).__name__}", path)
    return value


def full_name(model_name: str) -> str:
    """Return the name with its tag; a server reads a name without one as ``:latest``."""
    return model_name if ":" in model_name.rsplit("/", 1)[-1] else f"{model_name}:latest"


def find_row(tags: dict[str, Any], model_name: str) -> dict[str, Any]:
    """Return the row of ``/api/tags`` that describes ``model_name``.

    Raises:
        EndpointError: The server does not have it; the advice names what it has.
    """
    rows = tags.get("models")
    listed = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    wanted = full_name(model_name)
    for row in listed:
        if wanted in (row.get("name"), row.get("model")):
            return row
    names = ", ".join(sorted(str(row.get("name")) for row in listed)) or "nothing"
    raise EndpointError(
        f"expected the server to have {wanted}, got a list without it",
        at="/api/tags",
        rule="R44",
        advice=f"Pull it on the server, or name another in the campaign. It has: {shorten(names)}.",
    )


def row_digest(row: dict[str, Any]) -> str:
    """Return the digest of a row as ``sha256:<hex>``; it covers weights, template and parameters.

    Raises:
        EndpointError: The row has none, so that nothing could show which one answered.
    """
    digest = row.get("digest")
    found = _HEX.fullmatch(digest) if isinstance(digest, str) else None
    if found is None:
        raise _unfit(f"expected a SHA-256 as digest, got {shorten(digest)}", "/api/tags")
    return PREFIX + found.group(2)


def read_identity(host: str, *, version: bytes, row: dict[str, Any], show: dict[str, Any], client: str) -> Identity:
    """Put together what a server told.

    Args:
        host: The address as the campaign states it.
        version: Body of ``/api/version``.
        row: The row of `find_row`.
        show: Object of ``/api/show``.
        client: Name and version of the client library.

    Raises:
        EndpointError: The version or the digest is missing.
    """
    server_version = _text(parse_object(version, "/api/version").get("version"))
    if server_version is None:
        raise _unfit("expected a version, got none", "/api/version")
    details = {**_object(row.get("details")), **_object(show.get("details"))}
    return Identity(
        endpoint_kind="ollama",
        endpoint_host=host,
        server_version=server_version,
        client_version=client,
        model_name=_text(row.get("name")) or _text(row.get("model")),
        model_digest=row_digest(row),
        model_size_bytes=_count(row.get("size")),
        family=_text(details.get("family")),
        parameter_size=_text(details.get("parameter_size")),
        quantization=_text(details.get("quantization_level")),
        trained_context_tokens=_trained_context(_object(show.get("model_info"))),
        capabilities=_texts(show.get("capabilities")),
        remote_host=_text(row.get("remote_host")) or _text(show.get("remote_host")),
        replayed_run=None,
        raw=None,
    )


def raw_description(*, version: bytes, row: dict[str, Any], show: bytes) -> bytes:
    """Return the server's own replies as one canonical JSON document.

    The replies stand in it as JSON text, since they hold floats. Of the list, only the row in
    question is kept: what else is on that machine is nobody's business. Of ``/api/show``, the
    ``modelfile`` is left out: it repeats the other fields and names a path in a home folder.
    ``show_digest`` is the SHA-256 of that reply as it came.
    """
    kept = {key: value for key, value in parse_object(show, "/api/show").items() if key != "modelfile"}
    return canonical_bytes(
        {
            "format": "evalsite/ollama-description/v1",
            "show": _json_text(kept),
            "show_digest": digest_bytes(show),
            "tags_row": _json_text(row),
            "version": _json_text(parse_object(version, "/api/version")),
        }
    )


def check_fitness(identity: Identity, sampling: Sampling) -> None:
    """Refuse a plan that this server would not follow, without a word, in the first call.

    Raises:
        EndpointError: The context is longer than the trained one (the server would silently use
            less), it cannot chat, or it cannot think and was asked to.
    """
    trained = identity.trained_context_tokens
    if trained is not None and sampling.context_tokens > trained:
        raise EndpointError(
            f"expected a context of at most {trained} tokens, got {sampling.context_tokens}",
            at="sampling.context_tokens",
            rule="a prompt is never cut silently",
            advice="Lower context_tokens (and max_output_tokens) in the campaign, or choose another model name.",
        )
    capabilities = identity.capabilities
    if capabilities is None:
        return
    for capability, wanted in (("completion", True), ("thinking", sampling.think)):
        if wanted and capability not in capabilities:
            raise EndpointError(
                f"expected the capability {capability}, got {', '.join(capabilities) or 'none'}",
                at="/api/show",
                advice="Name another model, or set think to false in the campaign.",
            )


def _unfit(message: str, path: str) -> EndpointError:
    return EndpointError(message, at=path, advice="Check that endpoint.host is the address of an Ollama server.")


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, allow_nan=False, separators=(",", ":"))


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= _MAX_TEXT_CHARS else None


def _texts(value: object) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(text for item in value[:_MAX_ITEMS] if (text := _text(item)) is not None)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_SAFE_INTEGER:
        return None
    return value


def _trained_context(model_info: dict[str, Any]) -> int | None:
    architecture = _text(model_info.get("general.architecture"))
    if architecture is None:
        return None
    return _count(model_info.get(f"{architecture}.context_length"))
