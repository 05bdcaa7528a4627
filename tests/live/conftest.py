# SPDX-License-Identifier: Apache-2.0
"""Live tests run when they are asked for by name (``-m live``) and never by the way (R44)."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
from live.run_live import UnavailableError, fetch, running_bridge

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip, visibly, unless ``-m`` names the marker."""
    if "live" in config.option.markexpr:
        return
    skip = pytest.mark.skip(reason="starts a real language model: run `make live` or `pytest -m live`")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def bridge_url() -> Iterator[str]:
    """The address of a bridge with a real small language model, on a free port."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: pip install -r requirements/live.txt")
    try:
        with running_bridge(fetch()) as url:
            yield url
    except UnavailableError as exc:
        if exc.exit_code != 7:
            raise
        pytest.skip(str(exc))
