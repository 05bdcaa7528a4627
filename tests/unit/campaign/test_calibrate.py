# SPDX-License-Identifier: Apache-2.0
"""From a trusted run to its tables: which labels stand beside it, and what may be said (R73-R76, R80, R81, T8)."""

import json

import pytest
from support import corpora
from support.labels import commitment, lock, sealed
from support.trusted import BAD, GOOD, Scene, is_control, make_trusted_run

from evalsite.campaign.calibrate import calibration_of, gates_of, recompute_seal
from evalsite.campaign.calibrate_rows import observations_of
from evalsite.errors import InputError
from evalsite.judging.constructs import construct_version, rubric_digest
from evalsite.ledger.labelbook import LabelBook, Positions, ProvenLabels, Use
from evalsite.schema.calibration import Criterion, Split
from evalsite.schema.corpus import BinaryCorpus, CorpusSnapshot, EvidenceCorpus, GradedCorpus, LabelSet
from evalsite.schema.tables import Standing, Unavailable

LABELS = corpora.labels(corpora.label("s1", 1), corpora.label("s2", 0, boundary=True))


def evidence(*label_sets, cases=None):
    value = corpora.evidence() if cases is None else corpora.evidence(cases=cases)
    return CorpusSnapshot(
        format="evalsite/corpus-snapshot/v1",
        corpus=EvidenceCorpus.from_value(value),
        label_sets=tuple(LabelSet.from_value(labels) for labels in label_sets),
    )


def says(score, cited=(0,), reason="Because."):
    return json.dumps({"score": score, "reason": reason, "evidence": list(cited)})


def test_preset_labels_beside_a_live_run_demonstrate_the_method():
    run = make_trusted_run(evidence(LABELS), Scene())
    (table,) = calibration_of(run).criteria
    assert (table.labels.name, table.labels.source, table.labels.boundary) == ("preset", "corpus", 1)
    assert (table.gate.standing, table.gate.outcome.value) == (Standing.NOT_VALIDATED, "INSUFFICIENT")
    assert (table.counts.agreed, table.counts.false_pass) == (1, 1)
    (found,) = table.disagreements
    assert (found.case_id, found.human, found.judge, found.kind) == ("s2", 0, 1, "false pass")
    assert (found.reason, found.evidence, found.evidence_supplied) == ("Within the evidence.", (0,), 1)


@pytest.mark.parametrize("mode", ["fixture"])
def test_r73_a_fixture_run_states_no_agreement(mode):
    report = calibration_of(make_trusted_run(evidence(LABELS), Scene(mode=mode)))
    (table,) = report.criteria
    assert (table.measured, table.gate.standing, report.findings) == (False, Standing.NOT_MEASURED, ())
    assert table.counts.agreed is None
    assert "fixture" in table.not_measured


def test_an_open_run_measures_nothing():
    (table,) = calibration_of(make_trusted_run(evidence(LABELS), Scene(closed_at=None))).criteria
    assert (table.measured, "not closed" in table.not_measured) == (False, True)


def test_t8_a_label_set_of_a_corpus_never_counts_as_blind():
    claimed = {**LABELS, "level": "human-blind-anchored", "independently_reviewed_by_humans": True}
    (table,) = calibration_of(make_trusted_run(evidence(claimed), Scene())).criteria
    assert (table.labels.claimed_level.value, table.labels.level.value) == ("human-blind-anchored", "human-reviewed")
    assert table.labels.independently_reviewed is True
    assert table.gate.standing is Standing.NOT_VALIDATED


def test_r80_r81_another_construct_is_invalid_and_no_disagreement():
    (table,) = calibration_of(make_trusted_run(evidence({**LABELS, "construct_version": "2"}), Scene())).criteria
    assert (table.gate.standing, table.measured) == (Standing.INVALID, False)
    assert table.disagreements == ()
    assert table.counts.false_pass is None
    assert "version 2" in table.not_measured


def test_r75_every_label_set_has_tables_of_its_own():
    second = {**LABELS, "name": "second", "annotator": "another author"}
    report = calibration_of(make_trusted_run(evidence(LABELS, second), Scene()))
    assert [(table.labels.name, table.labels.annotator) for table in report.criteria] == [
        ("preset", "author"),
        ("second", "another author"),
    ]


def test_repetitions_that_differ_are_unavailable_and_counted_apart():
    scene = Scene(judge=lambda trial: says(trial.repetition % 2))
    report = calibration_of(make_trusted_run(evidence(LABELS), scene))
    (table,) = report.criteria
    assert table.counts.unavailable == {Unavailable.UNSTABLE: 2}
    assert [(row.repetition, row.counts.judged, row.counts.agreed) for row in table.repetitions] == [
        (1, 2, 1),
        (2, 2, 1),
    ]
    assert (report.repetition.retested, report.repetition.unanimous.count) == (2, 0)
    assert set(report.repetition.flaky) == {"s1", "s2"}


