# SPDX-License-Identifier: Apache-2.0
"""Where a bundle stands while it is looked at: its folder, or its archive unpacked into a folder that goes away."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evalsite.ledger.bundle import unpack


@contextmanager
def open_bundle(path: Path) -> Iterator[Path]:
    """Yield the folder of a bundle that is a folder or a ``.tar.gz``.

    Raises:
        InputError: The archive is none, or holds something else than plain files below one folder.
    """
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="evalsite-") as folder:
        yield unpack(path, Path(folder))
