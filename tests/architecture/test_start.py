# SPDX-License-Identifier: Apache-2.0
"""The command line starts fast, because it imports late; and its entry points exist."""

import json
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from statistics import median

HELP = """
import json, sys
sys.argv = ["evalsite", "--help"]
from evalsite.cli.main import main
code = None
try:
    main()
except SystemExit as stop:
    code = stop.code
print(json.dumps({"code": code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
HEAVY = {"rich", "mkdocs", "material", "ollama", "httpx", "cryptography", "pydantic", "ruamel", "jinja2", "asyncio"}
CPU_LIMIT_S = 0.4


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] in {0, None}
    assert "Usage" in done.stdout
    assert HEAVY & {name.split(".")[0] for name in told["modules"]} == set()


def test_help_starts_within_its_limit() -> None:
    spent = []
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert median(spent) < CPU_LIMIT_S


def test_entry_points_exist(repository: Path) -> None:
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    targets = [*project["scripts"].values(), *project["entry-points"]["mkdocs.plugins"].values()]
    for target in targets:
        module, _, name = target.partition(":")
        assert callable(getattr(import_module(module), name)), target


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "evalsite", "--help"], check=True, capture_output=True, text=True)
    assert "Usage" in done.stdout
