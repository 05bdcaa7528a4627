# SPDX-License-Identifier: Apache-2.0
"""Laws of comparisons: a run against itself, the other way round, and what the counts add up to."""

from hypothesis import given
from hypothesis import strategies as st
from support.compared import run_of

from evalsite.judging.comparability import Variable
from evalsite.judging.comparing import compare
from evalsite.judging.comparison import Change
from evalsite.judging.comparison_power import exact_p

CASES = ("A", "B", "C", "D")
_MIRROR = {Change.DOWN: Change.UP, Change.UP: Change.DOWN}


@st.composite
def runs(draw, run="a", repetitions=3, cases=None):
    """Return a run with any outcomes and any answers."""
    chosen = cases or draw(st.lists(st.sampled_from(CASES), min_size=1, unique=True))
    outcomes = {case: draw(st.text("PVTC-", min_size=repetitions, max_size=repetitions)) for case in chosen}
    answers = {case: draw(st.text("xy", min_size=repetitions, max_size=repetitions)) for case in chosen}
    return run_of(outcomes, run=run, answers=answers)


@given(runs())
def test_law_a_run_has_no_flips_against_itself(run):
    found = compare(run, run)
    assert {pair.change for pair in found.pairs} <= {Change.SAME, Change.EXCLUDED}
    assert {row.change for row in found.cases} <= {Change.SAME, Change.EXCLUDED}
    assert (found.mcnemar.p, found.retest.asked_twice) == (None, found.retest.said_the_same)


@given(runs(cases=CASES), runs(run="b", cases=CASES))
def test_law_the_other_way_round_swaps_regressions_and_improvements(before, after):
    there, back = compare(before, after), compare(after, before)
    assert {row.name for row in there.down} == {row.name for row in back.up}
    assert {row.name for row in there.up} == {row.name for row in back.down}
    changes = {pair.trial: (pair.change, pair.cause) for pair in back.pairs}
    assert {pair.trial: (_MIRROR.get(pair.change, pair.change), pair.cause) for pair in there.pairs} == changes
    assert there.mcnemar.p == back.mcnemar.p
    assert there.mcnemar.cases_needed == back.mcnemar.cases_needed
    assert there.retest == back.retest


@given(runs(), runs(run="b"))
def test_law_counts_add_up_to_what_was_planned(before, after):
    found = compare(before, after, Variable.CORPUS_TEXT)
    planned = set(before.plan.case_trials()) | set(after.plan.case_trials())
    assert len(found.pairs) + len(found.only_before) + len(found.only_after) == len(planned)
    assert sum(found.by_change.values()) == len(found.pairs) == sum(len(row.pairs) for row in found.cases)
    assert sum(found.by_cause.values()) == found.by_change[Change.DOWN] + found.by_change[Change.UP]
    assert all(row.before.compared == row.after.compared == len(row.pairs) - len(row.excluded) for row in found.cases)


@given(runs(cases=CASES), runs(run="b", cases=CASES))
def test_law_what_is_unavailable_never_counts_as_a_failure(before, after):
    found = compare(before, after)
    for pair in found.pairs:
        statuses = {pair.before.status, pair.after.status}
        assert (pair.change is Change.EXCLUDED) is (not statuses <= {"Passed", "Violation"})


@given(st.integers(0, 60), st.integers(0, 60))
def test_law_the_exact_test_is_symmetric_and_a_probability(down, up):
    p = exact_p(down, up)
    assert p == exact_p(up, down)
    assert p is None or 0 < p <= 1


@given(st.integers(0, 40), st.integers(0, 40))
def test_law_one_case_more_with_the_trend_is_no_weaker_evidence(down, up):
    fewer, more = sorted((down, up))
    before, after = exact_p(fewer, more), exact_p(fewer, more + 1)
    assert before is None or after <= before
