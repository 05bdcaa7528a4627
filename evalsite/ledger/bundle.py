# SPDX-License-Identifier: Apache-2.0
"""Bundles: a run, or some lines of one, with all that an outsider needs; as a folder and as one archive.

A bundle is a folder with ``evalsite-bundle.json``, ``SHA256SUMS`` over every other file, and the
record's own files in their places. The archive is a gzipped ustar with nothing in it but the bytes:
sorted names, no times, no owners. The sums help to find damage; what is trusted are the signatures.
"""

import gzip
import hashlib
import re
import tarfile
import zlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from evalsite.errors import InputError, IntegrityError, UndecidedError, shorten
from evalsite.ledger.steps import Step
from evalsite.schema.base import Count, ShortText, StrictModel
from evalsite.schema.bounds import MAX_RECORD_FILE_BYTES
from evalsite.schema.checks import Check
from evalsite.storage import UNREADABLE, create, ensure_folder, list_tree, read_regular

MANIFEST = "evalsite-bundle.json"
SUMS = "SHA256SUMS"
ARCHIVE_SUFFIX = ".tar.gz"
STEP_FILES = 31
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_SUMS_BYTES = 256 * 1024 * 1024
MAX_ARCHIVE_FILES = 1_000_000
MAX_ARCHIVE_BYTES = 64 * 1024**3  # unpacked
RULE = "run-record: bundles"
_BLOCK = 512
_CHUNK = 1 << 20
_MODE = 0o644
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SUM = re.compile(r"([0-9a-f]{64})  ([^\n]+)")
_MAX_DEPTH = 12


class BundleManifest(StrictModel):
    """What a bundle holds. ``case_id``, ``repetition`` and ``lines`` are for a disclosed case only."""

    format: Literal["evalsite/bundle/v1"]
    kind: Literal["audit", "case"]
    ledger: ShortText
    run: ShortText
    case_id: ShortText | None
    repetition: Count | None
    lines: Annotated[tuple[Count, ...], Field(max_length=100_000)]

    def folder_name(self) -> str:
        """Return the name of the one folder in the archive."""
        return f"evalsite-{self.kind}-{self.run}"


def is_bundle(path: Path) -> bool:
    """Return whether ``path`` looks like a bundle: a folder with a manifest, or an archive by its name."""
    return (path / MANIFEST).is_file() or (path.is_file() and path.name.endswith(ARCHIVE_SUFFIX))


def read_manifest(folder: Path) -> BundleManifest:
    """Return the manifest of an unpacked bundle.

    Raises:
        InputError: No manifest, or another form.
        IntegrityError: It is no plain file.
    """
    data = read_regular(folder / MANIFEST, MAX_MANIFEST_BYTES)
    manifest = BundleManifest.parse(data, max_bytes=MAX_MANIFEST_BYTES)
    if (manifest.case_id is None) != (manifest.kind == "audit"):
        raise InputError("expected a case in a bundle of one, and only there", at=MANIFEST, rule=RULE)
    return manifest


def put(folder: Path, name: str, data: bytes) -> None:
    """Write one new file of a bundle, its folders included."""
    path = folder / name
    ensure_folder(path.parent)
    create(path, data)


def seal_bundle(folder: Path, manifest: BundleManifest) -> None:
    """Write the manifest and, last, the sums of every file."""
    put(folder, MANIFEST, manifest.to_bytes() + b"\n")
    put(folder, SUMS, "".join(f"{_digest(folder / name)}  {name}\n" for name in _names(folder)).encode())


def check_files(folder: Path) -> Check:
    """Return the step that compares a bundle's files with its sums: each as summed, and no other."""
    step = Step(STEP_FILES, "bundle files are those of SHA256SUMS")
    tree = list_tree(folder)
    for oddity in tree.oddities:
        if oddity.code == UNREADABLE:
            raise UndecidedError(oddity.message, at=oddity.path)
        step.find(oddity.code, oddity.path, oddity.message, RULE)
    for name in tree.leftovers:
        step.find("bundle.leftover", name, "expected no temporary file", RULE)
    stated: dict[str, str] = {}
    with step.item("bundle.sums", SUMS):
        stated = _parse_sums(read_regular(folder / SUMS, MAX_SUMS_BYTES))
    for name in sorted({*tree.files, *stated} - {SUMS}):
        with step.item("bundle.file", name):
            if name not in stated:
                raise IntegrityError("expected no file that SHA256SUMS does not name", rule=RULE)
            if name not in tree.files:
                raise IntegrityError("expected a file that SHA256SUMS names, found none", rule=RULE)
            if _digest(folder / name) != stated[name]:
                raise IntegrityError("expected the bytes that SHA256SUMS names, found others", rule=RULE)
    return step.done()


