# SPDX-License-Identifier: Apache-2.0
"""Pages stay in step with the code: errors, statuses, decisions, commands."""

import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from pathlib import Path

import pytest
from support.tree import project_files, table_rows

import evalsite
from evalsite.errors import EvalsiteError
from evalsite.judging.gates import GateState
from evalsite.schema.checks import Area, Level
from evalsite.schema.corpus import DataClass, LabelLevel
from evalsite.schema.outcome import Dimension, Mode, Order, Place, Polarity, Probe, Protocol, Stage, Status
from evalsite.schema.replies import Action, Winner

# What the world may raise, besides our own errors: the exit codes that no error class carries.
WITHOUT_CLASS = {"0", "1"}


def _subclasses(cls: type[EvalsiteError]) -> Iterator[type[EvalsiteError]]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def _errors() -> dict[str, str]:
    for module in pkgutil.walk_packages(evalsite.__path__, "evalsite."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    return {cls.__name__: str(cls.exit_code) for cls in _subclasses(EvalsiteError)}


def _code(cell: str) -> str:
    return cell.strip("`")


def test_every_error_stands_on_its_page_with_its_exit_code(repository: Path) -> None:
    page = (repository / "docs/reference/errors.md").read_text(encoding="utf-8")
    listed = {_code(row[0]): row[1] for row in table_rows(page) if _code(row[0]).endswith("Error")}
    assert listed == _errors()


def test_the_exit_codes_of_the_page_are_those_of_the_errors(repository: Path) -> None:
    page = (repository / "docs/reference/errors.md").read_text(encoding="utf-8")
    listed = {row[0] for row in table_rows(page) if row[0].isdigit()}
    assert listed - WITHOUT_CLASS == set(_errors().values())


@pytest.mark.parametrize(
    "kind",
    [
        Status,
        Stage,
        Mode,
        Protocol,
        Polarity,
        Dimension,
        Probe,
        Place,
        Order,
        Winner,
        Action,
        GateState,
        DataClass,
        LabelLevel,
        Area,
        Level,
    ],
)
def test_every_word_of_a_record_stands_on_its_page(repository: Path, kind: type[StrEnum]) -> None:
    page = (repository / "docs/reference/statuses.md").read_text(encoding="utf-8")
    section = page.partition(f"({kind.__name__})")[2].partition("\n## ")[0]
    assert [_code(row[0]) for row in table_rows(section)] == [member.value for member in kind]


def test_every_decision_about_the_software_is_listed(repository: Path) -> None:
    folder = repository / "docs/adr"
    index = (folder / "index.md").read_text(encoding="utf-8")
    records = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert records
    assert [name for name in records if f"({name})" not in index] == []
    assert [path for path in re.findall(r"\((\d{4}[^)]*\.md)\)", index) if path not in records] == []


def test_every_page_stands_in_the_navigation(repository: Path) -> None:
    docs = repository / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    # Decisions are reached by their own lists.
    listed_elsewhere = {page for page in pages if page.startswith(("adr/0", "decisions/"))}
    navigated = _navigation(repository)
    assert sorted(pages - listed_elsewhere - navigated) == []


@pytest.mark.parametrize(
    "page",
    [
        "runs/index.md",
        "explanation/isolation-and-calibration.md",
        "reference/calibration.md",
        "how-to/compare-two-runs.md",
    ],
)
def test_the_navigation_leads_to_evaluation_isolation_and_regression(repository: Path, page: str) -> None:
    assert page in _navigation(repository)


def _navigation(root: Path) -> set[str]:
    nav = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return set(re.findall(r"([\w/-]+\.md)$", nav, re.MULTILINE))


def test_every_make_target_on_a_page_exists(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    for path in _pages(repository):
        named = set(re.findall(r"\bmake ([a-z][a-z-]*)\b", "\n".join(_code_of(path.read_text(encoding="utf-8")))))
        assert named <= targets, path


def test_every_command_on_a_page_exists(repository: Path) -> None:
    known = _commands(())
    groups = {word: _commands((word,)) for word in known}
    unknown = [
        f"{path.name}: evalsite {' '.join(words)}"
        for path in _pages(repository)
        for words in _calls(path.read_text(encoding="utf-8"))
        if words[0] not in known or (len(words) > 1 and groups[words[0]] and words[1] not in groups[words[0]])
    ]
    assert known
    assert unknown == []


def _calls(page: str) -> list[list[str]]:
    """Return the words of every call of our command line on a page, options and operands cut off."""
    calls = []
    for line in _code_of(page):
        for part in re.split(r"&&|\|\||[;|]", line.partition(" #")[0]):
            found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?evalsite ([a-z]+)(?: ([a-z]+)(?=\s|$))?", part.strip())
            if found and ": " not in part:  # a sentence that happens to begin with our name
                calls.append([word for word in found.groups() if word])
    return calls


def _pages(root: Path) -> list[Path]:
    pages = [path for path in project_files(root) if path.suffix == ".md"]
    # Decision records keep the words of their day, the change log those of its releases.
    return [path for path in pages if not {"adr", "decisions"} & set(path.parts) and path.name != "CHANGELOG.md"]


def _code_of(page: str) -> list[str]:
    """Return the lines of fenced blocks and the spans between backticks."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    rest = re.sub(r"^```[^\n]*\n.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] + re.findall(r"`([^`\n]+)`", rest)


def _commands(words: tuple[str, ...]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-m", "evalsite", *words, "--help"], check=True, capture_output=True, text=True
    )
    listing = done.stdout.partition("Commands:")[2]
    return set(re.findall(r"^ {2}([a-z]+)", listing, re.MULTILINE))
