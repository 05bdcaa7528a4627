# SPDX-License-Identifier: Apache-2.0
"""The tables of one criterion: integer counts first, null with a reason where something is undefined (R69-R74)."""

from dataclasses import replace

import pytest
from support.weighing import CUT, NULL, facts, item, weighed

from evalsite.judging.calibrating_tables import Source, column_of, tables_of
from evalsite.schema.calibration import Criterion, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.labels import GivenLabel
from evalsite.schema.tables import LabelsReport

REPORT = LabelsReport(
    name="human",
    source="committed",
    annotator="annotator",
    claimed_level=LabelLevel.HUMAN_BLIND_ANCHORED,
    level=LabelLevel.HUMAN_BLIND_ANCHORED,
    split=Split.SEALED,
    blind=True,
    adjudicated=True,
    raters=2,
    human_alpha="0.8000",
    human_compared=10,
    construct_version="1",
    independently_reviewed=True,
    aligned_first=True,
    total=10,
    undecided=0,
    boundary=0,
)


def source_of(labels, annotators=None, report=REPORT):
    given = {
        one: GivenLabel(item=one, value=human, note="close" if number == 3 else None)
        for number, (one, human) in enumerate(labels.human.items())
    }
    return Source(report=report, given=given, annotators=annotators or {}, alpha=None, order=())


def tables(labels, annotators=None, report=REPORT, **changes):
    return tables_of(facts(labels, **changes), source_of(labels, annotators, report), {1: labels})


MIXED = weighed((1, 1, 3), (0, 1, 1), (1, 0, 1), (0, 0, 3), (1, NULL, 1), (0, CUT, 1), (None, 1, 1))


def test_t1_holds_every_count_and_rate():
    found = tables(MIXED)
    assert found.counts == found.repetitions[0].counts
    assert (found.counts.labeled, found.counts.judged, found.counts.agreed) == (10, 8, 6)
    assert (found.agreement.count, found.agreement.of) == (6, 8)
    assert (found.agreement_worst.count, found.agreement_worst.of) == (6, 10)
    assert (found.false_pass.count, found.false_pass.of, found.human_fail) == (1, 4, 4)
    assert (found.false_fail.count, found.false_fail.of, found.human_pass) == (1, 4, 4)
    assert (found.prevalence.count, found.prevalence.of) == (5, 10)
    assert (found.judge_rate.count, found.judge_rate.of) == (5, 9)
    assert (found.baseline.count, found.baseline.of) == (4, 8)
    assert found.kappa.value == "0.500000"


def test_t1_confusion_keeps_undecided_and_missing_apart():
    found = tables(MIXED).confusion
    assert (found.rows, found.columns) == (("0", "1", "undecided"), ("0", "1", "null", "no verdict"))
    assert found.cells == ((3, 1, 0, 1), (1, 3, 1, 0), (0, 1, 0, 0))


def test_r70_agreement_over_nothing_is_null():
    found = tables(weighed((1, NULL, 3)))
    assert (found.agreement.value, found.agreement.reason) == (None, "nothing was judged")
    assert found.agreement_worst.value == "0.000000"
    assert found.kappa.value is found.false_pass.value is found.judge_rate.value is None


def test_t2_lists_every_disagreement_with_what_annotators_said():
    one = item(3)
    annotators = {"human-a": {one: GivenLabel(item=one, value=1, note=None)}}
    found = tables(MIXED, annotators).disagreements
    assert [(row.item, row.human, row.judge, row.kind) for row in found] == [
        ("case-3", 0, 1, "false pass"),
        ("case-4", 1, 0, "false fail"),
    ]
    assert (found[0].label_note, found[0].annotators, found[1].annotators) == ("close", {"human-a": 1}, {})


@pytest.mark.parametrize(
    ("changes", "why"),
    [({"unmeasured": "no live judge"}, "no live judge"), ({"mismatch": "version 1 and 2"}, "version 1 and 2")],
)
def test_r73_r81_nothing_of_agreement_is_stated_without_a_measurement(changes, why):
    found = tables(MIXED, **changes)
    assert (found.measured, found.not_measured) == (False, why)
    assert found.disagreements == ()
    assert found.confusion.cells is None
    assert found.counts.agreed is found.counts.false_pass is None
    shown = (found.agreement, found.agreement_worst, found.false_pass, found.false_fail, found.kappa, found.ac1)
    assert [(figure.value, figure.reason) for figure in shown] == [(None, why)] * 6
    assert all(row.same.value is None and row.human is None for row in found.bins)
    assert all(row.counts.agreed is None for row in found.lengths)
    assert (found.counts.labeled, found.counts.judged) == (10, 8)


