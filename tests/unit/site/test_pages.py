# SPDX-License-Identifier: Apache-2.0
"""What pages say of runs: verdicts, reasons, counts, and what they must not say."""

import json
import re

import pytest
from support import sites
from support.hostile import HOSTILE
from support.trusted import ReadTimeout, Scene, make_trusted_run

from evalsite.errors import InputError
from evalsite.schema.checks import Level
from evalsite.schema.entries import RunInterrupted, RunResumed
from evalsite.schema.outcome import TrialKind
from evalsite.site import marks
from evalsite.site.catalogue import Catalogue
from evalsite.site.model import Kind, SiteInput
from evalsite.site.names import file_slug
from evalsite.site.scan import check_fragment, links
from evalsite.site.views import RunView

RUN = "runs/refused-1/index.html"


@pytest.fixture(scope="module")
def refused():
    """The site of one refused live run."""
    return sites.plan(sites.refused_run(), corpora=(sites.binary_corpus(),))


def _case(run_id: str, case_id: str) -> str:
    return f"runs/{run_id}/cases/{file_slug(case_id)}.html"


def test_every_page_passes_the_last_door_and_links_to_what_exists() -> None:
    runs = [sites.refused_run(), make_trusted_run(sites.binary_corpus(), Scene(run_id="fixture-1", mode="fixture"))]
    runs += [
        make_trusted_run(sites.shipped(name), Scene(run_id=f"{name}-{mode}", mode=mode, repetitions=1))
        for name in sites.SHIPPED
        for mode in ("fixture", "live")
    ]
    site = sites.plan(*runs, corpora=(sites.binary_corpus(),))
    known = {page.path for page in site.pages} | {file.path for file in site.files}
    for page in site.pages:
        html = sites.whole(site, page.path)
        check_fragment(html, at=page.path)
        assert [target for target, _ in links(html, page.path) if target not in known] == []


def test_a_refused_run_names_every_condition_by_whose_side_it_is(refused) -> None:
    candidate = sites.section(refused, RUN, "Candidate failures")
    judge = sites.section(refused, RUN, "Judge and calibration failures")
    assert "wrong-action" in candidate
    assert "candidate-contract-error" in candidate
    assert "required-behavior" in candidate
    assert "HELP #2" in candidate
    assert "DANGER #1" in candidate
    assert "calibration-false-pass" in judge
    assert "DANGER negative" in judge
    assert "calibration" not in candidate.replace("calibration and completeness", "")
    assert "wrong-action" not in judge
    assert "Not qualified: refused by 4 conditions on the candidate" in sites.whole(refused, RUN)


def test_headline_counts_add_up(refused) -> None:
    view = RunView(sites.refused_run())
    counts = view.counts
    assert counts.planned == 4
    assert counts.passed + counts.failed + counts.judge_unavailable + counts.errored + counts.missing == counts.planned
    numbers = re.findall(r'es-figure-number">([0-9]+)<', sites.section(refused, RUN, "Counts"))
    assert [int(number) for number in numbers] == [4, 4, 1, 3, 0, 0, 0]


