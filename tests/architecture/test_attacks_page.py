# SPDX-License-Identifier: Apache-2.0
"""The page of attacks is complete: every threat has tests, every named test exists, every attack test is named."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest
from support.tree import table_rows

PAGE = "docs/reference/attacks.md"
THREATS = 24  # rows of the threat table that the record was designed against
CLASSES = "ABCDE"
CRASHES = 14
FOLDERS = ("tests/attacks", "tests/crash")
_ID = re.compile(r"T\d+|K\d+|[A-E]")
_TEST = re.compile(r"`(tests/[^`]+)`")


@lru_cache
def list_tests(path: Path) -> frozenset[str]:
    """Return ``test`` and ``Class::test`` names of a file."""
    names: set[str] = set()
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{sub.name}" for sub in node.body if isinstance(sub, ast.FunctionDef)}
    return frozenset(name for name in names if name.split("::")[-1].startswith("test_"))


@pytest.fixture(scope="module")
def rows(repository: Path) -> dict[str, list[str]]:
    """The tests that the page names, by the id of their row."""
    found: dict[str, list[str]] = {}
    for row in table_rows((repository / PAGE).read_text(encoding="utf-8")):
        if _ID.fullmatch(row[0]):
            assert row[0] not in found, f"{row[0]} stands twice"
            found[row[0]] = _TEST.findall(row[2])
    return found


def named_tests(root: Path, evidence: str) -> set[str]:
    """Return the tests that one name stands for: itself, or all of its class."""
    name, _, node = evidence.partition("::")
    if not node or not (root / name).is_file():
        return set()
    return {f"{name}::{test}" for test in list_tests(root / name) if test == node or test.startswith(f"{node}::")}


def test_every_threat_class_and_crash_has_tests(rows: dict[str, list[str]]) -> None:
    expected = [*(f"T{number + 1}" for number in range(THREATS)), *CLASSES]
    expected += [f"K{number + 1}" for number in range(CRASHES)]
    assert list(rows) == expected
    assert [name for name, tests in rows.items() if not tests] == []


def test_every_named_test_exists(repository: Path, rows: dict[str, list[str]]) -> None:
    named = {evidence for tests in rows.values() for evidence in tests}
    assert sorted(evidence for evidence in named if not named_tests(repository, evidence)) == []


def test_every_attack_and_crash_test_is_named(repository: Path, rows: dict[str, list[str]]) -> None:
    named = {test for tests in rows.values() for evidence in tests for test in named_tests(repository, evidence)}
    there = {
        f"{path.relative_to(repository).as_posix()}::{test}"
        for folder in FOLDERS
        for path in (repository / folder).glob("test_*.py")
        for test in list_tests(path)
    }
    assert sorted(there - named) == []
