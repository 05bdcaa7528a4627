# SPDX-License-Identifier: Apache-2.0
"""The tables of one criterion against one set of labels: T1 to T3, T6, T8 to T10. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

from evalsite.judging import calibrating_figures as figures
from evalsite.judging.calibrating import Observation, Weighed
from evalsite.judging.calibrating_gate import Facts, decide_gate
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.outcome import Dimension
from evalsite.schema.tables import (
    AnnotatorsTable,
    BinRow,
    ColumnReport,
    Confusion,
    CorrectedRate,
    CriterionTables,
    Disagreement,
    Figure,
    LabelsReport,
    LengthRow,
    OrderRow,
    PairAgreement,
    RepetitionCounts,
    Unavailable,
)

#: Below so many decided verdicts nothing is said about a column that is all alike.
MIN_COLUMN = 5
_TERCILES: tuple[Literal["short", "middle", "long"], ...] = ("short", "middle", "long")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Labels with what stands beside them on the page.

    ``given`` are the labels in force, ``annotators`` those of each person by commitment, as far as revealed;
    ``hidden`` are the commitments that would have to be revealed for ``alpha``.
    """

    report: LabelsReport
    given: Mapping[LabelItem, GivenLabel]
    annotators: Mapping[str, Mapping[LabelItem, GivenLabel]]
    alpha: Fraction | None
    order: tuple[OrderRow, ...]
    hidden: tuple[str, ...] = ()


def tables_of(facts: Facts, source: Source, per_repetition: Mapping[int, Weighed]) -> CriterionTables:
    """Return every table of one criterion.

    Args:
        facts: What the gate decides with; its ``weighed`` holds the labels against the verdicts.
        source: The labels.
        per_repetition: The same labels against the verdicts of each repetition by itself.
    """
    weighed = facts.weighed
    why = facts.unmeasured or facts.mismatch
    measured = why is None
    show = figures.Shown(why)
    pairs = [(human, judge) for _, human, judge in weighed.pairs]
    judged, decidable = len(pairs), len(weighed.human) - weighed.undecided
    tops = [human == weighed.scale.top for human in weighed.human.values() if human is not None]
    return CriterionTables(
        criterion=weighed.scale.criterion,
        labels=source.report,
        measured=measured,
        not_measured=why,
        counts=weighed.counts(measured=measured),
        repetitions=tuple(
            RepetitionCounts(repetition=number, counts=one.counts(measured=measured))
            for number, one in sorted(per_repetition.items())
        ),
        human_fail=weighed.could_false_pass,
        human_pass=weighed.could_false_fail,
        confusion=_confusion(weighed, measured=measured),
        agreement=show(lambda: figures.rate(weighed.agreed, judged, "nothing was judged")),
        agreement_worst=show(lambda: figures.rate(weighed.agreed, decidable, "nothing was labelled")),
        false_pass=show(lambda: figures.bound(weighed.false_pass, weighed.could_false_pass, facts.alpha)),
        false_fail=show(lambda: figures.bound(weighed.false_fail, weighed.could_false_fail, facts.alpha)),
        prevalence=figures.rate(sum(tops), len(tops), "nothing was labelled"),
        judge_rate=show(lambda: judge_rate(weighed)),
        baseline=show(lambda: figures.rate(most_common(pairs), judged, "nothing was judged")),
        kappa=show(lambda: figures.kappa(pairs, len(weighed.scale.classes))),
        ac1=show(lambda: figures.ac1(pairs, len(weighed.scale.classes))),
        column=column_of(weighed),
        gate=decide_gate(facts),
        disagreements=tuple(_disagreements(weighed, source)) if measured else (),
        annotators=_annotators(source, weighed),
        corrected=_corrected(weighed, show),
        bins=tuple(_bin(weighed, number, show) for number in range(len(weighed.scale.classes))),
        lengths=tuple(_lengths(weighed, show)),
        order=source.order,
    )


