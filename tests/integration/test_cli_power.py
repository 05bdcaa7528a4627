# SPDX-License-Identifier: Apache-2.0
"""Planning through the command line: how many cases or labels it takes."""

import json

import pytest
from support.cli import Project

from evalsite.cli.reports import BoundReport, PowerReport


@pytest.fixture
def anywhere(tmp_path):
    """A folder that is no project: nothing is read."""
    return Project(tmp_path, tmp_path / "keys")


def test_cases_for_each_number_of_repetitions(anywhere):
    facts = json.loads(anywhere.ok("power", "difference", "--before", "0.95", "--after", "0.85", "--json").out)
    assert PowerReport.from_value(facts).plain() == facts
    assert [(row["repetitions"], row["cases"]) for row in facts["rows"]] == [
        (1, 156),
        (2, 82),
        (3, 58),
        (4, 45),
        (5, 37),
    ]
    out = anywhere.ok("power", "difference", "--before", "0.95", "--after", "0.85").out
    assert "          2  25.3%" in out
    assert "taken as independent" in out


def test_cases_for_shares_of_cases(anywhere):
    out = anywhere.ok("power", "difference", "--worse", "0.10", "--better", "0.02").out
    assert "153" in out
    assert "Below 6 changed cases no difference is ever seen." in out
    assert "taken as independent" not in out


def test_a_difference_that_no_corpus_shows(anywhere):
    facts = json.loads(anywhere.ok("power", "difference", "--worse", "0.011", "--better", "0.01", "--json").out)
    assert facts["rows"][0]["cases"] is None
    assert "> 5000" in anywhere.ok("power", "difference", "--worse", "0.011", "--better", "0.01").out


def test_labels_for_a_bound_are_those_of_the_exact_test(anywhere):
    facts = json.loads(anywhere.ok("power", "bound", "--tolerance", "0.05", "--json").out)
    assert BoundReport.from_value(facts).plain() == facts
    assert [(row["errors"], row["labels"], row["power"][:4]) for row in facts["rows"]] == [
        (0, 59, "0.55"),
        (1, 93, "0.76"),
        (2, 124, "0.87"),
        (3, 153, "0.93"),
        (4, 181, "0.96"),
        (5, 208, "0.98"),
    ]


@pytest.mark.parametrize(
    ("tolerance", "labels"),
    [
        ("0.01", [299, 473, 628, 773, 913, 1049]),
        ("0.02", [149, 236, 313, 386, 456, 523]),
        ("0.03", [99, 157, 208, 257, 303, 348]),
        ("0.10", [29, 46, 61, 76, 89, 103]),
        ("0.15", [19, 30, 40, 50, 59, 68]),
        ("0.20", [14, 22, 30, 37, 44, 50]),
    ],
)
def test_labels_for_other_tolerances(anywhere, tolerance, labels):
    facts = json.loads(anywhere.ok("power", "bound", "--tolerance", tolerance, "--json").out)
    assert [row["labels"] for row in facts["rows"]] == labels


def test_another_level_and_another_true_rate(anywhere):
    words = ("power", "bound", "--tolerance", "0.05", "--alpha", "0.01", "--errors", "0", "--true-rate", "0")
    out = anywhere.ok(*words).out
    assert "90  100%" in out
    assert "Choose the row before labelling" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("difference",), "--before and --after, or --worse"),
        (("difference", "--before", "0.9"), "--before and --after, or --worse"),
        (("difference", "--before", "0.9", "--after", "0.8", "--worse", "0.1"), "or --worse with --better"),
        (("difference", "--before", "0.9", "--after", "0.9"), "two different rates"),
        (("difference", "--worse", "0.1", "--better", "0.1"), "shares that differ"),
        (("difference", "--worse", "0.7", "--better", "0.6"), "no more than all cases"),
        (("difference", "--worse", "0.1", "--power", "1"), "--power"),
        (("difference", "--worse", "0.1", "--alpha", "0"), "--alpha"),
        (("bound", "--tolerance", "0.001"), "of 1% at least"),
        (("bound", "--tolerance", "0.0000001"), "of 1% at least and below 100%, got 0.00001%"),
        (("bound", "--tolerance", "nan"), "expected a rate from 0 to 1"),
        (("bound", "--tolerance", "1/0"), "expected a rate from 0 to 1"),
        (("bound", "--tolerance", "2"), "expected a rate from 0 to 1"),
        (("bound", "--tolerance", "0.05", "--true-rate", "1"), "--true-rate"),
        (("bound",), "--tolerance"),
    ],
)
def test_questions_that_are_none_are_refused(anywhere, words, told):
    outcome = anywhere.evalsite("power", *words)
    assert outcome.code == 2
    assert told in outcome.err


def test_the_questions_of_the_manual_have_answers(anywhere, repository):
    page = (repository / "docs/how-to/compare-two-runs.md").read_text(encoding="utf-8")
    typed = [line.split()[1:] for line in page.splitlines() if line.startswith("evalsite power ")]
    assert len(typed) == 3
    for words in typed:
        anywhere.ok(*words)
