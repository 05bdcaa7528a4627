# SPDX-License-Identifier: Apache-2.0
"""A corpus may state its own constants of calibration gates; wrong ones are refused with their line (R63, R64)."""

import pytest
from support import corpora

from evalsite.corpus.load import load_corpus
from evalsite.errors import InputError
from evalsite.judging.designlock import DEFAULT_LOCK

LOCK = DEFAULT_LOCK.plain() | {"name": "own", "alpha": "0.01"}
EVIDENCE, GRADED = LOCK["gates"][1], LOCK["gates"][2]


def load(folder, value=None, lock=None, **files):
    """Write a corpus with its constants, and load it."""
    files = files if lock is None else {"design-lock": lock, **files}
    return load_corpus(corpora.write(folder, value or corpora.evidence(), **files))


def test_the_constants_are_read_and_are_no_part_of_the_fingerprint(tmp_path):
    with_lock, without = load(tmp_path / "a", lock=LOCK), load(tmp_path / "b")
    assert with_lock.design_lock.alpha == "0.01"
    assert "design-lock.yaml" in with_lock.files
    assert without.design_lock is None
    assert with_lock.fingerprint == without.fingerprint


def test_a_graded_corpus_has_graded_gates(tmp_path):
    lock = LOCK | {"gates": [GRADED]}
    assert load(tmp_path, corpora.graded(), lock, cards__card=corpora.card()).design_lock.gates[0].minimum_agreement


@pytest.mark.parametrize(
    ("changes", "at", "words"),
    [
        ({"alpha": "1.5"}, "alpha", "alpha"),
        ({"alpha": 0.05}, "", "float"),
        ({"gated_dimensions": ["faithfulness"]}, "", "R63"),
        ({"extra": 1}, "extra", "extra"),
        ({"bins": [66, 33]}, "", "low bin"),
        ({"gates": [GRADED]}, "gates", "evidence"),
        ({"gates": [EVIDENCE | {"minimum_agreement": "0.9"}]}, "gates[0].minimum_agreement", "null"),
        ({"gates": [EVIDENCE, GRADED | {"minimum_agreement": None}]}, "gates[1].minimum_agreement", "least agreement"),
        ({"gates": [EVIDENCE, EVIDENCE]}, "", "once"),
    ],
)
def test_wrong_constants_are_refused_with_their_line(tmp_path, changes, at, words):
    with pytest.raises(InputError) as refused:
        load(tmp_path, lock=LOCK | changes)
    assert refused.value.at.startswith("corpora/tiny/design-lock.yaml:")
    assert at in refused.value.at
    assert words in f"{refused.value.message} {refused.value.rule} {refused.value.at}"


def test_a_link_is_refused(tmp_path):
    folder = corpora.write(tmp_path, corpora.evidence())
    (folder / "design-lock.yaml").symlink_to(folder / "nowhere")
    with pytest.raises(InputError, match="symbolic link"):
        load_corpus(folder)
