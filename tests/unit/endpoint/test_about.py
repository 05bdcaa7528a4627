# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself."""

import json

import pytest
from support.fake_ollama import About

from evalsite.canonical.digest import digest_bytes
from evalsite.endpoint.about import (
    check_fitness,
    find_row,
    full_name,
    parse_object,
    raw_description,
    read_identity,
    row_digest,
)
from evalsite.errors import EndpointError
from evalsite.schema.plan import Identity, Sampling


def identity(row: dict[str, object] | None = None, show: dict[str, object] | None = None) -> Identity:
    about = About()
    return read_identity(
        "http://127.0.0.1:1",
        version=b'{"version":"0.30.5"}',
        row=about.row() if row is None else row,
        show=about.show() if show is None else show,
        client="ollama-python 0",
    )


def test_an_identity_holds_what_was_told() -> None:
    assert identity().plain() == {
        "endpoint_kind": "ollama",
        "endpoint_host": "http://127.0.0.1:1",
        "server_version": "0.30.5",
        "client_version": "ollama-python 0",
        "model_name": "stub:latest",
        "model_digest": f"sha256:{'1' * 64}",
        "model_size_bytes": 1234,
        "family": "stub",
        "parameter_size": "1K",
        "quantization": "Q4_1",
        "trained_context_tokens": 32768,
        "capabilities": ["completion"],
        "remote_host": None,
        "replayed_run": None,
        "raw": None,
    }


def test_what_is_not_told_is_null() -> None:
    bare = identity({"name": "a", "digest": "2" * 64}, {})
    told = {key for key, value in bare.plain().items() if value is not None}
    assert told == {
        "endpoint_kind", "endpoint_host", "server_version", "client_version", "model_name", "model_digest",
    }  # fmt: skip


def test_values_of_a_wrong_kind_are_null_and_long_ones_too() -> None:
    row = {"name": "a", "digest": "2" * 64, "size": True, "details": [], "remote_host": "x" * 301}
    odd = identity(row, {"capabilities": "all", "model_info": {"general.architecture": "a", "a.context_length": -1}})
    assert (odd.model_size_bytes, odd.family, odd.remote_host, odd.capabilities) == (None, None, None, None)
    assert odd.trained_context_tokens is None


def test_a_remote_host_is_told() -> None:
    assert identity({**About().row(), "remote_host": "https://example.org"}).remote_host == "https://example.org"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a", "a:latest"),
        ("a:1b", "a:1b"),
        ("host:5000/team/a", "host:5000/team/a:latest"),
        ("host:5000/team/a:x", "host:5000/team/a:x"),
    ],
)
def test_a_name_without_a_tag_means_latest(given: str, expected: str) -> None:
    assert full_name(given) == expected


def test_an_unknown_name_is_told_with_what_is_there() -> None:
    with pytest.raises(EndpointError) as caught:
        find_row({"models": [{"name": "b:latest"}, "odd", {"name": "a:latest"}]}, "c")
    assert str(caught.value) == "expected the server to have c:latest, got a list without it at /api/tags [R44]"
    assert caught.value.advice.endswith("It has: 'a:latest, b:latest'.")
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("tags", [{}, {"models": None}, {"models": []}])
def test_an_empty_list_is_told(tags: dict[str, object]) -> None:
    with pytest.raises(EndpointError) as caught:
        find_row(tags, "c")
    assert caught.value.advice.endswith("It has: 'nothing'.")


@pytest.mark.parametrize("digest", [None, "", "1" * 63, "1" * 65, "sha256:" + "G" * 64, 7])
def test_a_row_without_a_digest_is_refused(digest: object) -> None:
    with pytest.raises(EndpointError, match="expected a SHA-256 as digest"):
        row_digest({"digest": digest})


def test_a_digest_may_have_its_prefix() -> None:
    assert row_digest({"digest": "sha256:" + "a" * 64}) == row_digest({"digest": "a" * 64}) == "sha256:" + "a" * 64


@pytest.mark.parametrize("raw", [b"Ollama is running", b"[]", b'{"a":1,"a":2}', b'{"a":"\\ud800"}'])
def test_a_server_that_is_no_ollama_is_refused(raw: bytes) -> None:
    with pytest.raises(EndpointError) as caught:
        parse_object(raw, "/api/version")
    assert caught.value.at == "/api/version"


@pytest.mark.parametrize("version", [b"{}", b'{"version":""}', b'{"version":7}'])
def test_a_version_must_be_told(version: bytes) -> None:
    with pytest.raises(EndpointError, match="expected a version, got none"):
        read_identity("h", version=version, row=About().row(), show={}, client="c")


def test_the_raw_description_keeps_the_replies_but_no_path_of_the_machine() -> None:
    about = About()
    show = json.dumps(about.show()).encode()
    raw = raw_description(version=b'{"version":"1"}', row=about.row(), show=show)
    document = json.loads(raw)
    assert document["format"] == "evalsite/ollama-description/v1"
    assert document["show_digest"] == digest_bytes(show)
    kept = json.loads(document["show"])
    assert kept == {key: value for key, value in about.show().items() if key != "modelfile"}
    assert json.loads(document["tags_row"]) == about.row()
    assert json.loads(document["version"]) == {"version": "1"}
    assert b"somebody" not in raw


def fitness(sampling: Sampling, **changes: object) -> None:
    check_fitness(identity().model_copy(update=changes), sampling)


def test_a_context_longer_than_the_trained_one_is_refused() -> None:
    fitness(Sampling(context_tokens=2048), trained_context_tokens=2048)
    fitness(Sampling(context_tokens=2048), trained_context_tokens=None)
    with pytest.raises(EndpointError) as caught:
        fitness(Sampling(context_tokens=2049), trained_context_tokens=2048)
    assert caught.value.message == "expected a context of at most 2048 tokens, got 2049"
    assert caught.value.at == "sampling.context_tokens"


def test_missing_capabilities_are_refused_and_untold_ones_are_not() -> None:
    fitness(Sampling(think=True), capabilities=None)
    fitness(Sampling(think=True), capabilities=("completion", "thinking"))
    with pytest.raises(EndpointError, match="expected the capability thinking, got completion"):
        fitness(Sampling(think=True), capabilities=("completion",))
    with pytest.raises(EndpointError, match="expected the capability completion, got embedding"):
        fitness(Sampling(), capabilities=("embedding",))
