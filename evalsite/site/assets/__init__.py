# SPDX-License-Identifier: Apache-2.0
"""Static files that every generated site carries: one style sheet, and scripts of ours without any dependency."""

from importlib import resources

#: Where the static files stand in a site.
FOLDER = "assets/evalsite"
#: Where the style sheet stands in a site.
STYLE = f"{FOLDER}/evalsite.css"
_PUBLISHED = (".css", ".js")


def assets() -> dict[str, bytes]:
    """Return the static files by their address in the site."""
    found = resources.files("evalsite.site.assets").iterdir()
    files = sorted((file.name, file) for file in found if file.name.endswith(_PUBLISHED))
    return {f"{FOLDER}/{name}": file.read_bytes() for name, file in files}


def scripts() -> tuple[str, ...]:
    """Return the addresses of the scripts that every page loads."""
    return tuple(path for path in assets() if path.endswith(".js"))
