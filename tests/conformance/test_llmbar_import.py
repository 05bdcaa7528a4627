# SPDX-License-Identifier: Apache-2.0
"""Published verdicts of 499 judges (read in place), imported, against figures that others computed of them."""

import csv
import json

import pytest
from support.cli import Project

from evalsite.campaign.calibrate_import import read_tables

KEY = ("dataset", "evaluator")


@pytest.fixture(scope="module")
def llmbar(vectors):
    return vectors / "calibration"


@pytest.fixture(scope="module")
def report(llmbar, repository):
    return read_tables(llmbar / "llmbar_verdicts.csv", repository / "examples/llmbar-mapping.yaml")


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return {tuple(row[name] for name in KEY): row for row in csv.DictReader(stream)}


def test_every_row_is_read_and_every_expected_row_agrees(llmbar, report):
    tables = {tuple(table.group[name] for name in KEY): table for table in report.tables}
    expected = rows_of(llmbar / "llmbar_expected.csv")
    assert len(tables) == 499
    compared = 0
    for key, row in expected.items():
        found = tables[key]
        counts, at = found.counts, found.position
        integers = {
            "labeled": counts.labeled,
            "judged": counts.judged,
            "unavailable": sum(counts.unavailable.values()),
            "agree": counts.agreed,
            "false_pass": counts.false_pass,
            "false_fail": counts.false_fail,
            "pairs_both_decided": at.both_decided,
            "consistent": at.consistent.count,
            "flip_first_slot": at.flips_first,
            "flip_second_slot": at.flips_second,
        }
        decimals = {
            "agreement": found.agreement.value,
            "wilson_low": found.agreement.low,
            "wilson_high": found.agreement.high,
            "kappa": found.kappa.value,
            "flip_exact_p": at.exact_p.value,
        }
        for name, value in integers.items():
            assert value == int(row[name]), (key, name)
        for name, value in decimals.items():
            if row[name] == "":
                assert value is None, (key, name)
            elif value is None:  # a test of no flip at all says nothing; the source prints 1
                assert (name, float(row[name]), at.flips_first + at.flips_second) == ("flip_exact_p", 1.0, 0)
            else:
                assert abs(float(value) - float(row[name])) <= 1.1e-6, (key, name)
        compared += len(integers) + len(decimals)
    print(f"{compared} values of {len(expected)} rows compared")
    assert compared == 15 * 242


def test_published_counts_of_correct_verdicts_are_reproduced_for_all_rows(llmbar, report):
    source = rows_of(llmbar / "llmbar_verdicts.csv")
    for table in report.tables:
        row = source[tuple(table.group[name] for name in KEY)]
        assert table.counts.agreed == int(row["pub_correct_1"])
        assert table.counts.judged == len(row["judge_order1"]) - row["judge_order1"].count("N")


def test_constant_columns_are_named(report):
    constant = [table for table in report.tables if table.column.constant]
    assert len(constant) == 14
    assert {table.column.value for table in constant} <= {"0", "1"}


def test_the_published_mistake_cannot_be_repeated(llmbar, repository, tmp_path):
    """The source turned each verdict "2" into "0" before it compared: unequal vocabularies, and a wrong kappa."""
    source = (llmbar / "llmbar_verdicts.csv").read_text(encoding="utf-8").splitlines()
    cells = source[1].split(",")
    cells[4] = cells[4].replace("2", "0")
    (tmp_path / "table.csv").write_text("\n".join([source[0], ",".join(cells)]) + "\n", encoding="utf-8")
    mapping = (repository / "examples/llmbar-mapping.yaml").read_text(encoding="utf-8")
    (tmp_path / "honest.yaml").write_text(mapping, encoding="utf-8")
    (tmp_path / "unequal.yaml").write_text(
        mapping.replace('verdicts: ["1", "2"]', 'verdicts: ["0", "1"]'), encoding="utf-8"
    )
    here = Project(tmp_path, tmp_path / "keys")
    unequal = here.evalsite("calibrate", "import", "table.csv", "--mapping", "unequal.yaml")
    assert (unequal.code, unequal.out) == (2, "")
    assert "expected one vocabulary on both sides" in unequal.err
    assert "unequal.yaml:" in unequal.err
    unexplained = here.evalsite("calibrate", "import", "table.csv", "--mapping", "honest.yaml")
    assert (unexplained.code, unexplained.out) == (2, "")
    assert "table.csv:2" in unexplained.err


def test_the_command_prints_the_same_tables_for_machines(llmbar, repository, tmp_path, report):
    table, mapping = llmbar / "llmbar_verdicts.csv", repository / "examples/llmbar-mapping.yaml"
    words = ("calibrate", "import", str(table), "--mapping", str(mapping), "--json", "--csv", "tables")
    printed = json.loads(Project(tmp_path, tmp_path / "keys").ok(*words).out)
    assert printed == report.plain()
    assert printed["standing"] == "imported: recorded by others, opens no gate"
    written = (tmp_path / "tables/imported.csv").read_text(encoding="utf-8").splitlines()
    assert len(written) == 500
