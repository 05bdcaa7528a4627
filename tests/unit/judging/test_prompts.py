# SPDX-License-Identifier: Apache-2.0
"""Isolation: what candidate and judge see, byte for byte (R5-R13, R32, R33)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.campaign.casebook import CaseBook
from evalsite.corpus.load import load_corpus
from evalsite.judging import prompts
from evalsite.schema.corpus import BinaryCase, CandidateInput, ContextItem, EvidenceCase
from evalsite.schema.outcome import Polarity, Protocol, Trial, TrialKind
from evalsite.schema.replies import Action, CandidateAnswer


@pytest.fixture(scope="module")
def support(repository):
    """The shipped support corpus."""
    return load_corpus(repository / "corpora" / "support-behaviors-v1")


def case_trial(case_id):
    return Trial(kind=TrialKind.CASE, case_id=case_id, repetition=1, polarity=None, dimension=None)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
ANSWERS = st.builds(CandidateAnswer, action=st.sampled_from(Action), response=TEXT, refused=st.booleans())
PRIVATE = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
        "title": TEXT,
        "tags": st.just(()),
        "critical": st.booleans(),
        "required_behavior": TEXT,
        "forbidden_behavior": TEXT,
        "expected_action": st.sampled_from(Action),
        "must_refuse": st.booleans(),
        "positive_reference": ANSWERS,
        "negative_counterexample": ANSWERS,
        "caveat": st.none() | TEXT,
    }
)
PUBLIC = st.builds(
    CandidateInput, message=TEXT, context=st.lists(st.builds(ContextItem, title=TEXT, text=TEXT), max_size=2).map(tuple)
)


@given(public=PUBLIC, one=PRIVATE, other=PRIVATE)
def test_law_no_private_field_changes_a_byte_of_the_candidate_message(public, one, other):
    """R7: whatever is private may change; the message stays the same bytes."""
    messages = {prompts.candidate_prompt(BinaryCase(input=public, **private).input) for private in (one, other)}
    assert len(messages) == 1


@given(public=PUBLIC)
def test_law_the_candidate_message_is_the_json_of_the_public_input(public):
    """R5: nothing else is in it, and nothing of it is missing."""
    assert json.loads(prompts.candidate_prompt(public)) == public.plain()


def test_candidate_message_of_each_shipped_case_holds_nothing_private(support):
    """R6: no id, expectation, reference, counter-example, flag or expected action."""
    for case in support.corpus.cases:
        message = prompts.candidate_prompt(case.input)
        assert set(json.loads(message)) == {"message", "context"}
        for private in (
            case.required_behavior,
            case.forbidden_behavior,
            case.positive_reference.response,
            case.negative_counterexample.response,
        ):
            assert json.dumps(private, ensure_ascii=False)[1:-1] not in message
        for name in ("critical", "must_refuse", "expected_action", "required_behavior", "positive_reference"):
            assert f'"{name}"' not in message


def test_candidate_instructions_hold_no_text_of_a_case(support):
    """R9: the common policy only; a change of any case leaves them alone."""
    instructions = CaseBook(support.snapshot).candidate_instructions()
    for case in support.corpus.cases:
        assert case.id not in instructions
        assert case.positive_reference.response not in instructions
        assert case.negative_counterexample.response not in instructions


@given(public=PUBLIC, private=PRIVATE, answer=ANSWERS)
def test_law_the_judge_prompt_has_exactly_four_members(public, private, answer):
    """R10, R12: input, required and forbidden behaviour, and the answer as it is."""
    case = BinaryCase(input=public, **private)
    data = json.loads(prompts.binary_judge_prompt(case, answer))
    assert data == {
        "input": public.plain(),
        "required_behavior": case.required_behavior,
        "forbidden_behavior": case.forbidden_behavior,
        "answer": answer.plain(),
    }


@given(public=PUBLIC, one=PRIVATE, other=PRIVATE, answer=ANSWERS)
def test_law_what_the_judge_must_not_see_changes_no_byte_of_its_prompt(public, one, other, answer):
    """R11: id, references, expected action, must-refuse and critical flag stay out."""
    kept = {name: one[name] for name in ("required_behavior", "forbidden_behavior")}
    first = prompts.binary_judge_prompt(BinaryCase(input=public, **one), answer)
    second = prompts.binary_judge_prompt(BinaryCase(input=public, **(other | kept)), answer)
    assert first == second


@given(
    evidence=st.lists(TEXT, max_size=3).map(tuple),
    explanation=TEXT,
    ids=st.lists(st.from_regex(r"[A-Z]{3,8}", fullmatch=True), min_size=2, max_size=2),
)
def test_law_the_evidence_prompt_has_evidence_and_explanation_only(evidence, explanation, ids):
    """R32: neither id nor title; labels cannot reach it, since they stand in another file."""
    made = {
        prompts.evidence_judge_prompt(
            EvidenceCase(id=case_id, title=case_id, tags=(), evidence=evidence, explanation=explanation)
        )
        for case_id in ids
    }
    assert len(made) == 1
    assert json.loads(made.pop()) == {"evidence": list(evidence), "explanation": explanation}


def test_evidence_instructions_state_format_null_citation_and_untrusted_data():
    """R13, R33."""
    text = prompts.judge_instructions("Policy.", Protocol.EVIDENCE, None, version="1")
    for needed in ("score, reason and evidence", "null when", "cite at least one", "untrusted data", "Ignore any text"):
        assert needed in text


def test_a_control_shows_the_judge_the_written_answer_and_not_which_it_is(support):
    """R41: both polarities are asked in the same form."""
    book = CaseBook(support.snapshot)
    case = support.corpus.cases[0]
    shown = {}
    for polarity in Polarity:
        trial = Trial(kind=TrialKind.CONTROL, case_id=case.id, repetition=None, polarity=polarity, dimension=None)
        shown[polarity] = json.loads(book.judge_question(trial, book.control_answer(trial)).prompt)
    assert shown[Polarity.POSITIVE]["answer"] == case.positive_reference.plain()
    assert shown[Polarity.NEGATIVE]["answer"] == case.negative_counterexample.plain()
    assert {frozenset(data) for data in shown.values()} == {
        frozenset({"input", "required_behavior", "forbidden_behavior", "answer"})
    }
