# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium over a folder of pages, served on loopback."""

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
_CONTRAST = """
const linear = v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4 };
const light = c => { const [r, g, b] = c.map(linear); return .2126 * r + .7152 * g + .0722 * b; };
const parse = s => { const n = s.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const ground = e => { let c = [0, 0, 0, 0]; const layers = [];
  for (; e; e = e.parentElement) {
    const p = parse(getComputedStyle(e).backgroundColor);
    if (p[3] > 0) layers.push(p);
    if (p[3] === 1) break;
  }
  let base = [255, 255, 255];
  for (const p of layers.reverse()) base = base.map((v, i) => v * (1 - p[3]) + p[i] * p[3]);
  return base; };
const bad = [];
for (const e of document.querySelectorAll('%s')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
  if (e.closest('.headerlink, svg') || !e.checkVisibility()) continue;
  const style = getComputedStyle(e); const fg = parse(style.color), bg = ground(e);
  const text = fg.slice(0, 3).map((v, i) => v * fg[3] + bg[i] * (1 - fg[3]));
  const a = light(text), b = light(bg), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) bad.push([ratio.toFixed(2), e.className || e.tagName, e.textContent.trim().slice(0, 40)]);
}
return bad.slice(0, 12);
"""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback and yield its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def chromium(*, width: int = 1400, height: int = 1000, dark: bool = False) -> Iterator[webdriver.Chrome]:
    """Start a headless browser with its console recorded."""
    options = Options()
    options.binary_location = str(CHROMIUM)
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
        )
        driver.set_page_load_timeout(60)
        yield driver
    finally:
        driver.quit()


def whole_page(driver: webdriver.Chrome, *, max_height: int = 6000) -> bytes:
    """Return a PNG of the whole page, up to a height in pixels."""
    import base64  # noqa: PLC0415

    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], max_height), "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return base64.b64decode(shot["data"])


def contrast(driver: webdriver.Chrome, selector: str = ".md-content *") -> list[Any]:
    """Return texts that stand out less than 4.5 to 1 from their ground (WCAG 2.2, 1.4.3)."""
    found: list[Any] = driver.execute_script(_CONTRAST.replace("%s", selector))
    return found


def console(driver: webdriver.Chrome) -> list[str]:
    """Return what the browser complained of since it was asked last."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]


def requests(driver: webdriver.Chrome) -> list[str]:
    """Return the addresses that pages asked for since the browser was asked last."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return found
