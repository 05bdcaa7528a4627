# SPDX-License-Identifier: Apache-2.0
"""A whole build: front by the engine, stamped pages, checks, atomic merge."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import sites
from support.cli import new_project
from support.trusted import Scene, make_trusted_run

from evalsite.errors import InputError
from evalsite.site.build import build_site
from evalsite.site.csp import with_policy
from evalsite.site.front import TOKEN_VARIABLE, build_front
from evalsite.site.merge import MANIFEST
from evalsite.site.model import Kind, SiteInput
from evalsite.site.output import Assembly
from evalsite.site.pages import plan_site
from evalsite.site.shell import STUB_FOLDER, slot, stub_output, values_of
from evalsite.storage import lock

EPOCH = 1_764_590_400
CONFIG = """\
site_name: Pages
use_directory_urls: false
theme:
  name: material
  font: false
extra:
  generator: false
plugins:
  - search
  - evalsite
markdown_extensions:
  - attr_list
  - toc:
      permalink: true
nav:
  - Home: index.md
  - Runs: runs/index.md
  - Corpora: corpora/index.md
  - Decisions: decisions/index.md
  - Retention: retention/index.md
  - Caveats: caveats.md
  - Verify: verify.md
  - Glossary: glossary.md
"""


def make_project(folder: Path, *, config: str = CONFIG, home: str | None = None) -> Path:
    """Make a project that holds nothing but its configuration and a home page."""
    (folder / "docs").mkdir(parents=True)
    (folder / "mkdocs.yml").write_text(config)
    if home is not None:
        (folder / "docs" / "index.md").write_text(home)
    return folder


def given(*runs, **changes) -> SiteInput:
    """Return the input of a site with one refused run and one good one."""
    chosen = runs or (sites.refused_run(), make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1")))
    return SiteInput(runs=chosen, as_of="2026-12-01T00:00:00Z", corpora=(sites.binary_corpus(),), **changes)


def tree(folder: Path) -> dict[str, str]:
    """Return the digest of every file of a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A project whose front is rendered once for all tests of this module."""
    folder = make_project(
        tmp_path_factory.mktemp("project"), home="# Welcome\n\nMine first.\n\n<!-- evalsite -->\n\nMine last.\n"
    )
    build_site(folder, given(), site_dir=folder / "site", epoch=EPOCH)
    return folder


def test_the_home_page_keeps_the_projects_own_words_around_the_facts(project) -> None:
    home = (project / "site" / "index.html").read_text()
    assert home.index("Mine first.") < home.index('<h2 id="state-of-each-profile"') < home.index("Mine last.")
    assert "support-default" in home


def test_every_page_has_a_policy_and_no_stub_is_published(project) -> None:
    site = project / "site"
    for page in site.rglob("*.html"):
        html = page.read_text()
        assert html.count("Content-Security-Policy") == 1, page
        assert "estok" not in html, page
        assert STUB_FOLDER not in html, page
    assert not (site / STUB_FOLDER).exists()
    assert STUB_FOLDER not in (site / "sitemap.xml").read_text()
    index = (site / "search" / "search_index.json").read_text()
    assert "estok" not in index
    assert "refused-1" not in index


def test_a_second_build_starts_no_engine_and_writes_nothing(project) -> None:
    site = project / "site"
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    report = build_site(project, given(), site_dir=site, epoch=EPOCH)
    assert (report.engine_started, report.written, report.removed) == (False, 0, 0)
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before


def test_a_cold_build_elsewhere_gives_the_same_bytes(project, tmp_path) -> None:
    other = make_project(tmp_path / "elsewhere", home=(project / "docs" / "index.md").read_text())
    report = build_site(other, given(), site_dir=tmp_path / "out", epoch=EPOCH)
    assert tree(tmp_path / "out") == tree(project / "site")
    assert report.engine_started


def test_the_manifest_lists_every_file_with_its_digest_and_its_records(project) -> None:
    site = project / "site"
    manifest = json.loads((site / MANIFEST).read_bytes())
    files = tree(site)
    files.pop(MANIFEST)
    assert {path: entry["sha256"] for path, entry in manifest["files"].items()} == files
    assert manifest["files"]["runs/refused-1/index.html"]["sources"][0] == "refused-1"


def test_what_no_longer_exists_disappears(project, tmp_path) -> None:
    site = tmp_path / "site"
    build_site(project, given(), site_dir=site, epoch=EPOCH)
    assert (site / "runs" / "good-1" / "cases").is_dir()
    (site / "mine.txt").write_text("not ours")
    report = build_site(project, given(sites.refused_run()), site_dir=site, epoch=EPOCH)
    assert report.removed > 0
    assert not (site / "runs" / "good-1").exists()
    assert (site / "mine.txt").read_text() == "not ours"
    assert "good-1" not in "".join(path.read_text() for path in site.rglob("*.html"))


def test_a_failing_page_writes_nothing(project, tmp_path, monkeypatch) -> None:
    site = tmp_path / "site"
    build_site(project, given(), site_dir=site, epoch=EPOCH)
    before = tree(site)
    # As if an escaping mistake were made: the last door refuses, whatever produced the markup.
    monkeypatch.setattr("evalsite.site.parts.foreign", lambda value: f"<b onclick=x>{value}</b>")
    with pytest.raises(InputError, match="expected one of our elements"):
        build_site(project, given(sites.refused_run(title="Changed")), site_dir=site, epoch=EPOCH)
    assert tree(site) == before
    assert not (project / ".evalsite" / "staging").exists()


def test_a_broken_link_of_a_hand_written_page_stops_the_build(tmp_path) -> None:
    home = '# Home\n\n<a href="runs/not-there.html">x</a>\n'
    project = make_project(tmp_path / "project", home=home)
    with pytest.raises(InputError, match=r"expected a page or file at runs/not-there\.html, found none"):
        build_site(project, given(), site_dir=tmp_path / "site", epoch=EPOCH)
    assert not (tmp_path / "site").exists()


def test_a_theme_that_asks_other_hosts_stops_the_build(tmp_path) -> None:
    project = make_project(tmp_path / "project", config=CONFIG.replace("  font: false\n", ""))
    with pytest.raises(InputError, match="loads nothing from other hosts"):
        build_site(project, given(), site_dir=tmp_path / "site", epoch=EPOCH)


def test_a_project_without_the_plugin_is_told_what_is_missing(tmp_path) -> None:
    config = CONFIG.replace("  - evalsite\n", "").split("nav:")[0]
    project = make_project(tmp_path / "project", config=config)
    with pytest.raises(InputError, match="expected the engine to render the stub") as caught:
        build_site(project, given(), site_dir=tmp_path / "site", epoch=EPOCH)
    assert "plugins: - evalsite" in caught.value.advice


def test_the_engines_own_words_reach_the_reader(tmp_path) -> None:
    project = make_project(tmp_path / "project", home="# Home\n\n[x](missing.md)\n")
    with pytest.raises(InputError, match=r"missing\.md"):
        build_site(project, given(), site_dir=tmp_path / "site", epoch=EPOCH)


def test_no_project_no_build(tmp_path) -> None:
    with pytest.raises(InputError, match=r"expected a project with mkdocs\.yml"):
        build_site(tmp_path, given(), site_dir=tmp_path / "site", epoch=EPOCH)


def test_a_folder_of_someone_else_is_never_overwritten(project, tmp_path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="expected an empty folder or a site built by evalsite"):
        build_site(project, given(), site_dir=tmp_path / "home", epoch=EPOCH)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x"])
def test_a_manifest_cannot_delete_outside_the_site(project, tmp_path, name: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / MANIFEST).write_text(json.dumps({"files": {name: {}}}))
    with pytest.raises(InputError, match="expected addresses inside the site"):
        build_site(project, given(), site_dir=site, epoch=EPOCH)


_HOOK = """\
import json, os, pathlib
VALUES = json.loads(pathlib.Path(os.environ["VALUES"]).read_text())
def on_page_content(html, page, config, files):
    for source, (path, values) in VALUES.items():
        if page.file.src_uri == source:
            for token, value in values.items():
                html = html.replace(token, value)
            page.meta["title"] = values[path]
    return html
