# SPDX-License-Identifier: Apache-2.0
"""Take screenshots of a built site: ``python tests/browser/screenshots.py SITE OUT [address ...]``.

Every page is taken wide and narrow, light and dark, so that a person can look at all of them.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.browser import chromium, served, whole_page

_SIZES = ((1400, 1000, False), (1400, 1000, True), (390, 844, False))


def main(site: Path, out: Path, addresses: list[str]) -> None:
    """Write ``<address>-<width>-<scheme>.png`` for every address and size."""
    out.mkdir(parents=True, exist_ok=True)
    with served(site) as base:
        for width, height, dark in _SIZES:
            with chromium(width=width, height=height, dark=dark) as driver:
                for address in addresses:
                    driver.get(f"{base}/{address}")
                    name = address.removesuffix(".html").replace("/", "_")
                    file = out / f"{name}-{width}-{'dark' if dark else 'light'}.png"
                    file.write_bytes(whole_page(driver))
                    print(file)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or ["index.html"])
