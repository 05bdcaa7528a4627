# SPDX-License-Identifier: Apache-2.0
"""A project with one sealed run, made once per module and copied for each test."""

import shutil

import pytest
from support.ledgers import make_ledger, make_sealed_run


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A project that no test changes, its keystore beside it."""
    project = tmp_path_factory.mktemp("verify") / "project"
    make_ledger(project)
    make_sealed_run(project)
    return project


@pytest.fixture
def project(pristine, tmp_path):
    """A copy of the project that a test may change."""
    shutil.copytree(pristine.parent, tmp_path / "copy")
    return tmp_path / "copy" / "project"
