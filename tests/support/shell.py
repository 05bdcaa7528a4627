# SPDX-License-Identifier: Apache-2.0
"""A reader who types what the pages say."""

import os
import re
import subprocess
import sys
from pathlib import Path

#: Needs a clone and a reader: done by other tests, or without an end.
NOT_TYPED = ("make demo", "evalsite serve", "evalsite label serve", "export PATH")


class Shell:
    """A shell in a folder of its own, in which ``evalsite`` is the code under test."""

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        self.folder = folder
        self.keys = keys or folder / "keys"

    def type(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script; any command that fails ends it."""
        head = 'set -eu\nevalsite() { "$PYTHON" -m evalsite "$@"; }\n'
        return subprocess.run(
            ["bash", "-c", head + script],
            cwd=self.folder,
            env={**os.environ, "PYTHON": sys.executable, "EVALSITE_KEYS": str(self.keys), **variables},
            check=False,
            capture_output=True,
            text=True,
        )


def blocks(page: Path, language: str = "sh") -> list[str]:
    """Return the fenced blocks of a page, lines left out that only a reader can type."""
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [
        "".join(line for line in block.splitlines(keepends=True) if not line.startswith(NOT_TYPED)) for block in found
    ]
