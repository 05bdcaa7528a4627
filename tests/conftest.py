# SPDX-License-Identifier: Apache-2.0
"""What all tests share: the path of test support code, public vectors, hypothesis profiles."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of this repository."""
    return ROOT


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Public test vectors that lie beside the project; absent on a lone clone."""
    folder = ROOT.parent / "shared" / "vectors"
    if not folder.is_dir():
        pytest.skip("public vectors are not beside this clone (../shared/vectors)")
    return folder
