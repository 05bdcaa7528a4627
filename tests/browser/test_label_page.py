# SPDX-License-Identifier: Apache-2.0
"""The page of `evalsite label serve` in a real Chromium: by keyboard, on a phone, in the dark, over hostile text."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from support.browser import CHROMIUM, DRIVER, chromium, console, contrast, requests
from support.hostile import HOSTILE
from support.labels import sheet_of

from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.cli.labelserve import LabelServer, OpenSheet
from evalsite.schema.labels import UNLABELLED, LabelSheet

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM.exists() and DRIVER.exists()), reason="needs Chromium and its driver"),
]
SCRIPTS_IN_TEXT = "document.querySelectorAll('#texts script, #texts img, #texts iframe, #texts a, #texts form').length"


@contextmanager
def serving(path: Path, sheet: LabelSheet) -> Iterator[str]:
    """Serve a sheet's file and yield the page's address."""
    write_sheet(path, sheet)
    with LabelServer(OpenSheet(path)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()


def press(driver, *keys: str) -> None:
    ActionChains(driver).send_keys(*keys).perform()


def wait_for(driver, words: str, where: str = "status") -> None:
    """Wait until the page says something; a label is saved by then."""
    WebDriverWait(driver, 20).until(lambda found: words in found.find_element("id", where).text)


def labels(path: Path) -> list[object]:
    return [item.label for item in read_sheet(path).sheet.items]


def test_a_sheet_is_filled_by_keyboard_alone(tmp_path) -> None:
    path = tmp_path / "sheet.yaml"
    with serving(path, sheet_of("one", "two", "three")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 3", "item")
        press(driver, "1")
        wait_for(driver, "Item 1 saved: 1")
        press(driver, "0")
        wait_for(driver, "Item 2 saved: 0")
        press(driver, "k", Keys.ARROW_LEFT, "j", Keys.ARROW_RIGHT)
        wait_for(driver, "Item 3 of 3", "item")
        press(driver, "u")
        wait_for(driver, "Every item has a label")
        assert labels(path) == [1, 0, None]
        assert "3 of 3: the sheet is complete" in driver.find_element("id", "count").text
        press(driver, "z")
        wait_for(driver, "Item 3 is as before: not labelled yet")
        assert labels(path) == [1, 0, UNLABELLED]
        press(driver, "e")
        press(driver, "1 in doubt", Keys.ESCAPE)
        press(driver, "1")
        wait_for(driver, "Item 3 saved: 1")
    found = read_sheet(path).sheet.items[2]
    assert (found.label, found.note) == (1, "1 in doubt"), "digits in the note are no labels"


def test_grades_are_whole_numbers_from_0_to_100(tmp_path) -> None:
    path = tmp_path / "sheet.csv"
    with serving(path, sheet_of("one", "two", criterion="faithfulness")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 2", "item")
        press(driver, "g")
        press(driver, "101", Keys.ENTER)
        wait_for(driver, "Expected a whole number", "alert")
        press(driver, Keys.BACKSPACE, Keys.BACKSPACE, "7", Keys.ENTER)
        wait_for(driver, "Item 1 saved: 17")
        press(driver, "h")
        wait_for(driver, "Item 2 saved: 100")
    assert labels(path) == [17, 100]


def test_hostile_text_is_shown_and_runs_nothing(tmp_path) -> None:
    texts = [text for name, text in HOSTILE.items() if name != "one long line"]
    with serving(tmp_path / "sheet.yaml", sheet_of(*texts)) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of", "item")
        for _ in texts:
            shown = f"return [document.documentElement.dataset.owned, {SCRIPTS_IN_TEXT}, document.scripts.length, "
            shown += "document.querySelector('#texts pre').textContent.endsWith('END')]"
            assert driver.execute_script(shown) == [None, 0, 1, True]
            press(driver, "j")
        assert console(driver) == []
        assert [url for url in requests(driver) if not url.startswith((address, "data:"))] == []


def test_characters_that_nobody_sees_are_shown_by_number(tmp_path) -> None:
    with serving(tmp_path / "sheet.yaml", sheet_of("pass\u202e laf\u200b")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 1", "item")
        assert driver.find_element("css selector", "#texts pre").text == "passU+202E lafU+200B"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_a_phone_and_can_be_read(tmp_path, dark) -> None:
    sheet = sheet_of("word " * 300, "x" * 3000, criterion="groundedness")
    with serving(tmp_path / "sheet.yaml", sheet) as address, chromium(width=390, height=844, dark=dark) as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 2", "item")
        press(driver, "m")
        wait_for(driver, "Item 1 saved: 50")
        assert driver.execute_script("return document.documentElement.scrollWidth") == 390
        assert contrast(driver, "body *") == []
        small = "return [...document.querySelectorAll('button')].filter(b => b.offsetHeight < 44).length"
        assert driver.execute_script(small) == 0


def test_a_screen_reader_is_told_what_happened_and_what_each_control_is(tmp_path) -> None:
    with serving(tmp_path / "sheet.yaml", sheet_of("one")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 1", "item")
        tree = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        controls = [node for node in tree if node.get("role", {}).get("value") in {"button", "textbox", "progressbar"}]
        assert len(controls) >= 8
        assert all(node.get("name", {}).get("value") for node in controls)
        roles = {node.get("role", {}).get("value") for node in tree}
        assert {"status", "alert", "main", "navigation", "heading", "group"} <= roles
        press(driver, "1")
        wait_for(driver, "Item 1 saved: 1")
        assert (
            driver.execute_script("return document.getElementById('choice-1').getAttribute('aria-pressed')") == "true"
        )
        assert driver.execute_script("return document.activeElement.id") == "item"


def test_single_keys_can_be_turned_off(tmp_path) -> None:
    """WCAG 2.2, 2.1.4: who speaks to the machine would press keys without meaning to."""
    path = tmp_path / "sheet.yaml"
    with serving(path, sheet_of("one", "two")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 2", "item")
        driver.find_element("id", "keys").click()
        driver.find_element("id", "next").send_keys("1")
        driver.find_element("id", "choice-0").send_keys(Keys.ENTER)
        wait_for(driver, "Item 1 saved: 0")
    assert labels(path) == [0, UNLABELLED]


def test_a_label_that_was_not_saved_is_told(tmp_path) -> None:
    path = tmp_path / "sheet.yaml"
    with serving(path, sheet_of("one")) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Item 1 of 1", "item")
        path.write_bytes(path.read_bytes() + b"# edited meanwhile\n")
        press(driver, "1")
        wait_for(driver, "changed by another program", "alert")
    assert labels(path) == [UNLABELLED]


def test_a_finished_adjudication_has_nothing_to_label(tmp_path) -> None:
    with serving(tmp_path / "sheet.yaml", sheet_of()) as address, chromium() as driver:
        driver.get(address)
        wait_for(driver, "Nothing to label", "item")
        press(driver, "1", "j", "z")
        assert console(driver) == []
