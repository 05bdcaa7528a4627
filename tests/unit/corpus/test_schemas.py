# SPDX-License-Identifier: Apache-2.0
"""The JSON Schemas for editors accept what the loader accepts."""

import jsonschema
import pytest
from support import corpora, plans, yaml_text

from evalsite.corpus.schemas import schemas
from evalsite.judging.designlock import DEFAULT_LOCK

KINDS = [
    "corpus-binary",
    "corpus-evidence",
    "corpus-graded",
    "corpus-pairwise",
    "card",
    "labels",
    "campaign",
    "design-lock",
]


def accepts(kind, value):
    schema = schemas()[kind]
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    return validator.is_valid(value)


def test_the_kinds_of_files():
    assert list(schemas()) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_ids_never_resolve(kind):
    assert schemas()[kind]["$id"] == f"https://evalsite.invalid/schema/{kind}-v1.json"
    assert schemas()[kind]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("corpus-binary", corpora.binary()),
        ("corpus-evidence", corpora.evidence()),
        ("corpus-graded", corpora.graded()),
        ("corpus-pairwise", corpora.pairwise()),
        ("card", corpora.card()),
        ("labels", corpora.labels(corpora.label("A", 1))),
        ("campaign", plans.campaign_value()),
        ("design-lock", DEFAULT_LOCK.plain()),
    ],
)
def test_valid_files_are_accepted_and_unknown_fields_are_not(kind, value):
    assert accepts(kind, value)
    assert not accepts(kind, {**value, "extra": 1})
    for field in value:
        if field not in {"candidate", "controls"} | ({"protocol"} if kind.startswith("corpus") else set()):
            assert not accepts(kind, {key: item for key, item in value.items() if key != field}), field


def test_cards_are_not_written_into_a_corpus_file():
    assert not accepts("corpus-graded", {**corpora.graded(), "cards": [corpora.card()]})


def test_every_shipped_file_is_accepted(repository):
    for folder in sorted((repository / "corpora").iterdir()):
        value = yaml_text.load(folder / "corpus.yaml")
        assert accepts(f"corpus-{value['protocol']}", value), folder.name
        for part, kind in (("cards", "card"), ("labels", "labels"), ("campaigns", "campaign")):
            for path in (folder / part).glob("*.yaml"):
                assert accepts(kind, yaml_text.load(path)), path.name
