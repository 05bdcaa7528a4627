# SPDX-License-Identifier: Apache-2.0
"""Reading the files of a corpus folder: bounded, regular, never through a link.

A corpus is input from others. A symbolic link could take a text from outside the project into a
published page, a device or pipe could hang the reader, a huge file fill the memory.
"""

import os
import stat
from pathlib import Path

from evalsite.errors import InputError, shorten
from evalsite.schema import bounds
from evalsite.yamltext import YamlDocument, parse_yaml

SUFFIX = ".yaml"


def read_regular(path: Path, *, name: str, max_bytes: int) -> bytes:
    """Return the bytes of a regular file that is not a symbolic link.

    Args:
        path: The file.
        name: How errors shall call it.
        max_bytes: The greatest accepted length.

    Raises:
        InputError: Absent, unreadable, a link, not a regular file, or too large.
    """
    if path.is_symlink():  # also where O_NOFOLLOW does not exist
        raise InputError("expected a regular file, got a symbolic link", at=name, rule="no links in a corpus")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as exc:
        raise InputError(f"expected a readable file, got: {exc.strerror}", at=name, rule="corpus files") from exc
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise InputError("expected a regular file, got something else", at=name, rule="corpus files")
        if found.st_size > max_bytes:
            raise InputError(f"expected at most {max_bytes} bytes, got {found.st_size}", at=name, rule="size limit")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(max_bytes + 1)
    finally:
        os.close(descriptor)


def read_document(path: Path, *, name: str) -> tuple[bytes, YamlDocument]:
    """Return bytes and parsed form of one YAML file of a corpus.

    Raises:
        InputError: As `read_regular` and `parse_yaml`, or the file does not hold a mapping.
    """
    data = read_regular(path, name=name, max_bytes=bounds.MAX_YAML_BYTES)
    document = parse_yaml(data, name=name, max_bytes=bounds.MAX_YAML_BYTES)
    if not isinstance(document.value, dict):
        raise InputError(f"expected a mapping, got {shorten(document.value, 80)}", at=f"{name}:1", rule="corpus files")
    return data, document


def yaml_files(folder: Path, *, name: str) -> list[Path]:
    """Return the ``*.yaml`` files of a folder by name; an absent folder holds none.

    Hidden files and editors' backups (``…~``) are passed over. Anything else is refused, since a
    file that nobody reads looks like one that counts.

    Raises:
        InputError: The folder is a link, or holds something that is not a ``.yaml`` file.
    """
    if folder.is_symlink():
        raise InputError("expected a folder, got a symbolic link", at=name, rule="no links in a corpus")
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise InputError("expected a folder, got a file", at=name, rule="corpus files")
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue
        if path.suffix != SUFFIX:
            raise InputError(
                f"expected files named *{SUFFIX} only, got {shorten(path.name, 80)}",
                at=f"{name}/{path.name}",
                rule="corpus files",
                advice=f"rename it to *{SUFFIX} or move it out of this folder",
            )
        found.append(path)
    return found
