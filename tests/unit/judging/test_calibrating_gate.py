# SPDX-License-Identifier: Apache-2.0
"""A calibration gate passes, fails or is not decided; each condition has its own reason."""

from fractions import Fraction

import pytest
from support.weighing import NULL, facts, grounds, item, right, weighed

from evalsite.judging.calibrating_gate import decide_gate, seal_of
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import Criterion, GateOutcome, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.tables import NamedFinding, Standing

PASS, FAIL, INSUFFICIENT = GateOutcome.PASS, GateOutcome.FAIL, GateOutcome.INSUFFICIENT


def codes(result):
    return [reason.code for reason in result.reasons]


def test_59_failing_labels_without_an_error_pass():
    result = decide_gate(facts(right(59, 14)))
    assert (result.outcome, result.standing, result.reasons) == (PASS, Standing.DECIDED, ())
    assert result.words.startswith("calibrated at 95 % confidence on 59 labels that fail and 14 that pass")


def test_58_failing_labels_are_one_too_few():
    result = decide_gate(facts(right(58, 14)))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["false-pass"])
    assert result.reasons[0].more_labels == 1
    assert "1 more" in result.reasons[0].message


@pytest.mark.parametrize(("errors", "labels"), [(1, 93), (2, 124), (3, 153), (4, 181), (5, 208)])
def test_an_error_costs_labels(errors, labels):
    assert decide_gate(facts(weighed((0, 0, labels - errors), (0, 1, errors), (1, 1, 20)))).outcome is PASS
    short = decide_gate(facts(weighed((0, 0, labels - errors - 1), (0, 1, errors), (1, 1, 20))))
    assert (short.outcome, short.reasons[0].more_labels) == (INSUFFICIENT, 1)


def test_demonstrably_more_false_passes_fail():
    result = decide_gate(facts(weighed((0, 0, 50), (0, 1, 9), (1, 1, 20))))
    assert (result.outcome, codes(result)) == (FAIL, ["false-pass"])
    assert "demonstrably more than 5 %" in result.reasons[0].message
    assert result.words.startswith("this judge is not to be relied on")


def test_demonstrably_more_false_fails_fail():
    result = decide_gate(facts(weighed((0, 0, 59), (1, 1, 10), (1, 0, 20))))
    assert (result.outcome, codes(result)) == (FAIL, ["false-fail"])


def test_labels_of_one_class_only_decide_nothing():
    result = decide_gate(facts(weighed((1, 1, 200))))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["false-pass"])
    assert result.reasons[0].more_labels == 59


@pytest.mark.parametrize(("attempt", "labels", "alpha"), [(1, 59, "5 %"), (2, 72, "2.5 %"), (3, 86, "1.25 %")])
def test_each_further_attempt_halves_alpha(attempt, labels, alpha):
    passed = decide_gate(facts(right(labels, 40), attempt=attempt))
    assert (passed.outcome, passed.alpha, passed.attempt) == (PASS, alpha, attempt)
    assert decide_gate(facts(right(labels - 1, 40), attempt=attempt)).reasons[0].more_labels == 1


def test_the_first_attempt_is_number_one():
    with pytest.raises(ValueError, match="0"):
        decide_gate(facts(right(59, 14), attempt=0))


def test_no_agreement_outweighs_a_failed_control():
    result = decide_gate(facts(right(5000, 5000), controls=False))
    assert (result.outcome, codes(result)) == (FAIL, ["controls"])


def test_a_run_without_controls_decides_nothing():
    result = decide_gate(facts(right(59, 14), controls=None))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["no-controls"])


def test_a_named_finding_counts_whatever_the_labels_say():
    found = NamedFinding(code="constant-pass", criterion=None, effect=FAIL, message="m", rule="R88", items=("a",))
    result = decide_gate(facts(right(59, 14), findings=(found,), grounds=grounds(level=LabelLevel.PRESET)))
    assert (result.outcome, codes(result)[0], result.reasons[0].items) == (FAIL, "constant-pass", ("a",))


