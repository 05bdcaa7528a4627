# SPDX-License-Identifier: Apache-2.0
"""A long run derived again: in spans, by several processes, in bounded memory."""

import pytest
from support.longruns import RUN, make_whole_project

from evalsite.campaign import rederive
from evalsite.campaign.casebook import CaseBook
from evalsite.campaign.project import inspect_run
from evalsite.campaign.recheck import recheck
from evalsite.errors import UndecidedError
from evalsite.ledger.layout import blob_name
from evalsite.ledger.runcheck import How
from evalsite.ledger.verify import verify_run
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import CallRecorded
from evalsite.schema.replies import Action

RECORDS = 4_800


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return make_whole_project(tmp_path_factory.mktemp("whole"), RECORDS)


@pytest.fixture(scope="module")
def run(project):
    report = verify_run(project, RUN, pins={})
    assert report.run is not None
    return report.run


@pytest.fixture(scope="module")
def plan(run):
    return run.events[0].plan


@pytest.fixture(scope="module")
def book(run, plan):
    return CaseBook(CorpusSnapshot.parse(run.blob(plan.corpus.snapshot), max_bytes=10_000_000))


def test_the_run_is_longer_than_a_span(run):
    assert run.size > rederive._SPAN


def test_all_of_it_follows_and_processes_count_the_same(run, plan, book):
    alone = rederive.derive(run, plan, book)
    assert (alone.calls, alone.trials) == ((run.size - 2) // 2, (run.size - 2) // 4)
    assert (alone.prompt_findings, alone.result_findings) == ([], [])
    assert rederive.derive(run, plan, book, workers=2) == alone


def test_a_difference_is_told_at_its_event_by_processes_as_well(run, plan, book):
    case = plan.cases[0].model_copy(update={"expected_action": Action.ABSTAIN})
    false = plan.model_copy(update={"cases": (case, *plan.cases[1:])})
    alone = rederive.derive(run, false, book)
    assert len(alone.result_findings) == plan.repetitions
    assert all(finding.at.startswith(f"runs/{RUN}/events/") for finding in alone.result_findings)
    assert rederive.derive(run, false, book, workers=2) == alone


@pytest.mark.parametrize("cut", range(1, 14))
def test_spans_add_up_wherever_a_run_is_cut(run, plan, book, cut):
    whole = rederive.Rederivation(run, plan, book)
    records = list(whole.records(0, 60))
    first, second = rederive.Rederivation(run, plan, book), rederive.Rederivation(run, plan, book)
    assert [*first.records(0, cut), *second.records(cut, 60)] == records
    assert first.calls_seen + second.calls_seen == whole.calls_seen
    assert second.derived().prompt_findings == []


def test_what_is_not_kept_is_checked_all_the_same(project, run):
    kept, lean = recheck(run), recheck(run, keep=False, workers=2)
    assert kept.trusted is not None
    assert lean.trusted is None
    assert [(check.step, check.checked) for check in kept.checks] == [
        (check.step, check.checked) for check in lean.checks
    ]
    state = inspect_run(project, RUN, pins={}, how=How(workers=2))
    assert state.trusted is None
    assert state.reached is not None
    assert not any(check.findings for check in state.checks)


def test_a_blob_that_is_gone_leaves_it_undecided_in_every_process(run, plan, book, project):
    call = next(event.call for event in run.events if isinstance(event, CallRecorded))
    path = project / "runs" / RUN / blob_name(call.request)
    data = path.read_bytes()
    path.unlink()
    try:
        for workers in (1, 2):
            with pytest.raises(UndecidedError, match="found none"):
                rederive.derive(run, plan, book, workers=workers)
    finally:
        path.write_bytes(data)
