# SPDX-License-Identifier: Apache-2.0
"""The MkDocs plugin: translates MkDocs' events, and knows nothing else.

With ``plugins: - evalsite`` a plain ``mkdocs build`` or ``mkdocs serve`` gives the whole site. Under
``evalsite build`` the same plugin only renders the stubs; its caller does the rest.
"""

import hashlib
import os
from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import get_build_datetime
from mkdocs.utils.templates import TemplateContext

from evalsite import __version__
from evalsite.errors import EvalsiteError
from evalsite.site.assets import STYLE, assets, scripts
from evalsite.site.front import TOKEN_VARIABLE
from evalsite.site.merge import write_over
from evalsite.site.model import Kind, Site
from evalsite.site.output import Assembly
from evalsite.site.shell import STUB_FOLDER, stub_markdown, stub_source

_DECISIONS = "decisions/"
_WATCHED = ("corpora", "runs")  # `mkdocs serve` builds again when one of them changes


class EvalsitePlugin(BasePlugin):  # type: ignore[no-untyped-call,type-arg]
    """Adds run records, corpora, decisions and retention to a MkDocs site."""

    def __init__(self) -> None:
        self._token = os.environ.get(TOKEN_VARIABLE, "")
        self._is_front = bool(self._token)
        self._is_serving = False
        self._site: Site | None = None
        self._kinds: dict[str, Kind] = {}
        self._hand_written: frozenset[Kind] = frozenset()
        self._marked: list[Page] = []

    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        """Remember whether pages are served for editing."""
        del dirty
        self._is_serving = command == "serve"

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Verify and load everything before MkDocs empties its folder.

        Raises:
            PluginError: A record doesn't check out, or an input is wrong. Nothing is written.
        """
        config.use_directory_urls = False  # the shells' links count on it, and file:// needs it
        if STYLE not in config.extra_css:
            config.extra_css.insert(0, STYLE)
        config.extra_javascript.extend(path for path in scripts() if path not in config.extra_javascript)
        if not self._is_front:
            root = Path(config.config_file_path).parent
            config.watch.extend(str(root / name) for name in _WATCHED if (root / name).is_dir())
            self._token = f"estok{hashlib.sha256(f'{__version__} {config.site_name}'.encode()).hexdigest()[:24]}"
            self._site = _load(config)
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Add stubs and static files; take decision records out, which have pages of their own."""
        for file in list(files):
            if (
                file.src_uri.startswith(_DECISIONS)
                and file.src_uri != stub_source(Kind.DECISIONS)
                and file.is_documentation_page()
            ):
                files.remove(file)
        by_source = {stub_source(kind): kind for kind in Kind}
        present = {file.src_uri for file in files}
        self._kinds = by_source
        self._hand_written = frozenset(kind for source, kind in by_source.items() if source in present)
        for source, kind in by_source.items():
            if source not in present:
                level = InclusionLevel.INCLUDED if kind.is_single else InclusionLevel.NOT_IN_NAV
                files.append(File.generated(config, source, content=stub_markdown(kind, self._token), inclusion=level))
        for path, data in assets().items():
            files.append(File.generated(config, path, content=data))
        return files

    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Put our sections into the project's own pages."""
        del config, files
        kind = self._kinds.get(page.file.src_uri)
        if kind is None or kind not in self._hand_written:
            return markdown
        return stub_markdown(kind, self._token, markdown)

    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """Mark the list that a generated page belongs to as the active entry of the navigation."""
        del config
        kind = self._kinds.get(page.file.src_uri)
        if kind is not None and not kind.is_single:
            self._marked = [entry for entry in nav.pages if entry.file.dest_uri == kind.tab]
            for entry in self._marked:
                entry.active = True
        return context

    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str:
        """Take back what `on_page_context` marked."""
        del config, page
        for entry in self._marked:
            entry.active = False
        self._marked = []
        return output

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Stamp all pages into the shells that MkDocs just rendered.

        Raises:
            PluginError: A page fails a check.
        """
        if self._is_front or self._site is None:
            return
        folder = Path(config.site_dir)
        try:
            assembly = Assembly(
                self._site, folder, self._token, hand_written=self._hand_written, with_csp=not self._is_serving
            )
            write_over(assembly.outputs(), folder, stubs=STUB_FOLDER, generator=f"evalsite {__version__}")
        except EvalsiteError as exc:
            raise PluginError(str(exc)) from exc


def _load(config: MkDocsConfig) -> Site:
    from evalsite.campaign.project import load_project  # noqa: PLC0415 - not needed while only stubs are rendered
    from evalsite.ledger.pins import all_pins, keystore_folder  # noqa: PLC0415
    from evalsite.ledger.policy import keystore_policy  # noqa: PLC0415
    from evalsite.site.gather import gather  # noqa: PLC0415
    from evalsite.site.pages import plan_site  # noqa: PLC0415

    project = Path(config.config_file_path).parent
    as_of = get_build_datetime().strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        state = load_project(project, pins=all_pins(), policy=keystore_policy(keystore_folder(), memory=False))
        return plan_site(gather(project, state, as_of=as_of))
    except EvalsiteError as exc:
        raise PluginError(str(exc)) from exc