@pytest.mark.parametrize("level", [LabelLevel.PRESET, LabelLevel.AI_REVIEWED, LabelLevel.HUMAN_REVIEWED])
def test_t8_labels_below_the_highest_level_never_decide(level):
    good = decide_gate(facts(right(500, 500), grounds=grounds(level=level)))
    bad = decide_gate(facts(weighed((0, 1, 300), (1, 1, 300)), grounds=grounds(level=level)))
    assert (good.outcome, bad.outcome) == (INSUFFICIENT, INSUFFICIENT)
    assert (good.standing, codes(good)) == (Standing.NOT_VALIDATED, ["label-level"])
    assert good.words.startswith("method demonstration")
    assert "calibrated" not in good.words
    assert codes(bad) == ["label-level", "false-pass"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"split": Split.DEV}, "label-split"),
        ({"adjudicated": False}, "not-adjudicated"),
        ({"aligned": False}, "alignment-order"),
        ({"alpha": Fraction(666, 1000)}, "human-alpha"),
        ({"alpha": None}, "human-alpha"),
        ({"alpha": None, "hidden": ("human-a", "human-b")}, "human-alpha-hidden"),
    ],
)
def test_labels_that_cannot_carry_a_gate(changes, code):
    result = decide_gate(facts(right(59, 14), grounds=grounds(**changes)))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, [code])


def test_one_annotator_has_nobody_to_agree_with():
    one = grounds(raters=1, adjudicated=False, aligned=False, alpha=None)
    assert decide_gate(facts(right(59, 14), grounds=one)).outcome is PASS


def test_r80_r81_another_construct_is_no_disagreement():
    result = decide_gate(facts(weighed((0, 1, 300), (1, 0, 300)), mismatch="version 1 and 2"))
    assert (result.outcome, result.standing, codes(result)) == (INSUFFICIENT, Standing.INVALID, ["construct-mismatch"])
    assert result.words.startswith("invalid")


def test_r73_without_a_live_judge_nothing_is_measured():
    result = decide_gate(facts(right(59, 14), unmeasured="a fixture", controls=None))
    assert (result.outcome, result.standing, codes(result)) == (INSUFFICIENT, Standing.NOT_MEASURED, ["not-measured"])


def test_critical_cases_have_to_be_right():
    labels = weighed((0, 0, 200), (0, 1, 1), (1, 1, 50))
    wrong = decide_gate(facts(labels, critical=frozenset({"case-200"})))
    assert (wrong.outcome, codes(wrong)) == (FAIL, ["critical-wrong"])
    assert wrong.reasons[0].items == (item(200).label(),)
    assert decide_gate(facts(labels, critical=frozenset({"case-0"}))).outcome is PASS


@pytest.mark.parametrize("group", [(0, NULL, 1), (None, 0, 1)])
def test_critical_cases_without_verdict_or_label_stay_open(group):
    result = decide_gate(facts(weighed(group, (0, 0, 60), (1, 1, 50)), critical=frozenset({"case-0", "absent"})))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["critical-open"])
    assert result.reasons[0].items == ("absent", "case-0")


def test_missing_verdicts_have_a_cap_of_their_own():
    result = decide_gate(facts(weighed((0, 0, 100), (1, 1, 100), (1, NULL, 60))))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["coverage"])
    assert result.reasons[0].more_labels > 0


def test_graded_criteria_ask_for_an_agreement_as_well():
    criterion = Criterion.FAITHFULNESS
    good = weighed((10, 10, 15), (50, 50, 20), (90, 90, 15), criterion=criterion)
    assert decide_gate(facts(good)).outcome is PASS
    middling = weighed((10, 10, 60), (50, 50, 40), (50, 10, 15), (90, 50, 15), (90, 90, 10), criterion=criterion)
    assert "agreement" in codes(decide_gate(facts(middling)))


def test_constants_that_hold_none_for_a_criterion_decide_nothing():
    lock = DEFAULT_LOCK.model_copy(update={"gates": DEFAULT_LOCK.gates[:1]})
    result = decide_gate(facts(weighed((0, 0, 59), (1, 1, 14), lock=lock)))
    assert (result.outcome, codes(result)) == (INSUFFICIENT, ["no-constants"])


def test_a_seal_holds_the_counts():
    seal = seal_of(weighed((0, 0, 3), (0, 1, 2), (1, 0, 1), (1, NULL, 1), (None, 1, 1)), INSUFFICIENT)
    assert (seal.labeled, seal.judged, seal.agreed, seal.false_pass, seal.false_fail) == (7, 6, 3, 2, 1)
    assert (seal.criterion, seal.outcome) == (Criterion.EVIDENCE, INSUFFICIENT)
