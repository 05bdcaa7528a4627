# SPDX-License-Identifier: Apache-2.0
"""The files of this repository, and rows of tables on its pages."""

import re
import subprocess
from pathlib import Path

import pytest

_ROW = re.compile(r"^\|(.+)\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")


def project_files(root: Path) -> list[Path]:
    """Return every file that is tracked or about to be; skips the test where there is no checkout."""
    if not (root / ".git").exists():
        pytest.skip("not a git checkout: what belongs to the project cannot be told")
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    ).stdout
    names = sorted(name.decode("utf-8") for name in listed.split(b"\0") if name)
    return [path for path in map(root.joinpath, names) if path.is_file() and not path.is_symlink()]


def text_of(path: Path) -> str | None:
    """Return the text of a file, null for one that is not UTF-8 text."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def table_rows(page: str) -> list[list[str]]:
    """Return the cells of every table row of a Markdown page, headings and rules left out."""
    rows: list[list[str]] = []
    lines = page.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        found = _ROW.match(line)
        if found and not _RULE.match(line) and not (_ROW.match(following) and _RULE.match(following)):
            cells = re.split(r"(?<!\\)\|", found.group(1))
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
    return rows
