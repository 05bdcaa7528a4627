# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a project in which the command recorded one run, made once for each module and copied for each test."""

import shutil

import pytest
from support.cli import Project, new_project


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the sealed run ``first`` in the ledger ``test``."""
    project = new_project(tmp_path_factory.mktemp("recorded"))
    project.ok("run", project.campaign("one", repetitions=1), "--run-id", "first")
    return project


@pytest.fixture
def project(pristine: Project, tmp_path):
    """A copy of the project that a test may change, its keystore with it."""
    shutil.copytree(pristine.root.parent, tmp_path / "copy")
    return Project(tmp_path / "copy" / "project", tmp_path / "copy" / "keys")
