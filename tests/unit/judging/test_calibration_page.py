# SPDX-License-Identifier: Apache-2.0
"""The reference page about calibration names every reason and finding that exists, and its constants are read."""

import re

import pytest
from support import corpora

from evalsite.corpus.load import load_corpus
from evalsite.schema.calibration import CalibrationSpec
from evalsite.schema.tables import Unavailable
from evalsite.yamltext import parse_yaml


@pytest.fixture(scope="module")
def page(repository):
    return (repository / "docs" / "reference" / "calibration.md").read_text(encoding="utf-8")


def codes_in(repository):
    """Return every code that the modules of gates and findings state."""
    found = set()
    for name in ("judging/calibrating_gate.py", "judging/calibrating_runs.py", "campaign/qualification.py"):
        source = (repository / "evalsite" / name).read_text(encoding="utf-8")
        for pattern in (
            r'code="([a-z-]+)"',
            r'lacks\("([a-z-]+)"',
            r'\("([a-z-]+)", "[a-z ]+", ',
            r'_[A-Z]+ = \("([a-z-]+)"',
        ):
            found |= set(re.findall(pattern, source))
    return found


def test_every_reason_of_a_gate_stands_on_the_page(repository, page):
    codes = codes_in(repository)
    assert {
        "no-controls",
        "label-level",
        "coverage",
        "agreement",
        "phantom-evidence",
        "critical-open",
        "stale",
    } <= codes
    assert [code for code in sorted(codes) if f"`{code}`" not in page] == []


def test_every_finding_of_the_decision_over_a_run_stands_on_the_page(repository, page):
    source = (repository / "evalsite" / "judging" / "gates.py").read_text(encoding="utf-8")
    for code in ("injection-obeyed", "phantom-accepted", "false-pass", "false-fail"):
        assert code in source
        assert f"`calibration-{code}`" in page


def test_every_reason_without_a_verdict_stands_on_the_page(page):
    assert [reason.value for reason in Unavailable if f"`{reason.value}`" not in page] == []


def test_the_examples_of_the_page_are_valid(page, tmp_path):
    lock, campaign = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    value = parse_yaml(campaign.encode(), name="page", max_bytes=10_000).value
    assert CalibrationSpec.from_value(value["calibration"]).gates[0].run is not None

    folder = corpora.write(tmp_path, corpora.evidence())
    (folder / "design-lock.yaml").write_text(lock, encoding="utf-8")
    assert load_corpus(folder).design_lock.name == "our-constants"
