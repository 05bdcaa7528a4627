# SPDX-License-Identifier: Apache-2.0
"""Writing a site: staged first, then moved into place file by file; unchanged files are not touched.

A manifest lists every file with its SHA-256 and the records that it was made from. What a former
manifest lists and the new one does not is deleted; nothing else in the folder ever is.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evalsite.errors import InputError
from evalsite.site.output import Output

MANIFEST = "evalsite-manifest.json"
_FORMAT = "evalsite/site-manifest/v1"
_FILE_MODE, _FOLDER_MODE = 0o644, 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a merge did. ``digest`` is the SHA-256 of the manifest: one value for the whole site."""

    files: int
    written: int
    removed: int
    digest: str


def merge(outputs: Iterable[Output], target: Path, *, staging: Path, generator: str) -> Merged:
    """Write ``outputs`` to ``target``.

    Args:
        outputs: All files of the site. They are checked while they are made, and nothing is moved
            into place before the last one is.
        target: The folder of the site.
        staging: A folder on the same file system, emptied before and after.
        generator: Name and version for the manifest.

    Raises:
        InputError: ``target`` holds something that no manifest lists, or a check failed.
    """
    former = _former(target)
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True, mode=_FOLDER_MODE)
    try:
        entries: dict[str, object] = {}
        staged = []
        for output in outputs:
            entries[output.path] = {"sha256": hashlib.sha256(output.data).hexdigest(), "sources": list(output.sources)}
            if not _holds(target / output.path, output.data):
                _write(staging / output.path, output.data)
                staged.append(output.path)
        listing = _manifest(entries, generator)
        if not _holds(target / MANIFEST, listing):
            _write(staging / MANIFEST, listing)
            staged.append(MANIFEST)
        removed = sorted(former - entries.keys() - {MANIFEST})
        _move(staged, staging, target)
        _remove(removed, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return Merged(
        files=len(entries), written=len(staged), removed=len(removed), digest=hashlib.sha256(listing).hexdigest()
    )


def write_over(outputs: Iterable[Output], folder: Path, *, stubs: str, generator: str) -> str:
    """Finish a site inside the folder that an engine just filled, and return the manifest's digest.

    Args:
        outputs: All files of the site; read from ``folder`` before they are written there.
        folder: The engine's output.
        stubs: Folder of the stubs, which is removed.
        generator: Name and version for the manifest.
    """
    entries: dict[str, object] = {}
    ready = list(outputs)  # every check runs before the first file changes
    for output in ready:
        entries[output.path] = {"sha256": hashlib.sha256(output.data).hexdigest(), "sources": list(output.sources)}
        if not _holds(folder / output.path, output.data):
            _write(folder / output.path, output.data)
    shutil.rmtree(folder / stubs, ignore_errors=True)
    (folder / "sitemap.xml.gz").unlink(missing_ok=True)
    listing = _manifest(entries, generator)
    _write(folder / MANIFEST, listing)
    return hashlib.sha256(listing).hexdigest()


def _manifest(entries: dict[str, object], generator: str) -> bytes:
    value = {"format": _FORMAT, "generator": generator, "files": dict(sorted(entries.items()))}
    return json.dumps(value, ensure_ascii=True, indent=1).encode("ascii") + b"\n"


def _former(target: Path) -> set[str]:
    """Return what the former manifest lists; a folder that we did not build is refused."""
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return set()
    try:
        listed = json.loads((target / MANIFEST).read_bytes())
        names = set(listed["files"])
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise InputError(
            "expected an empty folder or a site built by evalsite, got another folder",
            at=target.name,
            rule="nothing else is overwritten",
            advice="Name another folder with --into, or empty this one.",
        ) from exc
    for name in names:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise InputError(f"expected addresses inside the site, got {name!a}", at=MANIFEST, rule="manifest")
    return names


def _holds(path: Path, data: bytes) -> bool:
    """Return whether a file has exactly these bytes already; a symbolic link never has."""
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return not path.is_symlink() and found.st_size == len(data) and path.read_bytes() == data


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    path.write_bytes(data)
    path.chmod(_FILE_MODE)


def _move(staged: list[str], staging: Path, target: Path) -> None:
    for name in staged:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
        os.replace(staging / name, place)  # noqa: PTH105 - Path.replace is the same call, this names the guarantee


def _remove(names: list[str], target: Path) -> None:
    for name in names:
        (target / name).unlink(missing_ok=True)
        for folder in (target / name).parents:
            if folder == target:
                break
            try:
                folder.rmdir()  # only when it is empty
            except OSError:
                break
