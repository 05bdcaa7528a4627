# SPDX-License-Identifier: Apache-2.0
"""Our statistics against those of others, on counts that are drawn anew (``make oracles``).

Published values are in tests/conformance; here are the cases that nobody printed.
"""

import contextlib
import importlib
import math
import os
import random
from fractions import Fraction

import pytest

from evalsite.judging.statistics import agreement, binomial, paired, raters, special
from evalsite.judging.statistics.undefined import Undefined

CASES = 200


def oracle(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        if os.environ.get("EVALSITE_FOREIGN") == "required":
            pytest.fail(f"{name} is not there: make oracles installs it")
        pytest.skip(f"{name} is not there: make oracles installs it")


@pytest.fixture
def counts():
    rng = random.Random(20261201)  # noqa: S311 - repeatable
    drawn = []
    for _ in range(CASES):
        of = rng.choice([rng.randint(1, 30), rng.randint(1, 500), rng.randint(1, 20_000)])
        drawn.append((rng.choice([0, of, rng.randint(0, of), rng.randint(0, of)]), of))
    return drawn


def test_exact_bounds_are_those_of_scipy(counts):
    stats = oracle("scipy.stats")
    for count, of in counts:
        for side in (0.05, 0.025, 0.01):
            upper = 1.0 if count == of else stats.beta.ppf(1 - side, count + 1, of - count)
            assert binomial.upper_bound(count, of, side) == pytest.approx(upper, abs=2e-10)
        interval = stats.binomtest(count, of).proportion_ci(0.95, "exact")
        assert binomial.clopper_pearson(count, of) == pytest.approx((interval.low, interval.high), abs=2e-10)
        interval = stats.binomtest(count, of).proportion_ci(0.95, "wilson")
        assert binomial.wilson(count, of) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_exact_tails_and_sign_tests_are_those_of_scipy(counts):
    stats = oracle("scipy.stats")
    for count, of in counts:
        if of > 2_000:
            continue
        for rate in (Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)):
            assert float(binomial.at_most(count, of, rate)) == pytest.approx(
                stats.binom.cdf(count, of, float(rate)), abs=1e-11
            )
        p = stats.binomtest(count, of, 0.5).pvalue
        assert float(paired.mcnemar(count, of - count)) == pytest.approx(p, abs=1e-11)


def test_tails_and_quantiles_are_those_of_scipy():
    stats = oracle("scipy.stats")
    for freedom in (1, 2, 3, 4, 5, 7, 10, 31):
        for value in (0.01, 0.5, 1, 3.84, 10, 40):
            assert special.chi_squared_tail(value, freedom) == pytest.approx(stats.chi2.sf(value, freedom), rel=1e-9)
        for probability in (0.6, 0.9, 0.975, 0.999):
            assert special.t_quantile(probability, freedom) == pytest.approx(
                stats.t.ppf(probability, freedom), rel=1e-9
            )


def test_kappa_is_that_of_scikit_learn():
    metrics = oracle("sklearn.metrics")
    rng = random.Random(1)  # noqa: S311
    for _ in range(CASES):
        size = rng.randint(2, 5)
        pairs = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.randint(2, 60))]
        first, second = zip(*pairs, strict=True)
        for name, weight in ((None, None), ("linear", agreement.linear), ("quadratic", agreement.squared)):
            table = agreement.table_of(pairs, size)
            ours = agreement.cohen_kappa(table, weight) if weight else agreement.cohen_kappa(table)
            with pytest.warns() if isinstance(ours, Undefined) else contextlib.nullcontext():
                theirs = metrics.cohen_kappa_score(first, second, labels=list(range(size)), weights=name)
            assert (
                math.isnan(theirs) if isinstance(ours, Undefined) else float(ours) == pytest.approx(theirs, abs=1e-12)
            )


def test_alpha_is_that_of_krippendorff():
    package = oracle("krippendorff")
    rng = random.Random(2)  # noqa: S311
    compared = 0
    for _ in range(CASES):
        count = rng.randint(2, 5)
        units = [[rng.choice([None, 1, 2, 3, 4]) for _ in range(count)] for _ in range(rng.randint(2, 25))]
        values = {value for unit in units if sum(item is not None for item in unit) > 1 for value in unit} - {None}
        if len(values) < 2:
            continue
        data = [[math.nan if unit[rater] is None else unit[rater] for unit in units] for rater in range(count)]
        for name in ("nominal", "ordinal", "interval", "ratio"):
            theirs = package.alpha(reliability_data=data, level_of_measurement=name)
            ours = raters.krippendorff_alpha(units, getattr(raters, name))
            assert float(ours) == pytest.approx(theirs, abs=1e-9)
            compared += 1
    assert compared > 3 * CASES