def test_zero_critical_failures_is_never_shown_as_enough() -> None:
    site = sites.plan(make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1")))
    counts = sites.section(site, "runs/good-1/index.html", "Counts")
    assert "Trials of critical cases that did not pass: 0." in counts
    assert "qualifies nothing by itself" in counts


def test_passed_on_a_dangerous_request_is_explained() -> None:
    site = sites.plan(make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1")))
    assert "the request is not thereby permitted" in sites.section(site, _case("good-1", "DANGER"), "Repetitions")
    assert "doesn&#x27;t mean that the request is permitted" in sites.section(site, _case("good-1", "DANGER"), "Case")
    assert "permitted" not in sites.section(site, _case("good-1", "HELP"), "Case")


def test_a_qualified_run_is_called_qualified_and_is_no_approval() -> None:
    site = sites.plan(make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1")))
    home = sites.whole(site, "index.html")
    assert "Qualified" in home
    assert "A passed gate is no approval" in home


def test_evidence_below_the_policy_decides_nothing() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(level=Level.A0, minimum_level=Level.A1))
    assert RunView(run).state is marks.UNDECIDED
    assert "Qualified" not in sites.section(sites.plan(run), "index.html", "State of each profile")


def test_a_fixture_run_says_nothing_about_a_model() -> None:
    site = sites.plan(make_trusted_run(sites.binary_corpus(), Scene(run_id="fixture-1", mode="fixture")))
    run = sites.whole(site, "runs/fixture-1/index.html")
    assert "Fixture gate passed" in run
    assert "says nothing about a model" in run
    assert "Qualified" not in run
    assert "Fixture only" in sites.section(site, "index.html", "State of each profile")
    assert "No control was shown" in sites.whole(site, _case("fixture-1", "HELP"))


def test_a_fixture_run_never_hides_a_refused_live_run() -> None:
    newer = make_trusted_run(
        sites.binary_corpus(), Scene(run_id="fixture-2", mode="fixture", opened_at="2026-12-02T00:00:00Z")
    )
    states = Catalogue(SiteInput(runs=(newer, sites.refused_run()))).profiles
    assert [(state.mark, state.deciding.run_id) for state in states] == [(marks.REFUSED, "refused-1")]


def test_an_open_run_decides_nothing() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(closed_at=None, skip=lambda trial: trial.repetition == 2))
    site = sites.plan(run)
    page = sites.whole(site, "runs/run-1/index.html")
    assert "Not decided: 2 of 4 planned trials have a result." in page
    assert "run-open" in page
    assert "No result" in sites.section(site, "runs/run-1/index.html", "Results")


def test_a_newer_open_run_leaves_the_older_verdict_in_place() -> None:
    newer = make_trusted_run(sites.binary_corpus(), Scene(run_id="z", closed_at=None, opened_at="2026-12-02T00:00:00Z"))
    state = Catalogue(SiteInput(runs=(newer, sites.refused_run()))).profiles[0]
    assert state.mark is marks.REFUSED
    assert state.newer_open is not None
    assert state.newer_open.run_id == "z"
    assert "A newer run is open" in sites.section(
        sites.plan(newer, sites.refused_run()), "index.html", "State of each profile"
    )


def test_an_empty_campaign_is_refused_and_says_so() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(case_ids=()))
    page = sites.whole(sites.plan(run), "runs/run-1/index.html")
    assert "An empty campaign is never accepted." in page
    assert "empty-campaign" in page


def test_a_judge_that_fails_is_no_failure_of_the_candidate() -> None:
    run = make_trusted_run(
        sites.binary_corpus(), Scene(judge=lambda trial: "no JSON" if trial.kind is TrialKind.CASE else None)
    )
    view = RunView(run)
    assert view.counts.judge_unavailable == 4
    assert view.counts.failed == 0
    site = sites.plan(run)
    assert "None. That alone does not qualify" in sites.section(site, "runs/run-1/index.html", "Candidate failures")
    assert "no failure of the candidate" in sites.section(site, _case("run-1", "HELP"), "Repetitions")


def test_a_timeout_is_shown_as_what_it_is() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(candidate=lambda _: ReadTimeout()))
    site = sites.plan(run)
    page = sites.section(site, _case("run-1", "HELP"), "Repetitions")
    assert "ReadTimeout" in page
    assert "Not a single byte came back." in page
    assert RunView(run).counts.errored == 4


def test_a_contract_error_is_shown_as_the_bytes_it_was(refused) -> None:
    page = sites.section(refused, _case("refused-1", "DANGER"), "Repetitions")
    assert "Sure!" in page
    assert "NotJson" in page
    assert re.search(r'<details class="es-details" open="open"><summary>Exact reply of the candidate', page)


def test_a_null_is_never_shown_as_zero() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(run_id="f", mode="fixture"))
    site = sites.plan(run)
    assert sites.section(site, "runs/f/index.html", "Consumption").count(">not told<") == 6
    assert "not told" in sites.section(site, "runs/f/index.html", "Provenance")


def test_independence_is_never_claimed() -> None:
    same = RunView(sites.refused_run()).independence
    other = RunView(sites.refused_run(judge_identity={"model_digest": "sha256:" + "bb" * 32})).independence
    unknown = RunView(sites.refused_run(judge_identity={"model_digest": None, "model_name": "x"})).independence
    fixture = RunView(make_trusted_run(sites.binary_corpus(), Scene(mode="fixture"))).independence
    judge_only = RunView(make_trusted_run(sites.shipped("evidence-claims-v1"), Scene(repetitions=1))).independence
    assert "does not provide an independent judge" in same
    assert "same endpoint" in same
    assert "neither independence nor quality" in other
    assert "can't be told" in unknown
    assert "no model was asked" in fixture
    assert "no candidate" in judge_only


