# SPDX-License-Identifier: Apache-2.0
"""Raw outputs of real data are not recorded: there is no sealed storage for them yet (R112)."""

from pathlib import Path

import pytest
from support.cli import new_project

CORPUS = "corpora/support-behaviors-v1"


@pytest.mark.parametrize("data_class", ["internal", "personal", "restricted"])
def test_a_corpus_that_is_not_synthetic_is_not_run(tmp_path: Path, data_class: str) -> None:
    project = new_project(tmp_path)
    file = project.root / CORPUS / "corpus.yaml"
    text = file.read_text(encoding="utf-8")
    assert "data_class: synthetic" in text
    file.write_text(text.replace("data_class: synthetic", f"data_class: {data_class}"), encoding="utf-8")
    before = sorted(project.root.glob("runs/**/*"))
    refused = project.evalsite("run", f"{CORPUS}/campaigns/fixture.yaml", "--run-id", "real")
    assert refused.code == 2
    assert f"expected a corpus of class synthetic, got {data_class}" in refused.err
    assert "R112" in refused.err
    assert sorted(project.root.glob("runs/**/*")) == before