def test_t3_people_are_the_ceiling():
    labels = weighed((1, 1, 2), (0, 0, 2))
    items = list(labels.human)
    people = {
        name: {one: GivenLabel(item=one, value=value, note=None) for one, value in zip(items, values, strict=True)}
        for name, values in (("human-a", (1, 1, 0, 0)), ("human-b", (1, 0, 0, None)))
    }
    found = tables(labels, people).annotators
    assert found.names == ("human-a", "human-b")
    assert (found.ceiling.count, found.ceiling.of, found.items) == (2, 3, 3)
    assert found.undecided == {"human-a": 0, "human-b": 1}
    assert [(pair.first, pair.second, pair.agreement.count) for pair in found.pairs] == [("human-a", "human-b", 2)]
    alone = tables(labels, {"human-a": people["human-a"]}).annotators
    assert alone.ceiling.reason == "fewer than two annotators are known"


def test_t6_corrects_the_rate_of_what_nobody_labelled():
    labels = weighed((1, 1, 9), (1, 0, 1), (0, 0, 8), (0, 1, 2))
    alone = tables(labels).corrected
    assert alone.corrected.value is None
    assert "every judged item is labelled" in alone.corrected.reason
    assert (alone.labels_only.count, alone.labels_only.of) == (10, 20)
    more = weighed((1, 1, 9), (1, 0, 1), (0, 0, 8), (0, 1, 2), (1, 1, 60), (0, 0, 40))
    kept = dict(list(more.human.items())[:20])
    part = type(more)(
        scale=more.scale,
        human=kept,
        judge={one: more.judge[one] for one in kept},
        observations=more.observations,
    )
    found = tables(part).corrected
    assert (found.judged_rate.count, found.judged_rate.of) == (60, 100)
    assert (found.sensitivity.count, found.specificity.count) == (9, 8)
    assert found.corrected.value == f"{(0.6 + 0.8 - 1) / (0.9 + 0.8 - 1):.6f}"


def test_t1_grades_are_never_made_pass_or_fail():
    labels = weighed((10, 20, 2), (50, 90, 1), (90, 95, 2), criterion=Criterion.FAITHFULNESS)
    found = tables(labels)
    assert found.corrected.corrected.reason == "a grade is not turned into pass or fail (T1)"
    assert found.confusion.rows == ("low", "middle", "high", "undecided")
    assert [(row.bin, row.judged, row.same.count) for row in found.bins] == [
        ("low", 2, 2),
        ("middle", 0, 0),
        ("high", 3, 2),
    ]
    assert found.bins[1].same.reason == "the judge never said this"
    assert found.bins[2].human == {"low": 0, "middle": 1, "high": 2}


def test_t9_splits_the_labels_by_length():
    found = tables(weighed((1, 1, 4), (0, 1, 3), (0, NULL, 2))).lengths
    assert [(row.tercile, row.least_chars, row.most_chars, row.counts.labeled) for row in found] == [
        ("short", 1, 3, 3),
        ("middle", 4, 6, 3),
        ("long", 7, 9, 3),
    ]
    assert sum(row.counts.unavailable.get(NULL, 0) for row in found) == 2
    assert found[0].judge_top.count == 3
    assert found[1].human_top.count == 1


@pytest.mark.parametrize(
    ("chars", "expected"),
    [
        ((30, 30, 30), [("middle", 30, 30, 3)]),
        ((10, 30, 30, 30, 30, 30), [("short", 10, 10, 1), ("middle", 30, 30, 5)]),
        ((10, 10, 10, 20, 30), [("short", 10, 10, 3), ("long", 20, 30, 2)]),
        ((1, 2, 3, 4), [("short", 1, 1, 1), ("middle", 2, 3, 2), ("long", 4, 4, 1)]),
    ],
)
def test_t9_equal_lengths_are_not_told_apart(chars, expected):
    labels = weighed((1, 1, len(chars)))
    seen = tuple(replace(one, chars=length) for one, length in zip(labels.observations, chars, strict=True))
    found = tables(replace(labels, observations=seen)).lengths
    assert [(row.tercile, row.least_chars, row.most_chars, row.counts.labeled) for row in found] == expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (weighed((1, 1, 3), (0, 1, 2)), (5, True, "1", 5)),
        (weighed((1, 1, 3), (0, 0, 4)), (7, False, None, 4)),
        (weighed((1, 1, 4)), (4, None, "1", 4)),
        (weighed((1, NULL, 4)), (0, None, None, 0)),
    ],
)
def test_r88_a_column_is_described(labels, expected):
    found = column_of(labels)
    assert (found.decided, found.constant, found.value, found.longest_run) == expected
    assert (found.reason is None) is (found.constant is not None)
