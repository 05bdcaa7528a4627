# SPDX-License-Identifier: Apache-2.0
"""A corpus folder becomes one valid object, with fingerprints of what is in it."""

import os

import pytest
from support import corpora, yaml_text

from evalsite.canonical.digest import digest_bytes, digest_value
from evalsite.corpus.load import load_corpus
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.outcome import Protocol


def test_binary(tmp_path):
    loaded = load_corpus(corpora.write(tmp_path, corpora.binary()))
    assert loaded.corpus.protocol is Protocol.BINARY
    assert [case.id for case in loaded.corpus.cases] == ["A", "B"]
    assert loaded.files == ("corpus.yaml",)
    assert loaded.label_sets == ()


def test_graded_takes_its_cards_from_their_files(tmp_path):
    preset = corpora.labels(corpora.label("g1", 100, "faithfulness"))
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card(), labels__preset=preset)
    loaded = load_corpus(folder)
    assert [card.tail for card in loaded.corpus.cards] == ["Never two."]
    assert loaded.files == ("corpus.yaml", "cards/card.yaml", "labels/preset.yaml")
    assert loaded.label_sets[0].labels[0].value == 100


def test_evidence(tmp_path):
    preset = corpora.labels(corpora.label("s1", 1), corpora.label("s2", 0))
    loaded = load_corpus(corpora.write(tmp_path, corpora.evidence(), labels__preset=preset))
    assert loaded.corpus.cases[1].evidence == ("One.",)


def test_the_fingerprint_is_the_digest_of_the_snapshot(tmp_path):
    preset = corpora.labels(corpora.label("s1", 1))
    loaded = load_corpus(corpora.write(tmp_path, corpora.evidence(), labels__preset=preset))
    assert loaded.fingerprint == digest_bytes(loaded.snapshot.to_bytes())
    assert loaded.snapshot.plain() == {
        "format": "evalsite/corpus-snapshot/v1",
        "corpus": corpora.evidence(),
        "label_sets": [preset],
    }
    assert CorpusSnapshot.parse(loaded.snapshot.to_bytes(), max_bytes=100_000) == loaded.snapshot


def test_the_fingerprint_of_a_case_covers_the_cards_that_it_cites(tmp_path):
    loaded = load_corpus(corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card()))
    expected = {
        "format": "evalsite/case/v1",
        "protocol": "graded",
        "case": corpora.graded()["cases"][0],
        "cards": [corpora.card()],
    }
    assert loaded.case_fingerprints["g1"] == digest_value(expected)


def test_layout_of_the_yaml_does_not_change_a_fingerprint(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    first = load_corpus(folder)
    value = yaml_text.load(folder / "corpus.yaml")
    reordered = {key: value[key] for key in sorted(value, reverse=True)}
    yaml_text.dump(reordered, folder / "corpus.yaml")
    text = "# a comment\r\n" + (folder / "corpus.yaml").read_text(encoding="utf-8").replace("\n", "\r\n")
    (folder / "corpus.yaml").write_bytes(text.encode())
    again = load_corpus(folder)
    assert again.fingerprint == first.fingerprint
    assert again.case_fingerprints == first.case_fingerprints


def test_places_lead_back_to_the_files(tmp_path):
    preset = corpora.labels(corpora.label("s1", 1))
    loaded = load_corpus(corpora.write(tmp_path, corpora.evidence(), labels__preset=preset))
    assert loaded.place("corpus.yaml", "name") == "corpora/tiny/corpus.yaml:3"
    assert loaded.place("labels/preset.yaml", "labels[0].value").startswith("corpora/tiny/labels/preset.yaml:")


def test_hidden_files_and_backups_are_passed_over(tmp_path):
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card())
    (folder / "cards" / ".card.yaml.swp").write_bytes(b"\x00")
    (folder / "cards" / "card.yaml~").write_text("old", encoding="utf-8")
    (folder / "README.md").write_text("Notes.", encoding="utf-8")
    assert load_corpus(folder).files == ("corpus.yaml", "cards/card.yaml")


def test_a_folder_may_be_named_relatively(tmp_path, monkeypatch):
    folder = corpora.write(tmp_path, corpora.binary())
    monkeypatch.chdir(folder / "..")
    assert load_corpus(folder.relative_to(tmp_path / "corpora")).folder == folder
    monkeypatch.chdir(folder)
    assert load_corpus(type(folder)(os.curdir)).corpus.name == "tiny"


@pytest.mark.parametrize("value", [corpora.binary, corpora.evidence, corpora.graded])
def test_a_corpus_without_cases_can_be_loaded(tmp_path, value):
    """It can be recorded; that nothing over it is ever accepted is the gate's business (R51)."""
    small = {**value(), "cases": []}
    if "controls" in small:
        small["controls"] = []  # they cite a card, which a corpus without cases need not have
    assert load_corpus(corpora.write(tmp_path, small)).corpus.cases == ()
