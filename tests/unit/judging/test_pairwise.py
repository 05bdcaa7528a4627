# SPDX-License-Identifier: Apache-2.0
"""Pairs: what the judge sees, what it may say, and what both orders say together (R97, T4)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.campaigns import gate_plan

from evalsite.campaign.casebook import CaseBook
from evalsite.canonical.jcs import canonical_bytes
from evalsite.corpus.load import load_corpus
from evalsite.judging import prompts
from evalsite.judging.pairwise import choice_of, pairs_of, pairwise_table
from evalsite.judging.reading import Unread, read_verdict
from evalsite.judging.results import scored_result
from evalsite.judging.statistics.position import Choice
from evalsite.ledger.light import LightTrial
from evalsite.ledger.planned import PlannedTrials, planned_case_trials, planned_control_trials
from evalsite.schema.corpus import PairwiseCase
from evalsite.schema.entries import Call, Usage
from evalsite.schema.outcome import Mode, Order, Protocol, Result, Stage, Status, Trial, TrialKind, VerdictFacts
from evalsite.schema.replies import PairwiseVerdict, Winner

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


@pytest.fixture(scope="module")
def pairs(repository):
    """The shipped corpus of pairs."""
    return load_corpus(repository / "corpora" / "answer-pairs-v1")


def trial(case_id="A", order=Order.AB, repetition=1):
    return Trial(
        kind=TrialKind.CASE, case_id=case_id, repetition=repetition, polarity=None, dimension=None, order=order
    )


def judged(winner):
    facts = VerdictFacts(scored=winner is not None, winner=winner)
    status = Status.JUDGED if winner else Status.CANNOT_JUDGE
    return Result(status=status, stage=None, error_type=None, detail=None, answer=None, verdict=facts)


def failed():
    return Result(
        status=Status.TRANSPORT_ERROR,
        stage=Stage.JUDGE,
        error_type="ReadTimeout",
        detail=None,
        answer=None,
        verdict=None,
    )


class TestPrompt:
    """Question and answers, and nothing that names them."""

    @given(
        identity=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True),
        title=TEXT,
        texts=st.tuples(*[TEXT] * 3),
    )
    def test_the_allow_list_holds_for_any_case(self, identity, title, texts) -> None:
        question, answer_a, answer_b = texts
        case = PairwiseCase(
            id=identity, title=title, tags=("t",), question=question, answer_a=answer_a, answer_b=answer_b
        )
        shown = {order: prompts.pairwise_judge_prompt(case, order) for order in Order}
        assert (
            shown[Order.AB] == canonical_bytes({"question": question, "first": answer_a, "second": answer_b}).decode()
        )
        assert (
            shown[Order.BA] == canonical_bytes({"question": question, "first": answer_b, "second": answer_a}).decode()
        )

    def test_both_orders_hold_the_same_texts_and_differ_in_their_place(self, pairs) -> None:
        book = CaseBook(pairs.snapshot)
        for case in pairs.corpus.cases:
            one, other = (json.loads(book.judge_question(trial(case.id, order)).prompt) for order in Order)
            assert set(one) == set(other) == {"question", "first", "second"}
            assert (one["first"], one["second"]) == (other["second"], other["first"]) == (case.answer_a, case.answer_b)
            assert one["question"] == other["question"]

    def test_instructions_are_alike_for_every_case_and_order(self, pairs) -> None:
        book = CaseBook(pairs.snapshot)
        said = {
            book.judge_question(trial(case.id, order)).instructions for case in pairs.corpus.cases for order in Order
        }
        assert len(said) == 1
        assert not any(case.id in said.pop() for case in pairs.corpus.cases[:1])

    def test_a_pair_without_an_order_is_a_bug(self, pairs) -> None:
        with pytest.raises(ValueError, match="kind"):
            CaseBook(pairs.snapshot).judge_question(trial(pairs.corpus.cases[0].id, None))


REPLIES = {
    "first": ('{"winner":"first","reason":"It keeps to the facts."}', Status.JUDGED, None),
    "tie": ('{"winner":"tie","reason":"Alike."}', Status.JUDGED, None),
    "null is no tie": ('{"winner":null,"reason":"Too little."}', Status.CANNOT_JUDGE, None),
    "a letter": ('{"winner":"a","reason":"A."}', Status.CONTRACT_ERROR, "WrongShape"),
    "capitals": ('{"winner":"First","reason":"A."}', Status.CONTRACT_ERROR, "WrongShape"),
    "a number": ('{"winner":1,"reason":"A."}', Status.CONTRACT_ERROR, "WrongShape"),
    "no winner": ('{"reason":"A."}', Status.CONTRACT_ERROR, "WrongShape"),
    "no reason": ('{"winner":"first","reason":""}', Status.CONTRACT_ERROR, "WrongShape"),
    "a score beside": ('{"winner":"first","reason":"A.","score":1}', Status.CONTRACT_ERROR, "WrongShape"),
    "two verdicts": (
        '{"winner":"first","reason":"A."}{"winner":"tie","reason":"B."}',
        Status.CONTRACT_ERROR,
        "NotJson",
    ),
    "prose": ("The first one.", Status.CONTRACT_ERROR, "NotJson"),
    "another protocol": ('{"score":1,"reason":"A.","evidence":[0]}', Status.CONTRACT_ERROR, "WrongShape"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_is_a_verdict_or_the_reason_why_there_is_none(name) -> None:
    text, status, error_type = REPLIES[name]
    verdict = read_verdict(Protocol.PAIRWISE, call(), text.encode())
    result = scored_result(verdict)
    assert (result.status, result.error_type) == (status, error_type)
    assert isinstance(verdict, Unread if error_type else PairwiseVerdict)


def call():
    usage = Usage(**dict.fromkeys(Usage.model_fields))
    values = dict.fromkeys(Call.model_fields) | {
        "trial": trial(),
        "attempt": 1,
        "role": "judge",
        "stage": "judge",
        "prompt_digest": "sha256:" + "0" * 64,
        "request": "sha256:" + "0" * 64,
        "reply": "sha256:" + "0" * 64,
        "reply_format": "text",
        "started_at": "2026-12-01T00:00:00Z",
        "wall_ms": 1,
        "usage": usage.plain(),
    }
    return Call.from_value({name: value.plain() if name == "trial" else value for name, value in values.items()})


@pytest.mark.parametrize(
    ("order", "winner", "choice"),
    [
        (Order.AB, Winner.FIRST, Choice.A),
        (Order.AB, Winner.SECOND, Choice.B),
        (Order.BA, Winner.FIRST, Choice.B),
        (Order.BA, Winner.SECOND, Choice.A),
        (Order.AB, Winner.TIE, Choice.TIE),
        (Order.BA, None, None),
    ],
)
def test_a_place_becomes_an_answer(order, winner, choice) -> None:
    assert choice_of(trial(order=order), judged(winner)) is choice


BOTH_ORDERS = {
    "WINS-A": (judged(Winner.FIRST), judged(Winner.SECOND)),
    "WINS-B": (judged(Winner.SECOND), judged(Winner.FIRST)),
    "TIE": (judged(Winner.TIE), judged(Winner.TIE)),
    "TO-FIRST": (judged(Winner.FIRST), judged(Winner.FIRST)),
    "TO-SECOND": (judged(Winner.SECOND), judged(Winner.SECOND)),
    "HALF": (judged(Winner.TIE), judged(Winner.FIRST)),
    "ERRORED": (judged(Winner.FIRST), failed()),
    "NULL": (judged(None), judged(Winner.SECOND)),
}


class TestTogether:
    """A table over pairs; every pair is one of its classes."""

    def results(self):
        return {
            trial(case_id, order): result
            for case_id, both in BOTH_ORDERS.items()
            for order, result in zip(Order, both, strict=True)
        }

    def test_inconsistent_is_no_tie_and_an_errored_order_is_unavailable(self) -> None:
        results = self.results()
        table = pairwise_table(tuple(results), results)
        assert (table.pairs, table.unavailable, table.both_decided) == (8, 2, 6)
        assert (table.wins_a, table.wins_b, table.ties, table.half_ties) == (1, 1, 1, 1)
        assert (table.flips_first, table.flips_second) == (1, 1)
        assert (table.consistent.count, table.consistent.of) == (3, 6)

    def test_a_missing_order_counts_as_planned(self) -> None:
        results = self.results()
        planned = tuple(results)
        del results[trial("WINS-A", Order.BA)]
        assert pairs_of(planned, results)[("WINS-A", 1)] == (Choice.A, None)
        assert pairwise_table(planned, results).unavailable == 3

    def test_nothing_planned_gives_nulls_with_reasons(self) -> None:
        table = pairwise_table((), {})
        assert table.pairs == 0
        assert table.consistent.value is None
        assert table.consistent.reason
        assert table.exact_p.reason

    def test_repetitions_are_pairs_of_their_own(self) -> None:
        results = {trial("A", order, number): judged(Winner.TIE) for number in (1, 2) for order in Order}
        assert pairwise_table(tuple(results), results).ties == 2


class TestPlan:
    """Both orders are planned, and old bytes do not know of any."""

    def test_each_repetition_has_both_orders_and_no_control(self) -> None:
        plan = gate_plan(Mode.LIVE, protocol=Protocol.PAIRWISE, repetitions=2)
        labels = [found.label() for found in plan.case_trials()]
        assert labels == ["A ab #1", "A ba #1", "B ab #1", "B ba #1", "A ab #2", "A ba #2", "B ab #2", "B ba #2"]
        assert plan.control_trials() == ()

    def test_each_trial_has_a_number_of_its_own(self) -> None:
        plan = gate_plan(Mode.LIVE, protocol=Protocol.PAIRWISE, repetitions=3)
        numbers = PlannedTrials(plan)
        planned = plan.case_trials()
        assert sorted(numbers.number(found) or 0 for found in planned) == list(range(numbers.count))
        light = [LightTrial(TrialKind.CASE, t.case_id, t.repetition, None, None, t.order) for t in planned]
        assert [numbers.number(found) for found in light] == [numbers.number(found) for found in planned]
        assert (planned_case_trials(plan), planned_control_trials(plan)) == (len(planned), 0)
        assert numbers.number(trial("A", None)) is None

    @pytest.mark.parametrize("protocol", [Protocol.BINARY, Protocol.EVIDENCE, Protocol.GRADED])
    def test_an_order_is_planned_nowhere_else(self, protocol) -> None:
        numbers = PlannedTrials(gate_plan(Mode.LIVE, protocol=protocol))
        planned = gate_plan(Mode.LIVE, protocol=protocol)
        for found in (*planned.case_trials(), *planned.control_trials()):
            assert numbers.number(found) is not None
            assert numbers.number(found.model_copy(update={"order": Order.AB})) is None

    def test_what_has_no_order_has_the_bytes_that_it_always_had(self) -> None:
        plain = trial(order=None).to_bytes()
        assert plain == b'{"case_id":"A","dimension":null,"kind":"case","polarity":null,"repetition":1}'
        assert b"winner" not in VerdictFacts(scored=True, score=1).to_bytes()
