# SPDX-License-Identifier: Apache-2.0
"""Laws of the statistics: what must hold for any counts."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from evalsite.judging.statistics import agreement, binomial, paired, position, prevalence, raters, resampling
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.calibration import GateOutcome

RATES = st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100)
ALPHAS = st.sampled_from([Fraction(1, 20), Fraction(1, 40), Fraction(1, 100)])
CHOICES = st.one_of(st.none(), st.sampled_from(position.Choice))


@st.composite
def counts(draw, most=60):
    of = draw(st.integers(1, most))
    return draw(st.integers(0, of)), of


@st.composite
def tables(draw):
    size = draw(st.integers(2, 4))
    return [[draw(st.integers(0, 12)) for _ in range(size)] for _ in range(size)]


@given(counts(), RATES)
def test_tails_add_up_to_one(count, rate):
    errors, of = count
    assert binomial.at_most(errors, of, rate) + binomial.at_least(errors + 1, of, rate) == 1
    assert binomial.at_least(0, of, rate) == 1 == binomial.at_most(of, of, rate)


@given(counts(), RATES, ALPHAS)
def test_the_gate_passes_exactly_where_the_exact_bound_is_within_the_tolerance(count, tolerance, alpha):
    errors, of = count
    bound = binomial.upper_bound(errors, of, alpha)
    passes = binomial.exact_gate(errors, of, tolerance, alpha) is GateOutcome.PASS
    assert passes == (binomial.at_most(errors, of, tolerance) <= alpha)
    if abs(bound - float(tolerance)) > 1e-9:
        assert passes == (bound <= float(tolerance))


@given(counts(), RATES, ALPHAS)
def test_one_more_error_never_helps_and_one_more_right_label_never_hurts(count, tolerance, alpha):
    errors, of = count
    order = [GateOutcome.PASS, GateOutcome.INSUFFICIENT, GateOutcome.FAIL]

    def rank(k, n):
        return order.index(binomial.exact_gate(k, n, tolerance, alpha))

    assert rank(errors, of + 1) <= rank(errors, of)
    assert rank(errors + 1, of + 1) >= rank(errors, of + 1)


@given(counts(30), st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)]), ALPHAS)
def test_the_labels_that_are_missing_are_enough_and_one_fewer_is_not(count, tolerance, alpha):
    errors, of = count
    more = binomial.more_labels(errors, of, tolerance, alpha)
    assert binomial.exact_gate(errors, of + more, tolerance, alpha) is GateOutcome.PASS
    if more:
        assert binomial.exact_gate(errors, of + more - 1, tolerance, alpha) is not GateOutcome.PASS


@given(st.integers(0, 200), st.sampled_from([Fraction(1, 20), Fraction(1, 5)]), ALPHAS)
def test_the_greatest_bearable_number_of_errors_passes_and_the_next_does_not(of, tolerance, alpha):
    most = binomial.max_errors(of, tolerance, alpha)
    if most is not None:
        assert binomial.exact_gate(most, of, tolerance, alpha) is GateOutcome.PASS
    after = 0 if most is None else most + 1
    assert after > of or binomial.exact_gate(after, of, tolerance, alpha) is not GateOutcome.PASS


@given(counts(300))
def test_an_interval_holds_its_point_and_the_exact_one_is_wider_in_coverage(count):
    found, of = count
    for low, high in (binomial.wilson(found, of), binomial.clopper_pearson(found, of)):
        assert -1e-12 <= low <= found / of + 1e-12
        assert found / of - 1e-12 <= high <= 1 + 1e-12


@given(tables())
def test_agreement_does_not_depend_on_who_is_first(table):
    turned = [list(column) for column in zip(*table, strict=True)]
    for measure in (agreement.observed, agreement.cohen_kappa, agreement.scott_pi, agreement.gwet_ac1):
        assert measure(table) == measure(turned)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_a_judge_that_says_what_people_say_has_kappa_one_or_none(labels):
    kappa = agreement.cohen_kappa(agreement.table_of([(value, value) for value in labels], 4))
    assert isinstance(kappa, Undefined) if len(set(labels)) == 1 else kappa == 1


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=3, max_size=3), max_size=12), st.randoms())
def test_alpha_depends_neither_on_raters_nor_on_units_order(units, random):
    order = [0, 1, 2]
    random.shuffle(order)
    turned = [[unit[place] for place in order] for unit in units]
    random.shuffle(turned)
    for distance in (raters.nominal, raters.ordinal, raters.interval):
        assert raters.krippendorff_alpha(units, distance) == raters.krippendorff_alpha(turned, distance)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_alpha_is_at_most_one_and_exactly_one_without_differences(units):
    alpha = raters.krippendorff_alpha(units)
    if not isinstance(alpha, Undefined):
        assert alpha <= 1
        assert (alpha == 1) == all(first == second for first, second in units)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_symmetric_and_at_most_one(first, second):
    p = paired.mcnemar(first, second)
    assert p == paired.mcnemar(second, first)
    assert isinstance(p, Undefined) if first + second == 0 else 0 < p <= 1


@given(counts(12), st.integers(1, 14))
def test_all_of_k_is_at_most_any_of_k(count, k):
    passes, trials = count
    both = paired.pass_hat_k(trials, passes, k), paired.pass_at_k(trials, passes, k)
    if k > trials:
        assert all(isinstance(value, Undefined) for value in both)
    else:
        assert 0 <= both[0] <= Fraction(passes, trials) <= both[1] <= 1


@given(RATES, RATES, RATES)
def test_a_perfect_correction_undoes_the_errors(rate, sensitivity, specificity):
    judged = rate * sensitivity + (1 - rate) * (1 - specificity)
    corrected = prevalence.rogan_gladen(judged, sensitivity, specificity)
    if sensitivity + specificity <= 1:
        assert isinstance(corrected, Undefined)
        assert isinstance(prevalence.lee_interval(judged, 100, specificity, 50, sensitivity, 50), Undefined)
    else:
        assert corrected == rate


@given(st.lists(st.tuples(CHOICES, CHOICES), max_size=40))
def test_every_pair_is_counted_once_and_swapping_answers_swaps_wins_only(pairs):
    found = position.count_positions(pairs)
    assert found.pairs == len(pairs)
    parts = (found.unavailable, found.consistent, found.flips_to_first, found.flips_to_second, found.half_ties)
    assert sum(parts) == found.pairs
    other = {position.Choice.A: position.Choice.B, position.Choice.B: position.Choice.A}
    # The same answers under each other's names: what stood first is now called B, and the orders change places.
    renamed = [(other.get(b, b), other.get(a, a)) for a, b in pairs]
    swapped = position.count_positions(renamed)
    assert (swapped.wins_a, swapped.wins_b) == (found.wins_b, found.wins_a)
    assert (swapped.flips_to_first, swapped.flips_to_second) == (found.flips_to_first, found.flips_to_second)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=12))
def test_a_bootstrap_is_the_same_for_the_same_data(values):
    def mean(drawn):
        return Fraction(sum(drawn), len(drawn))

    first = resampling.bootstrap(values, mean, replicates=50)
    assert first == resampling.bootstrap(list(values), mean, replicates=50)
    assert first.low <= first.high
    assert len(first.seed) == 16
