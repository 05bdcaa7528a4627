# SPDX-License-Identifier: Apache-2.0
"""Qualification is a conjunction: nothing outweighs a failed control or a gate that fails (T2, R53)."""

from dataclasses import replace

import pytest
from support import corpora
from support.labels import commitment, lock, sealed
from support.trusted import Scene, make_trusted_run

from evalsite.campaign import qualification
from evalsite.campaign.qualification import qualify
from evalsite.judging.gates import GateState
from evalsite.ledger.labelbook import LabelBook, Positions, ProvenLabels, Use, lock_digest
from evalsite.schema.calibration import CalibrationPlan, Criterion, GateOutcome, Split
from evalsite.schema.corpus import BinaryCorpus, CorpusSnapshot
from evalsite.schema.tables import GateResult, Standing

SNAPSHOT = CorpusSnapshot(
    format="evalsite/corpus-snapshot/v1", corpus=BinaryCorpus.from_value(corpora.binary()), label_sets=()
)
PASSED, REFUSED, UNDECIDED = GateState.PASSED, GateState.REFUSED, GateState.UNDECIDED
CONSTANTS = lock()


def run_of(own=PASSED, gates=("judge-run",), mode="live"):
    """Return a run with a decision of its own that declares gates on other runs."""
    run = make_trusted_run(SNAPSHOT, Scene(mode=mode))
    declared = [{"criterion": "binary", "run": name} for name in gates]
    plan = CalibrationPlan.from_value({"design_lock": CONSTANTS.plain(), "commitments": [], "gates": declared})
    return replace(
        run,
        plan=run.plan.model_copy(update={"calibration": plan}),
        decision=replace(run.decision, model_gate=own, fixture_gate=GateState.NOT_APPLICABLE),
    )


def book_of(*names):
    """Return a book in which the judge's run names sealed labels of the binary criterion."""
    labels = {}
    for name in names:
        plain = commitment(sealed(name)).plain()
        plain["subject"]["criterion"] = "binary"
        labels[name] = ProvenLabels(
            ledger="desk",
            commitment=type(commitment(sealed(name))).from_value(plain),
            lock=CONSTANTS,
            positions=Positions(constants=0, cards=1, committed=2),
            alignment=None,
            labels=None,
        )
    uses = tuple(Use(run="run-1", commitment=name, split=Split.SEALED, opened=3, closed=4) for name in names)
    return LabelBook(ledger="desk", labels=labels, uses=uses)


def result(labels, outcome, **changes):
    return GateResult(
        **{
            "criterion": Criterion.BINARY,
            "run": "judge-run",
            "labels": labels,
            "outcome": outcome,
            "standing": Standing.DECIDED,
            "attempt": 1,
            "alpha": "5 %",
            "constants": lock_digest(CONSTANTS),
            "words": "words",
            "reasons": (),
            **changes,
        }
    )


@pytest.fixture
def gates(monkeypatch):
    """What the named run's gates come to, by labels."""
    found = {}
    monkeypatch.setattr(qualification, "gates_of", lambda *_: tuple(found.values()))
    return found


def test_a_run_that_declares_no_gate_is_decided_as_before():
    plain = make_trusted_run(SNAPSHOT, Scene())
    assert qualify(plain, _never).state is plain.decision.model_gate
    assert qualify(run_of(REFUSED, gates=()), _never).state is REFUSED
    fixture = replace(run_of(mode="fixture"), decision=make_trusted_run(SNAPSHOT, Scene(mode="fixture")).decision)
    assert qualify(fixture, _never).state is fixture.decision.fixture_gate


def _never(name):
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("own", "outcomes", "expected"),
    [
        (PASSED, (GateOutcome.PASS,), PASSED),
        (PASSED, (GateOutcome.PASS, GateOutcome.PASS), PASSED),
        (PASSED, (GateOutcome.PASS, GateOutcome.INSUFFICIENT), UNDECIDED),
        (PASSED, (GateOutcome.INSUFFICIENT, GateOutcome.FAIL), REFUSED),
        (REFUSED, (GateOutcome.PASS,), REFUSED),
        (REFUSED, (GateOutcome.INSUFFICIENT,), REFUSED),
        (UNDECIDED, (GateOutcome.PASS,), UNDECIDED),
        (UNDECIDED, (GateOutcome.FAIL,), REFUSED),
        (GateState.NOT_APPLICABLE, (GateOutcome.PASS,), GateState.NOT_APPLICABLE),
    ],
)
def test_the_whole_is_no_better_than_any_part(gates, own, outcomes, expected):
    names = [f"human-{number}" for number, _ in enumerate(outcomes)]
    gates.update({name: result(name, outcome) for name, outcome in zip(names, outcomes, strict=True)})
    run = run_of(own)
    found = qualify(run, lambda _: (run, book_of(*names)))
    assert found.state is expected
    assert [gate.outcome for gate in found.gates] == list(outcomes)


def test_labels_that_are_not_revealed_leave_a_gate_undecided(gates):
    """Else a gate could be passed by revealing the convenient labels only."""
    gates["human-a"] = result("human-a", GateOutcome.PASS)
    run = run_of()
    found = qualify(run, lambda _: (run, book_of("human-a", "human-b")))
    assert found.state is UNDECIDED
    assert [(gate.labels, gate.outcome.value) for gate in found.gates] == [
        ("human-a", "PASS"),
        ("human-b", "INSUFFICIENT"),
    ]
    assert found.gates[1].reasons[0].code == "no-labels"
    assert (found.gates[1].attempt, found.gates[1].alpha) == (None, None), "nothing was tried with them"


@pytest.mark.parametrize("book", [None, LabelBook(ledger="desk")])
def test_a_gate_without_any_sealed_labels_is_undecided(gates, book):
    run = run_of()
    found = qualify(run, lambda _: (run, book))
    assert (found.state, found.gates[0].reasons[0].code) == (UNDECIDED, "no-labels")
    assert found.gates[0].attempt is None, "without labels no attempt is counted"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prompt_version": "other"}, "prompt version"),
        ({"instructions_digest": "sha256:" + "9" * 64}, "judge instructions"),
    ],
)
def test_another_judge_makes_a_pass_stale(gates, changes, field):
    gates["human-a"] = result("human-a", GateOutcome.PASS)
    run = run_of()
    other = replace(run, plan=run.plan.model_copy(update={"judge": run.plan.judge.model_copy(update=changes)}))
    found = qualify(run, lambda _: (other, book_of("human-a")))
    assert (found.state, found.gates[0].standing) == (UNDECIDED, Standing.STALE)
    assert found.gates[0].reasons[0].items == (field,)


def test_another_judge_that_failed_does_not_condemn_this_one(gates):
    gates["human-a"] = result("human-a", GateOutcome.FAIL)
    run = run_of()
    other = replace(
        run, plan=run.plan.model_copy(update={"judge": run.plan.judge.model_copy(update={"prompt_version": "x"})})
    )
    assert qualify(run, lambda _: (other, book_of("human-a"))).state is UNDECIDED


def test_other_constants_make_a_pass_stale(gates):
    gates["human-a"] = result("human-a", GateOutcome.PASS, constants="sha256:" + "0" * 64)
    run = run_of()
    found = qualify(run, lambda _: (run, book_of("human-a")))
    assert (found.state, found.gates[0].reasons[0].items) == (UNDECIDED, ("constants",))
