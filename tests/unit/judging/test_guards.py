# SPDX-License-Identifier: Apache-2.0
"""Guards over columns of verdicts (R88, R129; judging design \u00a74.3)."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.campaign.casebook import CaseBook, surface_of
from evalsite.corpus.load import load_corpus
from evalsite.judging.guards import MIN_VERDICTS, Surface, guard, reach, uniform
from evalsite.schema.outcome import Dimension, Result, Status, Trial, TrialKind, VerdictFacts

FAITHFUL = Dimension.FAITHFULNESS


def seen(index, score, *, dimension=FAITHFUL, evidence=None):
    trial = Trial(kind=TrialKind.CASE, case_id=f"c{index}", repetition=1, polarity=None, dimension=dimension)
    facts = VerdictFacts(scored=score is not None, score=score, evidence=evidence)
    status = Status.CANNOT_JUDGE if score is None else Status.JUDGED
    return trial, Result(status=status, stage=None, error_type=None, detail=None, answer=None, verdict=facts)


def codes(surface, results):
    return [fired.code for fired in guard(surface, results)]


POLES = Surface(both_poles=frozenset({FAITHFUL}))


@given(st.lists(st.sampled_from(["low", "middle", "high"]), max_size=12))
def test_law_a_column_is_uniform_exactly_when_it_is_long_enough_and_holds_one_class(column):
    expected = len(column) >= MIN_VERDICTS and len(set(column)) == 1
    assert (uniform(column) is not None) is expected
    if expected:
        assert uniform(column) == column[0]


@pytest.mark.parametrize(("grades", "code"), [((67, 100), "high"), ((0, 33), "low"), ((34, 66), "middle")])
def test_r88_a_column_in_one_bin_trips_the_guard(grades, code):
    results = [seen(index, grades[index % 2]) for index in range(MIN_VERDICTS)]
    assert codes(POLES, results) == [f"uniform-{code}"]
    assert codes(POLES, results[1:]) == []  # too few to tell
    assert codes(POLES, [*results, seen(9, 50 if code != "middle" else 0)]) == []
    assert codes(Surface(), results) == []  # a corpus may be good throughout


def test_a_null_is_in_no_column():
    results = [seen(index, 100) for index in range(MIN_VERDICTS - 1)] + [seen(9, None)]
    assert codes(POLES, results) == []


def test_each_dimension_is_a_column_of_its_own():
    both = Surface(both_poles=frozenset(Dimension))
    results = [seen(index, 100) for index in range(5)]
    results += [seen(index, 100 * (index % 2), dimension=Dimension.GROUNDEDNESS) for index in range(5)]
    [fired] = guard(both, results)
    assert (fired.code, len(fired.trials)) == ("uniform-high", 5)
    assert fired.message.startswith("faithfulness: all 5 verdicts are high")


def test_the_evidence_protocol_has_a_column_as_well():
    surface = Surface(both_poles=frozenset({None}))
    assert codes(surface, [seen(index, 1, dimension=None, evidence=(0,)) for index in range(5)]) == ["uniform-high"]
    assert codes(surface, [seen(index, 0, dimension=None, evidence=(0,)) for index in range(5)]) == ["uniform-low"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=MIN_VERDICTS, max_size=9))
def test_law_reach_is_the_furthest_citation(cited):
    cited = [(min(index, last), last) for index, last in cited]
    assert reach(cited) == max(Fraction(index, last) for index, last in cited)


def test_evidence_that_nobody_ever_cites_from_its_second_half_is_the_mark_of_a_cut():
    surface = Surface(evidence={f"c{index}": 6 for index in range(5)})
    heads = [seen(index, index % 2, dimension=None, evidence=(0, 2)) for index in range(5)]
    assert codes(surface, heads) == ["head-only"]
    whole = [*heads[:-1], seen(4, 1, dimension=None, evidence=(5,))]
    assert codes(surface, whole) == []
    assert codes(Surface(evidence=dict.fromkeys(surface.evidence, 1)), heads) == []  # one item has no second half


def test_r129_cards_cut_to_their_heads_make_the_guard_fire(repository):
    """The mutation: the same judge over the same answers, once with whole cards and once without their tails."""
    snapshot = load_corpus(repository / "corpora" / "card-rules-v1").snapshot
    [labels] = [one for one in snapshot.label_sets if one.labels[0].dimension is FAITHFUL]
    rule_only = {case.id: label.value for case, label in zip(snapshot.corpus.cases, labels.labels, strict=True)}
    cut = [card.model_copy(update={"tail": " "}) for card in snapshot.corpus.cards]
    headless = snapshot.model_copy(update={"corpus": snapshot.corpus.model_copy(update={"cards": tuple(cut)})})

    def column(shown):
        book = CaseBook(shown)
        results = []
        for case in shown.corpus.cases:
            trial = Trial(kind=TrialKind.CASE, case_id=case.id, repetition=1, polarity=None, dimension=FAITHFUL)
            cards = json.loads(book.judge_question(trial).prompt)["cards"]
            sees_rules = any(card["rules"].strip() for card in cards)
            score = rule_only[case.id] if sees_rules else 100  # without the rules nothing is seen to break them
            results.append(
                (trial, seen(0, score)[1]),
            )
        return results

    surface = surface_of(snapshot)
    assert FAITHFUL in surface.both_poles
    assert codes(surface, column(snapshot)) == []
    assert codes(surface, column(headless)) == ["uniform-high"]
