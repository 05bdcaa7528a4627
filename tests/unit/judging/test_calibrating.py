# SPDX-License-Identifier: Apache-2.0
"""Labels against verdicts: every labelled item counts once, and what has no verdict is no zero (R61, R69-R72)."""

import pytest
from pydantic import ValidationError
from support.weighing import CUT, NULL, item, weighed

from evalsite.judging.calibrating import Observation, Scale, weigh
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.outcome import Dimension
from evalsite.schema.tables import Figure, OutcomeCounts, Unavailable

EVIDENCE = Scale(criterion=Criterion.EVIDENCE, lock=DEFAULT_LOCK)


def judged(*outcomes, repetitions, value=1):
    """Return the verdict of one item that was judged in these repetitions."""
    one = item(0)
    seen = [Observation(item=one, repetition=number, outcome=said) for number, said in outcomes]
    return weigh(EVIDENCE, {one: GivenLabel(item=one, value=value, note=None)}, seen, repetitions).judge[one]


def test_r69_r72_counts_stand_together_and_errors_stay_apart():
    found = weighed((1, 1, 5), (0, 0, 4), (0, 1, 2), (1, 0, 3), (1, NULL, 2), (0, CUT, 1), (None, 1, 1))
    counts = found.counts(measured=True)
    assert (counts.labeled, counts.judged, counts.agreed) == (17, 14, 9)
    assert (counts.false_pass, counts.false_fail) == (2, 3)
    assert counts.unavailable == {NULL: 2, CUT: 1}
    assert found.undecided == 1
    assert (found.could_false_pass, found.could_false_fail) == (6, 8)


def test_r73_without_a_measurement_no_agreement_is_counted():
    counts = weighed((1, 1, 5), (0, NULL, 1)).counts(measured=False)
    assert (counts.labeled, counts.judged) == (6, 5)
    assert counts.agreed is counts.false_pass is counts.false_fail is None


@pytest.mark.parametrize(
    ("outcomes", "repetitions", "expected"),
    [
        ([(1, 1)], (1,), 1),
        ([(1, 1), (2, 1), (3, 1)], (1, 2, 3), 1),
        ([(1, 1), (2, 0)], (1, 2), Unavailable.UNSTABLE),
        ([(1, 1), (2, Unavailable.NULL)], (1, 2), Unavailable.NULL),
        ([(1, 1)], (1, 2), Unavailable.NO_VERDICT),
        ([], (1,), Unavailable.NO_VERDICT),
        ([(1, 1), (1, 1)], (1,), Unavailable.NO_VERDICT),
        ([(1, 0), (2, 1)], (2,), 1),
    ],
)
def test_r71_a_verdict_is_what_all_planned_repetitions_say(outcomes, repetitions, expected):
    assert judged(*outcomes, repetitions=repetitions) == expected


def test_an_item_of_one_repetition_is_judged_in_that_one():
    answer = LabelItem(case_id="A", repetition=2, dimension=None)
    seen = [Observation(item=answer, repetition=2, outcome=0)]
    scale = Scale(criterion=Criterion.BINARY, lock=DEFAULT_LOCK)
    found = weigh(scale, {answer: GivenLabel(item=answer, value=0, note=None)}, seen, (1, 2, 3))
    assert found.judge == {answer: 0}


def test_grades_are_compared_by_bin_and_repeat_by_bin():
    one = item(0, Dimension.FAITHFULNESS)
    scale = Scale(criterion=Criterion.FAITHFULNESS, lock=DEFAULT_LOCK)
    label = {one: GivenLabel(item=one, value=40, note=None)}
    seen = [Observation(item=one, repetition=number, outcome=said) for number, said in ((1, 50), (2, 66))]
    assert weigh(scale, label, seen, (1, 2)).judge == {one: 1}
    found = weighed((10, 90, 1), (50, 90, 1), (90, 50, 1), (90, 10, 1), (50, 50, 2), criterion=Criterion.GROUNDEDNESS)
    assert (found.agreed, found.false_pass, found.false_fail) == (2, 2, 2)
    assert (found.could_false_pass, found.could_false_fail) == (4, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"judged": 4},
        {"agreed": 4},
        {"false_pass": None},
        {"unavailable": {Unavailable.NULL: 2}},
    ],
)
def test_counts_that_do_not_add_up_cannot_be_made(wrong):
    value = {"labeled": 6, "judged": 5, "agreed": 3, "false_pass": 1, "false_fail": 1}
    value["unavailable"] = {Unavailable.NULL: 1}
    assert OutcomeCounts(**value).judged == 5
    with pytest.raises(ValidationError):
        OutcomeCounts(**{**value, **wrong})


@pytest.mark.parametrize(("value", "reason"), [(None, None), ("0.5", "why")])
def test_a_figure_is_a_value_or_a_reason(value, reason):
    with pytest.raises(ValidationError):
        Figure(value=value, reason=reason)
