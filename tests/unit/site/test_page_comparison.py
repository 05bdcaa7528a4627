# SPDX-License-Identifier: Apache-2.0
"""A run beside its previous one, on pages: what got worse first, and nothing that softens it (R94-R98, R107, R110)."""

import json
import re
from dataclasses import replace

import pytest
from support import sites
from support.campaigns import ZERO
from support.trusted import BAD, ReadTimeout, Scene, make_trusted_run

from evalsite.schema.calibration import Criterion
from evalsite.schema.checks import Level
from evalsite.schema.outcome import Dimension, TrialKind
from evalsite.schema.plan import AnswersRef
from evalsite.site.catalogue import Catalogue
from evalsite.site.model import Kind, SiteInput
from evalsite.site.names import file_slug
from evalsite.site.scan import check_fragment, links

OLD, NEW = "runs/old/index.html", "runs/new/index.html"
PAGE = "runs/new/comparison.html"
OTHER = {"model_digest": "sha256:" + "bb" * 32, "model_name": "other:latest"}


def failing(*trials):
    """Return a candidate that answers these trials wrongly."""

    def candidate(trial):
        return '{"action":"clarify","response":"Which?","refused":false}' if trial.label() in trials else None

    return candidate


def made(run_id, day, *wrong, corpus=None, **changes):
    scene = {"run_id": run_id, "opened_at": f"2026-11-{day:02d}T09:00:00Z", "candidate": failing(*wrong), **changes}
    return make_trusted_run(corpus or sites.binary_corpus(), Scene(**scene))


def site_of(*runs):
    site = sites.plan(*runs, corpora=(sites.binary_corpus(),))
    known = {page.path for page in site.pages} | {file.path for file in site.files}
    html = sites.whole(site, PAGE)
    check_fragment(html, at=PAGE)
    assert [target for target, _ in links(html, PAGE) if target not in known] == []
    return site


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


@pytest.fixture(scope="module")
def better_and_worse():
    """Two runs: the whole got better, and one case got worse."""
    return site_of(made("old", 1, "DANGER #1", "DANGER #2"), made("new", 5, "HELP #2", identity=OTHER))


def test_r94_a_case_that_got_worse_comes_first_and_a_gain_takes_nothing_from_it(better_and_worse):
    lead = words(sites.page(better_and_worse, PAGE).body().lead)
    assert "1 case regressed: HELP (2/2 before, 1/2 after)." in lead
    assert lead.index("regressed") < lead.index("2 of 4 passed before, 3 of 4 after")
    assert "That the whole did not fall takes nothing away from it." in lead
    rows = sites.section(better_and_worse, PAGE, "Cases")
    assert rows.index("Worse") < rows.index("Better")
    assert "can&#x27;t show any difference" in sites.section(better_and_worse, PAGE, "What the numbers show")


def test_the_variable_is_found_and_said_to_be_found(better_and_worse):
    section = words(sites.section(better_and_worse, PAGE, "What was compared"))
    assert "Found to differ: candidate." in section
    assert "Nobody declared it before the outcomes were known" in section
    assert "other:latest" in section
    assert "candidate.identity.model_digest" in section


def test_run_and_home_pages_say_what_changed_and_the_first_run_has_nothing_to_say(better_and_worse):
    for path in (NEW, "index.html"):
        html = sites.whole(better_and_worse, path)
        assert "1 case regressed: HELP" in html
        assert PAGE in {target for target, _ in links(html, path)}
    assert "no earlier run that this one can be compared with" in sites.whole(better_and_worse, OLD)
    assert "runs/old/comparison.html" not in {page.path for page in better_and_worse.pages}


def test_r96_without_a_regression_a_refused_run_stays_refused():
    site = site_of(made("old", 1, "HELP #1"), made("new", 5, "HELP #1"))
    page = words(sites.whole(site, PAGE))
    assert "No case regressed: 2 cases compared." in page
    assert "Still refused." in page
    assert "new was refused by its own gate and stays refused" in page
    assert "Qualified" not in page
    assert "the second run repeats the first" in page


def test_flips_are_laid_to_answer_or_judge_and_what_failed_is_excluded_by_its_side():
    def judge(trial):
        if trial.kind is TrialKind.CONTROL:
            return None
        return ReadTimeout() if trial.label() == "HELP #1" else BAD.to_bytes().decode()

    section = words(
        sites.section(site_of(made("old", 1), made("new", 5, judge=judge)), PAGE, "Where changes come from")
    )
    assert "The candidate answered otherwise 0" in section
    assert "The judge judged otherwise 3" in section
    assert "1 pair, by whose failure: judge 1." in section
    assert "HELP #1 Passed \u2192 transport error" in section.replace("TransportError", "transport error")


def test_r98_r110_another_construct_breaks_the_series_and_the_difference_is_expected():
    graded = sites.shipped("card-rules-v1")
    cases = tuple(case.id for case in graded.corpus.cases[:2])
    low = '{"score": 5, "reason": "Contradicts the card."}'
    old = made("old", 1, corpus=graded, case_ids=cases, judge=lambda _: low)
    new = made("new", 5, corpus=graded, case_ids=cases)
    constructs = {Criterion.FAITHFULNESS: "2", Criterion.GROUNDEDNESS: "1"}
    new = replace(new, plan=new.plan.model_copy(update={"constructs": constructs}))
    page = words(sites.whole(site_of(old, new), PAGE))
    assert "Series break, an expected difference." in page
    assert "faithfulness is of construct version 1 before and 2 after" in page
    assert "Both series stay in the record." in page
    assert "regressed:" not in page
    assert "The results of old stay in history" in page
    assert Dimension.GROUNDEDNESS.value in page


