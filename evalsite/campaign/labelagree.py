# SPDX-License-Identifier: Apache-2.0
"""What follows from revealed labels alone: the annotators' agreement, and what an adjudication took over (R75).

The log states an alpha before anybody can check it. It counts for nothing until it follows from the labels of
every annotator that it is about.
"""

from collections.abc import Iterable

from evalsite.campaign.trusted import TrustedRun
from evalsite.errors import IntegrityError
from evalsite.judging.aligning import Aligned, align_annotators
from evalsite.ledger.labelbook import Alignment, LabelBook, ProvenLabels
from evalsite.ledger.labelseal import RULE
from evalsite.schema.labels import LabelItem


def hidden_annotators(book: LabelBook, alignment: Alignment, before: int | None = None) -> tuple[str, ...]:
    """Return the annotators of an alignment whose labels are not there to derive it from.

    Args:
        book: The labels of the ledger.
        alignment: An alignment of its log.
        before: Only what was revealed before this position of the log is looked at; null looks at everything.
    """
    found = {name: book.labels[name] for name in alignment.commitments}
    return tuple(name for name, one in found.items() if one.labels is None or not one.told_before(before))


def check_alignment(book: LabelBook, alignment: Alignment) -> Aligned:
    """Return the agreement of annotators who are all revealed, which is what the log says.

    Raises:
        IntegrityError: They labelled other items, or agree more or less than the log says.
    """
    annotators = [book.labels[name] for name in alignment.commitments]
    labels = [proven.labels for proven in annotators if proven.labels is not None]
    if any(set(found) != set(labels[0]) for found in labels):
        raise IntegrityError("expected annotators that labelled the same items", rule=RULE)
    first = annotators[0]
    found = align_annotators(labels, first.commitment.subject.criterion, first.lock)
    if (found.compared, found.alpha) != (alignment.compared, alignment.alpha):
        said, given = (f"{side.compared} items, alpha {side.alpha}" for side in (alignment, found))
        raise IntegrityError(f"the log says {said}, the labels give {given}", rule="labels: alignment")
    return found


def check_adjudication(book: LabelBook, proven: ProvenLabels) -> None:
    """Check that an adjudication keeps what its annotators agree on; nothing is checked until all are revealed.

    Raises:
        IntegrityError: It is about other items, or decides against what everybody said.
    """
    of = [book.labels[name].labels for name in proven.commitment.of]
    labels = [found for found in of if found is not None]
    if proven.labels is None or not labels or len(labels) != len(of):
        return
    if any(set(proven.labels) != set(found) for found in labels):
        raise IntegrityError("expected an adjudication of the items that were labelled", rule=RULE)
    aligned = align_annotators(labels, proven.commitment.subject.criterion, proven.lock)
    for label in aligned.agreed:
        if proven.labels[label.item].value != label.value:
            message = f"expected {label.item.label()} as all annotators labelled it"
            raise IntegrityError(message, rule="labels: adjudication")


def unknown_items(run: TrustedRun, items: Iterable[LabelItem]) -> tuple[LabelItem, ...]:
    """Return the items that are about no case of a run's corpus: no judge can have been asked about them."""
    cases = {case.id for case in run.snapshot.corpus.cases}
    return tuple(item for item in items if item.case_id not in cases)
