# SPDX-License-Identifier: Apache-2.0
"""The calibration page: what was found first, every rate beside its counts, null where nothing is."""

import json
import re

import pytest
from support import sites
from support.trusted import Scene, make_trusted_run

from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.outcome import Trial, TrialKind
from evalsite.site.scan import check_fragment

PATH = "runs/r/calibration.html"


def verdict(score: int | None, cited: tuple[int, ...] = (0,), reason: str = "As the evidence shows.") -> str:
    return json.dumps({"score": score, "reason": reason, "evidence": list(cited)})


def section(judge, title: str, **changes) -> str:
    scene = Scene(**{"run_id": "r", "repetitions": 1, "judge": judge, **changes})
    return sites.section(sites.plan(make_trusted_run(evidence(), scene)), PATH, title)


def evidence() -> CorpusSnapshot:
    return sites.shipped("evidence-claims-v1")


def labels() -> dict[str, int]:
    return {label.case_id: label.value for label in evidence().label_sets[0].labels}


def is_case(trial: Trial) -> bool:
    return trial.kind is TrialKind.CASE


def generous(trial: Trial) -> str | None:
    return verdict(1) if is_case(trial) else None


def honest(trial: Trial) -> str | None:
    return verdict(labels()[trial.case_id]) if is_case(trial) else None


def test_a_rate_stands_beside_its_counts_and_its_bound() -> None:
    html = section(honest, "Labels against verdicts")
    check_fragment(html, at="page")
    fails = sum(value == 0 for value in labels().values())
    assert f"(0 of {fails})" in html
    assert "Clopper-Pearson" in html
    percents = re.findall(r"<strong>[0-9.]+\u2009%</strong>( \(\d+ of \d+\))?", html)
    assert percents
    assert all(percents)


def test_a_judge_that_always_says_yes_has_false_passes_and_reaches_no_more_than_a_constant() -> None:
    html = section(generous, "Labels against verdicts")
    fails = sum(value == 0 for value in labels().values())
    assert f"({fails} of {fails})" in html
    assert re.search(r"kappa</th><td><strong>0\.0+</strong>", html)
    assert "all alike" in html


def test_preset_labels_demonstrate_a_method_and_never_calibrate() -> None:
    html = section(honest, "Summary")
    assert "known-example check" in html
    assert "Calibrated at" not in html
    assert ">PASS" not in html


def test_disagreements_show_reason_and_cited_evidence() -> None:
    wrong = next(case for case, value in labels().items() if value == 0)

    def judge(trial: Trial) -> str | None:
        if not is_case(trial):
            return None
        return verdict(1, reason="<b>trust me</b>") if trial.case_id == wrong else verdict(labels()[trial.case_id])

    html = section(judge, "Disagreements")
    check_fragment(html, at="page")
    assert html.count("false pass: people 0, judge 1") == 1
    assert "&lt;b&gt;trust me&lt;/b&gt;" in html
    case = next(case for case in evidence().corpus.cases if case.id == wrong)
    assert case.evidence[0][:40] in html.replace("&#x27;", "'").replace("&quot;", '"')


def test_a_null_is_counted_as_unavailable_and_never_as_a_zero() -> None:
    html = section(lambda trial: verdict(None, ()) if is_case(trial) else None, "Labels against verdicts")
    count = len(labels())
    row = re.search(r"<th scope=\"row\">all</th>(.*?)</tr>", html)
    assert row
    cells = re.findall(r"<td class=\"es-num\">(\d+)</td>", row.group(1))
    assert cells == [str(count), "0", "0", "0", "0", str(count)]
    assert f"null not decidable: {count}" in html


def test_without_committed_labels_there_is_no_order_to_prove() -> None:
    assert "no order to prove" in section(honest, "Order")


@pytest.mark.parametrize("mode", ["fixture", "live"])
@pytest.mark.parametrize("name", ["evidence-claims-v1", "card-rules-v1"])
def test_every_section_passes_the_last_door(name: str, mode: str) -> None:
    run = make_trusted_run(sites.shipped(name), Scene(run_id="r", repetitions=2, mode=mode))
    page = sites.page(sites.plan(run), PATH)
    for piece in page.body().sections:
        check_fragment(piece, at=PATH)
        assert piece