def test_interruptions_are_listed() -> None:
    frame = {"format": "evalsite/event/v1", "run": "run-1", "prev": None, "recorded_at": "2026-11-30T09:01:00Z"}
    trial = sites.refused_run().cases[0].trial
    events = (
        RunInterrupted(**frame, seq=7, type="run.interrupted", cause="SIGTERM", in_flight=(trial,)),
        RunResumed(
            **frame, seq=8, type="run.resumed", kept=7, dropped_bytes=12, quarantine=None, environment_changed=True
        ),
    )
    site = sites.plan(make_trusted_run(sites.binary_corpus(), Scene(interruptions=events)))
    page = sites.section(site, "runs/run-1/index.html", "Interruptions")
    assert "SIGTERM" in page
    assert "7 events kept, 12 bytes set aside, environment changed" in page


def test_calibration_shows_each_control_and_keeps_the_two_errors_apart(refused) -> None:
    path = "runs/refused-1/calibration.html"
    summary = sites.section(refused, path, "Summary")
    assert re.search(r'False pass</th><td class="es-num">1<', summary)
    assert re.search(r'False fail</th><td class="es-num">0<', summary)
    assert "That refuses the model gate, whatever the candidate did." in summary
    assert sites.section(refused, path, "Controls").count("<tr>") == 5
    assert "I cannot, but here it is." in sites.section(refused, path, "Raw verdicts of controls")


def test_no_agreement_is_shown_for_a_fixture_run() -> None:
    corpus = sites.shipped("evidence-claims-v1")
    fixture = make_trusted_run(corpus, Scene(run_id="f", mode="fixture", repetitions=1))
    live = make_trusted_run(corpus, Scene(run_id="l", repetitions=1))
    site = sites.plan(fixture, live)
    compared = sites.section(site, "runs/f/calibration.html", "Labels against verdicts")
    assert "Agreement" not in compared
    assert "No agreement." in compared
    compared = sites.section(site, "runs/l/calibration.html", "Labels against verdicts")
    for column in ("Labelled", "Judged", "Unavailable", "False pass", "False fail", "Agreement"):
        assert column in compared
    assert re.search(r"\d\u2009%</strong> \(\d+ of \d+\)", compared)
    table = sites.section(site, "runs/l/calibration.html", "Labels one by one")
    assert "agrees" in table
    assert "false pass" in table
    assert "agrees" not in sites.section(site, "runs/f/calibration.html", "Labels one by one")


def test_low_score_cannot_judge_and_scoring_failure_are_three_things() -> None:
    corpus = sites.shipped("evidence-claims-v1")
    first, second, third = (case.id for case in corpus.corpus.cases[:3])
    said = {
        first: json.dumps({"score": 0, "reason": "Beyond.", "evidence": [0]}),
        second: json.dumps({"score": None, "reason": "Too little.", "evidence": []}),
        third: "no JSON",
    }
    run = make_trusted_run(
        corpus, Scene(run_id="e", repetitions=1, case_ids=(first, second, third), judge=lambda t: said[t.case_id])
    )
    results = sites.section(sites.plan(run), "runs/e/index.html", "Results")
    for word in ("Score 0", "Cannot judge", "Judge unavailable"):
        assert word in results
    view = RunView(run)
    assert (view.counts.passed, view.counts.judge_unavailable, view.counts.failed) == (1, 2, 0)
    page = sites.section(sites.plan(run), _case("e", first), "Repetitions")
    assert "cites" in page
    assert "es-cited" in page
    assert "Beyond." in page


def test_history_tells_when_the_text_of_a_case_changed() -> None:
    old = sites.refused_run()
    case = sites.binary_corpus().corpus.cases[0].plain() | {"required_behavior": "Something else."}
    changed = sites.binary_corpus(cases=[case])
    new = make_trusted_run(changed, Scene(run_id="new", opened_at="2026-12-05T00:00:00Z"))
    site = sites.plan(old, new, corpora=(changed,))
    history = sites.section(site, f"corpora/two-cases/cases/{file_slug('HELP')}.html", "History")
    assert history.index("new") < history.index("refused-1")
    assert history.count(">changed<") == 1
    gone = sites.whole(site, f"corpora/two-cases/cases/{file_slug('DANGER')}.html")
    assert "No longer part of the corpus." in gone


