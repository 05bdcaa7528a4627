# SPDX-License-Identifier: Apache-2.0
"""What is asked for each trial: one judge for controls and cases (R62, R91)."""

import json
from itertools import groupby

import pytest

from evalsite.campaign.casebook import CaseBook, surface_of
from evalsite.corpus.load import load_corpus
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.judging.prompts import PROMPT_VERSIONS
from evalsite.schema.outcome import Dimension, Place, Polarity, Probe, Protocol, Trial, TrialKind

NAMES = ("evidence-claims-v1", "card-rules-v1")


@pytest.fixture(scope="module")
def loaded(repository):
    return {name: load_corpus(repository / "corpora" / name) for name in NAMES}


def questions(book, corpus):
    """Yield the question of every case and of every control."""
    dimensions = tuple(Dimension) if book.protocol is Protocol.GRADED else (None,)
    for case in corpus.cases:
        for dimension in dimensions:
            trial = Trial(kind=TrialKind.CASE, case_id=case.id, repetition=1, polarity=None, dimension=dimension)
            yield trial, book.judge_question(trial)
    for control in book.planned_controls(DEFAULT_LOCK):
        yield control.trial, book.judge_question(control.trial)


@pytest.mark.parametrize("name", NAMES)
def test_r91_controls_and_cases_have_the_same_judge_rubric_and_reader(loaded, name):
    book = CaseBook(loaded[name].snapshot)
    asked = list(questions(book, loaded[name].corpus))
    for dimension in (None, *Dimension):
        told = {
            (question.instructions, question.contract, question.framing.mode, frozenset(json.loads(question.prompt)))
            for trial, question in asked
            if trial.dimension is dimension
        }
        assert len(told) <= 1
    assert {question.instructions for _, question in asked} == book.told()


@pytest.mark.parametrize("name", NAMES)
def test_a_control_tells_the_judge_nothing_of_what_it_is(loaded, name):
    """R11, R32: neither its id nor its title, polarity, probe or place."""
    corpus = loaded[name].corpus
    book = CaseBook(loaded[name].snapshot)
    for control in corpus.controls:
        [planned] = [one for one in book.planned_controls(DEFAULT_LOCK) if one.control_id == control.id]
        prompt = book.judge_question(planned.trial).prompt
        changed = control.model_copy(
            update={"title": "Another", "probe": Probe.KNOWN, "place": Place.HEAD, "polarity": Polarity.POSITIVE}
        )
        controls = tuple(changed if one is control else one for one in corpus.controls)
        snapshot = loaded[name].snapshot.model_copy(update={"corpus": corpus.model_copy(update={"controls": controls})})
        assert CaseBook(snapshot).judge_question(planned.trial).prompt == prompt
        assert control.id not in prompt


@pytest.mark.parametrize("name", NAMES)
def test_shipped_controls_hold_both_poles_and_every_place(loaded, name):
    """T2, judging design \u00a74.3: a judge that always says the same fails, and so does one that reads heads."""
    corpus = loaded[name].corpus
    by_dimension = sorted(corpus.controls, key=lambda control: str(getattr(control, "dimension", None)))
    for _, group in groupby(by_dimension, key=lambda control: getattr(control, "dimension", None)):
        controls = list(group)
        assert {control.polarity for control in controls} == set(Polarity)
        assert Probe.INJECTION in {control.probe for control in controls}
        assert Place.TAIL in {control.place for control in controls}
    assert {control.place for control in corpus.controls} == {None, *Place}


def test_every_version_of_the_prompts_can_still_be_asked(loaded):
    snapshot = loaded["card-rules-v1"].snapshot
    trial = Trial(
        kind=TrialKind.CASE,
        case_id=snapshot.corpus.cases[0].id,
        repetition=1,
        polarity=None,
        dimension=Dimension.FAITHFULNESS,
    )
    first, newest = CaseBook(snapshot, "1").judge_question(trial), CaseBook(snapshot).judge_question(trial)
    assert PROMPT_VERSIONS[Protocol.GRADED] == "2"
    assert (first.framing.nonce, len(newest.framing.nonce)) == (None, 8)
    assert "end_of_card" not in first.prompt
    assert set(first.contract.model_fields) == {"score", "reason"}
    assert set(newest.contract.model_fields) == {"score", "reason", "end_of_card"}


def test_guards_know_of_labels_only_whether_both_poles_are_there(loaded):
    cards, claims = surface_of(loaded["card-rules-v1"].snapshot), surface_of(loaded["evidence-claims-v1"].snapshot)
    assert cards.both_poles == set(Dimension)
    assert (claims.both_poles, len(claims.evidence)) == ({None}, len(loaded["evidence-claims-v1"].corpus.cases))
    bare = loaded["card-rules-v1"].snapshot.model_copy(update={"label_sets": ()})
    assert surface_of(bare).both_poles == frozenset()
