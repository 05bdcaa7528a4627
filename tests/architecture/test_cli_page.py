# SPDX-License-Identifier: Apache-2.0
"""The page about the commands lists each one, and shows the help text that the command really gives."""

import re
from pathlib import Path

from support.help_page import blocks_on_page, commands, helps
from support.tree import table_rows

PAGE = "docs/reference/cli.md"


def test_every_command_is_listed_with_its_exit_codes(repository: Path) -> None:
    rows = [
        row for row in table_rows((repository / PAGE).read_text(encoding="utf-8")) if row[0].startswith("`evalsite")
    ]
    assert sorted(row[0].strip("`") for row in rows) == sorted(f"evalsite {' '.join(words)}" for words, _ in commands())
    errors = (repository / "docs/reference/errors.md").read_text(encoding="utf-8")
    known = {row[0] for row in table_rows(errors) if row[0].isdigit()}
    for row in rows:
        assert set(re.split(r",\s*", row[2])) <= known, row


def test_the_help_texts_are_those_of_the_commands() -> None:
    assert blocks_on_page() == helps(), "make golden writes them anew"


def test_every_variable_of_the_page_is_read_by_the_code(repository: Path) -> None:
    page = (repository / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (repository / "evalsite").rglob("*.py"))
    named = set(re.findall(r"^\| `(EVALSITE_[A-Z_]+)`", page, flags=re.MULTILINE))
    assert named <= set(re.findall(r"EVALSITE_[A-Z_]+", code))
