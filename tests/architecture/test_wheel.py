# SPDX-License-Identifier: Apache-2.0
"""The wheel alone is enough: it holds templates, assets and corpora, and starts a project far from this clone."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest


@pytest.fixture(scope="module")
def unpacked(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=repository,
        check=True,
        capture_output=True,
    )
    [wheel] = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def _evalsite(unpacked: Path, folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "EVALSITE_KEYS": str(folder.parent / "keys")}
    command = [sys.executable, "-m", "evalsite", *words]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def _names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_every_file_of_the_package_and_every_corpus_is_in_the_wheel(repository: Path, unpacked: Path) -> None:
    package = {name for name in _names(repository / "evalsite") if "__pycache__" not in name}
    corpora = {f"_shipped/corpora/{name}" for name in _names(repository / "corpora")}
    assert package | corpora == _names(unpacked / "evalsite")


def test_nothing_but_the_package_is_in_the_wheel(unpacked: Path) -> None:
    tops = {path.name for path in unpacked.iterdir()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"evalsite"}


def test_the_wheel_starts_a_project(unpacked: Path, tmp_path: Path) -> None:
    where = subprocess.run(
        [sys.executable, "-c", "import evalsite; print(evalsite.__file__)"],
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert Path(where.strip()).is_relative_to(unpacked)
    _evalsite(unpacked, tmp_path, "init", "project")
    checked = _evalsite(unpacked, tmp_path / "project", "corpus", "check")
    assert "support-behaviors-v1" in checked