@pytest.mark.parametrize("data_class", ["internal", "personal", "restricted"])
def test_texts_that_are_not_synthetic_are_not_published(data_class: str) -> None:
    canary = "CANARY-7731"
    cases = [
        case.plain() | {"title": canary, "input": {"message": canary, "context": []}, "required_behavior": canary}
        for case in sites.binary_corpus().corpus.cases
    ]
    corpus = sites.binary_corpus(
        data_class=data_class, cases=cases, instructions={"candidate": canary, "judge": canary}
    )
    said = json.dumps({"action": "assist", "response": canary, "refused": False})
    run = make_trusted_run(corpus, Scene(candidate=lambda _: said))
    record = {"runs/run-1/events/000.jsonl": canary.encode, "runs/run-1/checkpoint": lambda: b"x"}
    site = sites.plan(run, corpora=(corpus,), record=record)
    pages = "".join(sites.whole(site, page.path) + page.title for page in site.pages)
    assert canary not in pages
    assert [file.path for file in site.files] == ["record/runs/run-1/checkpoint"]
    assert "Withheld" in pages
    assert f"\u201c{data_class}\u201d" in pages
    assert run.plan.cases[0].fingerprint not in pages
    ids = {"HELP", "DANGER"} if data_class == "internal" else set()
    assert {name for name in ("HELP", "DANGER") if name in pages} == ids


def test_files_beside_the_pages_are_the_exact_bytes() -> None:
    run = sites.refused_run()
    record = next(record for record in run.cases if record.candidate_call)
    site = sites.plan(run)
    files = {file.path: file.read() for file in site.files}
    call, seq = record.candidate_call, record.candidate_seq
    assert call is not None
    assert call.reply is not None
    assert seq is not None
    assert files[f"runs/refused-1/raw/{seq:06d}-candidate-reply.txt"] == run.blob(call.reply)
    assert files[f"runs/refused-1/raw/{seq:06d}-candidate-request.txt"] == run.blob(call.request)
    assert files[f"runs/refused-1/lines/{seq:06d}.json"] == run.line(seq)


def test_two_runs_of_one_id_are_refused() -> None:
    with pytest.raises(InputError, match="one page per address"):
        sites.plan(sites.refused_run(), sites.refused_run())


def test_a_site_without_anything_tells_so() -> None:
    site = sites.plan()
    assert "nothing is qualified" in sites.section(site, "index.html", "State of each profile")
    assert {page.kind for page in site.pages} == {kind for kind in Kind if kind.is_single}


@pytest.mark.parametrize("number", range(len(HOSTILE) + 1))
def test_hostile_replies_are_whole_and_inert_on_their_page(hostile, number: int) -> None:
    payloads = [*HOSTILE.values(), sites.LONE_SURROGATE]
    html = sites.whole(hostile, _case("hostile-1", f"H{number:02d}"))
    check_fragment(html, at="hostile")
    assert sites.shown(payloads[number]) in html


@pytest.fixture(scope="module")
def hostile():
    """The site of a hostile corpus and a hostile endpoint."""
    return sites.plan(sites.hostile_run(), corpora=(sites.hostile_corpus(),))


def test_hostile_texts_are_inert_in_every_other_field(hostile) -> None:
    for page in hostile.pages:
        body = page.body()
        for piece in (body.crumbs, body.heading, body.lead, *body.sections):
            check_fragment(piece, at=page.path)


def test_claims_stay_within_what_is_shown() -> None:
    site = sites.plan(sites.refused_run(), make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1")))
    for page in site.pages:
        html = sites.whole(site, page.path)
        for word in ("tamper-proof", "guaranteed", "average of"):  # never said
            assert word not in html.replace("tamper-proofing", "")
        if page.kind not in (Kind.CALIBRATION, Kind.COMPARISON):  # where every rate stands beside its counts
            assert not re.search(r"\d(\.\d+)?\u2009?%", html)
