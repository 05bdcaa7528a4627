# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a project with one sealed run of `support.ledgers`, made once for each module and copied for each test."""

import shutil
from pathlib import Path

import pytest
from support.ledgers import make_ledger, make_sealed_run


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that no test changes, its keystore beside it."""
    project = tmp_path_factory.mktemp("sealed") / "project"
    make_ledger(project)
    make_sealed_run(project)
    return project


@pytest.fixture
def project(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the project that a test may change."""
    shutil.copytree(pristine.parent, tmp_path / "copy")
    return tmp_path / "copy" / "project"
