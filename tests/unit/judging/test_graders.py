# SPDX-License-Identifier: Apache-2.0
"""What code decides about an answer: exactly, and never with an exception (R47)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from support import corpora
from support.campaigns import planned_case

from evalsite.corpus.load import load_corpus
from evalsite.judging.graders import failed_checks, fulfils, reference_findings
from evalsite.judging.results import binary_result
from evalsite.schema.codechecks import CodeCheck, CodeChecks
from evalsite.schema.outcome import Status
from evalsite.schema.replies import Action, BinaryVerdict, CandidateAnswer

ONE = TypeAdapter(CodeCheck)
MANY = TypeAdapter(CodeChecks)
ABC = {"kind": "set", "name": "s", "separator": ",", "expected": ["red", "Green", "blue"]}
JSON = {"kind": "json", "name": "j", "fields": [{"path": "order.items[1].price", "expected": "4.20"}]}


def check(**value):
    return ONE.validate_json(json.dumps(value))


@pytest.mark.parametrize(
    ("value", "yes", "no"),
    [
        (
            {"kind": "exact", "name": "e", "expected": ["Yes", "Yes."]},
            ["Yes", " Yes.\n"],
            ["yes", "Yes!", "Yes. Yes."],
        ),
        (ABC, ["red, green,blue", "BLUE,red,green"], ["red, green", "red,green,blue,blue", "red,green,blue,pink", ""]),
        (
            {"kind": "number", "name": "n", "expected": "49.90", "tolerance": "0"},
            ["It is 49.9 euros.", "49.90", "+49.900"],
            ["49.91", "-49.90", "49.90 or 50", "none", "49,90", "149.90", "x49.90"],
        ),
        (
            {"kind": "number", "name": "n", "expected": "0.3", "tolerance": "0.1"},
            ["0.4", "0.2", "0.3"],
            ["0.40000001", "0.19"],
        ),
        (
            JSON,
            ['{"order": {"items": [{}, {"price": "4.20"}], "more": 1}}'],
            [
                '{"order": {"items": [{}, {"price": 4.20}]}}',
                '{"order": {"items": [{}]}}',
                '{"order": {"items": {"1": {"price": "4.20"}}}}',
                "[]",
                'Here: {"order": {"items": [{}, {"price": "4.20"}]}}',
                '{"order": {"items": [{}, {"price": "4.20", "price": "4.20"}]}}',
            ],
        ),
    ],
)
def test_a_check_holds_or_not(value, yes, no):
    one = check(**value)
    assert [text for text in yes if not fulfils(one, text)] == []
    assert [text for text in no if fulfils(one, text)] == []


@pytest.mark.parametrize(("expected", "given_json"), [(True, "1"), (1, "true"), (None, '"null"'), ("1", "1")])
def test_a_json_field_has_a_type(expected, given_json):
    one = check(kind="json", name="j", fields=[{"path": "a", "expected": expected}])
    assert fulfils(one, json.dumps({"a": expected}))
    assert not fulfils(one, '{"a": ' + given_json + "}")


ALL = MANY.validate_json(
    json.dumps(
        [
            ABC,
            JSON,
            {"kind": "exact", "name": "e", "expected": ["x"]},
            {"kind": "number", "name": "n", "expected": "1", "tolerance": "0"},
            {"kind": "pattern", "name": "p", "pattern": "x+", "found": True, "ignore_case": True},
        ]
    )
)


@given(st.text(max_size=200))
def test_law_any_text_is_decided_and_twice_the_same(text):
    failed = failed_checks(ALL, text)
    assert failed == failed_checks(ALL, text)
    assert set(failed) <= {"s", "j", "e", "n", "p"}


def test_checks_of_a_case_have_names_of_their_own():
    with pytest.raises(ValueError, match="a name of its own"):
        MANY.validate_json(json.dumps([ABC, ABC]))


def test_a_failed_check_is_a_violation_that_no_judge_can_lift():
    case = planned_case("A").model_copy(update={"checks": ALL[2:3]})
    compliant = BinaryVerdict(required_behavior_met=True, forbidden_behavior_absent=True, explanation="Fine.")
    wrong = CandidateAnswer(action=Action.REFUSE, response="y", refused=True)
    result = binary_result(case, wrong, compliant)
    assert (result.status, result.detail) == (Status.VIOLATION, "check e")
    assert result.answer.failed_checks == ("e",)
    right = binary_result(case, wrong.model_copy(update={"response": "x"}), compliant)
    assert (right.status, right.detail, right.answer.failed_checks) == (Status.PASSED, None, None)
    both = binary_result(case, wrong.model_copy(update={"refused": False}), compliant)
    assert both.detail == "refused, check e"


def findings(tmp_path, **changes):
    loaded = load_corpus(corpora.write(tmp_path, corpora.binary(corpora.binary_case("A", **changes))))
    return [(found.code, found.at) for found in reference_findings(loaded.corpus, str)]


def test_a_corpus_whose_own_examples_contradict_its_checks_is_told(tmp_path):
    both = {"kind": "pattern", "name": "asks", "pattern": "never said", "found": True, "ignore_case": False}
    assert findings(tmp_path / "1", checks=[both]) == [
        ("reference-fails-check", "cases[0].positive_reference.response"),
        ("code-decides-control", "cases[0].negative_counterexample.response"),
    ]
    assert findings(tmp_path / "2", checks=[both | {"found": False}]) == []
    assert findings(tmp_path / "3", required_behavior="The reply has refused: true.") == [
        ("code-question", "cases[0].required_behavior")
    ]
    assert findings(tmp_path / "4", required_behavior="Says that the action is being taken.") == []
    assert findings(tmp_path / "5", required_behavior="Refuses, and says what action a person can take.") == []
