# SPDX-License-Identifier: Apache-2.0
"""Figures and marks: never by colour alone, and always the same for the same data."""

import re
from html import unescape

import pytest

from evalsite.schema.outcome import Result, Stage, Status, VerdictFacts
from evalsite.site import figures, marks
from evalsite.site.scan import check_fragment

ALL = [value for value in vars(marks).values() if isinstance(value, marks.Mark)]


def _result(status: Status, stage: Stage | None = None, verdict: VerdictFacts | None = None) -> Result:
    return Result(status=status, stage=stage, error_type=None, detail=None, answer=None, verdict=verdict)


def test_no_two_outcomes_of_one_kind_share_shape_or_word() -> None:
    for group in (marks.OUTCOMES, marks.SCORES, marks.STATES, marks.CHANGES):
        assert len({mark.shape for mark in group}) == len(group)
        assert len({mark.label for mark in group}) == len(group)


@pytest.mark.parametrize("mark", ALL, ids=lambda mark: mark.label)
def test_a_mark_is_drawn_with_its_word(mark: marks.Mark) -> None:
    html = marks.pill(mark)
    check_fragment(html, at="mark")
    assert f"<span>{mark.label}</span>" in html
    assert mark.meaning.endswith(".")


@pytest.mark.parametrize(
    ("status", "stage", "mark"),
    [
        (Status.PASSED, None, marks.PASSED),
        (Status.VIOLATION, None, marks.VIOLATION),
        (Status.CONTRACT_ERROR, Stage.CANDIDATE, marks.CONTRACT),
        (Status.CONTRACT_ERROR, Stage.JUDGE, marks.JUDGE_FAILED),
        (Status.MISSING_ANSWER, Stage.CANDIDATE, marks.NO_ANSWER),
        (Status.MISSING_ANSWER, Stage.JUDGE, marks.JUDGE_FAILED),
        (Status.TRANSPORT_ERROR, Stage.CANDIDATE, marks.ERROR),
        (Status.TRANSPORT_ERROR, Stage.JUDGE, marks.JUDGE_FAILED),
        (Status.CANCELLED, Stage.JUDGE, marks.ERROR),
        (Status.HOST_ERROR, Stage.CANDIDATE, marks.ERROR),
        (Status.CANNOT_JUDGE, None, marks.CANNOT_JUDGE),
    ],
)
def test_every_status_has_its_mark(status: Status, stage: Stage | None, mark: marks.Mark) -> None:
    assert marks.of_case(_result(status, stage)) is mark


def test_scores_are_told_apart_from_each_other_and_from_null() -> None:
    def judged(score: int | None, evidence: tuple[int, ...] | None) -> marks.Mark:
        facts = VerdictFacts(scored=True, score=score, evidence=evidence)
        return marks.of_case(_result(Status.JUDGED, None, facts))

    assert judged(1, (0,)) is marks.FITS
    assert judged(0, (0,)) is marks.BEYOND
    assert judged(0, None) is marks.GRADED


def test_controls() -> None:
    assert marks.of_control(_result(Status.PASSED)) is marks.CONTROL_RIGHT
    assert marks.of_control(_result(Status.CALIBRATION_FAILURE)) is marks.CONTROL_WRONG
    assert marks.of_control(_result(Status.CONTRACT_ERROR, Stage.CALIBRATION)) is marks.JUDGE_FAILED
    assert marks.of_control(_result(Status.HOST_ERROR, Stage.CALIBRATION)) is marks.ERROR


def _rows(count: int) -> list[tuple[str, list[tuple[str, marks.Mark]]]]:
    return [(f"C{n}", [(f"C{n} #1", marks.PASSED), (f"C{n} #2", marks.VIOLATION)]) for n in range(count)]


@pytest.mark.parametrize("count", [1, 40, 41, 500])
def test_a_strip_shows_every_trial_with_a_name_for_each(count: int) -> None:
    svg = figures.strip(_rows(count), name="Outcomes")
    check_fragment(svg, at="strip")
    titles = [unescape(found) for found in re.findall(r"<title>([^<]*)</title>", svg)]
    assert titles == [f"{trial}: {mark.label}" for _, cells in _rows(count) for trial, mark in cells]
    assert figures.strip(_rows(count), name="Outcomes") == svg
    assert 'role="img" aria-label="Outcomes"' in svg


def test_two_runs_stand_beside_each_other_with_a_name_for_each_trial() -> None:
    [(name, cells)] = _rows(1)
    rows = [
        (name, cells, [(trial, marks.PASSED) for trial, _ in cells]),
        ("a case with a name that is far too long", [], []),
    ]
    svg = figures.beside(rows, name="Before and after")
    check_fragment(svg, at="beside")
    assert re.findall(r"<title>([^<]*)</title>", svg) == [
        "C0 #1: Passed",
        "C0 #2: Violation",
        "C0 #1: Passed",
        "C0 #2: Passed",
    ]
    assert svg.count("\u2192") == 2
    assert "a case with a name that is \u2026" in svg


def test_hostile_names_stay_text_in_a_figure() -> None:
    svg = figures.strip([("</text><script>", [("<x>", marks.PASSED)])], name='" onload="x')
    check_fragment(svg, at="strip")


def test_nothing_gives_no_figure() -> None:
    assert figures.strip([], name="x") == ""
    assert figures.beside([], name="x") == ""
    assert figures.segments([("passed", 0, "es-good")], name="x") == ""


def test_a_bar_follows_the_counts() -> None:
    svg = figures.segments([("passed", 3, "es-good"), ("failed", 1, "es-bad"), ("errored", 0, "")], name="Outcomes")
    check_fragment(svg, at="bar")
    assert [float(width) for width in re.findall(r'<rect [^>]*width="([\d.]+)"', svg)] == [538.0, 178.0]
    assert "failed: 1" in svg
