# SPDX-License-Identifier: Apache-2.0
"""What is not loaded: each refusal with its message and the place where the author must look."""

import os

import pytest
from support import corpora

from evalsite.corpus.load import load_corpus
from evalsite.errors import InputError
from evalsite.schema import bounds


def refusal(folder):
    with pytest.raises(InputError) as refused:
        load_corpus(folder)
    assert refused.value.exit_code == 2
    assert str(folder.parent) not in str(refused.value)
    return refused.value


def key(name):
    """Return how a key is written in the files of these tests."""
    return f'"{name}"'


def line_of(folder, file, mark, *, nth=1):
    """Return ``corpora/tiny/<file>:<line>`` of the nth line that holds a mark."""
    lines = (folder / file).read_text(encoding="utf-8").splitlines()
    numbers = [number for number, line in enumerate(lines, 1) if mark in line]
    return f"corpora/{folder.name}/{file}:{numbers[nth - 1]}"


def test_no_folder(tmp_path):
    error = refusal(tmp_path / "corpora" / "tiny")
    assert str(error) == "expected a corpus folder, got none at corpora/tiny [corpus files]"


def test_no_corpus_file(tmp_path):
    folder = tmp_path / "corpora" / "tiny"
    folder.mkdir(parents=True)
    error = refusal(folder)
    assert error.message.startswith("expected a readable file, got: ")
    assert error.at == "corpora/tiny/corpus.yaml"


