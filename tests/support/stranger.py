# SPDX-License-Identifier: Apache-2.0
"""The verifier in ``examples/``, which knows nothing of this package: run as a program, or taken as a module."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = ("verify_without_evalsite.py", "plain_formats.py")


def ask(folder: Path, *pins: str) -> tuple[int, str]:
    """Return its exit code and what it said of a folder of runs or an audit bundle."""
    words = [sys.executable, "-E", "-s", str(EXAMPLES / FILES[0]), str(folder), *pins]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def take(name: str) -> ModuleType:
    """Return one of its two files as a module."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        return importlib.import_module(name.removesuffix(".py"))
    finally:
        sys.path.remove(str(EXAMPLES))
