# SPDX-License-Identifier: Apache-2.0
"""Statuses: nothing becomes an acceptance that does not plainly say so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.decisions.record import StatusNorm
from evalsite.decisions.status import Statement, classify, decide, is_partial, lead, statements_of_section
from evalsite.decisions.vocabulary import STATUS_WORDS


@pytest.mark.parametrize(
    "text",
    [
        "accepted",
        "Accepted",
        "**Accepted**",
        "{ accepted }",
        "Approved",
        "Accepted (2024-05-01)",
        "accepted on 2024-05-01 by the board",
        "Accepted (supersedes ADR-024, ADR-025)",
        "Accepted, supersedes [ADR 2](0002-x.md)",
        "✅ Accepted",
        "- [x] Accepted",
        "Accepté",
        "Aceito",
        "Aceptado",
        "已接受",
        "承認",
        "Принято",
    ],
)
def test_plain_acceptances(text: str) -> None:
    assert classify(text) is StatusNorm.ACCEPTED


@pytest.mark.parametrize(
    ("text", "norm"),
    [
        ("", StatusNorm.UNSTATED),
        ("![badge](https://example.invalid/accepted.svg)", StatusNorm.UNSTATED),
        ("~~Accepted~~", StatusNorm.UNSTATED),
        ("- [ ] Accepted", StatusNorm.UNSTATED),
        ("~~Accepted~~ Rejected", StatusNorm.REJECTED),
        ("Not accepted", StatusNorm.REJECTED),
        ("Accepted?", StatusNorm.UNKNOWN),
        ("❌ Accepted", StatusNorm.UNKNOWN),
        ("To be accepted", StatusNorm.UNKNOWN),
        ("Acceptance pending", StatusNorm.UNKNOWN),
        ("Accepted, pending legal review", StatusNorm.UNKNOWN),
        ("Accepted in principle", StatusNorm.UNKNOWN),
        ("Accepted until replaced", StatusNorm.UNKNOWN),
        ("Accepted, but not yet in force", StatusNorm.UNKNOWN),
        ("Accepted (conditionally)", StatusNorm.UNKNOWN),
        ("Accepted risk is that the queue grows", StatusNorm.UNKNOWN),
        ("Acceptedly", StatusNorm.UNKNOWN),
        ("承認待ち", StatusNorm.UNKNOWN),
        ("未承認", StatusNorm.UNKNOWN),
        ("proposed | rejected | accepted | deprecated", StatusNorm.UNKNOWN),
        ("Accepted/Rejected", StatusNorm.UNKNOWN),
        ("provisionally accepted", StatusNorm.CONDITIONAL),
        ("Pending", StatusNorm.PROPOSED),
        ("Accepted; superseded by ADR-5", StatusNorm.SUPERSEDED),
        ("Accepted, superceded by 5", StatusNorm.SUPERSEDED),
        ("This record has been superseded by ADR-7.", StatusNorm.SUPERSEDED),
        ("❌ Rejected (see [019](019-x.md))", StatusNorm.REJECTED),
        ("Withdrawn (before acceptance)", StatusNorm.WITHDRAWN),
        ("Partly superseded", StatusNorm.SUPERSEDED),
        ("Remplacé par ADR-4", StatusNorm.SUPERSEDED),
        ("blue", StatusNorm.UNKNOWN),
    ],
)
def test_everything_else_keeps_its_own_state(text: str, norm: StatusNorm) -> None:
    assert classify(text) is norm


@given(st.text(max_size=60))
def test_no_text_without_a_word_of_acceptance_is_accepted(text: str) -> None:
    words = [word for word, norm in STATUS_WORDS if norm is StatusNorm.ACCEPTED]
    if classify(text) is StatusNorm.ACCEPTED:
        assert any(word in text.casefold() for word in words)


@given(
    st.sampled_from([word for word, norm in STATUS_WORDS if norm is not StatusNorm.ACCEPTED]),
    st.sampled_from(["", "**", "> ", "- "]),
    st.sampled_from(["accepted", "Approved", "aceito"]),
    st.sampled_from([", ", "; ", " / ", "\n", " -> ", " — ", " ("]),
)
def test_no_second_status_beside_an_acceptance_is_swallowed(
    other: str, mark: str, accepted: str, separator: str
) -> None:
    assert classify(f"{mark}{accepted}{separator}{other}") is not StatusNorm.ACCEPTED
    assert classify(f"{mark}{other}{separator}{accepted}") is not StatusNorm.ACCEPTED


def test_longer_words_are_found_first() -> None:
    assert lead("Not accepted") == (StatusNorm.REJECTED, "")


@pytest.mark.parametrize("text", ["partly superseded", "substituído em parte pelo ADR-9", "reemplazado en parte"])
def test_partial_supersession_in_several_languages(text: str) -> None:
    assert is_partial(text)


def _said(source: str, *texts: str) -> list[Statement]:
    return [Statement(raw=text, source=source, line=1) for text in texts]


def test_two_sources_that_disagree_are_contradictory() -> None:
    status = decide([_said("front matter", "accepted"), _said("section", "Rejected")])
    assert status.norm is StatusNorm.CONTRADICTORY
    assert status.raw == "front matter: accepted / section: Rejected"


def test_a_second_source_without_a_known_word_changes_nothing() -> None:
    assert decide([_said("front matter", "accepted"), _said("section", "see above")]).norm is StatusNorm.ACCEPTED


def test_the_same_key_twice_with_other_values_is_contradictory() -> None:
    assert decide([_said("front matter", "accepted", "proposed")]).norm is StatusNorm.CONTRADICTORY
    assert decide([_said("front matter", "accepted", "accepted")]).norm is StatusNorm.ACCEPTED


def test_within_one_source_the_end_of_life_counts() -> None:
    status = decide([_said("section", "Accepted", "Superseded by ADR-9")])
    assert (status.norm, status.partial) == (StatusNorm.SUPERSEDED, False)
    assert decide([_said("section", "Accepted", "Superseded in part by ADR-9")]).partial


def test_nothing_said_is_unstated() -> None:
    status = decide([[], _said("metadata", ""), []])
    assert (status.norm, status.source, status.line) == (StatusNorm.UNSTATED, "absent", None)


def test_prose_below_the_status_is_no_statement() -> None:
    lines = list(enumerate(["", "Proposed", "", "The old one was accepted in 2020.", "", "Superseded by 9"], start=3))
    assert [(item.raw, item.line) for item in statements_of_section(lines)] == [("Proposed", 4), ("Superseded by 9", 8)]