def test_not_a_mapping(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    (folder / "corpus.yaml").write_text("- a\n", encoding="utf-8")
    assert str(refusal(folder)) == "expected a mapping, got ['a'] at corpora/tiny/corpus.yaml:1 [corpus files]"


def test_broken_yaml_names_its_line(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    (folder / "corpus.yaml").write_text("name: x\ntitle: a: b\n", encoding="utf-8")
    assert refusal(folder).at == "corpora/tiny/corpus.yaml:2"


@pytest.mark.parametrize(
    ("path", "value", "message", "mark"),
    [
        ("cases[1].input.message", "", "String should have at least 1 character", '"message": ""'),
        ("cases[0].input.message", None, "Input should be a valid string", '"message": null'),
        ("cases[0].critical", 1, "Input should be a valid boolean", '"critical": 1'),
        ("cases[0].critical", "true", "Input should be a valid boolean", '"critical": "true"'),
        ("cases[1].expected_action", "help", "Input should be", '"expected_action": "help"'),
        ("cases[1].id", "a b", "String should match pattern", '"id": "a b"'),
        ("cases[1].positive_reference.response", "x" * 1201, "at most 1200 characters", "xxx"),
        ("cases[1].title", "x" * 301, "at most 300 characters", "xxx"),
        ("cases[1].input.message", "x" * 20_001, "at most 20000 characters", "xxx"),
        ("language", "english", "String should match pattern", key("language")),
        ("data_class", "secret", "Input should be", key("data_class")),
        ("provenance.created_at", "30.11.2026", "String should match pattern", key("created_at")),
        ("format", "evalsite/corpus/v2", "Input should be", key("format")),
        ("name", "Tiny", "String should match pattern", key("name")),
    ],
)
def test_a_field_of_the_wrong_form(tmp_path, path, value, message, mark):
    bad = corpora.put(corpora.binary(), path, value)
    folder = corpora.write(tmp_path, {**bad, "name": "tiny"})
    if path == "name":
        corpora.yaml_text.dump(bad, folder / "corpus.yaml")
    error = refusal(folder)
    assert message in error.message
    assert error.at == f"{line_of(folder, 'corpus.yaml', mark)} {path}"


@pytest.mark.parametrize(
    "path", [path for path in corpora.paths(corpora.binary()) if "[1]" not in path and path[-1] != "]"]
)
def test_every_field_is_required(tmp_path, path):
    """No field has a default: what is not written was not decided."""
    value = corpora.binary()
    parent, _, key = path.rpartition(".")
    del (corpora.get(value, parent) if parent else value)[key]
    error = refusal(corpora.write(tmp_path, {"name": "tiny", **value} if key != "name" else value))
    assert key in error.at or key in error.message


def test_an_unknown_field(tmp_path):
    bad = corpora.put(corpora.binary(), "cases[1].input.hint", "x")
    folder = corpora.write(tmp_path, bad)
    error = refusal(folder)
    assert error.at == f"{line_of(folder, 'corpus.yaml', 'hint')} cases[1].input.hint"
    assert error.rule == "schema: extra_forbidden"


def test_a_missing_field_points_to_its_parent(tmp_path):
    bad = corpora.binary()
    del bad["cases"][1]["input"]["message"]
    folder = corpora.write(tmp_path, bad)
    error = refusal(folder)
    assert error.at == f"{line_of(folder, 'corpus.yaml', key('input'), nth=2)} cases[1].input.message"


@pytest.mark.parametrize("protocol", [None, "ternary", 3, ["binary"]])
def test_unknown_protocol(tmp_path, protocol):
    folder = corpora.write(tmp_path, {**corpora.binary(), "protocol": protocol})
    error = refusal(folder)
    assert error.message.startswith("expected one of binary, evidence, graded, pairwise, got")
    assert error.at == f"{line_of(folder, 'corpus.yaml', key('protocol'))} protocol"


def test_the_folder_must_have_the_name_of_the_corpus(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    other = folder.rename(folder.with_name("other"))
    error = refusal(other)
    assert error.message == "expected the name of the folder, 'other', got 'tiny'"
    assert error.at == f"{line_of(other, 'corpus.yaml', key('name'))} name"


@pytest.mark.parametrize(
    ("first", "second", "how"),
    [
        ("A", "A", "'A' twice"),
        ("MISSING", "missing", "'missing' beside 'MISSING', the same when case is ignored"),
        ("a-K.1", "A-k.1", "'A-k.1' beside 'a-K.1', the same when case is ignored"),
    ],
)
def test_colliding_case_ids(tmp_path, first, second, how):
    folder = corpora.write(tmp_path, corpora.binary(corpora.binary_case(first), corpora.binary_case(second)))
    error = refusal(folder)
    assert error.message == f"expected every id once, got {how}"
    assert error.at == f"{line_of(folder, 'corpus.yaml', key('id'), nth=2)} cases[1].id"


@pytest.mark.parametrize("identity", ["\uff21", "A\u0301", "\u212a", "stra\u00dfe", "\u0131d"])
def test_ids_that_only_normalisation_would_tell_apart_are_no_ids(tmp_path, identity):
    """Full-width A, combining accents, the Kelvin sign, sharp s, dotless i: refused by their form."""
    error = refusal(corpora.write(tmp_path, corpora.binary(corpora.binary_case(identity))))
    assert "String should match pattern" in error.message


def test_a_corpus_is_no_translation_of_itself(tmp_path):
    error = refusal(corpora.write(tmp_path, corpora.binary(translation_of="tiny")))
    assert error.message == "expected another corpus, got this one"


def test_instructions_of_a_candidate_exist_exactly_in_the_binary_protocol(tmp_path):
    silent = corpora.put(corpora.binary(), "instructions.candidate", None)
    assert refusal(corpora.write(tmp_path, silent)).message.startswith("expected text, since the binary protocol")
    talking = corpora.put(corpora.evidence(), "instructions.candidate", "Help.")
    error = refusal(corpora.write(tmp_path, talking))
    assert error.message == "expected null, got text for the protocol evidence"
    assert error.at.endswith(" instructions.candidate")


def test_cards_elsewhere(tmp_path):
    inline = {**corpora.graded(), "cards": [corpora.card()]}
    assert (
        refusal(corpora.write(tmp_path, inline)).message == "expected the cards under cards/, got them in corpus.yaml"
    )
    folder = corpora.write(tmp_path, corpora.binary(), cards__card=corpora.card())
    assert refusal(folder).message == "expected no files under cards/ for the protocol binary, got 1"


def test_an_unknown_or_doubled_card(tmp_path):
    folder = corpora.write(
        tmp_path, corpora.put(corpora.graded(), "cases[1].cards", ["CARD", "OTHER"]), cards__card=corpora.card()
    )
    error = refusal(folder)
    assert error.message == "expected a card of this corpus, got 'OTHER'"
    assert error.at == f"{line_of(folder, 'corpus.yaml', 'OTHER')} cases[1].cards[1]"
    folder = corpora.write(tmp_path, corpora.put(corpora.graded(), "cases[1].cards", ["CARD", "CARD"]))
    assert refusal(folder).message == "expected every id once, got 'CARD' twice"
    folder = corpora.write(tmp_path, corpora.put(corpora.graded(), "cases[0].cards", ["card"]))
    assert refusal(folder).advice == "did you mean CARD? ids are spelled exactly"


def test_the_file_of_a_card_has_its_id(tmp_path):
    folder = corpora.write(tmp_path, corpora.graded(), cards__other=corpora.card())
    error = refusal(folder)
    assert error.message == "expected the file name card.yaml, got 'other.yaml'"
    assert error.at == f"{line_of(folder, 'cards/other.yaml', key('id'))} id"


def test_a_broken_card_names_its_file(tmp_path):
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card(tail=""))
    assert refusal(folder).at == f"{line_of(folder, 'cards/card.yaml', key('tail'))} tail"


@pytest.mark.parametrize(
    ("entries", "message", "path"),
    [
        ([("s3", 1, None)], "expected a case of this corpus, got 's3'", "labels[0].case_id"),
        (
            [("s1", 1, None), ("s1", 0, None)],
            "expected one label per case and set, got 's1' twice",
            "labels[1].case_id",
        ),
        ([("s1", 2, None)], "expected 0 or 1 for the protocol evidence, got 2", "labels[0].value"),
        (
            [("s1", 1, "faithfulness")],
            "expected null for the protocol evidence, got 'faithfulness'",
            "labels[0].dimension",
        ),
    ],
)
def test_labels_that_do_not_fit(tmp_path, entries, message, path):
    preset = corpora.labels(*(corpora.label(*entry) for entry in entries))
    error = refusal(corpora.write(tmp_path, corpora.evidence(), labels__preset=preset))
    assert error.message == message
    assert error.at.startswith("corpora/tiny/labels/preset.yaml:")
    assert error.at.endswith(f" {path}")


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([("g1", 100, None)], "expected faithfulness or groundedness for the protocol graded, got null"),
        (
            [("g1", 100, "faithfulness"), ("g2", 0, "groundedness")],
            "expected one dimension per label set, got two: a set holds the labels of one construct",
        ),
        ([("g1", 101, "faithfulness")], "Input should be less than or equal to 100, got 101"),
    ],
)
def test_graded_labels_that_do_not_fit(tmp_path, entries, message):
    preset = corpora.labels(*(corpora.label(*entry) for entry in entries))
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card(), labels__preset=preset)
    assert refusal(folder).message == message


