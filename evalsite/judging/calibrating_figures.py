# SPDX-License-Identifier: Apache-2.0
"""Statistics of a calibration as published figures: decimal text with its interval, or null with a reason. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evalsite.judging.calibrating_words import percent
from evalsite.judging.statistics.agreement import cohen_kappa, gwet_ac1, table_of
from evalsite.judging.statistics.binomial import upper_bound, wilson
from evalsite.judging.statistics.paired import mean_over, pass_at_k, pass_hat_k
from evalsite.judging.statistics.position import Choice, PositionCounts, count_positions
from evalsite.judging.statistics.prevalence import lee_interval, rogan_gladen
from evalsite.judging.statistics.raters import krippendorff_alpha
from evalsite.judging.statistics.resampling import Bootstrap, bootstrap
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.tables import Figure, PositionTable

Pairs = Sequence[tuple[int, int]]
_DIGITS = 6
_ALPHA_REPLICATES = 500  # each one is a sum over all pairs of ratings


def text(number: float) -> str:
    """Return a number as decimal text, rounded for display, without a negative zero."""
    return f"{round(number, _DIGITS) + 0.0:.{_DIGITS}f}"


def nothing(reason: str, *, count: int | None = None, of: int | None = None) -> Figure:
    """Return a figure that is null, with the reason."""
    return Figure(count=count, of=of, value=None, reason=reason)


@dataclass(frozen=True, slots=True)
class Shown:
    """Makes figures, unless something forbids to state any: then each is null for that reason (R73, R81)."""

    why: str | None

    def __call__(self, make: Callable[[], Figure]) -> Figure:
        """Return the figure, or null with the reason."""
        return make() if self.why is None else nothing(self.why)


def rate(count: int, of: int, why_none: str) -> Figure:
    """Return a rate with Wilson's 95 % interval; null over nothing."""
    ends = wilson(count, of)
    if isinstance(ends, Undefined):
        return nothing(why_none, count=count, of=of)
    low, high = (text(end) for end in ends)
    return Figure(count=count, of=of, value=text(count / of), low=low, high=high, method="Wilson 95 %")


def bound(errors: int, of: int, alpha: Fraction) -> Figure:
    """Return a rate of errors with its exact one-sided upper bound at the level of the gate."""
    high = upper_bound(errors, of, alpha)
    if isinstance(high, Undefined):
        return nothing("no judged label on which this error was possible", count=errors, of=of)
    method = f"Clopper-Pearson, one-sided, {percent(1 - alpha)}"
    return Figure(count=errors, of=of, value=text(errors / of), high=text(high), method=method)


def kappa(pairs: Pairs, classes: int, *, interval: bool = True) -> Figure:
    """Return Cohen's kappa; null where chance alone agrees on everything, since both sides are one class.

    Args:
        pairs: (human's class, judge's class) of each judged item.
        classes: How many classes there are.
        interval: Add the percentile interval of a bootstrap.
    """
    value = cohen_kappa(table_of(pairs, classes))
    if isinstance(value, Undefined):
        return nothing(value.reason)
    found = bootstrap(pairs, lambda drawn: cohen_kappa(table_of(drawn, classes))) if interval else None
    if not isinstance(found, Bootstrap):
        return Figure(value=text(float(value)), method="Cohen's kappa")
    if found.low == found.high:  # at perfect agreement, whatever the number of labels: no sign of certainty
        method = "Cohen's kappa; no interval, since every resample gives the same"
        return Figure(value=text(float(value)), method=method, seed=found.seed, replicates=found.replicates)
    return Figure(
        value=text(float(value)),
        low=text(found.low),
        high=text(found.high),
        method="Cohen's kappa, bootstrap 95 %",
        seed=found.seed,
        replicates=found.replicates,
    )


def ac1(pairs: Pairs, classes: int) -> Figure:
    """Return Gwet's AC1; null where there is but one class on both sides, though its formula would give 1."""
    value = gwet_ac1(table_of(pairs, classes))
    if isinstance(value, Undefined):
        return nothing(value.reason)
    return Figure(value=text(float(value)), method="Gwet's AC1")


