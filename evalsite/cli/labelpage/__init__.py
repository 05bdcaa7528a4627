# SPDX-License-Identifier: Apache-2.0
"""The files of the page that `evalsite label serve` shows."""

from importlib import resources

#: File -> media type.
TYPES = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}


def page_files() -> dict[str, bytes]:
    """Return the page's files by name."""
    folder = resources.files("evalsite.cli.labelpage")
    return {name: folder.joinpath(name).read_bytes() for name in TYPES}
