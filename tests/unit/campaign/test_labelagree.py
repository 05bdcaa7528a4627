# SPDX-License-Identifier: Apache-2.0
"""What follows from revealed labels alone, and who has to be revealed for it."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.labels import commitment, lock, sealed

from evalsite.campaign.labelagree import check_adjudication, check_alignment, hidden_annotators
from evalsite.errors import IntegrityError
from evalsite.ledger.labelbook import Alignment, LabelBook, Positions, ProvenLabels

TRUE = Alignment(commitments=("a", "b"), compared=3, alpha=Fraction(4, 9), position=6)


def proven(name, *values, revealed=9, **changes):
    """Return labels of the items A, B, C, revealed at a position of the log."""
    labels = sealed(name, *values)
    return ProvenLabels(
        ledger="desk",
        commitment=commitment(labels, **changes),
        lock=lock(),
        positions=Positions(constants=2, cards=3, committed=4, revealed=revealed, known=9),
        alignment=TRUE,
        labels={label.item: label for label in labels.labels},
    )


def book(*labels):
    return LabelBook(ledger="desk", labels={one.commitment.name: one for one in labels})


@pytest.mark.parametrize(("before", "hidden"), [(None, ()), (12, ()), (11, ("b",)), (9, ("a", "b"))])
def test_who_is_hidden_at_a_position_of_the_log(before, hidden) -> None:
    of = book(proven("a", 1, 0, 0), proven("b", 1, 1, 0, revealed=11))
    assert hidden_annotators(of, TRUE, before) == hidden


def test_labels_whose_file_is_away_are_hidden() -> None:
    assert hidden_annotators(book(proven("a", 1, 0, 0), replace(proven("b", 1, 1, 0), labels=None)), TRUE) == ("b",)


def test_the_agreement_is_the_one_that_labels_give() -> None:
    of = book(proven("a", 1, 0, 0), proven("b", 1, 1, 0))
    assert check_alignment(of, TRUE).alpha == Fraction(4, 9)
    with pytest.raises(IntegrityError, match="the labels give 3 items, alpha 4/9"):
        check_alignment(of, replace(TRUE, alpha=Fraction(1)))
    with pytest.raises(IntegrityError, match="the same items"):
        check_alignment(book(proven("a", 1, 0, 0), proven("b", 1, 1)), TRUE)


def test_an_adjudication_is_of_the_items_of_every_annotator() -> None:
    final = proven("final", 1, 1, 0, kind="adjudication", of=["a", "b"])
    check_adjudication(book(proven("a", 1, 0, 0), proven("b", 1, 1, 0)), final)
    with pytest.raises(IntegrityError, match="items that were labelled"):
        check_adjudication(book(proven("a", 1, 0, 0), proven("b", 1, 1)), final)
