# SPDX-License-Identifier: Apache-2.0
"""The two graded scorers: one judge, two rubrics, two framings (R82-R86, R90, R109)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.judging.prompts import RUBRICS, graded_judge_prompt, judge_instructions
from evalsite.schema.corpus import Card
from evalsite.schema.outcome import Dimension, Protocol

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
CARDS = st.lists(
    st.builds(Card, id=st.just("C"), title=TEXT, domain=TEXT, source=TEXT, head=TEXT, tail=TEXT), min_size=1, max_size=3
)
INSTRUCTIONS = {dimension: judge_instructions("Policy.", Protocol.GRADED, dimension) for dimension in Dimension}


@given(cards=CARDS, answer=TEXT)
def test_law_faithfulness_sees_whole_cards_and_groundedness_their_heads(cards: list[Card], answer: str) -> None:
    """R83, R84: the framing is the only difference between the two prompts."""
    whole = json.loads(graded_judge_prompt(cards, answer, Dimension.FAITHFULNESS))
    heads = json.loads(graded_judge_prompt(cards, answer, Dimension.GROUNDEDNESS))
    assert whole["cards"] == [{"title": card.title, "facts": card.head, "rules": card.tail} for card in cards]
    assert heads["cards"] == [{"title": card.title, "facts": card.head} for card in cards]
    assert whole["answer"] == heads["answer"] == answer
    assert set(whole) == set(heads) == {"cards", "answer"}


def test_the_same_judge_is_told_the_same_but_for_the_rubric() -> None:
    """R82: policy, form and protection are shared; only the question differs."""
    stripped = {INSTRUCTIONS[dimension].replace(RUBRICS[dimension], "RUBRIC") for dimension in Dimension}
    assert len(stripped) == 1
    assert "RUBRIC" in stripped.pop()


@pytest.mark.parametrize("dimension", Dimension)
def test_one_rubric_asks_one_thing(dimension: Dimension) -> None:
    """R90: no dimension's instructions hold the question of the other."""
    [other] = set(Dimension) - {dimension}
    assert RUBRICS[dimension] in INSTRUCTIONS[dimension]
    assert RUBRICS[other] not in INSTRUCTIONS[dimension]
    assert other.value not in INSTRUCTIONS[dimension]


def test_the_rubric_of_faithfulness_anchors_high_middle_and_low() -> None:
    """R82, R85, R86: contradiction or a broken rule is low, tension is the middle, an addition costs nothing."""
    rubric = RUBRICS[Dimension.FAITHFULNESS]
    high, middle = (
        rubric.index("100: it contradicts nothing and breaks no"),
        rubric.index("50: a partial contradiction"),
    )
    low = rubric.index(
        "0: it asserts or advises something that contradicts a card or breaks one of its rules", middle + 2
    )
    assert high < middle < low
    assert "but that contradicts nothing does not lower the grade" in rubric
