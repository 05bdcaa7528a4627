# SPDX-License-Identifier: Apache-2.0
"""How far annotators agree, and what is left to adjudicate (R75, R77; docs/reference/calibration.md). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalsite.judging.statistics.raters import krippendorff_alpha
from evalsite.judging.statistics.undefined import Undefined
from evalsite.ledger.labelseal import dimension_of, item_order
from evalsite.schema.calibration import Criterion, DesignLock
from evalsite.schema.labels import GivenLabel, LabelItem

Labels = Mapping[LabelItem, GivenLabel]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligned:
    """The agreement of two annotators or more.

    ``compared`` counts the items that two of them or more could decide; ``alpha`` is Krippendorff's for
    nominal values over these, null where it is undefined. ``agreed`` holds one label for each item that all
    gave the same one, ``differing`` the rest.
    """

    compared: int
    alpha: Fraction | None
    agreed: tuple[GivenLabel, ...]
    differing: tuple[LabelItem, ...]


def align_annotators(annotators: Sequence[Labels], criterion: Criterion, lock: DesignLock) -> Aligned:
    """Compare annotators of one subject.

    Grades are compared for alpha by the bins of the constants, as a gate compares them, and for what is
    agreed as they are: of two grades in one bin neither is everybody's. An item that a person could not
    decide is a missing rating; if nobody could, they agree on that.

    Args:
        annotators: Labels of the same items, by each of them.
        criterion: What they labelled.
        lock: The constants that the labels were committed under.
    """
    items = sorted(annotators[0], key=item_order)
    graded = dimension_of(criterion) is not None
    units, agreed, differing = [], [], []
    for item in items:
        values = [labels[item].value for labels in annotators]
        units.append([lock.bin_of(value) if graded and value is not None else value for value in values])
        if len(set(values)) == 1:
            agreed.append(GivenLabel(item=item, value=values[0], note=None))
        else:
            differing.append(item)
    alpha = krippendorff_alpha(units)
    return Aligned(
        compared=sum(sum(value is not None for value in unit) > 1 for unit in units),
        alpha=None if isinstance(alpha, Undefined) else alpha,
        agreed=tuple(agreed),
        differing=tuple(differing),
    )
