# SPDX-License-Identifier: Apache-2.0
"""Reference labels are for calibration; whatever they say, no judge is told (R32, R34)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.campaign.casebook import CaseBook
from evalsite.corpus.load import load_corpus
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.outcome import Trial, TrialKind, aspects_of

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
NAMES = ("evidence-claims-v1", "card-rules-v1", "answer-pairs-v1")
SNAPSHOTS = {name: load_corpus(CORPORA / name).snapshot for name in NAMES}


def _questions(snapshot: CorpusSnapshot) -> list[object]:
    """Return everything that a judge would be told about every case."""
    book = CaseBook(snapshot)
    return [
        book.judge_question(
            Trial(kind=TrialKind.CASE, case_id=case.id, repetition=1, polarity=None, dimension=dimension, order=order)
        )
        for case in snapshot.corpus.cases
        for dimension, order in aspects_of(book.protocol)
    ]


BEFORE = {name: _questions(snapshot) for name, snapshot in SNAPSHOTS.items()}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_without_any_label_a_judge_is_told_the_same(name: str) -> None:
    assert BEFORE[name]
    assert _questions(SNAPSHOTS[name].model_copy(update={"label_sets": ()})) == BEFORE[name]


@given(name=st.sampled_from(sorted(SNAPSHOTS)), value=st.integers(0, 100), note=st.text(min_size=1, max_size=40))
def test_law_no_label_changes_what_a_judge_is_told(name: str, value: int, note: str) -> None:
    snapshot = SNAPSHOTS[name]
    changed = tuple(
        labels.model_copy(
            update={
                "note": note,
                "labels": tuple(label.model_copy(update={"value": value, "note": note}) for label in labels.labels),
            }
        )
        for labels in snapshot.label_sets
    )
    assert changed != snapshot.label_sets
    assert _questions(snapshot.model_copy(update={"label_sets": changed})) == BEFORE[name]
