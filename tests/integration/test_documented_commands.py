# SPDX-License-Identifier: Apache-2.0
"""What the pages tell a reader to type is typed here, in the order of the page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = "support-behaviors-v1"
#: Needs a clone and a reader: done by other tests, or without an end.
NOT_TYPED = ("make demo", "evalsite serve", "export PATH")


class Shell:
    """A shell in a folder of its own, in which ``evalsite`` is the code under test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.keys = folder / "keys"

    def type(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script; any command that fails ends it."""
        head = 'set -eu\nevalsite() { "$PYTHON" -m evalsite "$@"; }\n'
        return subprocess.run(
            ["bash", "-c", head + script],
            cwd=self.folder,
            env={**os.environ, "PYTHON": sys.executable, "EVALSITE_KEYS": str(self.keys), **variables},
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder."""
    return Shell(tmp_path)


@pytest.fixture
def project_shell(tmp_path: Path) -> Shell:
    """A shell in a new project that has no ledger yet."""
    outer = Shell(tmp_path)
    done = outer.type("evalsite init project")
    assert done.returncode == 0, done.stderr
    inner = Shell(tmp_path / "project")
    inner.keys = outer.keys
    return inner


def blocks(page: Path, language: str = "sh") -> list[str]:
    """Return the fenced blocks of a page, lines left out that only a reader can type."""
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [
        "".join(line for line in block.splitlines(keepends=True) if not line.startswith(NOT_TYPED)) for block in found
    ]


def test_the_tutorial_does_what_it_says(repository: Path, shell: Shell) -> None:
    # A step that is meant to fail shows its exit code, as the page has it.
    script = "\n".join(blocks(repository / "docs/tutorial/first-campaign.md")).replace("; echo", " || echo")
    done = shell.type(script)
    assert done.returncode == 0, done.stderr
    assert "exit 4" in done.stdout
    assert "fixture gate       passed" in done.stdout
    assert (shell.folder / "review/site/index.html").is_file()


def test_the_campaign_of_the_readme_works(repository: Path, shell: Shell) -> None:
    [campaign] = [block for block in blocks(repository / "README.md") if "evalsite init" in block]
    done = shell.type(campaign)
    assert done.returncode == 0, done.stderr
    assert (shell.folder / "review/site/index.html").is_file()


def test_the_job_of_the_ci_page_works(repository: Path, project_shell: Shell) -> None:
    job = blocks(repository / "docs/how-to/gate-in-ci.md")[0]
    done = project_shell.type("evalsite keys init\n" + job, BUILD="17")
    assert done.returncode == 0, done.stderr
    assert (project_shell.folder / "runs/ci-17").is_dir()


def test_a_ledger_is_founded_as_the_page_says_and_runs_without_its_root_key(
    repository: Path, project_shell: Shell
) -> None:
    founding, using = blocks(repository / "docs/how-to/found-a-ledger.md")
    done = project_shell.type(f'{founding}rm "$EVALSITE_KEYS/release-2027/root.pem"\n{using}evalsite verify\n')
    assert done.returncode == 0, done.stderr


def test_the_case_of_the_page_is_a_good_case(repository: Path, project_shell: Shell) -> None:
    page = repository / "docs/how-to/add-a-case.md"
    [case] = blocks(page, "yaml")
    corpus = project_shell.folder / f"corpora/{CORPUS}/corpus.yaml"
    corpus.write_text(f"{corpus.read_text(encoding='utf-8').rstrip()}\n\n{case}", encoding="utf-8")
    check, look = blocks(page)
    script = f"{check}{look}".replace("<name>", CORPUS).replace("<before> <after>", f"{CORPUS} {CORPUS}")
    done = project_shell.type(f"{script}evalsite corpus schema corpus-binary\n")
    assert done.returncode == 0, done.stderr
    assert "PRICE-MATCH" in done.stdout
    assert re.search(rf"{CORPUS} +binary +9 +\d+ +0\n", done.stdout)
