# SPDX-License-Identifier: Apache-2.0
"""Comparing recorded runs through the command line: table, JSON, exit codes; the example of the manual's page."""

import json
import re
import shutil

import pytest
from support.cli import Project, new_project

from evalsite.cli.reports import ComparisonReport

PAGE = "docs/how-to/compare-two-runs.md"
_BLOCK = re.compile(r"(?<=<!-- made by tests/integration/test_cli_compare.py -->\n```text\n)(.*?)(?=```\n)", re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def refusing(*case_ids):
    """Return a fixture candidate that wrongly refuses to answer these cases."""
    text = '{"action":"refuse","refused":true,"response":"I would rather not say."}'
    replies = [{"case_id": case_id, "role": "candidate", "text": text} for case_id in case_ids]
    return {"endpoint": {"kind": "fixture", "replies": replies}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A project with the runs of two prompts, of one without two cases, and of one whose endpoint fails once."""
    project = new_project(tmp_path_factory.mktemp("compared"))
    fails = {"endpoint": {"kind": "fixture", "replies": [{"case_id": "TONE", "role": "judge", "fault": "timeout"}]}}
    for name, changes in {
        "prompt-v1": {"candidate": refusing("DELIVERY", "TONE")},
        "prompt-v2": {"candidate": refusing("MISSING")},
        "again": {"candidate": refusing("MISSING")},
        "fewer": {"candidate": refusing("MISSING"), "cases": ["MISSING", "TONE"]},
        "thrice": {"candidate": refusing("MISSING"), "repetitions": 3},
        "judge-fails": {"candidate": refusing("MISSING"), "judge": fails},
    }.items():
        project.ok("run", project.campaign(name, **changes), "--run-id", name)
    return project


def compared(runs, *words):
    return runs.evalsite("compare", *words)


def test_the_example_of_the_page_is_what_the_command_says(runs, repository):
    page = (repository / PAGE).read_text(encoding="utf-8")
    [example] = _BLOCK.findall(page)
    said = compared(runs, "prompt-v1", "prompt-v2", "--variable", "candidate").out
    assert _TIME.sub("<time>", said) == example
    assert "REGRESSION" in example


def test_r94_r95_json_names_the_case_that_got_worse_under_a_better_whole(runs):
    outcome = compared(runs, "prompt-v1", "prompt-v2", "--variable", "candidate", "--json")
    facts = json.loads(outcome.out)
    assert ComparisonReport.from_value(facts).plain() == facts
    assert facts["regressions"] == ["MISSING"]
    assert facts["overall"] == {"compared": 16, "passed_before": 12, "passed_after": 14}
    assert facts["exact_test"]["p"] == "1.000000000"
    assert (facts["outcome"], facts["exit_code"], outcome.code) == ("regression", 0, 0)
    assert sum(facts["pairs"].values()) == 16


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("prompt-v1", "prompt-v2", "--variable", "candidate"), 3),
        (("prompt-v2", "again"), 0),
        (("prompt-v2", "judge-fails", "--variable", "judge"), 5),
        (("prompt-v2", "fewer", "--variable", "corpus-text"), 5),
    ],
)
def test_the_gate_ends_as_the_page_says(runs, words, code):
    assert compared(runs, *words, "--gate").code == code
    assert json.loads(compared(runs, *words, "--gate", "--json").out)["exit_code"] == code
    assert compared(runs, *words).code == 0, "without --gate a comparison that could be made is none to stop at"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("prompt-v1", "prompt-v2"), "candidate.endpoint.replies"),
        (("prompt-v1", "prompt-v2", "--variable", "judge"), "differ in the judge alone"),
        (("prompt-v1", "prompt-v2"), "--variable candidate"),
        (("prompt-v2", "fewer"), "cases[DELIVERY].fingerprint"),
        (("prompt-v2", "thrice"), "repetitions: 2 -> 3 [never declared]"),
        (("prompt-v2", "thrice", "--variable", "candidate"), "Mode, protocol and repetitions can't be declared"),
    ],
)
def test_r95_incompatible_runs_are_not_compared(runs, words, told):
    outcome = compared(runs, *words)
    assert outcome.code == 5
    assert told in outcome.err
    assert outcome.out == ""


def test_r96_no_regression_leaves_a_refused_run_refused(runs):
    outcome = compared(runs, "prompt-v2", "again", "--gate")
    assert outcome.code == 0
    assert "No case regressed." in outcome.out
    assert "again was refused by its own gate and stays refused" in outcome.out
    assert runs.evalsite("gate", "again").code == 3


def test_what_was_not_compared_is_listed_with_whose_failure_it_was(runs):
    out = compared(runs, "prompt-v2", "judge-fails", "--variable", "judge").out
    assert "TONE #1  Passed -> TransportError (judge)" in out
    assert "2 of 16 pairs are unavailable in one run at least (judge 2)" in out


def test_trials_of_one_run_only_are_listed(runs):
    out = compared(runs, "prompt-v2", "fewer", "--variable", "corpus-text").out
    assert "Planned in the first run only: NO-EVIDENCE #1" in out


def test_a_run_is_not_compared_with_itself_nor_with_one_that_is_not_there(runs):
    assert compared(runs, "again", "again").code == 2
    assert compared(runs, "again", "nothing").code == 2
    assert compared(runs, "again", "prompt-v2", "--variable", "weather").code == 2


def test_an_untrusted_run_is_not_compared(runs, tmp_path):
    shutil.copytree(runs.root.parent, tmp_path / "copy")
    copy = Project(tmp_path / "copy" / "project", tmp_path / "copy" / "keys")
    stranger = Project(copy.root, tmp_path / "no-keys")
    below = stranger.evalsite("compare", "prompt-v2", "again")
    assert (below.code, below.out) == (5, "")
    assert "evidence of level" in below.err
    events = copy.root / "runs/again/events/000.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"Passed"', b'"Failed"', 1))
    assert compared(copy, "prompt-v2", "again").code == 4


def test_answers_that_were_judged_again_are_compared_with_their_run(runs):
    runs.ok("rejudge", "prompt-v2", "--run-id", "judged-again", "--repetitions", "2")
    outcome = compared(runs, "prompt-v2", "judged-again", "--json", "--gate")
    facts = json.loads(outcome.out)
    assert outcome.code == 5, "the candidate was not asked: nothing of it can have regressed"
    assert (facts["pairs"]["same"], facts["differences"]) == (32, [])
    assert (facts["retest"]["asked_twice"], facts["retest"]["said_the_same"]) == (32, 32)
    assert facts["retest"]["same_judge"] is True