def test_without_a_candidate_nothing_regresses():
    corpus = sites.shipped("evidence-claims-v1")
    cases = tuple(case.id for case in corpus.corpus.cases[:2])
    old = made("old", 1, corpus=corpus, case_ids=cases)
    low = '{"score": 0, "reason": "Beyond.", "evidence": [0]}'
    new = made("new", 5, corpus=corpus, case_ids=cases, judge=lambda _: low)
    page = words(sites.whole(site_of(old, new), PAGE))
    assert "The judge went down on 2 and up on 0 of 2 cases compared." in page
    assert "No candidate was asked in both runs" in page
    assert "neither down nor up" in words(
        sites.whole(site_of(old, made("new", 5, corpus=corpus, case_ids=cases)), PAGE)
    )


def test_answers_that_were_judged_again_face_the_run_that_they_are_of():
    old = made("old", 1, "HELP #2", repetitions=2)
    again = made("new", 5, "HELP #3", "HELP #4", repetitions=4)
    answers = AnswersRef(run="old", root=ZERO, statement=ZERO, repetitions=2)
    again = replace(again, plan=again.plan.model_copy(update={"answers": answers}))
    found = Catalogue(SiteInput(runs=(old, again)))
    assert found.previous(found.runs[0]).run_id == "old"
    site = site_of(old, again)
    assert "not asked: the answers of old" in words(sites.section(site, PAGE, "What was compared"))
    figure = sites.section(site, PAGE, "Cases").split("<table")[0]
    titles = re.findall(r"<title>(HELP[^<]*)</title>", figure)
    assert len(titles) == 8
    assert "Recorded answers, judged again." in sites.whole(site, NEW)
    assert "About the answers that old recorded" in sites.whole(site, NEW)


@pytest.mark.parametrize("data_class", ["internal", "personal"])
def test_names_and_digests_of_texts_that_are_not_synthetic_stay_out(data_class):
    corpora = []
    for said in ("Explains the return.", "Explains it well."):
        cases = [case.plain() | {"required_behavior": said} for case in sites.binary_corpus().corpus.cases]
        corpora.append(sites.binary_corpus(data_class=data_class, cases=cases))
    old, new = made("old", 1, corpus=corpora[0]), made("new", 5, "HELP #1", "DANGER #2", corpus=corpora[1])
    page = sites.whole(site_of(old, new), PAGE)
    assert "2 cases regressed" in page
    assert "cases: 2 fields" in page
    for run in (old, new):
        assert not any(case.fingerprint in page for case in run.plan.cases)
    named = {name for name in ("HELP", "DANGER") if name in page}
    assert named == ({"HELP", "DANGER"} if data_class == "internal" else set())
    assert ("case 1 (2/2 before, 1/2 after)" in page) is (data_class == "personal")


def test_weak_evidence_and_fixtures_are_said_where_they_are_compared():
    weak = {"level": Level.A0, "minimum_level": Level.A1}
    assert "nothing rests on this" in sites.whole(site_of(made("old", 1, **weak), made("new", 5)), PAGE)
    both = site_of(made("old", 1, mode="fixture"), made("new", 5, mode="fixture"))
    assert "says nothing about a model" in words(sites.page(both, PAGE).body().lead)


def test_runs_of_which_one_is_open_or_that_differ_in_two_things_are_not_compared():
    runs = [made("old", 1), made("open", 4, closed_at=None), made("new", 5, repetitions=3)]
    pages = {page.kind for page in sites.plan(*runs).pages}
    assert Kind.RUN in pages
    assert Kind.COMPARISON not in pages


def test_a_large_comparison_draws_what_changed_and_folds_the_rest():
    base = sites.binary_corpus().corpus.cases[0].plain()
    corpus = sites.binary_corpus(cases=[base | {"id": f"C{number:03d}"} for number in range(60)])
    old, new = (
        made(name, day, *wrong, corpus=corpus) for name, day, wrong in (("old", 1, ()), ("new", 5, ("C007 #1",)))
    )
    section = sites.section(sites.plan(old, new), PAGE, "Cases")
    assert len(set(re.findall(r"<title>(C\d+)", section))) == 1
    assert "59 cases without any change" in section
    assert "<details open" not in section


def test_the_history_of_a_case_tells_which_repetition_flipped():
    site = sites.plan(made("old", 1), made("new", 5, "HELP #2"), corpora=(sites.binary_corpus(),))
    path = f"corpora/two-cases/cases/{file_slug('HELP')}.html"
    history = words(sites.section(site, path, "History"))
    assert "#2 before: Passed since old" in history
    assert "nothing to compare with" in history
    steady = words(sites.section(site, f"corpora/two-cases/cases/{file_slug('DANGER')}.html", "History"))
    assert "before:" not in steady


def test_a_check_by_code_is_shown_with_its_case_and_named_where_it_fails():
    check = {"kind": "number", "name": "the-fee", "expected": "50", "tolerance": "0"}
    answer = {"action": "assist", "response": "It costs 50.", "refused": False}
    case = sites.binary_corpus().corpus.cases[0].plain() | {"checks": [check], "positive_reference": answer}
    corpus = sites.binary_corpus(cases=[case])
    wrong = json.dumps(answer | {"response": "It costs 70."})
    run = make_trusted_run(corpus, Scene(run_id="new", candidate=lambda _: wrong))
    site = sites.plan(run, corpora=(corpus,))
    page = f"runs/new/cases/{file_slug('HELP')}.html"
    assert "give one number, 50 within 0" in sites.section(site, page, "Case")
    assert "a check of the answer&#x27;s text not fulfilled" in sites.section(site, page, "Repetitions")
    assert "the-fee" in sites.section(site, page, "Repetitions")
