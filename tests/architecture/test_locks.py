# SPDX-License-Identifier: Apache-2.0
"""The lock files pin what is declared, each with a hash, and name no place to fetch it from."""

import re
import tomllib
from pathlib import Path

import pytest

LOCKS = ("main", "dev", "live", "foreign", "oracles")


def _entries(root: Path, name: str) -> dict[str, list[str]]:
    """Return package name to versions; some packages are pinned per Python version."""
    text = (root / f"requirements/{name}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    entries: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            found = re.match(r"([a-z0-9-]+)==(\S+)(?: ; [^\\]+?)?((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*$", line)
            assert found, f"{name}.txt: {line[:100]}"
            entries.setdefault(found.group(1), []).append(found.group(2))
    return entries


def _names(requirements: list[str]) -> set[str]:
    words = [re.match(r"[A-Za-z0-9._-]+", line) for line in requirements if not line.startswith("#")]
    return {re.sub(r"[._]", "-", word.group().lower()) for word in words if word}


@pytest.mark.parametrize("name", LOCKS)
def test_every_entry_is_pinned_with_hashes_and_nothing_else(repository: Path, name: str) -> None:
    assert len(_entries(repository, name)) > 5


def test_what_is_declared_is_pinned(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = _names(project["dependencies"])
    assert declared <= _entries(repository, "main").keys()
    for name in ("dev", "live", "foreign", "oracles"):
        stated = (repository / f"requirements/{name}.in").read_text(encoding="utf-8").splitlines()
        assert _names(stated) <= _entries(repository, name).keys()


def test_the_files_agree_where_they_meet(repository: Path) -> None:
    main, dev, *others = (_entries(repository, name) for name in LOCKS)
    assert {name: dev.get(name) for name in main} == main
    for other in others:
        assert {name: versions for name, versions in other.items() if name in dev and dev[name] != versions} == {}
