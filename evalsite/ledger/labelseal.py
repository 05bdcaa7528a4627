# SPDX-License-Identifier: Apache-2.0
"""Commitments to labels: salted leaves, their root, and what a reveal must show (R78). Pure.

The leaf of a label is the RFC 6962 leaf hash of its canonical bytes, its nonce of 32 bytes among them: of
three possible values a plain hash would be guessed at once. The root is over the leaves in the order of
`item_order`, so that the shuffled order in which an annotator worked is not in it.
"""

from collections.abc import Callable, Iterable, Sequence

from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.merkle import leaf_hashes, tree_root
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import GivenLabel, LabelCommitment, LabelItem, LabelSubject, SaltedLabel, SealedLabels
from evalsite.schema.outcome import Dimension

NONCE_BYTES = 32
RULE = "run-record §13"
_GRADED = {Criterion.FAITHFULNESS: Dimension.FAITHFULNESS, Criterion.GROUNDEDNESS: Dimension.GROUNDEDNESS}


def dimension_of(criterion: Criterion) -> Dimension | None:
    """Return the dimension of the graded protocol that a criterion is about; null for the other protocols."""
    return _GRADED.get(criterion)


def item_order(item: LabelItem) -> tuple[str, int, str]:
    """Return what items are sorted by: case, repetition, dimension."""
    return (item.case_id, item.repetition or 0, "" if item.dimension is None else item.dimension.value)


def salt_labels(labels: Iterable[GivenLabel], nonces: Callable[[], bytes]) -> tuple[SaltedLabel, ...]:
    """Return the labels in the order of a commitment, each with a fresh nonce.

    Args:
        labels: The labels, in any order.
        nonces: Returns 32 random bytes, others each time.
    """
    ordered = sorted(labels, key=lambda label: item_order(label.item))
    return tuple(
        SaltedLabel(item=label.item, value=label.value, note=label.note, nonce=nonces().hex()) for label in ordered
    )


def labels_root(labels: Sequence[SaltedLabel]) -> str:
    """Return the root over salted labels as a digest."""
    return f"sha256:{tree_root(leaf_hashes(label.to_bytes() for label in labels)).hex()}"


def check_label(subject: LabelSubject, label: GivenLabel) -> None:
    """Refuse a label that cannot be one of this subject.

    A grade is 0 to 100, any other label 0 or 1, and null says that a person could not decide. A repetition
    stands with the answers of a run only, the dimension with the graded criteria only.

    Raises:
        InputError: It can not; the place is the item.
    """
    item, dimension = label.item, dimension_of(subject.criterion)
    if item.dimension is not dimension or (item.repetition is None) is not (subject.run is None):
        raise InputError(
            f"expected an item of the criterion {subject.criterion.value}", at=shorten(item.label()), rule="labels"
        )
    if dimension is None and label.value not in {0, 1, None}:
        raise InputError(
            f"expected 0, 1 or null, found {label.value}", at=shorten(item.label()), rule="label vocabulary"
        )


def check_set(subject: LabelSubject, labels: Sequence[GivenLabel]) -> None:
    """Refuse labels of which one is none of this subject, or of which two are about one item.

    Raises:
        InputError: As said; the place is the item.
    """
    seen: set[LabelItem] = set()
    for label in labels:
        check_label(subject, label)
        if label.item in seen:
            raise InputError("expected one label for an item, found two", at=shorten(label.item.label()), rule="labels")
        seen.add(label.item)


def check_reveal(ledger: str, commitment: LabelCommitment, sealed: SealedLabels) -> None:
    """Check that revealed labels are those that were committed.

    Raises:
        IntegrityError: Another ledger or commitment, another count, another root: changed, added or left out.
        InputError: A label that can not be one of the subject, or an item that stands twice.
    """
    if (sealed.ledger, sealed.commitment) != (ledger, commitment.name):
        raise IntegrityError(f"expected labels of the commitment {commitment.name} of {ledger}", rule=RULE)
    if len(sealed.labels) != commitment.count:
        message = f"expected {commitment.count} labels, found {len(sealed.labels)}"
        raise IntegrityError(message, rule=RULE)
    if labels_root(sealed.labels) != commitment.root:
        raise IntegrityError("expected the labels that were committed, found others", rule=RULE)
    check_set(commitment.subject, sealed.labels)


def reused_nonces(sets: Iterable[Sequence[SaltedLabel]]) -> int:
    """Return how many labels have a nonce that another one had before: their hashes can be compared."""
    nonces = [label.nonce for labels in sets for label in labels]
    return len(nonces) - len(set(nonces))