def column_of(weighed: Weighed) -> ColumnReport:
    """Return whether all decided verdicts are alike, labelled items or not (R88)."""
    scale = weighed.scale
    column = [
        scale.class_of(seen.outcome) for seen in weighed.observations if not isinstance(seen.outcome, Unavailable)
    ]
    longest = run = 0
    for index, value in enumerate(column):
        run = run + 1 if index and column[index - 1] == value else 1
        longest = max(longest, run)
    alike = len(set(column)) == 1
    enough = len(column) >= MIN_COLUMN
    return ColumnReport(
        decided=len(column),
        constant=alike if enough else None,
        value=scale.classes[column[0]] if alike else None,
        longest_run=longest,
        reason=None if enough else f"{len(column)} decided verdicts, {MIN_COLUMN} are needed to tell",
    )


def most_common(pairs: Sequence[tuple[int, int]]) -> int:
    """Return how many items a judge would get right that always says what people say most often."""
    return max(Counter(human for human, _ in pairs).values(), default=0)


def judge_rate(weighed: Weighed) -> Figure:
    """Return the rate of the best class among the judge's verdicts on labelled items."""
    verdicts = [judge for judge in weighed.judge.values() if isinstance(judge, int)]
    return figures.rate(sum(judge == weighed.scale.top for judge in verdicts), len(verdicts), "nothing was judged")


def _confusion(weighed: Weighed, *, measured: bool) -> Confusion:
    classes = weighed.scale.classes
    rows, columns = (*classes, "undecided"), (*classes, "null", "no verdict")
    count: Counter[tuple[int, int]] = Counter()
    for item, human in weighed.human.items():
        judge = weighed.judge[item]
        row = len(classes) if human is None else human
        missing = len(classes) + (judge is not Unavailable.NULL)
        count[row, missing if isinstance(judge, Unavailable) else judge] += 1
    cells = tuple(tuple(count[row, column] for column in range(len(columns))) for row in range(len(rows)))
    return Confusion(rows=rows, columns=columns, cells=cells if measured else None)


def _disagreements(weighed: Weighed, source: Source) -> Iterator[Disagreement]:
    """Yield T2: each item on which both decided, and differently, with what the judge said of it."""
    for item, human, judge in weighed.pairs:
        if human == judge:
            continue
        seen = next(one for one in weighed.observations if one.item == item)
        label = source.given[item]
        yield Disagreement(
            item=item.label(),
            case_id=item.case_id,
            repetition=item.repetition,
            dimension=_name(item.dimension),
            human=label.value or 0,
            judge=_value(seen),
            kind="false pass" if judge > human else "false fail",
            reason=seen.says,
            evidence=seen.cited,
            evidence_supplied=seen.supplied,
            label_note=label.note,
            annotators={name: labels[item].value for name, labels in source.annotators.items() if item in labels},
        )


def _name(dimension: Dimension | None) -> str | None:
    return None if dimension is None else dimension.value


def _value(seen: Observation) -> int:
    return 0 if isinstance(seen.outcome, Unavailable) else seen.outcome


def _annotators(source: Source, weighed: Weighed) -> AnnotatorsTable:
    """Return T3: how far people agree among themselves, in the classes that a gate compares in."""
    classes = {
        name: {item: weighed.scale.class_of(label.value) for item, label in labels.items() if label.value is not None}
        for name, labels in source.annotators.items()
    }
    pairs = [(first, second, _common(classes[first], classes[second])) for first, second in combinations(classes, 2)]
    rated = Counter(item for values in classes.values() for item in values)
    units = [[values.get(item) for values in classes.values()] for item in rated]
    why = "fewer than two annotators are known"
    return AnnotatorsTable(
        names=tuple(classes),
        undecided={
            name: sum(label.value is None for label in labels.values()) for name, labels in source.annotators.items()
        },
        items=sum(count > 1 for count in rated.values()),
        ceiling=figures.rate(sum(p[2][0] for p in pairs), sum(p[2][1] for p in pairs), why),
        alpha=figures.alpha(source.alpha, source.report.raters, units, hidden=source.hidden),
        pairs=tuple(
            PairAgreement(first=first, second=second, agreement=figures.rate(*found, "no item rated by both"))
            for first, second, found in pairs
        ),
        adjudicated=len(source.given) if source.report.adjudicated else 0,
    )


