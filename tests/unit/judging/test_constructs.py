# SPDX-License-Identifier: Apache-2.0
"""One construct for people and judge: rubric, version, and which item a trial stands for."""

import pytest
from support import sites

from evalsite.judging import constructs
from evalsite.judging.prompts import CONSTRUCT_VERSIONS, RUBRICS
from evalsite.schema.calibration import Criterion
from evalsite.schema.outcome import Dimension, Protocol, Trial, TrialKind

CORPORA = {
    Criterion.BINARY: "support-behaviors-v1",
    Criterion.EVIDENCE: "evidence-claims-v1",
    Criterion.FAITHFULNESS: "card-rules-v1",
    Criterion.GROUNDEDNESS: "card-rules-v1",
}


def corpus_of(criterion):
    return sites.shipped(CORPORA[criterion]).corpus


@pytest.mark.parametrize("criterion", list(Criterion))
def test_annotators_read_what_the_judge_is_told(criterion) -> None:
    corpus = corpus_of(criterion)
    told = constructs.label_instructions(corpus, criterion)
    assert corpus.instructions.judge.strip() in told
    assert "cannot decide" in told
    assert "untrusted" in told


@pytest.mark.parametrize("dimension", list(Dimension))
def test_grades_are_given_by_the_judges_own_rubric_and_version(dimension) -> None:
    criterion = Criterion(dimension.value)
    assert RUBRICS[dimension] in constructs.label_instructions(corpus_of(criterion), criterion)
    assert constructs.construct_version(criterion) == CONSTRUCT_VERSIONS[dimension]


def test_a_changed_rubric_leaves_the_other_dimension_alone(monkeypatch) -> None:
    """R79: what was labelled under one rubric stays good when the other one changes."""
    corpus = corpus_of(Criterion.FAITHFULNESS)
    before = {criterion: constructs.rubric_digest(corpus, criterion) for criterion in Criterion}
    monkeypatch.setitem(RUBRICS, Dimension.FAITHFULNESS, "Another rubric.")
    changed = [found for found in Criterion if constructs.rubric_digest(corpus, found) != before[found]]
    assert changed == [Criterion.FAITHFULNESS]
    monkeypatch.setitem(CONSTRUCT_VERSIONS, Dimension.FAITHFULNESS, "2")
    assert constructs.construct_version(Criterion.GROUNDEDNESS) == "1"
    assert constructs.construct_version(Criterion.FAITHFULNESS) == "2"


def test_every_criterion_belongs_to_one_protocol() -> None:
    found = [criterion for protocol in Protocol for criterion in constructs.criteria_of(protocol)]
    assert sorted(found) == sorted(Criterion)
    assert constructs.criteria_of(Protocol.GRADED) == (Criterion.FAITHFULNESS, Criterion.GROUNDEDNESS)


def test_one_label_is_for_all_repetitions_unless_answers_differ() -> None:
    trial = Trial(kind=TrialKind.CASE, case_id="A", repetition=2, polarity=None, dimension=None)
    assert constructs.item_of(trial, Criterion.BINARY).repetition == 2
    assert constructs.item_of(trial, Criterion.EVIDENCE).repetition is None
    assert constructs.item_of(trial, Criterion.GROUNDEDNESS).dimension is Dimension.GROUNDEDNESS
