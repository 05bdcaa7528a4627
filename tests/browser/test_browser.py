# SPDX-License-Identifier: Apache-2.0
"""The site in a real Chromium: nothing hostile runs, nothing is asked of another host, all of it can be read."""

from pathlib import Path

import pytest
from support import sites
from support.browser import CHROMIUM, DRIVER, chromium, console, contrast, requests, served
from support.hostile import HOSTILE
from support.trusted import Scene, make_trusted_run

from evalsite.site.build import build_site
from evalsite.site.model import SiteInput
from evalsite.site.names import file_slug

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM.exists() and DRIVER.exists()), reason="needs Chromium and its driver"),
]
KINDS = {
    "home": "index.html",
    "runs": "runs/index.html",
    "run": "runs/refused-1/index.html",
    "case in run": f"runs/refused-1/cases/{file_slug('DANGER')}.html",
    "calibration": "runs/refused-1/calibration.html",
    "labels": "runs/evidence-1/calibration.html",
    "comparison": "runs/refused-1/comparison.html",
    "comparison of judges": "runs/graded-2/comparison.html",
    "pairs": "runs/pairs-1/index.html",
    "corpus with controls": "corpora/evidence-claims-v1/index.html",
    "corpora": "corpora/index.html",
    "corpus": "corpora/hostile/index.html",
    "case": f"corpora/two-cases/cases/{file_slug('DANGER')}.html",
    "decisions": "decisions/index.html",
    "retention": "retention/index.html",
    "caveats": "caveats.html",
    "verify": "verify.html",
    "glossary": "glossary.html",
    "not found": "404.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A built site with a refused run, a run of labels, and a hostile corpus with a hostile run."""
    project = tmp_path_factory.mktemp("browser")
    (project / "docs").mkdir()
    configuration = (sites.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (project / "mkdocs.yml").write_text(configuration.split("nav:\n  - Home")[0], encoding="utf-8")
    (project / "docs" / "index.md").write_text((sites.ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    before = {"opened_at": "2026-11-29T09:00:00Z", "profile": "graded"}
    graded = sites.shipped("card-rules-v1")
    runs = (
        make_trusted_run(sites.binary_corpus(), Scene(run_id="good-0", opened_at="2026-11-29T09:00:00Z")),
        sites.refused_run(),
        make_trusted_run(graded, Scene(run_id="graded-1", judge=lambda _: '{"score": 5, "reason": "No."}', **before)),
        make_trusted_run(graded, Scene(run_id="graded-2", profile="graded")),
        make_trusted_run(sites.shipped("answer-pairs-v1"), Scene(run_id="pairs-1", profile="pairs")),
        make_trusted_run(sites.shipped("evidence-claims-v1"), Scene(run_id="evidence-1", profile="evidence")),
        sites.hostile_run(),
    )
    given = SiteInput(runs=runs, corpora=(sites.binary_corpus(), sites.hostile_corpus()), as_of="2026-12-01T00:00:00Z")
    build_site(project, given, site_dir=project / "site", epoch=1_764_590_400)
    return project / "site"


@pytest.fixture(scope="module")
def base(site):
    """The address of the site on loopback."""
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    """One wide browser for all pages."""
    with chromium() as driver:
        yield driver


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_keeps_its_policy_and_asks_no_other_host(browser, base, kind: str) -> None:
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(f"{base}/{KINDS[kind]}")
    assert console(browser) == []
    assert [url for url in requests(browser) if not url.startswith((base, "data:"))] == []
    assert browser.execute_script("return document.styleSheets.length") >= 2


@pytest.mark.parametrize("number", range(len(HOSTILE) + 1))
def test_hostile_text_runs_nothing_and_hides_nothing(browser, base, number: int) -> None:
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(f"{base}/runs/hostile-1/cases/{file_slug(f'H{number:02d}')}.html")
    script = """
    for (const d of document.querySelectorAll('details')) d.open = true;
    return [document.documentElement.dataset.owned, document.querySelectorAll('h1').length,
            getComputedStyle(document.querySelector('.md-content')).display,
            document.querySelectorAll('.es img, .es iframe, .es script, .es form, .es template').length,
            [...document.querySelectorAll('.es a')].filter(a => a.protocol !== location.protocol).length,
            [...document.querySelectorAll('.es-raw code')].some(c => c.textContent.endsWith('END')),
            document.querySelectorAll('#record').length];
    """
    assert browser.execute_script(script) == [None, 1, "block", 0, 0, True, 1]
    assert console(browser) == []
    assert [url for url in requests(browser) if not url.startswith((base, "data:"))] == []


@pytest.mark.parametrize("kind", ["home", "run", "case in run", "calibration", "comparison", "decisions"])
def test_pages_work_from_a_folder_without_a_server(browser, site, kind: str) -> None:
    browser.get_log("browser")
    browser.get(f"file://{site}/{KINDS[kind]}")
    # Chromium asks for the favicon of a file by another rule; nothing else may be said.
    assert [line for line in console(browser) if "favicon" not in line] == []
    assert browser.execute_script("return getComputedStyle(document.querySelector('.es')).display")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_both_schemes(base, dark) -> None:
    with chromium(dark=dark) as driver:
        for kind in (
            "home",
            "run",
            "case in run",
            "calibration",
            "labels",
            "comparison",
            "comparison of judges",
            "pairs",
            "corpus with controls",
            "corpus",
            "retention",
            "verify",
            "glossary",
        ):
            driver.get(f"{base}/{KINDS[kind]}")
            driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
            assert (kind, contrast(driver)) == (kind, [])


def test_no_page_is_wider_than_a_phone(base) -> None:
    with chromium(width=390, height=844) as driver:
        for kind, address in KINDS.items():
            driver.get(f"{base}/{address}")
            width = driver.execute_script("return document.documentElement.scrollWidth")
            assert (kind, width) == (kind, 390)


def test_everything_essential_is_there_without_scripts(base) -> None:
    with chromium() as driver:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        for kind, word in (("home", "support-default"), ("run", "wrong-action"), ("case in run", "Sure!")):
            driver.get(f"{base}/{KINDS[kind]}")
            assert word in driver.page_source


def test_print_shows_what_was_folded_and_leaves_the_frame_out(base) -> None:
    with chromium() as driver:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        driver.get(f"{base}/{KINDS['case in run']}")
        script = """
        const seen = e => e.getClientRects().length > 0;
        const folded = [...document.querySelectorAll('.es details pre')];
        const shown = folded.length > 2 && folded.every(p => p.checkVisibility());
        return [seen(document.querySelector('.md-header')), shown];
        """
        assert driver.execute_script(script) == [False, True]


def test_search_finds_hand_written_pages_under_the_policy(browser, base) -> None:
    browser.get(f"{base}/index.html?q=reservations")
    browser.get(f"{base}/index.html")
    browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
    box = browser.find_element("css selector", ".md-search__input")
    box.send_keys("profile")
    browser.implicitly_wait(20)
    assert browser.find_elements("css selector", ".md-search-result__link")
    browser.implicitly_wait(0)
