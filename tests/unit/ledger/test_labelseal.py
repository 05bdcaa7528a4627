# SPDX-License-Identifier: Apache-2.0
"""Commitments to labels: what a root is over, and what a reveal must show."""

import hashlib

import pytest
from support.labels import ITEMS, commitment, given, sealed
from support.ledgers import LEDGER, ZERO

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.labelseal import check_label, check_reveal, check_set, labels_root, reused_nonces, salt_labels
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import GivenLabel, LabelItem, LabelSubject


def subject(criterion: str = "evidence", run: str | None = None) -> LabelSubject:
    return LabelSubject.from_value(
        {
            "corpus": "c",
            "corpus_fingerprint": ZERO,
            "run": run,
            "run_root": None if run is None else ZERO,
            "criterion": criterion,
            "construct_version": "1",
            "rubric_digest": ZERO,
        }
    )


def label(value: int | None, *, repetition: int | None = None, dimension: str | None = None) -> GivenLabel:
    item = {"case_id": "A", "repetition": repetition, "dimension": dimension}
    return GivenLabel.from_value({"item": item, "value": value, "note": None})


def test_the_root_is_over_the_canonical_bytes_of_salted_labels() -> None:
    """Computed here with nothing but a hash function, for one label and for two."""
    labels = sealed("human-a", 1, 0).labels
    item = '"item":{"case_id":"A","dimension":null,"repetition":null}'
    first = f'{{{item},"nonce":"{labels[0].nonce}","note":null,"value":1}}'
    leaf = hashlib.sha256(b"\x00" + first.encode()).digest()
    other = hashlib.sha256(b"\x00" + labels[1].to_bytes()).digest()
    assert labels_root(labels[:1]) == f"sha256:{leaf.hex()}"
    root = hashlib.sha256(b"\x01" + leaf + other)
    assert labels_root(labels) == f"sha256:{root.hexdigest()}"


def test_labels_are_salted_in_the_order_of_items_whatever_the_order_of_work() -> None:
    there, back = given(1, 0, None), given(1, 0, None)[::-1]
    one, two = iter(range(3)), iter(range(3))
    made = salt_labels(there, lambda: bytes([next(one)]) * 32)
    assert made == salt_labels(back, lambda: bytes([next(two)]) * 32)
    assert [found.item for found in made] == list(ITEMS)


def test_equal_labels_have_unlike_leaves() -> None:
    labels = sealed("human-a", 1, 1, 1).labels
    assert len({found.nonce for found in labels}) == len(labels)
    assert reused_nonces([labels]) == 0
    assert reused_nonces([sealed("human-a", 1, 1, 1, reused=True).labels]) == 2
    assert reused_nonces([labels, labels]) == 3


def test_a_true_reveal_is_accepted() -> None:
    labels = sealed()
    check_reveal(LEDGER, commitment(labels), labels)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda labels: labels.model_copy(update={"labels": sealed("human-a", 0, 0, None).labels}), "found others"),
        (lambda labels: labels.model_copy(update={"labels": labels.labels[:2]}), "expected 3 labels, found 2"),
        (lambda labels: labels.model_copy(update={"labels": labels.labels[::-1]}), "found others"),
        (lambda labels: labels.model_copy(update={"labels": sealed("human-a", reused=True).labels}), "found others"),
        (lambda labels: labels.model_copy(update={"commitment": "human-b"}), "of the commitment human-a"),
        (lambda labels: labels.model_copy(update={"ledger": "other"}), "of the commitment human-a"),
    ],
    ids=["one label", "one less", "order", "nonces", "name", "ledger"],
)
def test_anything_else_than_what_was_committed_is_refused(change, said) -> None:
    with pytest.raises(IntegrityError, match=said):
        check_reveal(LEDGER, commitment(sealed()), change(sealed()))


def test_an_item_that_stands_twice_is_refused_although_the_root_holds() -> None:
    labels = sealed()
    twice = labels.model_copy(update={"labels": (labels.labels[0], labels.labels[0])})
    with pytest.raises(InputError, match="one label for an item, found two"):
        check_reveal(LEDGER, commitment(twice), twice)


@pytest.mark.parametrize("value", [0, 1, None])
def test_a_verdict_of_binary_and_evidence_is_0_1_or_null(value) -> None:
    check_label(subject(), label(value))
    check_label(subject("binary", "run-1"), label(value, repetition=1))


@pytest.mark.parametrize("value", [0, 50, 100, None])
def test_a_grade_is_0_to_100_or_null(value) -> None:
    check_label(subject("faithfulness"), label(value, dimension="faithfulness"))


@pytest.mark.parametrize(
    ("of", "wrong"),
    [
        (subject(), label(2)),
        (subject("binary", "run-1"), label(50, repetition=1)),
        (subject(), label(1, dimension="faithfulness")),
        (subject(), label(1, repetition=1)),
        (subject("binary", "run-1"), label(1)),
        (subject("faithfulness"), label(1)),
        (subject("faithfulness"), label(1, dimension="groundedness")),
    ],
)
def test_a_label_of_another_vocabulary_or_item_is_refused(of, wrong) -> None:
    with pytest.raises(InputError) as caught:
        check_label(of, wrong)
    assert caught.value.at.startswith("'A")


def test_every_criterion_has_a_vocabulary() -> None:
    for criterion in Criterion:
        run = "run-1" if criterion is Criterion.BINARY else None
        dimension = criterion.value if criterion in {Criterion.FAITHFULNESS, Criterion.GROUNDEDNESS} else None
        found = label(0, repetition=1 if run else None, dimension=dimension)
        check_set(subject(criterion.value, run), [found])


def test_items_of_one_case_differ_by_repetition_and_dimension() -> None:
    items = [LabelItem(case_id="A", repetition=repetition, dimension=None).label() for repetition in (None, 1, 2)]
    assert items == ["A", "A #1", "A #2"]
