# SPDX-License-Identifier: Apache-2.0
"""Static files that every generated site carries."""

from importlib import resources

#: Where the style sheet stands in a site.
STYLE = "assets/evalsite.css"


def assets() -> dict[str, bytes]:
    """Return the static files by their address in the site."""
    folder = resources.files("evalsite.site.assets")
    return {STYLE: folder.joinpath("evalsite.css").read_bytes()}
