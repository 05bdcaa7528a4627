# SPDX-License-Identifier: Apache-2.0
"""What no file of this project holds, and the one line that each source file holds."""

import re
from pathlib import Path

import pytest
from support.tree import project_files, text_of

SPDX = "SPDX-License-Identifier: Apache-2.0"
# Templates become files of somebody else's project and carry no licence of ours.
SOURCES = {".py", ".yaml", ".yml", ".css", ".js"}
# Data that was written by a campaign is kept byte for byte and may hold whatever an endpoint said.
RECORDED = ("runs/", "tests/golden/")

# The patterns are written so that they don't match themselves.
FORBIDDEN = {
    "a path of a machine": re.compile(
        r"(?<![\w.~$}/:-])/(?:work|root|farm|tmp|var/tmp|(?:home|Users)/(?!somebody\b)\w+)/[\w.]",
    ),
    "the host of a package registry": re.compile(
        r"\b(?:pypi|pythonhosted|registry\.npmjs|deb\.debian)\.(?:org|com)\b", re.IGNORECASE
    ),
    "the address of a package index": re.compile(r"^--(?:extra-)?index" + "-url", re.MULTILINE),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE" + r" KEY-----\\?r?\\?n?\s*[A-Za-z0-9+/=]{24}"),
}
CLAIM = re.compile("tamper" + r"[\s-]?proof", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not|never|nor|no|neither|nothing|without)\b|n't|\bn[ãa]o\b|\bpas\b|不", re.IGNORECASE)


def _texts(root: Path) -> dict[str, str]:
    found = {}
    for path in project_files(root):
        name = path.relative_to(root).as_posix()
        text = None if name.startswith(RECORDED) else text_of(path)
        if text is not None:
            found[name] = text
    return found


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(repository: Path, what: str) -> None:
    places = [
        f"{name}:{text.count(chr(10), 0, found.start()) + 1}: {found.group()}"
        for name, text in _texts(repository).items()
        for found in FORBIDDEN[what].finditer(text)
    ]
    assert places == []


def test_recorded_data_holds_no_private_key(repository: Path) -> None:
    marker = FORBIDDEN["a private key"]
    texts = {path: text_of(path) for path in project_files(repository)}
    assert [str(path) for path, text in texts.items() if text and marker.search(text)] == []


def test_nothing_claims_more_than_tamper_evidence(repository: Path) -> None:
    places = [
        f"{name}:{number}: {line.strip()[:120]}"
        for name, text in _texts(repository).items()
        for number, line in enumerate(text.splitlines(), 1)
        if CLAIM.search(line) and not DENIED.search(line)
    ]
    assert places == []


def test_every_source_file_names_its_licence(repository: Path) -> None:
    missing = []
    for name, text in _texts(repository).items():
        head = text.splitlines()[:2]
        if (
            Path(name).suffix in SOURCES
            and "/templates/" not in name
            and text.strip()
            and not any(SPDX in line for line in head)
        ):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize(
    ("what", "sample"),
    [
        ("a path of a machine", "see /" + "root/.ssh/id"),
        ("a path of a machine", "(/" + "home/someone/x)"),
        ("the host of a package registry", "https://pypi" + ".org/simple"),
        ("the address of a package index", "--extra-index" + "-url x"),
        ("a private key", "-----BEGIN PRIVATE" + " KEY-----\n" + "M" * 30),
    ],
)
def test_what_is_forbidden_would_be_found(what: str, sample: str) -> None:
    assert FORBIDDEN[what].search(sample)


@pytest.mark.parametrize("sample", ["work/root/x", "a/tmp/b", "https://host/root/x", "~/work/x", "$HOME/tmp/x"])
def test_relative_paths_are_not_mistaken(sample: str) -> None:
    assert not FORBIDDEN["a path of a machine"].search(sample)