def _common(first: Mapping[LabelItem, int], second: Mapping[LabelItem, int]) -> tuple[int, int]:
    both = [item for item in first if item in second]
    return sum(first[item] == second[item] for item in both), len(both)


def _corrected(weighed: Weighed, show: figures.Shown) -> CorrectedRate:
    """Return T6 for the items that no label is about; where there are none the labels say it themselves."""
    if weighed.scale.graded:
        nothing = figures.nothing("a grade is not turned into pass or fail (T1)")
        return CorrectedRate(
            judged_rate=nothing, sensitivity=nothing, specificity=nothing, corrected=nothing, labels_only=nothing
        )
    labels_only = figures.rate(
        sum(human == 1 for human in weighed.human.values()), len(weighed.human) - weighed.undecided, "no label decides"
    )
    others = [
        seen.outcome
        for seen in weighed.observations
        if seen.item not in weighed.human and not isinstance(seen.outcome, Unavailable)
    ]
    passing, why = sum(others), "every judged item is labelled: the labels say it without a correction"
    hits = (weighed.could_false_fail - weighed.false_fail, weighed.could_false_fail)
    rejections = (weighed.could_false_pass - weighed.false_pass, weighed.could_false_pass)
    return CorrectedRate(
        judged_rate=show(lambda: figures.rate(passing, len(others), why)),
        sensitivity=show(lambda: figures.rate(*hits, "no judged label passes")),
        specificity=show(lambda: figures.rate(*rejections, "no judged label fails")),
        corrected=show(lambda: figures.corrected((passing, len(others)), hits, rejections, why)),
        labels_only=labels_only,
    )


def _bin(weighed: Weighed, number: int, show: figures.Shown) -> BinRow:
    """Return T8 for one class of verdicts: what people said of the items in it."""
    classes = weighed.scale.classes
    humans = Counter(human for _, human, judge in weighed.pairs if judge == number)
    return BinRow(
        bin=classes[number],
        judged=humans.total(),
        human={name: humans[index] for index, name in enumerate(classes)} if show.why is None else None,
        same=show(lambda: figures.rate(humans[number], humans.total(), "the judge never said this")),
    )


def _lengths(weighed: Weighed, show: figures.Shown) -> Iterator[LengthRow]:
    """Yield T9: the labelled items in three groups of the length of the judged text; equal lengths stay together."""
    chars = {seen.item: seen.chars for seen in weighed.observations if seen.item in weighed.human}
    ordered = sorted(chars, key=lambda item: (chars[item], item.label()))
    number_of = _terciles([chars[item] for item in ordered])
    for number, name in enumerate(_TERCILES):
        group = [item for item in ordered if number_of[chars[item]] == number]
        if not group:
            continue
        part = weighed.only(group)
        humans = [human for human in part.human.values() if human is not None]
        yield LengthRow(
            tercile=name,
            least_chars=chars[group[0]],
            most_chars=chars[group[-1]],
            counts=part.counts(measured=show.why is None),
            human_top=figures.rate(sum(human == part.scale.top for human in humans), len(humans), "no label decides"),
            judge_top=show(lambda part=part: judge_rate(part)),  # type: ignore[misc]
        )


def _terciles(ordered: Sequence[int]) -> dict[int, int]:
    """Return the tercile of each length by the middle rank of the items that have it: ties can't be told apart."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for rank, length in enumerate(ordered):
        first.setdefault(length, rank)
        last[length] = rank
    edges = (2 * len(ordered), 4 * len(ordered))  # one and two thirds, six times, as the ranks are
    return {length: sum(3 * (first[length] + last[length] + 1) >= edge for edge in edges) for length in first}
