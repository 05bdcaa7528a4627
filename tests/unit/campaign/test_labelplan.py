# SPDX-License-Identifier: Apache-2.0
"""Which labels a plan may name, and what it says of them."""

from dataclasses import replace

import pytest
from support import sites
from support.labels import commitment, lock, sealed

from evalsite.campaign.labelplan import Judged, planned_calibration
from evalsite.corpus.load import load_corpus
from evalsite.errors import InputError
from evalsite.judging import constructs
from evalsite.judging.prompts import CONSTRUCT_VERSIONS, RUBRICS
from evalsite.ledger.labelbook import LabelBook, Positions, ProvenLabels
from evalsite.schema.calibration import CalibrationSpec, Criterion
from evalsite.schema.labels import LabelSubject
from evalsite.schema.outcome import Dimension

GRADED = "card-rules-v1"


@pytest.fixture(scope="module")
def loaded():
    """The graded corpus, as it is shipped."""
    return load_corpus(sites.ROOT / "corpora" / GRADED)


def judged(loaded, **changes):
    return replace(Judged(corpus=loaded.corpus, fingerprint=loaded.fingerprint), **changes)


def proven(loaded, name="human-a", **subject):
    """Return labels of faithfulness, committed and not revealed, unless told otherwise."""
    labels = sealed(name)
    found = {
        "corpus": loaded.corpus.name,
        "corpus_fingerprint": loaded.fingerprint,
        "run": None,
        "run_root": None,
        "criterion": "faithfulness",
        "construct_version": constructs.construct_version(Criterion.FAITHFULNESS),
        "rubric_digest": constructs.rubric_digest(loaded.corpus, Criterion.FAITHFULNESS),
    }
    return ProvenLabels(
        ledger="desk",
        commitment=commitment(labels, subject=LabelSubject.from_value({**found, **subject}).plain()),
        lock=lock(),
        positions=Positions(constants=2, cards=3, committed=4),
        alignment=None,
        labels=None,
    )


def book(*labels, **changes):
    named = {one.commitment.name: one for one in labels}
    return replace(LabelBook(ledger="desk", labels=named, locks={GRADED: lock()}), **changes)


def spec(split="sealed"):
    value = {"commitments": {"human-a": split}, "gates": [{"criterion": "faithfulness", "run": None}]}
    return CalibrationSpec.from_value(value)


def refusal(*words):
    """Return what a plan is refused with."""
    with pytest.raises(InputError) as caught:
        planned_calibration(*words)
    return caught.value


def test_a_plan_holds_constants_roots_and_gates(loaded) -> None:
    labels = proven(loaded)
    plan = planned_calibration(spec(), book(labels), judged(loaded))
    assert plan.design_lock == lock()
    assert [(ref.name, ref.root, ref.split) for ref in plan.commitments] == [
        ("human-a", labels.commitment.root, "sealed")
    ]
    assert plan.gates == spec().gates


def test_a_gate_needs_no_labels_of_its_own_run(loaded) -> None:
    """A binary qualification depends on another run's calibration."""
    alone = CalibrationSpec.from_value({"commitments": {}, "gates": [{"criterion": "binary", "run": "calibrated-1"}]})
    assert planned_calibration(alone, book(), judged(loaded)).commitments == ()


def test_constants_that_are_not_frozen_are_refused(loaded) -> None:
    error = refusal(spec(), book(proven(loaded), locks={}), judged(loaded))
    assert (error.rule, error.at) == ("R64", "calibration")
    assert "evalsite label freeze" in error.advice


def test_labels_that_nobody_committed_are_refused(loaded) -> None:
    error = refusal(spec(), book(), judged(loaded))
    assert (error.rule, error.at) == ("R78", "calibration.commitments.human-a")


def test_labels_of_other_texts_are_refused(loaded) -> None:
    assert refusal(spec(), book(proven(loaded)), judged(loaded, fingerprint="sha256:" + "1" * 64)).rule == "cards"
    assert refusal(spec(), book(proven(loaded)), judged(loaded, answers_of="run-1")).rule == "cards"


def test_labels_of_another_protocol_are_refused(loaded) -> None:
    assert refusal(spec(), book(proven(loaded, criterion="evidence")), judged(loaded)).rule == "T1"


def test_labels_of_another_construct_version_are_refused(loaded, monkeypatch) -> None:
    """R79: the judge's side changed, so that people have to be asked again; the other dimension stays."""
    faithful, grounded = (
        proven(loaded),
        proven(
            loaded,
            criterion="groundedness",
            rubric_digest=constructs.rubric_digest(loaded.corpus, Criterion.GROUNDEDNESS),
        ),
    )
    monkeypatch.setitem(CONSTRUCT_VERSIONS, Dimension.FAITHFULNESS, "2")
    assert refusal(spec(), book(faithful), judged(loaded)).rule == "R80"
    assert planned_calibration(spec(), book(grounded), judged(loaded)).commitments


def test_labels_under_another_rubric_are_refused(loaded, monkeypatch) -> None:
    """R79: whoever changes a rubric and forgets its version is told all the same."""
    labels = proven(loaded)
    monkeypatch.setitem(RUBRICS, Dimension.FAITHFULNESS, "Another rubric.")
    assert refusal(spec(), book(labels), judged(loaded)).rule == "R79"


def test_labels_under_other_constants_are_refused(loaded) -> None:
    other = book(proven(loaded), locks={GRADED: lock(alpha="0.01")})
    assert refusal(spec(), other, judged(loaded)).rule == "R64"


def test_labels_that_are_known_are_no_sealed_ones(loaded) -> None:
    labels = proven(loaded)
    known = replace(labels, positions=replace(labels.positions, revealed=9, known=9))
    assert refusal(spec(), book(known), judged(loaded)).rule == "R78"
    assert planned_calibration(spec("dev"), book(known), judged(loaded)).commitments[0].split == "dev"
