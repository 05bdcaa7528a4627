# SPDX-License-Identifier: Apache-2.0
"""What an annotator is shown: all that the judge sees of an item, and nothing of judge, model, case or others."""

import pytest
from support import sites
from support.trusted import Scene, make_trusted_run

from evalsite.campaign.labelsheet import sheet_bytes
from evalsite.campaign.labelsource import About, blank_sheet, corpus_source, run_source
from evalsite.corpus.load import load_corpus
from evalsite.errors import InputError, UndecidedError
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import UNLABELLED
from evalsite.schema.outcome import Dimension
from evalsite.schema.replies import BinaryVerdict

CANARY = "CANARY-OF-A-VERDICT"
SEED = "0" * 16


def loaded(name):
    return load_corpus(sites.ROOT / "corpora" / name)


def said(trial):
    """A judge whose words would be noticed."""
    del trial
    return (
        BinaryVerdict(required_behavior_met=True, forbidden_behavior_absent=True, explanation=CANARY)
        .to_bytes()
        .decode()
    )


@pytest.fixture(scope="module")
def run():
    """A sealed live run of two binary cases, whose judge and model would be noticed; one answer keeps no contract."""
    broken = lambda trial: "no JSON" if trial.repetition == 2 and trial.case_id == "DANGER" else None  # noqa: E731
    return make_trusted_run(sites.binary_corpus(), Scene(run_id="run-of-canaries", judge=said, candidate=broken))


@pytest.mark.parametrize("suffix", [".yaml", ".csv"])
def test_law_a_sheet_of_answers_tells_nothing_of_judge_model_run_or_case(run, suffix) -> None:
    data = sheet_bytes(blank_sheet(run_source(run), annotator="annotator", seed=SEED), suffix).decode()
    told = [CANARY, run.run_id, run.ledger, run.plan.judge.identity.model_name, run.plan.judge.identity.model_digest]
    assert [word for word in told if word in data] == []
    assert [case.case_id for case in run.plan.cases if f'"{case.case_id}"' in data] == []
    assert "compliant" not in data.split("items" if suffix == ".yaml" else "title_1")[1]


def test_only_answers_that_a_judge_is_shown_are_labelled(run) -> None:
    source = run_source(run)
    assert sorted(item.label() for item in source.texts) == ["DANGER #1", "HELP #1", "HELP #2"]
    assert (source.subject.run, source.subject.run_root) == (run.run_id, run.head.root)


def shown(source, item):
    return " ".join(text.text for text in source.texts[item])


def test_an_annotator_of_answers_sees_all_that_the_judge_sees(run) -> None:
    source = run_source(run)
    cases = {case.id: case for case in run.snapshot.corpus.cases}
    for item in source.texts:
        case = cases[item.case_id]
        words = shown(source, item)
        for part in (case.required_behavior, case.forbidden_behavior, case.input.message):
            assert part in words
        for context in case.input.context:
            assert context.title in words
            assert context.text in words


def test_an_annotator_of_evidence_sees_all_that_the_judge_sees() -> None:
    found = loaded("evidence-claims-v1")
    source = corpus_source(found, Criterion.EVIDENCE)
    assert [item.case_id for item in source.texts] == [case.id for case in found.corpus.cases]
    for case, item in zip(found.corpus.cases, source.texts, strict=True):
        texts = source.texts[item]
        assert tuple(text.text for text in texts) == (*case.evidence, case.explanation)
        assert case.title not in [text.text for text in texts]


@pytest.mark.parametrize("dimension", list(Dimension))
def test_an_annotator_of_grades_sees_all_that_the_judge_sees(dimension) -> None:
    """The tail of a card for faithfulness, its head alone for groundedness (R83, R84); never the question."""
    found = loaded("card-rules-v1")
    source = corpus_source(found, Criterion(dimension.value))
    cards = {card.id: card for card in found.corpus.cards}
    for case, item in zip(found.corpus.cases, source.texts, strict=True):
        words = shown(source, item)
        for card in (cards[card_id] for card_id in case.cards):
            assert card.title in words
            assert card.head in words
            assert (card.tail in words) is (dimension is Dimension.FAITHFULNESS)
        assert case.answer in words
        assert item.dimension is dimension


def test_a_blank_sheet_has_no_label_and_an_adjudication_only_what_is_in_question() -> None:
    source = corpus_source(loaded("evidence-claims-v1"), Criterion.EVIDENCE)
    sheet = blank_sheet(source, annotator="annotator", seed=SEED)
    assert {item.label for item in sheet.items} == {UNLABELLED}
    some = tuple(source.texts)[:3]
    asked = blank_sheet(source, annotator="annotator", seed=SEED, about=About(of=("a", "b"), items=some))
    assert len(asked.items) == 3
    assert asked.about != sheet.about
    assert {item.texts for item in asked.items} == {source.texts[item] for item in some}


def test_what_cannot_be_labelled_is_refused(run) -> None:
    evidence = make_trusted_run(sites.shipped("evidence-claims-v1"), Scene(run_id="e"))
    with pytest.raises(InputError, match="binary protocol"):
        run_source(evidence)
    with pytest.raises(UndecidedError, match="sealed"):
        run_source(make_trusted_run(sites.binary_corpus(), Scene(run_id="open", closed_at=None)))
    with pytest.raises(InputError, match="at least one answer"):
        run_source(make_trusted_run(sites.binary_corpus(), Scene(run_id="none", candidate=lambda _: "no JSON")))
    with pytest.raises(InputError, match="criterion of the graded protocol"):
        corpus_source(loaded("card-rules-v1"), Criterion.EVIDENCE)
