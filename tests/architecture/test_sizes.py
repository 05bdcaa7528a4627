# SPDX-License-Identifier: Apache-2.0
"""Modules and functions stay small: a limit that nothing passes, and a lower one that little passes."""

import ast
from pathlib import Path
from statistics import median

import pytest

MODULE_LINES, MODULE_HARD = 300, 500
FUNCTION_LINES, FUNCTION_HARD = 40, 60
MEDIAN_MODULE_LINES = 160
SHARE_ABOVE = {"evalsite": 0.05, "tests": 0.15}  # a table of cases is long without being complicated


def _modules(root: Path) -> dict[str, int]:
    return {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("evalsite", "tests")
        for path in (root / folder).rglob("*.py")
    }


def _functions(root: Path) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for folder in ("evalsite", "tests"):
        for path in (root / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                    place = f"{path.relative_to(root).as_posix()}:{node.lineno} {node.name}"
                    sizes[place] = (node.end_lineno or node.lineno) - first + 1
    return sizes


def _above(sizes: dict[str, int], limit: int) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if size > limit}


def test_no_module_passes_the_hard_limit(repository: Path) -> None:
    assert _above(_modules(repository), MODULE_HARD) == {}


def test_no_function_passes_the_hard_limit(repository: Path) -> None:
    assert _above(_functions(repository), FUNCTION_HARD) == {}


@pytest.mark.parametrize("folder", SHARE_ABOVE)
def test_few_modules_and_functions_pass_the_limit(repository: Path, folder: str) -> None:
    for sizes, limit in ((_modules(repository), MODULE_LINES), (_functions(repository), FUNCTION_LINES)):
        here = {name: size for name, size in sizes.items() if name.startswith(f"{folder}/")}
        above = _above(here, limit)
        assert len(above) <= SHARE_ABOVE[folder] * len(here), above


def test_the_median_module_is_short(repository: Path) -> None:
    assert median(_modules(repository).values()) <= MEDIAN_MODULE_LINES
