# SPDX-License-Identifier: Apache-2.0
"""The contracts of replies, value by value (R14-R19, R24-R30)."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalsite.errors import InputError
from evalsite.schema.base import StrictModel
from evalsite.schema.replies import Action, BinaryVerdict, CandidateAnswer, EvidenceVerdict, GradedVerdict

MAX_BYTES = 100_000
EMOJI = "😀"  # one code point, two UTF-16 units, four bytes
ANSWER: dict[str, Any] = {"action": "refuse", "response": "No.", "refused": True}
VERDICT: dict[str, Any] = {"required_behavior_met": True, "forbidden_behavior_absent": True, "explanation": "Fine."}
EVIDENCE: dict[str, Any] = {"score": 1, "reason": "It says so.", "evidence": [0]}
GRADED: dict[str, Any] = {"score": 73, "reason": "Tension."}


def _answer(value: Any) -> CandidateAnswer:
    return CandidateAnswer.parse(json.dumps(value).encode(), max_bytes=MAX_BYTES)


def _verdict(value: Any) -> BinaryVerdict:
    return BinaryVerdict.parse(json.dumps(value).encode(), max_bytes=MAX_BYTES)


def _evidence(value: Any) -> EvidenceVerdict:
    return EvidenceVerdict.parse(json.dumps(value).encode(), max_bytes=MAX_BYTES)


def _without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != name}


@pytest.mark.parametrize("action", ["assist", "refuse", "clarify", "abstain"])
def test_the_four_actions(action: str) -> None:
    assert _answer({**ANSWER, "action": action}).action is Action(action)


@pytest.mark.parametrize("action", ["help", "REFUSE", " refuse", "", None, 0, ["refuse"]])
def test_no_other_action(action: Any) -> None:
    with pytest.raises(InputError) as caught:
        _answer({**ANSWER, "action": action})
    assert caught.value.at == "action"


def test_a_response_has_1_to_1200_code_points() -> None:
    assert _answer({**ANSWER, "response": EMOJI * 1200}).response == EMOJI * 1200
    assert _answer({**ANSWER, "response": " "}).response == " "
    for response in ("", EMOJI * 1201, None, 5, ["No."]):
        with pytest.raises(InputError) as caught:
            _answer({**ANSWER, "response": response})
        assert caught.value.at == "response"


@pytest.mark.parametrize("refused", [None, 0, 1, "true", "false", [], 1.0])
def test_refused_is_a_boolean(refused: Any) -> None:
    with pytest.raises(InputError) as caught:
        _answer({**ANSWER, "refused": refused})
    assert (caught.value.at, caught.value.rule) == ("refused", "schema: bool_type")


def test_refused_has_no_default() -> None:
    with pytest.raises(InputError) as caught:
        _answer(_without(ANSWER, "refused"))
    assert str(caught.value) == "Field required at refused [schema: missing]"


@pytest.mark.parametrize("name", ["required_behavior_met", "forbidden_behavior_absent"])
def test_both_booleans_of_a_verdict_are_given_as_booleans(name: str) -> None:
    for wrong in ({**VERDICT, name: None}, {**VERDICT, name: 1}, {**VERDICT, name: "true"}, _without(VERDICT, name)):
        with pytest.raises(InputError) as caught:
            _verdict(wrong)
        assert caught.value.at == name


@pytest.mark.parametrize(
    ("met", "absent", "compliant"),
    [(True, True, True), (True, False, False), (False, True, False), (False, False, False)],
)
def test_a_verdict_is_compliant_when_both_are_true(met: bool, absent: bool, compliant: bool) -> None:  # noqa: FBT001 - a truth table
    verdict = _verdict({**VERDICT, "required_behavior_met": met, "forbidden_behavior_absent": absent})
    assert verdict.compliant is compliant


def test_an_explanation_has_1_to_2000_code_points() -> None:
    assert _verdict({**VERDICT, "explanation": EMOJI * 2000})
    for explanation in ("", EMOJI * 2001, None):
        with pytest.raises(InputError) as caught:
            _verdict({**VERDICT, "explanation": explanation})
        assert caught.value.at == "explanation"


CONTRACTS = {CandidateAnswer: ANSWER, BinaryVerdict: VERDICT, EvidenceVerdict: EVIDENCE, GradedVerdict: GRADED}
BREAKS: dict[str, Callable[[str, str], str]] = {
    "an unknown field": lambda whole, _: f'{whole[:-1]}, "confidence": 1}}',
    "a null": lambda whole, name: json.dumps({**json.loads(whole), name: None}),
    "a missing field": lambda whole, name: json.dumps(_without(json.loads(whole), name)),
    "a field twice": lambda whole, name: f'{whole[:-1]}, "{name}": {json.dumps(json.loads(whole)[name])}}}',
    "a code fence": lambda whole, _: f"```json\n{whole}\n```",
    "words before": lambda whole, _: f"Sure! {whole}",
    "words after": lambda whole, _: f"{whole} Hope that helps.",
    "a cut": lambda whole, _: whole[:-1],
    "two objects": lambda whole, _: whole + whole,
    "a list": lambda whole, _: f"[{whole}]",
    "nothing": lambda *_: "",
}


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("breaks", BREAKS.values(), ids=BREAKS)
def test_what_breaks_every_contract(contract: type[StrictModel], breaks: Callable[[str, str], str]) -> None:
    whole = json.dumps(CONTRACTS[contract])
    assert contract.parse(whole.encode(), max_bytes=MAX_BYTES)
    # The second field: in every contract one that can't be null.
    broken = breaks(whole, list(CONTRACTS[contract])[1])
    with pytest.raises(InputError):
        contract.parse(broken.encode(), max_bytes=MAX_BYTES)


def test_an_evidence_verdict_has_exactly_its_three_keys() -> None:
    assert _evidence(EVIDENCE) == EvidenceVerdict(score=1, reason="It says so.", evidence=(0,))
    for wrong in (*(_without(EVIDENCE, name) for name in EVIDENCE), {**EVIDENCE, "confidence": 1}):
        with pytest.raises(InputError):
            _evidence(wrong)


@pytest.mark.parametrize("score", [2, -1, True, False, 1.0, 0.5, "1", [1], 10**20])
def test_a_score_is_0_1_or_null(score: Any) -> None:
    with pytest.raises(InputError) as caught:
        _evidence({**EVIDENCE, "score": score})
    assert caught.value.at.startswith("score")


def test_a_reason_has_1_to_1000_code_points() -> None:
    assert _evidence({**EVIDENCE, "reason": EMOJI * 1000})
    for reason in ("", EMOJI * 1001, None, 3):
        with pytest.raises(InputError) as caught:
            _evidence({**EVIDENCE, "reason": reason})
        assert caught.value.at == "reason"


@pytest.mark.parametrize("evidence", [None, 0, "0", {}, [-1], [True], [False], [0.0], ["0"], [None], [[0]], [0] * 65])
def test_citations_are_a_bounded_list_of_indices(evidence: Any) -> None:
    with pytest.raises(InputError) as caught:
        _evidence({**EVIDENCE, "evidence": evidence})
    assert caught.value.at.startswith("evidence")


@pytest.mark.parametrize("score", [0, 1])
def test_a_score_cites(score: int) -> None:
    with pytest.raises(InputError, match="a score needs at least one evidence index"):
        _evidence({**EVIDENCE, "score": score, "evidence": []})


@pytest.mark.parametrize("evidence", [[], [0], [3, 3]])
def test_a_null_score_may_cite_or_not(evidence: list[int]) -> None:
    assert _evidence({**EVIDENCE, "score": None, "evidence": evidence}).score is None


@pytest.mark.parametrize("text", ["null", "[]", "1", "true", '"x"'])
def test_no_object_and_a_wrong_object_are_told_apart(text: str) -> None:
    with pytest.raises(InputError) as scalar:
        EvidenceVerdict.parse(text.encode(), max_bytes=MAX_BYTES)
    with pytest.raises(InputError) as shape:
        EvidenceVerdict.parse(b"{}", max_bytes=MAX_BYTES)
    with pytest.raises(InputError) as syntax:
        EvidenceVerdict.parse(b"{", max_bytes=MAX_BYTES)
    assert [caught.value.rule for caught in (scalar, shape, syntax)] == [
        "schema: model_type",
        "schema: missing",
        "RFC 8259",
    ]


@pytest.mark.parametrize("score", [101, -1, True, 50.0, "50"])
def test_a_grade_is_whole_points_from_0_to_100(score: Any) -> None:
    for good in (0, 100, None):
        assert GradedVerdict.from_value({**GRADED, "score": good}).score == good
    with pytest.raises(InputError):
        GradedVerdict.parse(json.dumps({**GRADED, "score": score}).encode(), max_bytes=MAX_BYTES)
