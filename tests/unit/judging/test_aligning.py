# SPDX-License-Identifier: Apache-2.0
"""Alignment of annotators: what agrees, what differs, and Krippendorff's alpha with its traps."""

from fractions import Fraction

import pytest
from support.labels import lock

from evalsite.judging.aligning import align_annotators
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.outcome import Dimension


def annotators(*rows, dimension=None):
    """Return annotators of items A, B, C ... from one row of values for each annotator."""
    found = []
    for row in rows:
        labels = {}
        for number, value in enumerate(row):
            item = LabelItem(case_id=chr(ord("A") + number), repetition=None, dimension=dimension)
            labels[item] = GivenLabel(item=item, value=value, note="own words")
        found.append(labels)
    return found


def align(*rows, criterion=Criterion.EVIDENCE, dimension=None):
    return align_annotators(annotators(*rows, dimension=dimension), criterion, lock())


def test_alpha_of_a_small_table_by_hand() -> None:
    """Two annotators, four items, one disagreement.

    Coincidences: values 0 0 0 1 1 1 1 1 (n0 = 3, n1 = 5, n = 8); observed disagreement 2 of 8, expected
    2 * 3 * 5 / (8 * 7) of 1; alpha = 1 - (2 / 8) / (30 / 56) = 8 / 15.
    """
    found = align([0, 0, 1, 1], [0, 1, 1, 1])
    assert found.alpha == Fraction(8, 15)
    assert found.compared == 4
    assert [item.case_id for item in found.differing] == ["B"]
    assert [(label.item.case_id, label.value) for label in found.agreed] == [("A", 0), ("C", 1), ("D", 1)]


def test_an_undecided_item_is_a_missing_rating_and_a_difference() -> None:
    found = align([0, 1, None, None], [0, 1, 1, None])
    assert found.compared == 2
    assert found.alpha == 1
    assert [item.case_id for item in found.differing] == ["C"]
    assert found.agreed[-1].value is None, "both could not decide: that is what they agree on"


@pytest.mark.parametrize("rows", [([1, 1], [1, 1]), ([None, None], [1, 0]), ([None], [None])])
def test_alpha_is_null_where_no_two_labels_could_have_differed(rows) -> None:
    assert align(*rows).alpha is None


def test_total_disagreement_is_below_zero() -> None:
    alpha = align([0, 1], [1, 0]).alpha
    assert alpha is not None
    assert alpha < 0


def test_grades_agree_for_alpha_by_bins_and_for_adjudication_exactly() -> None:
    rows = ([10, 90, 50], [20, 80, 50])
    found = align(*rows, criterion=Criterion.FAITHFULNESS, dimension=Dimension.FAITHFULNESS)
    assert found.alpha == 1
    assert [item.case_id for item in found.differing] == ["A", "B"]


def test_a_label_that_is_taken_over_has_nobodys_note() -> None:
    assert {label.note for label in align([1], [1]).agreed} == {None}


def test_bins_have_their_edges_in_the_lower_one() -> None:
    assert [lock().bin_of(grade) for grade in (0, 33, 34, 66, 67, 100)] == [0, 0, 1, 1, 2, 2]
