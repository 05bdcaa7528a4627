# SPDX-License-Identifier: Apache-2.0
"""What pages say of a run whose plan rests on calibration gates: passed, refused, open, stale, not there (R53, T2)."""

import re
from dataclasses import replace

import pytest
from support import sites
from support.labels import lock
from support.trusted import BAD, Scene, make_trusted_run

from evalsite.campaign.qualification import Qualification
from evalsite.errors import UndecidedError
from evalsite.judging.gates import GateState
from evalsite.schema.calibration import CalibrationPlan, Criterion, GateOutcome
from evalsite.schema.checks import Level
from evalsite.schema.outcome import Polarity
from evalsite.schema.tables import GateReason, GateResult, Standing
from evalsite.site import marks, verdicts, views
from evalsite.site.views import RunView

PASS, FAIL, OPEN = GateOutcome.PASS, GateOutcome.FAIL, GateOutcome.INSUFFICIENT


def declaring(snapshot=None, **scene):
    """Return a run whose plan declares a gate on the run ``judged``."""
    run = make_trusted_run(snapshot or sites.binary_corpus(), Scene(run_id="good", **scene))
    gates = [{"criterion": "binary", "run": "judged"}]
    plan = CalibrationPlan.from_value({"design_lock": lock().plain(), "commitments": [], "gates": gates})
    return replace(run, plan=run.plan.model_copy(update={"calibration": plan}))


def gate(outcome=PASS, standing=Standing.DECIDED, message="0 false passes among 5 labels"):
    reason = (
        None if outcome is PASS else GateReason(code="c", effect=outcome, message=message, rule="calibration, gate")
    )
    reasons = () if reason is None else (reason,)
    return GateResult(
        criterion=Criterion.BINARY,
        run="good",
        labels="human-a",
        outcome=outcome,
        standing=standing,
        attempt=1,
        alpha="0.05",
        constants="sha256:" + "0" * 64,
        words="words of the gate",
        reasons=reasons,
    )


@pytest.fixture
def decided(monkeypatch):
    """Let qualification come to a state with these gates."""

    def to(state, *gates):
        monkeypatch.setattr(views, "qualify", lambda *_: Qualification(state=state, gates=gates))

    return to


def both_pages(run):
    """Return the words of the home page's states and of the run's page above its sections."""
    site = sites.plan(run)
    home = sites.section(site, "index.html", "State of each profile")
    lead = sites.page(site, "runs/good/index.html").body().lead
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)) for html in (home, lead)]


def test_a_passed_gate_is_part_of_the_verdict(decided):
    decided(GateState.PASSED, gate())
    for page in both_pages(declaring()):
        assert "Qualified" in page
        assert "every control was classified as expected, and 1 calibration gate passed" in page
        assert "binary: words of the gate." in page


@pytest.mark.parametrize(
    ("standing", "word"), [(Standing.DECIDED, "open"), (Standing.STALE, "stale"), (Standing.INVALID, "invalid")]
)
def test_an_open_gate_leaves_a_perfect_run_undecided_and_says_how(decided, standing, word):
    decided(GateState.UNDECIDED, gate(OPEN, standing))
    home, lead = both_pages(declaring())
    for page in (home, lead):
        assert f"every trial and every control passed, but the calibration gate of binary verdicts is {word}." in page
        assert "Qualified" not in page
    assert "Calibration, binary: 0 false passes among 5 labels" in home
    assert "It qualifies nothing and refuses nothing until that is decided." in lead


def test_a_failed_gate_refuses_a_run_whose_trials_all_passed(decided):
    decided(GateState.REFUSED, gate(FAIL, message="judge errs"))
    home, lead = both_pages(declaring())
    assert "Refused" in home
    assert "Calibration, binary: judge errs" in home
    assert "Not qualified: refused by 1 calibration gate." in lead
    section = sites.section(sites.plan(declaring()), "runs/good/index.html", "Judge and calibration failures")
    assert "Judge errs" in section


def test_a_gate_on_a_run_that_is_not_here_is_not_decided():
    run = declaring()
    view = RunView(run)
    assert view.state is marks.UNDECIDED
    assert view.not_on_site == "runs/judged"
    for page in both_pages(run):
        assert "names runs/judged, which is not on this site" in page


def test_other_errors_of_a_qualification_are_not_swallowed(monkeypatch):
    def refuse(*_):
        raise UndecidedError("x", at="runs/y")

    monkeypatch.setattr(views, "qualify", refuse)
    assert RunView(declaring()).not_on_site == "runs/y"
    monkeypatch.setattr(views, "qualify", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        _ = RunView(declaring()).state


@pytest.mark.parametrize(
    ("state", "outcome", "mark"),
    [
        (GateState.PASSED, PASS, marks.CALIBRATION_PASSED),
        (GateState.REFUSED, FAIL, marks.CALIBRATION_FAILED),
        (GateState.UNDECIDED, OPEN, marks.UNDECIDED),
    ],
)
def test_a_run_without_a_candidate_is_about_its_judge_only(decided, state, outcome, mark):
    decided(state, gate(outcome))
    run = declaring(sites.shipped("evidence-claims-v1"), repetitions=1)
    assert RunView(run).state is mark
    for page in both_pages(run):
        assert "Qualified" not in page
        assert "refuses the model" not in page
    assert RunView(replace(run, level=Level.A0, minimum_level=Level.A1)).state is not marks.CALIBRATION_PASSED


def trust(run):
    return "".join(verdicts.trust_lines(RunView(run), "runs/good/index.html"))


def test_how_far_the_judge_can_be_trusted_is_said_in_one_line():
    corpus = sites.binary_corpus()
    wrong = lambda trial: BAD.to_bytes().decode() if trial.polarity is Polarity.POSITIVE else None  # noqa: E731
    pairs = sites.shipped("answer-pairs-v1")
    said = {
        "classified all 4 known controls as expected; no label": make_trusted_run(corpus, Scene(run_id="good")),
        "it is not to be relied on": make_trusted_run(corpus, Scene(run_id="good", judge=wrong)),
        "the fixture played it": make_trusted_run(corpus, Scene(run_id="good", mode="fixture")),
        "the same of 0 of 14 pairs in both orders": make_trusted_run(pairs, Scene(run_id="good", repetitions=1)),
    }
    for words, run in said.items():
        assert words in trust(run)


def test_pages_of_pairs_say_which_answer_stood_first():
    run = make_trusted_run(sites.shipped("answer-pairs-v1"), Scene(run_id="good", repetitions=1))
    site = sites.plan(run)
    assert "a choice" in sites.section(site, "runs/good/index.html", "Results")
    page = next(page.path for page in site.pages if page.path.startswith("runs/good/cases/"))
    shown = re.sub(r"<[^>]+>", "", sites.section(site, page, "Repetitions"))
    assert "answers showna, then b" in shown
    assert "answers shownb, then a" in shown
    assert not [page.path for page in site.pages if page.path.endswith("comparison.html")]
    assert "No control was shown to the judge in this run." in sites.section(site, page, "Controls")


def test_controls_of_a_corpus_stand_on_its_page():
    snapshot = sites.shipped("evidence-claims-v1")
    site = sites.plan(corpora=(snapshot, sites.binary_corpus()))
    section = sites.section(site, "corpora/evidence-claims-v1/index.html", "Controls")
    assert section.count("<tr>") == len(snapshot.corpus.controls) + 1
    assert "the text asks for a score" in section
    assert sites.shown(snapshot.corpus.controls[0].explanation) in section
    assert "Each case has two" in sites.section(site, "corpora/two-cases/index.html", "Controls")