def test_a_case_that_was_not_planned_is_not_missing():
    (table,) = calibration_of(make_trusted_run(evidence(LABELS), Scene(case_ids=("s2",)))).criteria
    assert (table.labels.total, table.counts.labeled) == (1, 1)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (says(None, ()), Unavailable.NULL),
        ("no JSON", Unavailable.PARSE),
        (says(2), Unavailable.VOCABULARY),
        (says(1, (9,)), Unavailable.UNKNOWN_EVIDENCE),
        (says(1, ()), Unavailable.PARSE),
        (TimeoutError(), Unavailable.TRANSPORT),
    ],
)
def test_r62_what_has_no_verdict_says_why(said, reason):
    run = make_trusted_run(evidence(LABELS), Scene(repetitions=1, judge=lambda _: said))
    (table,) = calibration_of(run).criteria
    assert table.counts.unavailable == {reason: 2}
    assert {seen.outcome for seen in observations_of(run, Criterion.EVIDENCE)} == {reason}


def test_graded_labels_are_compared_dimension_by_dimension():
    snapshot = CorpusSnapshot(
        format="evalsite/corpus-snapshot/v1",
        corpus=GradedCorpus.from_value({**corpora.graded(), "cards": [corpora.card()]}),
        label_sets=(
            LabelSet.from_value(
                corpora.labels(corpora.label("g1", 100, "faithfulness"), corpora.label("g2", 0, "faithfulness"))
            ),
        ),
    )
    report = calibration_of(make_trusted_run(snapshot, Scene(repetitions=1)))
    (table,) = report.criteria
    assert (table.criterion, table.counts.agreed, table.counts.false_pass) == (Criterion.FAITHFULNESS, 1, 1)
    assert [(row.case_id, row.dimension, row.passes) for row in report.repetition.cases] == [
        ("g1", "faithfulness", 1),
        ("g2", "faithfulness", 0),
    ]


def test_a_binary_run_shows_controls_and_how_its_candidate_repeats():
    snapshot = CorpusSnapshot(
        format="evalsite/corpus-snapshot/v1", corpus=BinaryCorpus.from_value(corpora.binary()), label_sets=()
    )

    def judge(trial):
        wrong = trial.case_id == "B" and (is_control(trial) or trial.repetition == 2)
        return None if not wrong else (BAD if not is_control(trial) else GOOD).to_bytes().decode()

    report = calibration_of(make_trusted_run(snapshot, Scene(judge=judge)))
    assert (report.controls.planned, report.controls.right, report.controls.passed) == (4, 3, False)
    assert report.controls.by_kind == {"negative": (1, 2), "positive": (2, 2)}
    assert [found.code for found in report.findings] == ["calibration-false-pass"]
    assert report.criteria == ()
    assert [(row.case_id, row.passes, row.trials) for row in report.repetition.cases] == [("A", 2, 2), ("B", 1, 2)]
    assert report.judge.same_model_as_candidate is True


def test_gates_alone_say_the_same_as_with_tables():
    run = make_trusted_run(evidence(LABELS), Scene())
    assert gates_of(run, None) == tuple(table.gate for table in calibration_of(run).criteria)


def test_no_seal_can_be_derived_for_labels_that_a_plan_does_not_name():
    run = make_trusted_run(evidence(LABELS), Scene())
    entry = type("Entry", (), {"commitment": "human-a", "attempt": 1})()
    with pytest.raises(InputError, match="names the labels human-a"):
        recompute_seal(run, None, entry)


def test_labels_of_other_texts_than_the_judge_read_are_invalid():
    """A verified run names none; whoever reads it is told all the same, and no error is laid to the judge."""
    run = make_trusted_run(evidence(), Scene())
    corpus = run.plan.corpus
    subject = {
        "corpus": corpus.name,
        "corpus_fingerprint": "sha256:" + "1" * 64,
        "run": None,
        "run_root": None,
        "criterion": "evidence",
        "construct_version": construct_version(Criterion.EVIDENCE),
        "rubric_digest": rubric_digest(run.snapshot.corpus, Criterion.EVIDENCE),
    }
    labels = sealed("human-a")
    proven = ProvenLabels(
        ledger="desk",
        commitment=commitment(labels, subject=subject),
        lock=lock(),
        positions=Positions(constants=0, cards=1, committed=2, revealed=10**6, known=10**6),
        alignment=None,
        labels={label.item: label for label in labels.labels},
    )
    use = Use(run=run.run_id, commitment="human-a", split=Split.SEALED, opened=3, closed=4)
    (gate,) = gates_of(run, LabelBook(ledger="desk", labels={"human-a": proven}, uses=(use,)))
    assert (gate.standing, gate.outcome.value) == (Standing.INVALID, "INSUFFICIENT")
    assert "labels are about other texts than the judge read" in gate.reasons[-1].message