def alpha(
    value: Fraction | None,
    raters: int,
    units: Sequence[Sequence[int | None]] = (),
    *,
    hidden: Sequence[str] = (),
) -> Figure:
    """Return Krippendorff's alpha of annotators as their labels give it.

    Args:
        value: Alpha, derived from the revealed labels of all of them; null where it is undefined.
        raters: How many annotators there are.
        units: Their classes per item, null where one is missing: for the interval of a bootstrap over items.
        hidden: Commitments that are not revealed, so that there is no alpha yet.
    """
    if raters < 2:  # noqa: PLR2004 - two can differ
        return nothing("one annotator: nothing to compare with")
    if hidden:
        return nothing(f"alpha does not follow from labels: {', '.join(hidden)} not revealed")
    if value is None:
        return nothing("all labels are of one class: alpha is undefined")
    method = "Krippendorff's alpha, nominal, undecided labels missing"
    found = bootstrap(units, krippendorff_alpha, replicates=_ALPHA_REPLICATES)
    if isinstance(found, Undefined) or found.low == found.high:
        return Figure(value=text(float(value)), method=method)
    return Figure(
        value=text(float(value)),
        low=text(found.low),
        high=text(found.high),
        method=f"{method}, bootstrap over items 95 %",
        seed=found.seed,
        replicates=found.replicates,
    )


def all_pass(tried: Sequence[tuple[int, int]], k: int) -> Figure:
    """Return pass^k, the mean over cases of (passes, trials); null unless every case has k trials."""
    return _mean([pass_hat_k(trials, passes, k) for passes, trials in tried])


def any_pass(tried: Sequence[tuple[int, int]], k: int) -> Figure:
    """Return pass@k, the mean over cases of (passes, trials); null unless every case has k trials."""
    return _mean([pass_at_k(trials, passes, k) for passes, trials in tried])


def _mean(values: Sequence[Fraction | Undefined]) -> Figure:
    mean = mean_over(values)
    if isinstance(mean, Undefined):
        return nothing(mean.reason)
    return Figure(value=text(float(mean)), method=f"mean over {len(values)} cases")


def corrected(passing: tuple[int, int], hits: tuple[int, int], rejections: tuple[int, int], why_none: str) -> Figure:
    """Return the rate of passes corrected by the judge's measured errors (Rogan and Gladen; Lee et al. 2025).

    Args:
        passing: What the judge passes, of the items without a label.
        hits: What it passes of the labels that pass.
        rejections: What it fails of the labels that fail.
        why_none: The reason where no item is without a label.
    """
    if not passing[1]:
        return nothing(why_none)
    if not hits[1] or not rejections[1]:
        return nothing("no labels of one of the two classes: sensitivity or specificity is unknown")
    judged, sensitivity, specificity = Fraction(*passing), Fraction(*hits), Fraction(*rejections)
    theta = rogan_gladen(judged, sensitivity, specificity)
    ends = lee_interval(judged, passing[1], specificity, rejections[1], sensitivity, hits[1])
    if isinstance(theta, Undefined) or isinstance(ends, Undefined):
        return nothing("sensitivity and specificity add up to at most 1: nothing can be corrected by this judge")
    if not 0 <= theta <= 1:
        return nothing(f"inconsistent: the correction gives {percent(theta)}")
    low, high = (text(end) for end in ends)
    return Figure(value=text(float(theta)), low=low, high=high, method="Rogan-Gladen, Lee et al. 95 %")


def position(pairs: Iterable[tuple[Choice | None, Choice | None]]) -> PositionTable:
    """Return T4 of pairs judged in both orders: per pair the preferred text in each, null without a verdict."""
    return position_table(count_positions(pairs))


def position_table(found: PositionCounts) -> PositionTable:
    """Return T4 from its counts."""
    flips, p = found.flips_to_first + found.flips_to_second, found.bias_p
    return PositionTable(
        pairs=found.pairs,
        both_decided=found.decided,
        unavailable=found.unavailable,
        wins_a=found.wins_a,
        wins_b=found.wins_b,
        ties=found.ties,
        half_ties=found.half_ties,
        consistent=rate(found.consistent, found.decided, "no pair was decided in both orders"),
        flips_first=found.flips_to_first,
        flips_second=found.flips_to_second,
        first_slot=rate(found.flips_to_first, flips, "no pair flips"),
        exact_p=nothing("no pair flips")
        if isinstance(p, Undefined)
        else Figure(value=text(float(p)), method="exact two-sided sign test against 1/2"),
    )
