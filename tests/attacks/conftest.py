# SPDX-License-Identifier: Apache-2.0
"""A project with one sealed run, made once per module and copied for each attack."""

import shutil

import pytest
from support.ledgers import make_ledger, make_sealed_run


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """A project that no attack changes, its keystore beside it."""
    project = tmp_path_factory.mktemp("attacks") / "project"
    make_ledger(project)
    make_sealed_run(project)
    return project


@pytest.fixture
def project(pristine, tmp_path):
    """A copy of the project for one attacker."""
    shutil.copytree(pristine.parent, tmp_path / "copy")
    return tmp_path / "copy" / "project"
