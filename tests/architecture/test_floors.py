# SPDX-License-Identifier: Apache-2.0
"""Imports go down only, and each outside library has one door."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = Path(sys.executable).with_name("lint-imports")


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(LINT), "--no-cache", "--no-logo"], cwd=folder, check=False, capture_output=True, text=True
    )


def test_imports_keep_the_floors(repository: Path) -> None:
    done = _lint(repository)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED = {
    "an upward import": ("errors.py", "import evalsite.schema.base", "evalsite.errors is not allowed to import"),
    "input and output in the core": ("canonical/jcs.py", "import os", "evalsite.canonical is not allowed to import os"),
    "a second door": ("corpus/__init__.py", "import cryptography", "evalsite.corpus is not allowed to import crypto"),
    "a package without a floor": ("attic.py", "import os", "- evalsite.attic"),
}


@pytest.mark.parametrize(("module", "line", "told"), PLANTED.values(), ids=PLANTED)
def test_a_planted_breach_is_caught(repository: Path, tmp_path: Path, module: str, line: str, told: str) -> None:
    shutil.copy(repository / "pyproject.toml", tmp_path)
    package = tmp_path / "evalsite"
    shutil.copytree(repository / "evalsite", package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = _lint(tmp_path)
    assert done.returncode == 1
    assert told in done.stdout
