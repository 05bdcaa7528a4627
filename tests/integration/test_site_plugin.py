# SPDX-License-Identifier: Apache-2.0
"""``plugins: - evalsite``: a plain ``mkdocs build`` gives the whole site, from verified runs only."""

import shutil
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from support.cli import new_project

from evalsite.site.merge import MANIFEST
from evalsite.site.shell import STUB_FOLDER


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A project with one sealed fixture run."""
    project = new_project(tmp_path_factory.mktemp("plugin"))
    path = project.campaign("fixture")
    project.ok("run", path, "--run-id", "fixture-1")
    return project


@pytest.fixture
def quiet(monkeypatch, recorded):
    """The environment of a plain MkDocs."""
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764590400")
    monkeypatch.setenv("EVALSITE_KEYS", str(recorded.keystore))
    monkeypatch.delenv("EVALSITE_FRONT_TOKEN", raising=False)


def _mkdocs(root: Path, out: Path, *, serving: bool = False) -> Path:
    config = load_config(str(root / "mkdocs.yml"), site_dir=str(out))
    config.plugins.on_startup(command="serve" if serving else "build", dirty=False)
    build(config)
    return out


@pytest.mark.usefixtures("quiet")
def test_mkdocs_alone_builds_every_page(recorded, tmp_path) -> None:
    out = _mkdocs(recorded.root, tmp_path / "out")
    assert "fixture-1" in (out / "index.html").read_text()
    assert (out / "runs" / "fixture-1" / "index.html").is_file()
    assert (out / MANIFEST).is_file()
    assert not (out / STUB_FOLDER).exists()
    for page in out.rglob("*.html"):
        html = page.read_text()
        assert "estok" not in html
        assert html.count("Content-Security-Policy") == 1


@pytest.mark.usefixtures("quiet")
def test_pages_of_a_kind_are_marked_in_the_navigation(recorded, tmp_path) -> None:
    out = _mkdocs(recorded.root, tmp_path / "out")
    for page in ("runs/index.html", "runs/fixture-1/index.html"):
        html = (out / page).read_text()
        active = html.split("md-tabs__item--active", 1)[1].split("</li>", 1)[0]
        assert "Runs" in active
        assert html.count("md-tabs__item--active") == 1


@pytest.mark.usefixtures("quiet")
def test_while_editing_the_servers_own_script_is_not_locked_out(recorded, tmp_path) -> None:
    out = _mkdocs(recorded.root, tmp_path / "out", serving=True)
    assert "Content-Security-Policy" not in (out / "index.html").read_text()


@pytest.mark.usefixtures("quiet")
def test_a_tampered_record_stops_mkdocs_before_it_writes(recorded, tmp_path, caplog) -> None:
    root = tmp_path / "copy"
    shutil.copytree(recorded.root, root)
    out = tmp_path / "out"
    out.mkdir()
    (out / "old.html").write_text("old")
    events = root / "runs" / "fixture-1" / "events" / "000.jsonl"
    data = bytearray(events.read_bytes())
    data[100] ^= 1
    events.write_bytes(bytes(data))
    with pytest.raises(Abort):
        _mkdocs(root, out)
    assert "runs/fixture-1/events/000.jsonl" in caplog.text
    assert [path.name for path in out.iterdir()] == ["old.html"]
