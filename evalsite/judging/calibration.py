# SPDX-License-Identifier: Apache-2.0
"""Verdicts against reference labels: counts that always stand together (R69-R72).

Only whole numbers: an agreement is a numerator over a denominator, and null when nothing was
judged. It is never computed for a fixture run, whose judge reads the labels (R73).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """Reference labels against verdicts. ``judged + unavailable = labeled`` always holds."""

    labeled: int
    judged: int
    agreed: int
    false_pass: int
    false_fail: int
    unavailable_by_reason: dict[str, int]

    @property
    def unavailable(self) -> int:
        """Return how many labels have no usable verdict, whatever the reason."""
        return sum(self.unavailable_by_reason.values())

    @property
    def agreement(self) -> tuple[int, int] | None:
        """Return agreed over judged, or null when nothing was judged (R70)."""
        return (self.agreed, self.judged) if self.judged else None


def calibrate(labels: Mapping[str, int], rows: Sequence[tuple[str, int | str | None]]) -> LabelCounts:
    """Compare reference labels of 0 and 1 with the judge's rows.

    Args:
        labels: Reference per case id.
        rows: One (case id, outcome) per observation: a score of 0 or 1, null for "cannot judge", or
            the name of what failed. A case id without a label does not count.

    Returns:
        The counts. A label with no row or with several is unavailable (R71).
    """
    by_case: dict[str, list[int | str | None]] = {}
    for case_id, outcome in rows:
        by_case.setdefault(case_id, []).append(outcome)
    agreed = false_pass = false_fail = 0
    unavailable: Counter[str] = Counter()
    for case_id, reference in labels.items():
        outcomes = by_case.get(case_id, [])
        if len(outcomes) != 1:
            unavailable["no verdict" if not outcomes else "several verdicts"] += 1
            continue
        outcome = outcomes[0]
        if outcome is None:
            unavailable["cannot judge"] += 1
        elif isinstance(outcome, str):
            unavailable[outcome] += 1
        elif outcome == reference:
            agreed += 1
        elif outcome == 1:
            false_pass += 1
        else:
            false_fail += 1
    return LabelCounts(
        labeled=len(labels),
        judged=agreed + false_pass + false_fail,
        agreed=agreed,
        false_pass=false_pass,
        false_fail=false_fail,
        unavailable_by_reason=dict(sorted(unavailable.items())),
    )
