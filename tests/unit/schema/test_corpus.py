# SPDX-License-Identifier: Apache-2.0
"""Corpora as values: nothing is left unstated, and each protocol has its own cases (R1, R2, R31, R74, R75)."""

from typing import Any

import pytest

from evalsite.errors import InputError
from evalsite.schema.corpus import BinaryCase, CorpusSnapshot, EvidenceCase, GradedCase, Label, LabelSet

ANSWER = {"action": "refuse", "response": "No.", "refused": True}
BINARY: dict[str, Any] = {
    "id": "REFUND",
    "title": "Refund",
    "tags": ["money"],
    "critical": True,
    "input": {"message": "Refund me.", "context": [{"title": "Policy", "text": "No refunds."}]},
    "required_behavior": "Say no.",
    "forbidden_behavior": "Promise.",
    "expected_action": "refuse",
    "must_refuse": True,
    "positive_reference": ANSWER,
    "negative_counterexample": ANSWER,
    "caveat": None,
}
EVIDENCE: dict[str, Any] = {"id": "s", "title": "S", "tags": [], "evidence": ["a"], "explanation": "b"}
GRADED: dict[str, Any] = {"id": "g", "title": "G", "tags": [], "cards": ["c"], "question": "q", "answer": "a"}
LABELS: dict[str, Any] = {
    "format": "evalsite/labels/v1",
    "name": "preset",
    "construct_name": "scope",
    "construct_version": "1",
    "level": "preset",
    "annotator": "author",
    "independently_reviewed_by_humans": False,
    "aligned_on_standard_first": False,
    "note": None,
    "labels": [{"case_id": "s", "value": 1, "dimension": None, "boundary": False, "note": None}],
}


def corpus(protocol: str, cases: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a snapshot's value of one corpus."""
    provenance = {
        "authors": "the project",
        "created_at": "2026-11-30",
        "licence": "Apache-2.0",
        "reviews": [],
        "independent_human_validation": "open",
    }
    value = {
        "format": "evalsite/corpus/v1",
        "name": "c",
        "version": "1.0.0",
        "title": "C",
        "description": "d",
        "language": "en",
        "translation_of": None,
        "data_class": "synthetic",
        "provenance": provenance,
        "caveats": [],
        "instructions": {"candidate": None, "judge": "Judge."},
        "protocol": protocol,
        "cases": cases,
    }
    return {"format": "evalsite/corpus-snapshot/v1", "corpus": {**value, **more}, "label_sets": [LABELS]}


@pytest.mark.parametrize("name", BINARY)
def test_a_binary_case_states_every_field(name: str) -> None:
    assert BinaryCase.from_value(BINARY).id == "REFUND"
    with pytest.raises(InputError, match="Field required"):
        BinaryCase.from_value({key: value for key, value in BINARY.items() if key != name})


@pytest.mark.parametrize("name", EVIDENCE)
def test_a_sample_states_every_field_and_holds_no_label(name: str) -> None:
    assert "reference" not in EvidenceCase.model_fields
    with pytest.raises(InputError, match="Field required"):
        EvidenceCase.from_value({key: value for key, value in EVIDENCE.items() if key != name})


def test_a_graded_case_cites_a_card() -> None:
    assert GradedCase.from_value(GRADED)
    with pytest.raises(InputError):
        GradedCase.from_value({**GRADED, "cards": []})


@pytest.mark.parametrize(
    ("protocol", "case", "more"),
    [("binary", BINARY, {}), ("evidence", EVIDENCE, {}), ("graded", GRADED, {"cards": []})],
)
def test_each_protocol_has_its_own_cases(protocol: str, case: dict[str, Any], more: dict[str, Any]) -> None:
    snapshot = CorpusSnapshot.from_value(corpus(protocol, [case], **more))
    assert CorpusSnapshot.parse(snapshot.to_bytes(), max_bytes=100_000) == snapshot
    for other in (BINARY, EVIDENCE, GRADED):
        if other is not case:
            with pytest.raises(InputError):
                CorpusSnapshot.from_value(corpus(protocol, [other], **more))


@pytest.mark.parametrize(
    "name", ["version", "data_class", "provenance", "caveats", "language", "translation_of", "instructions"]
)
def test_a_corpus_leaves_nothing_unstated(name: str) -> None:
    value = corpus("binary", [BINARY])
    del value["corpus"][name]
    with pytest.raises(InputError, match="Field required"):
        CorpusSnapshot.from_value(value)


@pytest.mark.parametrize(
    "name", ["level", "annotator", "independently_reviewed_by_humans", "aligned_on_standard_first", "construct_version"]
)
def test_a_label_set_says_how_much_it_can_carry(name: str) -> None:
    assert LabelSet.from_value(LABELS)
    with pytest.raises(InputError, match="Field required"):
        LabelSet.from_value({key: value for key, value in LABELS.items() if key != name})


@pytest.mark.parametrize("value", [-1, 101, True, 0.5, None, "1"])
def test_a_label_is_whole_points(value: Any) -> None:
    with pytest.raises(InputError):
        Label.from_value({**LABELS["labels"][0], "value": value})
