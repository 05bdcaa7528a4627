# SPDX-License-Identifier: Apache-2.0
"""Laws of calibration, whatever the judge and the people say."""

from hypothesis import given
from hypothesis import strategies as st
from support.weighing import facts, weighed

from evalsite.judging.binding import stale_fields
from evalsite.judging.calibrating import Observation, Scale, weigh
from evalsite.judging.calibrating_gate import decide_gate, seal_of
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import Criterion, GateOutcome
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.tables import Unavailable

ITEMS = [LabelItem(case_id=f"case-{number}", repetition=None, dimension=None) for number in range(5)]
OUTCOMES = st.one_of(st.sampled_from(Unavailable), st.integers(0, 1))
GRADES = st.integers(0, 100)
ROWS = st.lists(st.tuples(st.sampled_from(ITEMS), st.integers(1, 3), OUTCOMES), max_size=20)
PEOPLE = st.dictionaries(st.sampled_from(ITEMS), st.one_of(st.none(), st.integers(0, 1)))
COUNTS = st.integers(0, 250)


def weigh_rows(people, rows, repetitions):
    labels = {item: GivenLabel(item=item, value=value, note=None) for item, value in people.items()}
    seen = [Observation(item=item, repetition=number, outcome=said) for item, number, said in rows]
    scale = Scale(criterion=Criterion.EVIDENCE, lock=DEFAULT_LOCK)
    return weigh(scale, labels, seen, range(1, repetitions + 1))


@given(PEOPLE, ROWS, st.integers(1, 3))
def test_law_judged_and_unavailable_are_labelled(people, rows, repetitions):
    found = weigh_rows(people, rows, repetitions)
    counts = found.counts(measured=True)
    assert counts.judged + sum(counts.unavailable.values()) == counts.labeled
    assert counts.agreed + counts.false_pass + counts.false_fail == counts.judged
    assert counts.labeled + found.undecided == len(people)


@given(PEOPLE, ROWS, st.integers(1, 3))
def test_law_the_order_of_rows_and_labels_changes_nothing(people, rows, repetitions):
    forward = weigh_rows(people, rows, repetitions)
    backward = weigh_rows(dict(reversed(people.items())), rows[::-1], repetitions)
    assert seal_of(forward, GateOutcome.PASS) == seal_of(backward, GateOutcome.PASS)


@given(PEOPLE, ROWS, OUTCOMES)
def test_law_a_row_about_something_else_changes_nothing(people, rows, said):
    other = LabelItem(case_id="elsewhere", repetition=None, dimension=None)
    before = weigh_rows(people, rows, 1)
    assert weigh_rows(people, [*rows, (other, 1, said)], 1).judge == before.judge


@given(st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=30))
def test_law_grades_within_a_bin_are_alike(pairs):
    plain = weighed(*((human, judge, 1) for human, judge in pairs), criterion=Criterion.FAITHFULNESS)
    middles = {0: 16, 1: 50, 2: 83}
    centred = weighed(
        *((middles[DEFAULT_LOCK.bin_of(h)], middles[DEFAULT_LOCK.bin_of(j)], 1) for h, j in pairs),
        criterion=Criterion.FAITHFULNESS,
    )
    assert seal_of(plain, GateOutcome.PASS) == seal_of(centred, GateOutcome.PASS)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_law_a_failed_control_is_never_outweighed(fails, passes, wrong_fails, wrong_passes):
    labels = weighed((0, 0, fails), (1, 1, passes), (0, 1, wrong_fails), (1, 0, wrong_passes))
    assert decide_gate(facts(labels, controls=False)).outcome is GateOutcome.FAIL


@given(COUNTS, COUNTS, st.integers(0, 3), st.integers(0, 3), st.integers(1, 5))
def test_law_a_further_attempt_never_has_it_easier(fails, passes, wrong_fails, wrong_passes, attempt):
    labels = weighed((0, 0, fails), (1, 1, passes), (0, 1, wrong_fails), (1, 0, wrong_passes))
    now, later = (decide_gate(facts(labels, attempt=number)).outcome for number in (attempt, attempt + 1))
    assert later is not GateOutcome.PASS or now is GateOutcome.PASS


@given(COUNTS, st.integers(0, 4))
def test_law_the_stated_number_of_labels_is_enough_and_least(fails, wrong):
    def gate(more):
        return decide_gate(facts(weighed((0, 0, fails + more), (0, 1, wrong), (1, 1, 60))))

    reason = next((one for one in gate(0).reasons if one.code == "false-pass"), None)
    if reason is None or reason.more_labels is None:
        return
    assert gate(reason.more_labels).outcome is GateOutcome.PASS
    assert gate(reason.more_labels - 1).outcome is not GateOutcome.PASS


@given(st.integers(1, 30))
def test_law_the_level_of_an_attempt_is_halved_each_time(attempt):
    labels = weighed((0, 0, 1))
    assert facts(labels, attempt=attempt).alpha == 2 * facts(labels, attempt=attempt + 1).alpha


FIELDS = st.dictionaries(st.sampled_from(["judge model digest", "rubric", "a", "b"]), st.sampled_from(["", "x", "y"]))


@given(FIELDS, FIELDS)
def test_law_staleness_is_mutual_where_the_digest_is_told(first, second):
    told = {"judge model digest": "x"}
    assert set(stale_fields(first | told, second | told)) == set(stale_fields(second | told, first | told))
    assert stale_fields(first | told, first | told) == ()
