# SPDX-License-Identifier: Apache-2.0
"""Supersession between records: stored once, the reverse computed, what is wrong told."""

from evalsite.decisions.adr import parse_decision
from evalsite.decisions.links import check_decisions, computed_superseded_by, resolve
from evalsite.decisions.record import DecisionRecord, Reference


def record(slug: str, *, status: str = "accepted", supersedes: str = "", superseded_by: str = "") -> DecisionRecord:
    front = f'---\nstatus: "{status}"\n'
    front += f"supersedes: {supersedes}\n" if supersedes else ""
    front += f"superseded-by: {superseded_by}\n" if superseded_by else ""
    return parse_decision(f"{front}---\n# T\n\n## Context\n\nc\n".encode(), name=f"docs/adr/{slug}.md")


def codes(*records: DecisionRecord) -> list[str]:
    return [finding.code for finding in check_decisions(records)]


def test_reverse_edges_are_computed_from_the_new_record() -> None:
    records = [record("0001-a", status="superseded by ADR-0002"), record("0002-b", supersedes="ADR-0001")]
    assert computed_superseded_by(records) == {"0001-a": ("0002-b",)}
    assert codes(*records) == []


def test_a_proposal_retires_nothing() -> None:
    records = [record("0001-a"), record("0002-b", status="proposed", supersedes="ADR-0001")]
    assert computed_superseded_by(records) == {}
    assert codes(*records) == ["superseder-not-accepted"]


def test_old_record_that_still_reads_accepted_is_told() -> None:
    records = [record("0001-a"), record("0002-b", supersedes="ADR-0001")]
    found = check_decisions(records)
    assert [(finding.code, finding.at) for finding in found] == [("superseded-still-accepted", "docs/adr/0001-a.md")]


def test_partial_supersession_leaves_the_old_record_accepted() -> None:
    assert codes(record("0001-a"), record("0002-b", supersedes="in part ADR-0001")) == []


def test_two_superseders_both_count() -> None:
    records = [
        record("0001-a", status="superseded by ADR-0002"),
        record("0002-b", supersedes="ADR-0001"),
        record("0003-c", supersedes="ADR-0001"),
    ]
    assert computed_superseded_by(records) == {"0001-a": ("0002-b", "0003-c")}


def test_superseder_that_was_never_accepted_is_told() -> None:
    assert codes(record("0001-a", status="superseded by ADR-0002"), record("0002-b", status="draft")) == [
        "superseder-not-accepted"
    ]


def test_dangling_reference_is_told() -> None:
    assert codes(record("0001-a", supersedes="ADR-0099")) == ["reference-dangling"]


def test_self_supersession_and_circle_are_told() -> None:
    assert codes(record("0001-a", supersedes="ADR-0001")) == ["supersedes-itself"]
    circle = [record("0001-a", supersedes="ADR-0002"), record("0002-b", supersedes="ADR-0001")]
    assert codes(*circle).count("supersession-circle") == 2


def test_duplicate_numbers_are_told_and_both_kept() -> None:
    records = [record("0001-a"), record("0001-b")]
    assert codes(*records) == ["number-duplicate", "number-duplicate"]
    assert len(resolve(Reference(raw="1", number=1, slug=None), records)) == 2


def test_slug_wins_over_number() -> None:
    records = [record("0001-a"), record("0001-b")]
    assert [found.slug for found in resolve(Reference(raw="x", number=1, slug="0001-b"), records)] == ["0001-b"]
