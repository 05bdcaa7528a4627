# SPDX-License-Identifier: Apache-2.0
"""The traceability page tells the truth: R1 to R129 once each, and every named test or page exists."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest
from support.tree import table_rows

PAGE = "docs/reference/requirements.md"
LAST = 129
OPEN = "open"


def _rows(root: Path) -> dict[str, list[list[str]]]:
    rows: dict[str, list[list[str]]] = {}
    for row in table_rows((root / PAGE).read_text(encoding="utf-8")):
        if re.fullmatch(r"R\d+", row[0]):
            rows.setdefault(row[0], []).append(row)
    return rows


def _evidence(cell: str) -> list[str]:
    return [item.strip().strip("`") for item in cell.split(";")]


@lru_cache
def _tests_of(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{sub.name}" for sub in node.body if isinstance(sub, ast.FunctionDef)}
    return frozenset(name for name in names if name.split("::")[-1].startswith("test_"))


def _fault(root: Path, evidence: str) -> str | None:
    if evidence == OPEN:
        return None
    name, _, node = evidence.partition("::")
    path = root / name
    if not path.is_file():
        return f"{evidence}: no such file"
    if path.suffix == ".py" and (not node or node not in _tests_of(path)):
        return f"{evidence}: no such test"
    if path.suffix == ".py" or not node:
        return None
    return f"{evidence}: not a test"


def test_every_requirement_stands_once_and_in_order(repository: Path) -> None:
    rows = _rows(repository)
    assert list(rows) == [f"R{number}" for number in range(1, LAST + 1)]
    assert [name for name, found in rows.items() if len(found) != 1] == []


def test_every_requirement_has_words_and_evidence(repository: Path) -> None:
    for name, [row] in _rows(repository).items():
        assert len(row) == 3, name
        assert row[1], name
        assert all(_evidence(row[2])), name


def test_open_stands_alone(repository: Path) -> None:
    mixed = [
        name for name, [row] in _rows(repository).items() if OPEN in _evidence(row[2]) and len(_evidence(row[2])) > 1
    ]
    assert mixed == []


def test_every_named_test_and_page_exists(repository: Path) -> None:
    faults = [_fault(repository, item) for [row] in _rows(repository).values() for item in _evidence(row[2])]
    assert [fault for fault in faults if fault] == []


@pytest.mark.parametrize(
    "wrong",
    [
        "tests/no/such/test_file.py::test_x",
        "tests/architecture/test_requirements.py::test_that_is_not_there",
        "tests/architecture/test_requirements.py",
        "tests/architecture/test_requirements.py::_fault",
        "docs/no-such-page.md",
        "evalsite/errors.py",
    ],
)
def test_a_wrong_name_would_be_found(repository: Path, wrong: str) -> None:
    assert _fault(repository, wrong)
