# SPDX-License-Identifier: Apache-2.0
"""Tables of others as files: what is wrong is refused with file and line, and nothing is printed."""

import pytest
from support.cli import Project

from evalsite.campaign.calibrate_import import read_tables
from evalsite.errors import InputError

MAPPING = "verdict-rows-mapping.yaml"


@pytest.fixture
def examples(repository):
    return repository / "examples"


def test_the_example_is_read(examples):
    report = read_tables(examples / "verdict-rows.csv", examples / MAPPING)
    assert [(table.group["judge"], table.counts.judged, table.counts.false_pass) for table in report.tables] == [
        ("judge-a", 3, 1),
        ("judge-b", 4, 0),
    ]
    assert report.source.startswith("sha256:")


def test_the_example_is_printed_with_its_standing(examples, tmp_path):
    words = ("calibrate", "import", str(examples / "verdict-rows.csv"), "--mapping", str(examples / MAPPING))
    said = Project(tmp_path, tmp_path / "keys").ok(*words).out
    assert "imported: recorded by others, opens no gate" in said
    assert "judge-b" in said


@pytest.mark.parametrize(
    ("table", "at", "words"),
    [
        ("", "table.csv:1", "a header and rows"),
        ("judge,item,people,verdict\na,1,good\n", "table.csv:2", "4 cells"),
        ("judge,item,item,verdict\n", "table.csv:1", "each column once"),
        ("judge,item,people\na,1,good\n", "table.csv:2", "'verdict'"),
        ("judge,item,people,verdict\na,1,good,=HYPERLINK()\n", "table.csv:2", "a verdict of"),
        ('judge,item,people,verdict\na,1,good,"good\n', "table.csv:2", "expected CSV"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(examples, tmp_path, table, at, words):
    path = tmp_path / "table.csv"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_tables(path, examples / MAPPING)
    assert refused.value.at.startswith(at)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("layout: rows", "layout: columns", "layout"),
        ("passing: good", "passing: fine", ""),
        ("verdicts: [good, bad]", "verdicts: [good, poor]", "vocabulary"),
        ("refused: refusal", "refused: shrug", "vocabulary.unavailable"),
    ],
)
def test_a_mapping_that_is_wrong_is_refused_with_its_line(examples, tmp_path, old, new, field):
    path = tmp_path / "mapping.yaml"
    text = (examples / MAPPING).read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_tables(examples / "verdict-rows.csv", path)
    assert refused.value.at.startswith("mapping.yaml:")
    assert field in refused.value.at


def test_a_link_is_not_followed(examples, tmp_path):
    (tmp_path / "table.csv").symlink_to(examples / "verdict-rows.csv")
    with pytest.raises(InputError, match="symbolic link"):
        read_tables(tmp_path / "table.csv", examples / MAPPING)
