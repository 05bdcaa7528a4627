# SPDX-License-Identifier: Apache-2.0
"""The engine as a subprocess: hand-written pages and stubs, into a private folder.

Its result is kept by a digest of everything that it depends on, so that a site whose hand-written
pages did not change starts no engine at all.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from evalsite import __version__
from evalsite.errors import InputError
from evalsite.site.assets import assets
from evalsite.site.model import Kind
from evalsite.site.shell import stub_markdown, stub_source

#: Tells the plugin to render stubs with this token and to leave everything else to its caller.
TOKEN_VARIABLE = "EVALSITE_FRONT_TOKEN"  # noqa: S105 - no secret: a marker in our own stubs
CACHE = ".evalsite"
_ENGINE = ("mkdocs", "mkdocs-material", "pymdown-extensions", "markdown", "jinja2", "pygments")
_INPUTS = ("docs", "overrides")
_MAX_KEPT = 3
_TIMEOUT_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What the engine built: where, with which token, and around which hand-written pages."""

    folder: Path
    token: str
    hand_written: frozenset[Kind]
    engine_started: bool


def hand_written_kinds(docs: Path) -> frozenset[Kind]:
    """Return the kinds whose page the project writes itself, around our sections."""
    return frozenset(kind for kind in Kind if kind.is_single and (docs / stub_source(kind)).is_file())


def build_front(project: Path, *, epoch: int, strict: bool = True) -> Front:
    """Render hand-written pages and stubs.

    Args:
        project: The folder with ``mkdocs.yml``.
        epoch: ``SOURCE_DATE_EPOCH``: the only time that gets into the pages.
        strict: Whether warnings of the engine stop the build.

    Raises:
        InputError: There is no ``mkdocs.yml``, or the engine refuses it; its own words are passed on.
    """
    config = project / "mkdocs.yml"
    if not config.is_file():
        raise InputError("expected a project with mkdocs.yml, found none", at="mkdocs.yml", rule="layout")
    key = _key(project, epoch)
    token = f"estok{key[:24]}"
    kept = project / CACHE / "front"
    folder = kept / key[:32]
    hand_written = hand_written_kinds(project / "docs")
    if (folder / ".done").is_file():
        return Front(folder=folder / "site", token=token, hand_written=hand_written, engine_started=False)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run(config, folder / "site", token, epoch, strict=strict)
    (folder / ".done").touch()
    _forget_old(kept, folder)
    return Front(folder=folder / "site", token=token, hand_written=hand_written, engine_started=True)


def _run(config: Path, target: Path, token: str, epoch: int, *, strict: bool) -> None:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--config-file",
        str(config),
        "--site-dir",
        str(target),
    ]
    if strict:
        command.append("--strict")  # not together with --quiet, which keeps warnings from being counted
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": str(epoch),
        TOKEN_VARIABLE: token,
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONHASHSEED": "0",
    }
    done = subprocess.run(  # noqa: S603 - our own interpreter, arguments without a shell
        command, env=environment, cwd=config.parent, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
    )
    if done.returncode != 0:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.strip() and "INFO" not in line[:8]]
        raise InputError(
            f"the engine refused the project: {' | '.join(line.strip() for line in said[-6:])[:1500]}",
            at="mkdocs.yml",
            rule=f"mkdocs exit {done.returncode}",
            advice="Run mkdocs build --strict in the project for all of its messages.",
        )


def _key(project: Path, epoch: int) -> str:
    """Return a digest of everything that the engine's result depends on."""
    listing: dict[str, str] = {"mkdocs.yml": _digest(project / "mkdocs.yml")}
    for name in _INPUTS:
        for path in sorted((project / name).rglob("*")):
            if path.is_file():
                listing[path.relative_to(project).as_posix()] = _digest(path)
    versions = {name: metadata.version(name) for name in _ENGINE}
    stubs = {kind.slug: stub_markdown(kind, "") for kind in Kind}
    own = {path: hashlib.sha256(data).hexdigest() for path, data in assets().items()}
    value = [listing, versions, stubs, own, epoch, __version__]
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8")).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _forget_old(kept: Path, newest: Path) -> None:
    others = sorted((path for path in kept.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) - _MAX_KEPT + 1)]:
        shutil.rmtree(path, ignore_errors=True)