def test_the_file_of_a_label_set_has_its_name(tmp_path):
    folder = corpora.write(tmp_path, corpora.evidence(), labels__other=corpora.labels())
    assert refusal(folder).message == "expected the file name preset.yaml, got 'other.yaml'"


@pytest.mark.parametrize("name", ["card.yml", "notes.txt", "sub"])
def test_nothing_else_may_lie_among_the_cards(tmp_path, name):
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card())
    if name == "sub":
        (folder / "cards" / name).mkdir()
    else:
        (folder / "cards" / name).write_text("x", encoding="utf-8")
    error = refusal(folder)
    assert error.message == f"expected files named *.yaml only, got '{name}'"
    assert error.at == f"corpora/tiny/cards/{name}"


def test_cards_must_be_a_folder(tmp_path):
    folder = corpora.write(tmp_path, corpora.graded())
    (folder / "cards").write_text("x", encoding="utf-8")
    assert str(refusal(folder)) == "expected a folder, got a file at corpora/tiny/cards [corpus files]"


@pytest.mark.parametrize("part", ["", "corpus.yaml", "cards", "cards/card.yaml"])
def test_symbolic_links(tmp_path, part):
    folder = corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card())
    linked = folder / part if part else folder
    elsewhere = tmp_path / "elsewhere"
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    error = refusal(folder)
    assert "got a symbolic link" in error.message
    assert error.at == f"corpora/tiny/{part}".rstrip("/")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_hang_the_reader(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    (folder / "corpus.yaml").unlink()
    os.mkfifo(folder / "corpus.yaml")
    assert refusal(folder).message == "expected a regular file, got something else"


def test_a_file_over_the_limit(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    with (folder / "corpus.yaml").open("ab") as stream:
        stream.truncate(bounds.MAX_YAML_BYTES + 1)
    assert refusal(folder).message == f"expected at most {bounds.MAX_YAML_BYTES} bytes, got {bounds.MAX_YAML_BYTES + 1}"


def test_a_folder_as_corpus_file(tmp_path):
    folder = corpora.write(tmp_path, corpora.binary())
    (folder / "corpus.yaml").unlink()
    (folder / "corpus.yaml").mkdir()
    error = refusal(folder)
    assert str(error) == "expected a regular file, got something else at corpora/tiny/corpus.yaml [corpus files]"


def test_a_field_of_the_wrong_form_in_a_graded_corpus(tmp_path):
    bad = corpora.put(corpora.graded(), "cases[1].answer", "")
    folder = corpora.write(tmp_path, bad, cards__card=corpora.card())
    assert refusal(folder).at == f"{line_of(folder, 'corpus.yaml', key('answer'), nth=2)} cases[1].answer"
