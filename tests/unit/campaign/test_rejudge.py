# SPDX-License-Identifier: Apache-2.0
"""Recorded answers judged again: what a plan may say of them, who counts, and what is given (R97)."""

import asyncio

import pytest
from support.campaigns import ZERO, control, gate_plan, passed
from support.trusted import Scene, make_trusted_run

from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.rejudge import answers_endpoint
from evalsite.corpus.load import load_corpus
from evalsite.endpoint.base import Ask
from evalsite.errors import InputError
from evalsite.judging.gates import GateState, Observed, decide
from evalsite.schema.outcome import Mode, Protocol
from evalsite.schema.plan import AnswersRef, Plan, ReplayEndpointSpec, Sampling

ANSWERS = AnswersRef(run="asked", root=ZERO, statement=ZERO, repetitions=2)


def rejudging(mode=Mode.LIVE, *, repetitions=4, run="asked", answers=ANSWERS, protocol=Protocol.BINARY):
    """Return a plan that judges two answers to each case twice."""
    plan = gate_plan(mode, protocol=protocol, repetitions=repetitions)
    replay = ReplayEndpointSpec(kind="replay", run=run)
    candidate = plan.candidate
    if candidate is not None:
        spec = candidate.spec.model_copy(update={"endpoint": replay})
        candidate = candidate.model_copy(update={"spec": spec})
    return Plan.from_value({**plan.plain(), "candidate": candidate and candidate.plain(), "answers": answers.plain()})


class TestPlan:
    """Whose answers they are, and which one each repetition judges."""

    def test_answers_come_round_again(self) -> None:
        plan = rejudging()
        assert [plan.answered(number) for number in (1, 2, 3, 4)] == [1, 2, 1, 2]
        assert [gate_plan(repetitions=3).answered(number) for number in (1, 2, 3)] == [1, 2, 3]

    def test_a_plan_that_judges_its_own_answers_has_the_bytes_that_it_always_had(self) -> None:
        assert b"answers" not in gate_plan().to_bytes()
        assert Plan.from_value(gate_plan().plain()) == gate_plan()

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"run": "other"}, "a candidate that replays asked"),
            ({"repetitions": 3}, "equally often"),
            ({"mode": Mode.REPLAY}, "a judge that is asked"),
            ({"protocol": Protocol.EVIDENCE}, "a candidate that replays asked"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, changes, said) -> None:
        with pytest.raises(InputError, match=said):
            rejudging(**changes)

    def test_a_candidate_that_is_asked_has_no_answers_of_another_run(self) -> None:
        with pytest.raises(InputError, match="a candidate that replays asked"):
            Plan.from_value({**gate_plan(Mode.LIVE).plain(), "answers": ANSWERS.plain()})


@pytest.mark.parametrize("mode", [Mode.LIVE, Mode.FIXTURE])
def test_no_gate_opens_however_well_the_answers_are_judged(mode) -> None:
    plan = rejudging(mode)
    decision = decide(
        Observed(
            plan=plan,
            cases={trial: passed() for trial in plan.case_trials()},
            controls={trial: control(trial.polarity) for trial in plan.control_trials()},
            sealed=True,
        )
    )
    assert (decision.model_gate, decision.fixture_gate) == (GateState.NOT_APPLICABLE, GateState.NOT_APPLICABLE)
    assert decision.calibration_passed is (True if mode is Mode.LIVE else None)
    assert decision.reasons == ()


def test_an_answer_that_was_never_given_keeps_its_place(repository) -> None:
    """The second repetition must not get the third one's answer because its own is missing."""
    snapshot = load_corpus(repository / "corpora" / "support-behaviors-v1").snapshot
    told = {1: "One.", 3: "Three."}
    scene = Scene(
        repetitions=3,
        case_ids=("TONE",),
        wrap=False,
        skip=lambda trial: trial.repetition == 2,
        candidate=lambda trial: told[trial.repetition],
    )
    source = make_trusted_run(snapshot, scene)
    endpoint = answers_endpoint(source, 2)
    question = CaseBook(snapshot).candidate_question(source.plan.case_trials()[0])
    ask = Ask(instructions=question.instructions, prompt=question.prompt, schema={}, sampling=Sampling())

    async def all_of_them():
        return [await endpoint.ask(ask) for _ in range(7)]

    replies = asyncio.run(all_of_them())
    assert [reply.raw for reply in replies] == [b"One.", None, b"Three.", b"One.", None, b"Three.", None]
    assert {reply.error_type for reply in replies if reply.raw is None} == {"NotRecorded"}
