# SPDX-License-Identifier: Apache-2.0
"""What the pages tell a reader to type is typed here, in the order of the page."""

import re
from pathlib import Path

import pytest
from support.shell import Shell, blocks

CORPUS = "support-behaviors-v1"


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


def test_the_keys_of_the_ci_page_open_by_a_descriptor(repository: Path, project_shell: Shell) -> None:
    job = blocks(repository / "docs/how-to/gate-in-ci.md")[1]
    secret = project_shell.folder / "secret"
    secret.write_text("a passphrase of the job\n", encoding="utf-8")
    done = project_shell.type(
        'evalsite keys init --passphrase-fd 3 3< "$SECRET_FILE"\n' + job, BUILD="18", SECRET_FILE=str(secret)
    )
    assert done.returncode == 0, done.stderr
    assert (project_shell.folder / "runs/ci-18/statement.dsse.json").is_file()


def test_a_ledger_is_founded_as_the_page_says_and_runs_without_its_root_key(
    repository: Path, project_shell: Shell
) -> None:
    founding, second, using = blocks(repository / "docs/how-to/found-a-ledger.md")
    done = project_shell.type(f'{founding}rm "$EVALSITE_KEYS/release-2027/root.pem"\n{using}{second}evalsite verify\n')
    assert done.returncode == 0, done.stderr
    assert (project_shell.folder / "runs/trust/release-2040/log-ml-dsa-44.vkey").is_file()


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


def test_labels_are_made_as_the_page_says(repository: Path, tmp_path: Path) -> None:
    """People fill the sheets between the commands; here each label is 1, but one that the annotators differ in."""
    page = repository / "docs/how-to/label-a-corpus.md"
    outer = Shell(tmp_path)
    assert outer.type("evalsite init project --corpus evidence-claims-v1").returncode == 0
    shell = Shell(tmp_path / "project")
    shell.keys = outer.keys
    [calibration] = blocks(page, "yaml")
    campaigns = shell.folder / "corpora/evidence-claims-v1/campaigns"
    campaign = (campaigns / "fixture.yaml").read_text(encoding="utf-8").replace("name: fixture", "name: calibrated")
    (campaigns / "calibrated.yaml").write_text(f"{campaign.rstrip()}\n{calibration}", encoding="utf-8")
    freeze, sheets, serve, commit, adjudicate, settle, run, reveal = blocks(page)
    assert serve == ""

    def label(name: str, first: str) -> None:
        text = (shell.folder / name).read_text(encoding="utf-8")
        todo = ",todo," if name.endswith(".csv") else 'label: "todo"'
        text = text.replace(todo, todo.replace("todo", first).replace('"', ""), 1)
        (shell.folder / name).write_text(
            text.replace(todo, todo.replace("todo", "1").replace('"', "")), encoding="utf-8"
        )

    for script, filled in (
        (f"evalsite keys init\n{freeze}{sheets}", {"human-a.yaml": "1", "human-b.csv": "null"}),
        (f"{commit}{adjudicate}", {"both.yaml": "0"}),
        (f"{settle}{run}{reveal}", {}),
    ):
        done = shell.type(script)
        assert done.returncode == 0, done.stderr
        for name, first in filled.items():
            label(name, first)
    assert re.search(r"^final +\S+ +adjudication .* calibrated-1$", done.stdout, re.MULTILINE)
