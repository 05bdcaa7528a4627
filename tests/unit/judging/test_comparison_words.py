# SPDX-License-Identifier: Apache-2.0
"""What a comparison says in words: no more than was shown, and what it would take where nothing was."""

from fractions import Fraction

import pytest
from support.compared import rejudged, run_of, scored_run, with_plan

from evalsite.judging import comparison_words as words
from evalsite.judging.comparability import Variable
from evalsite.judging.comparing import compare
from evalsite.schema.calibration import Criterion
from evalsite.schema.outcome import Mode, Protocol


def said(before, after, variable=None):
    return "\n".join(words.lines(compare(before, after, variable)))


@pytest.mark.parametrize(
    ("share", "text"),
    [(Fraction(1, 20), "5%"), (Fraction(1425, 10_000), "14.3%"), (Fraction(0), "0%"), (Fraction(1), "100%")],
)
def test_percent(share, text):
    assert words.percent(share) == text


def test_a_p_value_is_never_zero():
    assert words.p_words(Fraction(1, 2**40)) == "< 0.0001"
    assert words.p_words(Fraction(1, 16)) == "= 0.0625"


def test_an_overall_gain_names_the_cases_that_it_hides():
    text = said(run_of({"A": "P", "B": "V", "C": "V"}), run_of({"A": "V", "B": "P", "C": "P"}, run="b"))
    assert "1 of 3 passed before, 2 of 3 after. It did not fall, and yet 1 went down: A." in text
    assert "Regression in 1 of 3 cases: A." in text


def test_an_inconclusive_comparison_says_what_it_would_take():
    text = said(run_of({"A": "PP", "B": "PP"}), run_of({"A": "VV", "B": "PP"}, run="b"))
    assert "With 0 against the trend it takes 6 changed cases, 5 more than here." in text
    assert "2 cases can't show any difference" in text
    assert "takes about 15 cases" in text


def test_a_difference_that_no_number_of_cases_shows_is_told():
    cases = [f"C{number}" for number in range(201)]
    before = dict.fromkeys(cases, "P") | dict.fromkeys(cases[:100], "V")
    after = dict.fromkeys(cases, "P") | dict.fromkeys(cases[100:], "V")
    assert "takes more than 5000 cases" in said(run_of(before), run_of(after, run="b"))


def test_a_conclusive_comparison_asks_for_nothing():
    cases = [f"C{number}" for number in range(6)]
    text = said(run_of(dict.fromkeys(cases, "P")), run_of(dict.fromkeys(cases, "V"), run="b"))
    assert "exact McNemar p = 0.0313.\nThat is beyond chance at 5%." in text
    assert "takes" not in text


def test_r96_a_refused_run_stays_refused_in_words():
    text = said(run_of({"A": "V"}), run_of({"A": "V"}, run="b"))
    assert "No case regressed.\nb was refused by its own gate and stays refused" in text
    assert "decided by its own gate" in said(run_of({"A": "P"}), run_of({"A": "P"}, run="b"))


def test_r110_a_changed_construct_is_said_to_make_a_difference_expected():
    before = scored_run({"A faithfulness #1": 90, "A groundedness #1": 90})
    after = scored_run({"A faithfulness #1": 10, "A groundedness #1": 90}, run="b")
    after = with_plan(after, constructs={Criterion.FAITHFULNESS: "2", Criterion.GROUNDEDNESS: "1"})
    text = said(before, after, Variable.RUBRIC)
    assert "faithfulness is of construct version 1 before and 2 after" in text
    assert "that scores differ is expected, and it is no regression" in text
    assert "went down" not in text


def test_scores_are_shown_by_bin_and_never_called_a_regression():
    before = scored_run({"A faithfulness #1": 90, "A groundedness #1": 50})
    after = scored_run({"A faithfulness #1": 10, "A groundedness #1": None}, run="b")
    found = compare(before, after)
    faithful, grounded = found.cases
    assert (words.tally_words(found, faithful, after=False), words.tally_words(found, faithful, after=True)) == (
        "high",
        "low",
    )
    assert words.tally_words(found, grounded, after=True) == "-"
    assert words.change_words(found, faithful.change) == "down"
    assert words.pair_words(found, faithful.pairs[0]) == "high -> low: same answer, other verdict"
    assert words.pair_words(found, grounded.pairs[0]) == "middle -> CannotJudge (judge)"
    assert "Regression" not in "\n".join(words.lines(found))


def test_scores_of_the_evidence_protocol_are_numbers():
    found = compare(
        scored_run({"A #1": 1}, protocol=Protocol.EVIDENCE),
        scored_run({"A #1": 0}, protocol=Protocol.EVIDENCE, run="b"),
    )
    assert words.pair_words(found, found.pairs[0]).startswith("1 -> 0")
    assert "1 of 1 scored 1 before, 0 of 1 after" in words.overall(found)


def test_what_was_not_compared_is_told_with_whose_failure_it_was():
    text = said(run_of({"A": "P", "B": "P"}), run_of({"A": "T", "B": "V"}, run="b"))
    assert "Of 2 pairs (case and repetition): 1 worse, 1 excluded." in text
    assert (
        "Whether anything else regressed is not decided: 1 of 2 pairs are unavailable in one run at least (judge 1)"
        in text
    )


def test_variance_is_told_apart():
    before = run_of({"A": "PP"}, answers={"A": "xx"})
    text = said(before, run_of({"A": "VV"}, answers={"A": "xy"}, run="b"))
    assert "Flips: 1 (the candidate answered otherwise), 1 (same answer, other verdict)." in text
    assert "Of 1 identical questions the same judge (test-retest) gave 1 the same verdict." in text
    assert "nothing is known of its own variation" in said(before, run_of({"A": "PP"}, answers={"A": "yy"}, run="b"))


def test_a_fixture_says_nothing_about_a_model_nor_about_a_judge():
    text = said(run_of({"A": "P"}, mode=Mode.FIXTURE), run_of({"A": "P"}, run="b", mode=Mode.FIXTURE))
    assert "says nothing about a model" in text
    assert "test-retest" not in text


def test_a_rejudged_run_is_no_regression_of_the_candidate_and_opens_no_gate():
    before, after = run_of({"A": "P"}), rejudged(run_of({"A": "V"}, run="b"), "a")
    text = said(before, after)
    assert "the candidate was not asked again, what changed is the judge's" in text
    assert text.endswith("b judged the answers of a again: it opens no gate.")
    assert "Regression" not in text
    assert words.variable_words(compare(before, after)) == "none: the same answers, judged again by the same judge"
    assert words.variable_words(compare(before, before)) == "none: the same configuration twice"
    assert words.variable_words(compare(before, before, Variable.JUDGE)) == "judge"


def test_a_protocol_without_a_candidate_has_none_to_regress():
    run = scored_run({"A #1": 1}, protocol=Protocol.EVIDENCE)
    assert "the candidate is not asked in this protocol" in said(run, run)


def test_runs_of_which_nothing_could_be_compared_have_no_proportion():
    text = said(run_of({"A": "T"}), run_of({"A": "P"}, run="b"))
    assert "Overall: no pair could be compared." in text
    assert "0 cases can't show any difference" in text