def pack(folder: Path, archive: Path, manifest: BundleManifest) -> None:
    """Write the archive of a sealed bundle; the same bundle gives the same bytes (with the same zlib).

    Raises:
        InputError: ``archive`` exists, or a name is too long for a ustar header.
        UndecidedError: The operating system refused.
    """
    top = manifest.folder_name()
    try:
        with archive.open("xb") as out, gzip.GzipFile("", "wb", 9, out, mtime=0) as packed:
            for name in [*_names(folder), SUMS]:
                _pack_one(packed, f"{top}/{name}", read_regular(folder / name, MAX_RECORD_FILE_BYTES))
            packed.write(b"\0" * (2 * _BLOCK))
    except FileExistsError as exc:
        raise InputError("expected a new archive, found one of this name", at=archive.name) from exc
    except OSError as exc:
        raise UndecidedError(f"expected to write the archive: {exc.strerror}", at=archive.name) from exc


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an archive that nobody needs to trust; return the folder of the bundle.

    Only plain files with plain names below one top folder come out; links, devices, extended
    headers, doubled names, names with ``..``, and archives beyond the bounds are refused before
    their bytes are written.

    Args:
        archive: A ``.tar.gz``.
        into: An empty folder of the caller's.

    Raises:
        InputError: Not such an archive.
    """
    seen: set[str] = set()
    total = 0
    try:
        with gzip.open(archive, "rb") as packed:
            while (header := _header(packed)) is not None:
                name, size = header
                total += size
                if name.lower() in seen or len(seen) >= MAX_ARCHIVE_FILES or total > MAX_ARCHIVE_BYTES:
                    raise InputError("expected each name once, within the bounds of an archive", at=shorten(name))
                seen.add(name.lower())
                _unpack_one(packed, into / name, size)
            if packed.read(_CHUNK).strip(b"\0") or packed.read(1):  # to the end, so that gzip's checksum is compared
                raise InputError("expected nothing but zeros behind the archive's end", at=archive.name, rule="ustar")
    except (OSError, EOFError, zlib.error) as exc:
        raise InputError(f"expected a whole gzipped archive: {exc}", at=archive.name, rule="gzip, ustar") from exc
    tops = [path for path in into.iterdir() if path.is_dir()]
    if len(tops) != 1:
        raise InputError("expected one folder in the archive", at=archive.name, rule=RULE)
    return tops[0]


def _names(folder: Path) -> list[str]:
    return sorted(name for name in list_tree(folder).files if name != SUMS)


def _digest(path: Path) -> str:
    return hashlib.sha256(read_regular(path, MAX_RECORD_FILE_BYTES)).hexdigest()


def _parse_sums(data: bytes) -> dict[str, str]:
    stated: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        found = _SUM.fullmatch(line)
        if found is None or found[2] in stated:
            raise IntegrityError(f"expected <digest>, two spaces, a name, each once: {shorten(line)}", rule=RULE)
        stated[found[2]] = found[1]
    return stated


def _pack_one(packed: gzip.GzipFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), _MODE
    try:
        packed.write(info.tobuf(tarfile.USTAR_FORMAT))
    except ValueError as exc:
        raise InputError(f"expected a shorter path: {exc}", at=shorten(name), rule="ustar") from exc
    packed.write(data + b"\0" * (-len(data) % _BLOCK))


def _header(packed: gzip.GzipFile) -> tuple[str, int] | None:
    """Return name and size of the next file, None at the end."""
    block = packed.read(_BLOCK)
    if not block.strip(b"\0"):
        return None
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError) as exc:
        raise InputError(f"expected a ustar header: {exc}", rule="ustar") from exc
    parts = info.name.split("/")
    if info.type != tarfile.REGTYPE or info.size < 0:
        raise InputError("expected plain files only", at=shorten(info.name), rule=RULE)
    if not 1 < len(parts) <= _MAX_DEPTH or not all(_PART.fullmatch(part) for part in parts):
        raise InputError("expected plain names below one folder", at=shorten(info.name), rule=RULE)
    return info.name, info.size


def _unpack_one(packed: gzip.GzipFile, path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    left = size
    with path.open("xb") as out:
        while left:
            piece = packed.read(min(left, _CHUNK))
            if not piece:
                raise EOFError("the archive ends within a file")
            out.write(piece)
            left -= len(piece)
    packed.read(-size % _BLOCK)
