# SPDX-License-Identifier: Apache-2.0
"""Verdicts against labels, item by item: what was judged, what was not and why (R61, R62, R69-R72, T4, T5). Pure.

A label counts once, however often its item was judged. The verdict of an item is what all its planned
repetitions say; repetitions that differ make it unavailable (``unstable``), and so does one that has no
verdict. To take the first repetition would let a judge pass that answers by chance, to take the majority
would hide that it does, and to count each repetition would make one label look like several.

Grades are compared by the frozen bins and never turned into 0 or 1 (T1): a false pass is a bin above the
human's, a false fail one below it. For the other criteria the classes are 0 and 1.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from evalsite.ledger.labelseal import dimension_of
from evalsite.schema.calibration import Criterion, DesignLock
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.outcome import Dimension
from evalsite.schema.tables import OutcomeCounts, Unavailable

_BINARY_CLASSES = ("0", "1")
_GRADED_CLASSES = ("low", "middle", "high")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The classes in which verdicts and labels of a criterion are compared, worst first."""

    criterion: Criterion
    lock: DesignLock

    @property
    def dimension(self) -> Dimension | None:
        """Return the dimension of a graded criterion; null for the others."""
        return dimension_of(self.criterion)

    @property
    def graded(self) -> bool:
        """Return whether values are grades."""
        return self.dimension is not None

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the names of the classes."""
        return _GRADED_CLASSES if self.graded else _BINARY_CLASSES

    @property
    def top(self) -> int:
        """Return the best class."""
        return len(self.classes) - 1

    def class_of(self, value: int) -> int:
        """Return the class of a value: its bin, or the value itself."""
        return self.lock.bin_of(value) if self.graded else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One judged trial, as a run's record gives it.

    ``chars`` is the length of the judged text; ``question`` names identical questions alike. ``cited`` are
    indices of evidence, of ``supplied`` items. ``says`` is the judge's own reason: untrusted text.
    """

    item: LabelItem
    repetition: int
    outcome: int | Unavailable
    chars: int = 0
    question: str = ""
    cited: tuple[int, ...] = ()
    supplied: int = 0
    says: str | None = None
    trial: str = ""


@dataclass(frozen=True, kw_only=True)
class Weighed:
    """Labels against verdicts. Classes are those of ``scale``; null is a label that a person could not decide.

    ``judge`` holds one verdict per labelled item: a class, or why there is none.
    """

    scale: Scale
    human: Mapping[LabelItem, int | None]
    judge: Mapping[LabelItem, int | Unavailable]
    observations: Sequence[Observation] = field(repr=False)

    @cached_property
    def pairs(self) -> tuple[tuple[LabelItem, int, int], ...]:
        """Return (item, human's class, judge's class) of every item that both decided, in the labels' order."""
        found = []
        for item, human in self.human.items():
            judge = self.judge[item]
            if human is not None and isinstance(judge, int):
                found.append((item, human, judge))
        return tuple(found)

    @property
    def undecided(self) -> int:
        """Return how many labels a person could not decide."""
        return sum(human is None for human in self.human.values())

    @property
    def agreed(self) -> int:
        """Return how many judged items have the human's class."""
        return sum(human == judge for _, human, judge in self.pairs)

    @property
    def false_pass(self) -> int:
        """Return how many judged items have a better class than the human's."""
        return sum(judge > human for _, human, judge in self.pairs)

    @property
    def false_fail(self) -> int:
        """Return how many judged items have a worse class than the human's."""
        return sum(judge < human for _, human, judge in self.pairs)

    @property
    def could_false_pass(self) -> int:
        """Return on how many judged items a false pass was possible: those below the best class."""
        return sum(human < self.scale.top for _, human, _ in self.pairs)

    @property
    def could_false_fail(self) -> int:
        """Return on how many judged items a false fail was possible: those above the worst class."""
        return sum(human > 0 for _, human, _ in self.pairs)

    @property
    def unavailable(self) -> dict[Unavailable, int]:
        """Return how many decidable labels have no verdict, by reason."""
        found = Counter(
            judge
            for item, judge in self.judge.items()
            if self.human[item] is not None and isinstance(judge, Unavailable)
        )
        return {reason: found[reason] for reason in Unavailable if found[reason]}

    def counts(self, *, measured: bool) -> OutcomeCounts:
        """Return the counts; without a measurement only what was judged and what was not (R73)."""
        return OutcomeCounts(
            labeled=len(self.human) - self.undecided,
            judged=len(self.pairs),
            agreed=self.agreed if measured else None,
            false_pass=self.false_pass if measured else None,
            false_fail=self.false_fail if measured else None,
            unavailable=self.unavailable,
        )

    def only(self, items: Iterable[LabelItem]) -> "Weighed":
        """Return the same for some of the items."""
        chosen = set(items)
        return Weighed(
            scale=self.scale,
            human={item: human for item, human in self.human.items() if item in chosen},
            judge={item: judge for item, judge in self.judge.items() if item in chosen},
            observations=[seen for seen in self.observations if seen.item in chosen],
        )


def weigh(
    scale: Scale,
    labels: Mapping[LabelItem, GivenLabel],
    observations: Sequence[Observation],
    repetitions: Iterable[int] = (1,),
    answered: Callable[[int], int] = lambda repetition: repetition,
) -> Weighed:
    """Compare labels with verdicts.

    Args:
        scale: The classes to compare in.
        labels: What people said, per item.
        observations: What the judge said, per trial; one of an item without a label does not count.
        repetitions: The repetitions in which every item was planned to be judged.
        answered: Gives the repetition of the answer that is judged in a repetition (`Plan.answered`).
    """
    by_item: dict[LabelItem, list[Observation]] = {}
    for seen in observations:
        by_item.setdefault(seen.item, []).append(seen)
    planned = [(repetition, answered(repetition)) for repetition in repetitions]
    return Weighed(
        scale=scale,
        human={item: None if label.value is None else scale.class_of(label.value) for item, label in labels.items()},
        judge={item: _verdict(scale, by_item.get(item, ()), item, planned) for item in labels},
        observations=observations,
    )


def _verdict(
    scale: Scale, seen: Sequence[Observation], item: LabelItem, repetitions: Iterable[tuple[int, int]]
) -> int | Unavailable:
    """Return what all planned repetitions of an item say; an answer is judged in those that are about it."""
    planned = [repetition for repetition, answer in repetitions if item.repetition in (None, answer)]
    chosen = sorted((one for one in seen if one.repetition in planned), key=lambda one: one.repetition)
    missing = next((one.outcome for one in chosen if isinstance(one.outcome, Unavailable)), None)
    if missing is not None:
        return missing
    if [one.repetition for one in chosen] != sorted(planned):
        return Unavailable.NO_VERDICT  # a row is missing, or there are several where one was planned (R71)
    classes = {scale.class_of(one.outcome) for one in chosen if not isinstance(one.outcome, Unavailable)}
    return classes.pop() if len(classes) == 1 else Unavailable.UNSTABLE
