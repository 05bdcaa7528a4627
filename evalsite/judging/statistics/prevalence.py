# SPDX-License-Identifier: Apache-2.0
"""A judge's pass rate corrected by its measured errors.

Sources: Rogan and Gladen 1978; the interval of Lee et al. 2025, arXiv 2511.21140, which counts the
uncertainty of the judged set and of the labels.
"""

import math
from fractions import Fraction
from statistics import NormalDist

from evalsite.judging.statistics.undefined import Undefined

_NO_BETTER = Undefined("sensitivity and specificity add up to at most 1: the judge tells nothing")


def rogan_gladen(judged_rate: Fraction, sensitivity: Fraction, specificity: Fraction) -> Fraction | Undefined:
    """Return the corrected rate, as it comes: outside 0 and 1 the three rates contradict each other."""
    if sensitivity + specificity <= 1:
        return _NO_BETTER
    return (judged_rate + specificity - 1) / (sensitivity + specificity - 1)


def lee_interval(  # noqa: PLR0913 - three rates and what each was counted on
    judged_rate: Fraction,
    judged: int,
    specificity: Fraction,
    negatives: int,
    sensitivity: Fraction,
    positives: int,
    *,
    confidence: float = 0.95,
) -> tuple[float, float] | Undefined:
    """Return the interval of the corrected rate, cut to 0 and 1.

    Args:
        judged_rate: Share of the judged set that the judge passed.
        judged: Size of the judged set.
        specificity: Share of human-fail labels that the judge failed.
        negatives: How many human-fail labels there are.
        sensitivity: Share of human-pass labels that the judge passed.
        positives: How many human-pass labels there are.
        confidence: Two-sided.
    """
    if not judged or not negatives or not positives:
        return Undefined("a rate without counts")
    if sensitivity + specificity <= 1:
        return _NO_BETTER
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    size = judged + z * z
    rate = (judged * judged_rate + z * z / 2) / size
    fails, passes = negatives + 2, positives + 2
    spec, sens = (negatives * specificity + 1) / fails, (positives * sensitivity + 1) / passes
    gain = float(sens + spec - 1)
    if gain <= 0:
        return _NO_BETTER
    theta = float(rate + spec - 1) / gain
    of_fails, of_passes = float(spec * (1 - spec)) / fails, float(sens * (1 - sens)) / passes
    shift = 2 * z * z * (-(1 - theta) * of_fails + theta * of_passes)
    error = math.sqrt(rate * (1 - rate) / size + (1 - theta) ** 2 * of_fails + theta**2 * of_passes) / gain
    low, high = theta + shift - z * error, theta + shift + z * error
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