"""


@pytest.mark.parametrize("kind", [Kind.TRIAL, Kind.RUN, Kind.CALIBRATION, Kind.CORPUS])
def test_a_stamped_page_is_what_the_theme_would_have_made_of_it(project, tmp_path, kind: Kind) -> None:
    """The whole theme renders a stub with the page's own HTML in it; stamping must give the same bytes."""
    site = plan_site(given(sites.refused_run()))
    front = build_front(project, epoch=EPOCH)
    assembly = Assembly(site, front.folder, front.token, hand_written=front.hand_written)
    page = next(page for page in site.pages if page.kind is kind)
    values = {slot(front.token, name): value for name, value in values_of(page, page.body()).items()}
    source = stub_output(kind).removesuffix(".html") + ".md"
    (tmp_path / "values.json").write_text(json.dumps({source: [slot(front.token, "title"), values]}))
    copy = tmp_path / "copy"
    shutil.copytree(project / "docs", copy / "docs")
    (copy / "hook.py").write_text(_HOOK)
    (copy / "mkdocs.yml").write_text(CONFIG + "hooks: [hook.py]\n")
    environment = os.environ | {
        TOKEN_VARIABLE: front.token,
        "SOURCE_DATE_EPOCH": str(EPOCH),
        "NO_MKDOCS_2_WARNING": "1",
        "VALUES": str(tmp_path / "values.json"),
    }
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "-q",
        "-f",
        str(copy / "mkdocs.yml"),
        "-d",
        str(tmp_path / "out"),
    ]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    themed = (tmp_path / "out" / stub_output(kind)).read_text()
    assert assembly.stamp(page) == with_policy(themed, at="theme")


def test_a_second_build_at_the_same_time_is_told_so(tmp_path):
    made = new_project(tmp_path)
    with lock(made.root / ".evalsite" / "build.lock"):
        refused = made.evalsite("build")
    assert refused.code == 2
    made.ok("build")
