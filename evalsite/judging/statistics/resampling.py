# SPDX-License-Identifier: Apache-2.0
"""A bootstrap whose seed follows from its data, and a standard error over clusters.

Sources: Efron 1979 (percentile bootstrap); Miller 2024, arXiv 2411.00640 (clustered standard errors).
"""

import hashlib
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from evalsite.canonical.jcs import canonical_bytes
from evalsite.judging.statistics.undefined import Undefined

REPLICATES = 2000
_MOST_UNDEFINED = 100  # one resample of so many may lack the statistic: an interval over the rest is one of other data
_WORD_BITS = 64
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """A percentile interval, with all that it takes to repeat it.

    ``undefined`` counts resamples in which the statistic does not exist; they are left out and told.
    """

    low: float
    high: float
    seed: str
    replicates: int
    undefined: int


def bootstrap(
    items: Sequence[_T],
    statistic: Callable[[Sequence[_T]], Fraction | float | Undefined],
    *,
    replicates: int = REPLICATES,
    confidence: float = 0.95,
) -> Bootstrap | Undefined:
    """Return the percentile interval of a statistic over items drawn with replacement.

    Args:
        items: JSON values; the seed is the start of the SHA-256 of their canonical bytes.
        statistic: Called on each resample.
        replicates: How many resamples.
        confidence: Two-sided.
    """
    if len(items) < 2:  # noqa: PLR2004 - one item is drawn again and again
        return Undefined("fewer than two items")
    seed = hashlib.sha256(canonical_bytes(list(items))).hexdigest()[:16]
    drawn = (statistic([items[at] for at in draws(seed, number, len(items))]) for number in range(replicates))
    values = sorted(float(value) for value in drawn if not isinstance(value, Undefined))
    undefined = replicates - len(values)
    if undefined * _MOST_UNDEFINED > replicates:
        return Undefined(f"the statistic does not exist in {undefined} of {replicates} resamples")
    beyond = int((1 - confidence) / 2 * len(values))
    return Bootstrap(
        low=values[beyond], high=values[-1 - beyond], seed=seed, replicates=replicates, undefined=undefined
    )


def draws(seed: str, number: int, size: int) -> list[int]:
    """Return ``size`` indices below ``size``, drawn with replacement for the resample of this number.

    Each is the upper part of a 64-bit word of SHAKE-256 times ``size``: the same on every machine and in every
    version of Python, which the standard generator promises for its raw numbers only.
    """
    stream = hashlib.shake_256(f"{seed} {number}".encode("ascii")).digest(_WORD_BITS // 8 * size)
    return [word * size >> _WORD_BITS for word in struct.unpack(f">{size}Q", stream)]


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> float | Undefined:
    """Return the standard error of a mean over clustered values, with the correction for few clusters."""
    if not values:
        return Undefined("no value")
    mean = math.fsum(values) / len(values)
    sums: defaultdict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    count = len(sums)
    if count < 2:  # noqa: PLR2004 - one cluster shows no spread
        return Undefined("one cluster")
    return math.sqrt(count / (count - 1) * math.fsum(total * total for total in sums.values())) / len(values)
