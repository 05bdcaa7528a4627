# SPDX-License-Identifier: Apache-2.0
"""The schema that is sent and the reader of the reply accept the same values (R21).

An independent JSON Schema validator stands for the endpoint's side. Two differences are meant, and
shown here to be the only ones: JSON Schema takes ``1.0`` for an integer and the reader does not; and
that a score cites (R28) can't be said in a schema.
"""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.values import values

from evalsite.errors import InputError
from evalsite.schema import bounds
from evalsite.schema.base import StrictModel
from evalsite.schema.replies import BinaryVerdict, CandidateAnswer, EvidenceVerdict, GradedVerdict, reply_schema

MAX_BYTES = 1_000_000
FLAGS: list[Any] = [True, False, None, 0, 1, "true", []]
SCORES: list[Any] = [0, 1, None, -1, 2, 50, 100, 101, True, False, "1", 1.0, 0.5, [], 10**30]
CITATIONS: list[Any] = [
    [],
    [0],
    [0, 0, 63],
    None,
    [-1],
    [True],
    ["0"],
    [1.0],
    [0.5],
    {},
    "0",
    [[0]],
    [0] * 64,
    [0] * 65,
]
VALUES: dict[type[StrictModel], dict[str, list[Any]]] = {
    CandidateAnswer: {
        "action": ["assist", "refuse", "clarify", "abstain", "Assist", "refuse ", "", None, 1, ["assist"]],
        "response": [
            "x",
            " ",
            "",
            None,
            7,
            ["x"],
            "é" * 1200,
            "é" * 1201,
            "😀" * 1200,
            "😀" * 1201,
            "e\u0301" * 600,
            "\0",
        ],
        "refused": FLAGS,
    },
    BinaryVerdict: {
        "required_behavior_met": FLAGS,
        "forbidden_behavior_absent": FLAGS,
        "explanation": ["x", "", None, 1, "😀" * 2000, "😀" * 2001, "\n"],
    },
    EvidenceVerdict: {
        "score": SCORES,
        "reason": ["x", "", None, 1, "😀" * 1000, "😀" * 1001],
        "evidence": CITATIONS,
    },
    GradedVerdict: {"score": SCORES, "reason": ["x", "", None, 1, "界" * 1000, "界" * 1001]},
}
CONTRACTS = list(VALUES)


def _near(contract: type[StrictModel]) -> st.SearchStrategy[Any]:
    """Return values that are, or nearly are, a reply of this contract."""
    fields = VALUES[contract]
    good = st.fixed_dictionaries({name: st.just(choice[0]) for name, choice in fields.items()})
    mixed = st.fixed_dictionaries({name: st.sampled_from(choice) for name, choice in fields.items()})
    any_part = st.fixed_dictionaries({}, optional={name: st.sampled_from(choice) for name, choice in fields.items()})
    unknown = st.sampled_from(["confidence", "", *(name.upper() for name in fields)])
    extended = st.builds(lambda reply, name, value: {**reply, name: value}, good | mixed, unknown, values())
    one_off = st.builds(
        lambda reply, name, value: {**reply, name: value}, good, st.sampled_from(list(fields)), values() | st.floats()
    )
    return st.one_of(good, mixed, any_part, extended, one_off, good.map(lambda reply: [reply]), values())


REPLIES = st.sampled_from(CONTRACTS).flatmap(lambda contract: st.tuples(st.just(contract), _near(contract)))


def _reader_accepts(contract: type[StrictModel], value: Any) -> bool:
    try:
        contract.parse(json.dumps(value).encode(), max_bytes=MAX_BYTES)
    except InputError:
        return False
    return True


def _schema_accepts(contract: type[StrictModel], value: Any) -> bool:
    return Draft202012Validator(reply_schema(contract)).is_valid(value)


def _whole_floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_whole_floats, value.values()))
    if isinstance(value, list):
        return any(map(_whole_floats, value))
    return isinstance(value, float)


def _scored_without_citation(contract: type[StrictModel], value: Any) -> bool:
    return contract is EvidenceVerdict and value["score"] is not None and not value["evidence"]


@given(REPLIES)
@example((CandidateAnswer, {"action": "assist", "response": "😀" * 1200, "refused": False}))
@example((EvidenceVerdict, {"score": 1, "reason": "x", "evidence": []}))
@example((GradedVerdict, {"score": 1.0, "reason": "x"}))
def test_schema_and_reader_agree(reply: tuple[type[StrictModel], Any]) -> None:
    contract, value = reply
    reader, schema = _reader_accepts(contract, value), _schema_accepts(contract, value)
    if reader:
        assert schema
    elif schema:
        assert _whole_floats(value) or _scored_without_citation(contract, value)


@given(REPLIES)
def test_what_is_accepted_is_kept_unchanged(reply: tuple[type[StrictModel], Any]) -> None:
    contract, value = reply
    if _reader_accepts(contract, value):
        assert contract.parse(json.dumps(value).encode(), max_bytes=MAX_BYTES).plain() == value


@given(st.sampled_from(CONTRACTS), st.binary(max_size=200) | values().map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_reply_or_an_input_error(contract: type[StrictModel], data: bytes) -> None:
    with suppress(InputError):
        assert isinstance(contract.parse(data, max_bytes=MAX_BYTES), contract)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_each_listed_value_agrees_alone(contract: type[StrictModel]) -> None:
    """The table itself, one changed field at a time, so that no draw of luck is needed."""
    fields = VALUES[contract]
    good = {name: choice[0] for name, choice in fields.items()}
    if contract is EvidenceVerdict:
        good["evidence"] = [0]
    assert _reader_accepts(contract, good)
    for name, choice in fields.items():
        for value in choice:
            reply = {**good, name: value}
            agrees = _reader_accepts(contract, reply) == _schema_accepts(contract, reply)
            assert agrees or _whole_floats(value) or (name == "evidence" and value == []), reply
        without = {key: value for key, value in good.items() if key != name}
        assert not _reader_accepts(contract, without)
        assert not _schema_accepts(contract, without)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_schema_asks_for_every_field_and_closes_the_object(contract: type[StrictModel]) -> None:
    schema = reply_schema(contract)
    Draft202012Validator.check_schema(schema)
    assert schema["required"] == list(VALUES[contract])
    assert schema["additionalProperties"] is False
    text = json.dumps(schema)
    assert not any(word in text for word in ('"$ref"', '"$defs"', '"title"', '"description"', '"default"', '"pattern"'))


def test_bounds_stand_in_the_schema_as_in_the_one_module() -> None:
    assert reply_schema(CandidateAnswer)["properties"]["response"]["maxLength"] == bounds.MAX_RESPONSE_CHARS == 1200
    assert reply_schema(BinaryVerdict)["properties"]["explanation"]["maxLength"] == bounds.MAX_EXPLANATION_CHARS == 2000
    assert reply_schema(EvidenceVerdict)["properties"]["reason"]["maxLength"] == bounds.MAX_REASON_CHARS == 1000


@given(st.sampled_from(CONTRACTS), st.data())
def test_a_duplicate_key_is_refused_though_both_values_are_good(
    contract: type[StrictModel], data: st.DataObject
) -> None:
    good = {name: choice[0] for name, choice in VALUES[contract].items()}
    name = data.draw(st.sampled_from(list(good)))
    doubled = json.dumps(good)[:-1] + f", {json.dumps(name)}: {json.dumps(good[name])}}}"
    assert json.loads(doubled) == good
    with pytest.raises(InputError, match="expected every key once"):
        contract.parse(doubled.encode(), max_bytes=MAX_BYTES)
