# SPDX-License-Identifier: Apache-2.0
"""Two corpora are compared field by field, without showing a text."""

import pytest
from support import corpora

from evalsite.canonical.digest import digest_value
from evalsite.corpus.diff import ChangeKind, diff_corpora
from evalsite.corpus.load import load_corpus


def changes(tmp_path, before, after, before_files=None, after_files=None):
    one = corpora.write(tmp_path / "one", before, **(before_files or {}))
    two = corpora.write(tmp_path / "two", after, **(after_files or {}))
    return diff_corpora(load_corpus(one), load_corpus(two))


def test_nothing_differs(tmp_path):
    assert changes(tmp_path, corpora.binary(), corpora.binary()) == []


def test_one_field(tmp_path):
    after = corpora.put(corpora.binary(), "cases[1].input.message", "Something quite secret.")
    (change,) = changes(tmp_path, corpora.binary(), after)
    assert str(change) == "changed case B input.message (public)"
    assert change.before == digest_value("Please send number b-1 again.")
    assert change.after == digest_value("Something quite secret.")
    assert "secret" not in change.model_dump_json()


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("cases[0].critical", False, "changed case A critical (private)"),
        ("cases[0].positive_reference.response", "x", "changed case A positive_reference.response (private)"),
        ("cases[0].input.context", [], "changed case A input.context (public)"),
        ("cases[0].caveat", "Careful.", "added case A caveat (private)"),
        ("instructions.candidate", "Help.", "changed corpus instructions.candidate (public)"),
        ("instructions.judge", "Judge.", "changed corpus instructions.judge (private)"),
        ("provenance.reviews", [], "changed corpus provenance.reviews (private)"),
    ],
)
def test_each_field_is_named_with_who_sees_it(tmp_path, path, value, line):
    found = changes(tmp_path, corpora.binary(), corpora.put(corpora.binary(), path, value))
    assert [str(change) for change in found] == [line]


def test_cases_come_and_go(tmp_path):
    before = corpora.binary(corpora.binary_case("A"), corpora.binary_case("B"))
    after = corpora.binary(corpora.binary_case("B"), corpora.binary_case("C"))
    found = changes(tmp_path, before, after)
    assert [str(change) for change in found] == [
        "changed corpus case_order (private)",
        "removed case A (private)",
        "added case C (private)",
    ]
    assert (found[1].after, found[2].before) == (None, None)


def test_cards_and_labels(tmp_path):
    one = corpora.labels(corpora.label("g1", 100, "faithfulness"))
    two = corpora.labels(corpora.label("g1", 50, "faithfulness"), corpora.label("g2", 0, "faithfulness"), note="New.")
    before = {"cards__card": corpora.card(), "labels__preset": one}
    after = {"cards__card": corpora.card(tail="Never three."), "labels__preset": two}
    found = changes(tmp_path, corpora.graded(), corpora.graded(), before, after)
    assert [str(change) for change in found] == [
        "changed card CARD tail (private)",
        "changed labels preset note (private)",
        "changed label preset/g1 value (private)",
        "added label preset/g2 (private)",
    ]
    assert [change.kind for change in found].count(ChangeKind.CHANGED) == 3


def test_corpora_of_different_protocols_have_different_fields(tmp_path):
    found = changes(tmp_path, corpora.binary(corpora.binary_case("s1")), corpora.evidence())
    lines = {str(change) for change in found}
    assert "removed case s1 input (public)" in lines
    assert "added case s1 evidence (private)" in lines
