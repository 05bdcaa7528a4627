# SPDX-License-Identifier: Apache-2.0
"""Decision records found in public repositories, and our own.

The public ones are read in place beside the project and never copied; without them these tests are
skipped, visibly. Shapes of the same kind stand in ``tests/unit/decisions``.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from evalsite.decisions.adr import load_decisions, parse_decision
from evalsite.decisions.links import check_decisions
from evalsite.decisions.markdown import to_html
from evalsite.decisions.qualification import Outcome
from evalsite.decisions.record import DecisionRecord, FileState, StatusNorm

NO_STATUS = "(absent)"
NO_RECORD = "NOT A DECISION RECORD"
#: R108: what a decision record holds.
PARTS = ("context", "drivers", "options", "outcome", "consequences", "confirmation", "pros and cons")


@dataclass(frozen=True)
class Sample:
    row: dict[str, str]
    record: DecisionRecord

    @property
    def status(self) -> str:
        if self.record.state is FileState.NOT_A_RECORD:
            return NO_RECORD
        if self.record.status.norm is StatusNorm.UNSTATED:
            return NO_STATUS
        partial = "partially " if self.record.status.partial else ""
        return partial + self.record.status.norm.value


@pytest.fixture(scope="module")
def samples(vectors: Path) -> list[Sample]:
    folder = vectors / "decision-records"
    if not (folder / "MANIFEST.csv").is_file():
        pytest.skip("public decision records are not beside this clone")
    with (folder / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [Sample(row, parse_decision((folder / row["file"]).read_bytes(), name=row["path"])) for row in rows]


def _wrong(samples: list[Sample], of: str) -> list[tuple[str, object, str]]:
    return [
        (sample.row["file"][:2], getattr(sample, of), sample.row[f"expect_{of}"])
        for sample in samples
        if str(getattr(sample, of)) != sample.row[f"expect_{of}"]
    ]


def test_no_public_record_is_falsely_accepted(samples: list[Sample]) -> None:
    false = [
        sample.row["file"]
        for sample in samples
        if sample.record.status.norm is StatusNorm.ACCEPTED and sample.row["expect_status"] != "accepted"
    ]
    assert false == []


def test_statuses_of_public_records(samples: list[Sample]) -> None:
    assert len(samples) >= 29
    assert _wrong(samples, "status") == []


def test_numbers_of_public_records(samples: list[Sample]) -> None:
    expected = [re.match(r"\d+$", sample.row["expect_number"]) for sample in samples]
    assert [sample.record.number for sample in samples] == [int(found[0]) if found else None for found in expected]


def test_titles_of_public_records(samples: list[Sample]) -> None:
    wrong = [
        (sample.record.title, sample.row["expect_title"])
        for sample in samples
        if sample.row["expect_title"] and not sample.row["expect_title"].startswith("(")
        if sample.record.title != sample.row["expect_title"]
    ]
    assert wrong == []
    fallbacks = [sample for sample in samples if sample.row["expect_title"].startswith("(")]
    assert all(sample.record.title_source == "file name" for sample in fallbacks)


def test_dates_of_public_records(samples: list[Sample]) -> None:
    for sample in samples:
        expected = sample.row["expect_date"]
        if expected.endswith("?"):
            assert sample.record.date is None
            assert any(date.ambiguous for date in sample.record.dates)
        elif expected:
            assert sample.record.date == expected, sample.row["file"]


@pytest.mark.parametrize("of", ["supersedes", "superseded_by"])
def test_supersession_in_public_records(samples: list[Sample], of: str) -> None:
    for sample in samples:
        references = getattr(sample.record, of)
        expected = sample.row[f"expect_{of}"]
        if "only derivable" in expected:
            continue  # told by the other record alone, which the folder check finds
        plain = re.sub(r"\s*\(.*?\)", "", expected)
        assert ";".join(str(item.number if item.number is not None else item.slug) for item in references) == plain
        assert all(item.partial == ("in part" in expected) for item in references), sample.row["file"]


def test_public_records_render_without_losing_their_headings(samples: list[Sample]) -> None:
    for sample in samples:
        for part in sample.record.parts:
            html = to_html(part.text)
            assert "<script" not in html
            assert bool(html) == bool(part.text.strip()), (sample.row["file"], part.heading)


@pytest.fixture(scope="module", params=["docs/adr", "docs/decisions"])
def own(request: pytest.FixtureRequest, repository: Path) -> list[DecisionRecord]:
    return load_decisions(repository / request.param, name=request.param)


def _records(own: list[DecisionRecord]) -> list[DecisionRecord]:
    return [record for record in own if record.state is FileState.RECORD]


def test_our_records_are_whole(own: list[DecisionRecord]) -> None:
    assert _records(own)
    for record in own:
        assert record.state in (FileState.RECORD, FileState.INDEX, FileState.TEMPLATE), record.path
    for record in _records(own):
        assert [part for part in PARTS if not record.sections.get(part)] == [], record.path
        assert (record.status.norm, record.format) == (StatusNorm.ACCEPTED, "madr-4"), record.path
        assert record.date, record.path
        assert record.people["decision-makers"], record.path
        assert list(record.findings) == [], record.path
    assert check_decisions(own) == []


def test_our_numbers_have_no_gap(own: list[DecisionRecord]) -> None:
    assert [record.number for record in _records(own)] == list(range(1, len(_records(own)) + 1))


def test_our_options_are_weighed_each(own: list[DecisionRecord]) -> None:
    for record in _records(own):
        options = re.findall(r"^\* (.+)$", record.sections["options"].replace("\n  ", " "), re.MULTILINE)
        weighed = re.findall(r"^### (.+)$", record.sections["pros and cons"], re.MULTILINE)
        assert len(options) >= 2, record.path
        assert len(weighed) == len(options), record.path
        for option, heading in zip(options, weighed, strict=True):
            assert option.startswith(heading), record.path
        for heading in weighed:
            text = record.sections["pros and cons"].partition(f"### {heading}\n")[2].partition("###")[0]
            assert "* Good: " in text, (record.path, heading)
            assert "* Bad: " in text, (record.path, heading)
        consequences = record.sections["consequences"]
        assert all(f"* {kind}: " in consequences for kind in ("Good", "Bad", "Neutral")), record.path


def test_each_confirmation_of_ours_names_its_check(own: list[DecisionRecord], repository: Path) -> None:
    for record in _records(own):
        items = re.findall(r"^\* ((?:.|\n  )+)", record.sections["confirmation"], re.MULTILINE)
        assert items, record.path
        for item in items:
            named = re.findall(r"`([^`]+)`", item)
            tests = [name for name in named if name.startswith("tests/")]
            assert tests or any(name.startswith(("evalsite ", "lint-imports")) for name in named), (record.path, item)
            assert [name for name in tests if not (repository / name).exists()] == [], record.path


def test_our_records_about_the_software_are_short(repository: Path) -> None:
    long = [
        path.name
        for path in (repository / "docs/adr").glob("[0-9]*.md")
        if len(path.read_text(encoding="utf-8").splitlines()) > 60
    ]
    assert long == []


def test_our_index_has_one_line_for_each_record(repository: Path) -> None:
    index = (repository / "docs/adr/index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d{4})\]\((\d{4}-[a-z0-9-]+\.md)\) \| (\S.*) \|$", index, re.MULTILINE)
    assert [name for _, name, _ in rows] == sorted(path.name for path in (repository / "docs/adr").glob("[0-9]*.md"))
    assert all(name.startswith(number) for number, name, _ in rows)


def test_our_first_qualification_is_a_refusal_with_open_reservations(repository: Path) -> None:
    path = repository / "docs/decisions/0001-refuse-smollm2-135m-for-support.md"
    block = parse_decision(path.read_bytes(), name="docs/decisions/" + path.name).qualification
    assert block is not None
    assert (block.outcome, block.profile) == (Outcome.REJECTED, "support-smollm2-135m")
    assert "independent-human-validation" in block.open_items()
    assert f"profile: {block.profile}\n" in (
        repository / "corpora/support-behaviors-v1/campaigns/live-smollm2.yaml"
    ).read_text(encoding="utf-8")
