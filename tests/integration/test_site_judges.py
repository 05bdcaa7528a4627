# SPDX-License-Identifier: Apache-2.0
"""Built pages of runs about judges: calibrated, stale, resting on a run that is not there; controls with evidence."""

import pytest
from support import claims
from support.showcase import words_of

OWN = {"criterion": "evidence", "run": None}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site of a judge on trial, and of two runs that rely on it or on nothing."""
    project = claims.new_bench(tmp_path_factory.mktemp("judges"))
    claims.label(project, "human-a")
    claims.judge(project, "fair", claims.fair, commitments=["human-a"], gates=[OWN])
    project.ok("label", "reveal", "human-a")
    claims.judge(project, "warmer", claims.fair, gates=[{"criterion": "evidence", "run": "fair"}], temperature="0.5")
    claims.judge(project, "hopeful", claims.fair, gates=[{"criterion": "evidence", "run": "nowhere"}])
    project.ok("build")
    return project.root / "site"


SAID = [
    ("runs/fair/index.html", "Calibrated 1 calibration gate of the plan passed over 76 planned trials."),
    ("runs/fair/index.html", "PASS evidence: calibrated at 95 % confidence on 62 labels that fail and 14 that pass"),
    ("runs/warmer/index.html", "Not decided: the calibration gate of evidence verdicts is stale."),
    ("runs/warmer/index.html", "calibrated in the run fair"),
    ("runs/hopeful/index.html", "names runs/nowhere, which is not on this site"),
    ("runs/warmer/comparison.html", "Found to differ: judge-sampling."),
    ("runs/warmer/comparison.html", "The judge went neither down nor up on any of 76 cases compared."),
    ("runs/fair/calibration.html", "Evidence items, the cited ones marked"),
    ("corpora/claims/index.html", "what decides stands in a long text, at its tail"),
]


@pytest.mark.parametrize(("path", "words"), SAID, ids=lambda value: value[:40])
def test_the_pages_say(site, path, words):
    assert words in words_of(site / path)


def test_no_verdict_about_a_control_is_shown_as_unreadable(site):
    shown = words_of(site / "runs/fair/calibration.html")
    assert "UnknownEvidence" not in shown


def test_the_state_of_a_profile_is_that_of_its_newest_run_with_its_gates(site):
    home = words_of(site / "index.html")
    assert "a calibration gate names runs/nowhere, which is not on this site" in home
    assert "Qualified" not in home
