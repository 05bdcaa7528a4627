# SPDX-License-Identifier: Apache-2.0
"""Where a run was made: versions and a digest of the code, never a path or a host name (R99)."""

import platform
from importlib import metadata
from pathlib import Path

from evalsite import __version__
from evalsite.canonical.digest import digest_bytes, digest_value
from evalsite.schema.plan import Environment

_PACKAGES = ("cryptography", "httpx", "ollama", "pydantic", "rfc8785", "ruamel.yaml")


def code_digest() -> str:
    """Return one digest over every Python file of this package, by relative name."""
    root = Path(__file__).resolve().parent.parent
    files = sorted(path for path in root.rglob("*.py") if path.is_file())
    return digest_value({path.relative_to(root).as_posix(): digest_bytes(path.read_bytes()) for path in files})


def environment() -> Environment:
    """Return the versions that a record keeps of its runner."""
    return Environment(
        evalsite_version=__version__,
        code_digest=code_digest(),
        python_version=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: metadata.version(name) for name in _PACKAGES},
    )
