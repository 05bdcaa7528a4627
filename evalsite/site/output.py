# SPDX-License-Identifier: Apache-2.0
"""From a front built by an engine and a planned site to every file of the finished site.

One core for both ways in: `evalsite.site.build` (engine as a subprocess, atomic merge) and
`evalsite.site.plugin` (inside MkDocs). All checks run here, before anything is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsite.errors import InputError
from evalsite.site.csp import with_policy
from evalsite.site.html import EMPTY
from evalsite.site.model import Kind, Page, Site
from evalsite.site.scan import check_fragment, ids, links, links_in
from evalsite.site.shell import STUB_FOLDER, Shell, harvest, stub_output, values_of

_DROPPED = ("sitemap.xml.gz",)


@dataclass(frozen=True, slots=True)
class Output:
    """One file of the finished site. ``sources`` names the records that it was made from."""

    path: str
    data: bytes
    sources: tuple[str, ...]


class Assembly:
    """Harvested shells, a planned site, and what the engine built.

    Args:
        site: The planned site.
        front: What the engine built, stubs included. Only read.
        token: The token that the stubs were written with.
        hand_written: Kinds whose page is the project's own with our sections in it.
        with_csp: Whether pages carry their content security policy. Off while serving for editing only:
            the server adds a script of its own to every page.
    """

    def __init__(
        self, site: Site, front: Path, token: str, *, hand_written: frozenset[Kind], with_csp: bool = True
    ) -> None:
        self.site = site
        self.front = front
        self.with_csp = with_csp
        self._token = token
        self._shells = {kind: self._harvest(kind, kind in hand_written) for kind in Kind}
        self._front_files = sorted(
            path.relative_to(front).as_posix() for path in front.rglob("*") if path.is_file() and not path.is_symlink()
        )
        generated = {page.path for page in site.pages}
        self._kept = [path for path in self._front_files if self._is_kept(path, generated)]
        self.known = frozenset((*self._kept, *generated, *(file.path for file in site.files)))

    def _is_kept(self, path: str, generated: set[str]) -> bool:
        return not path.startswith(f"{STUB_FOLDER}/") and path not in generated and path not in _DROPPED

    def _harvest(self, kind: Kind, hand_written: bool) -> Shell:  # noqa: FBT001 - private, one caller
        path = self.front / stub_output(kind)
        try:
            html = path.read_text(encoding="utf-8")
        except FileNotFoundError as exc:
            raise InputError(
                f"expected the engine to render the stub of kind {kind.slug}, found no page",
                at=stub_output(kind),
                rule="shells",
                advice="Is the plugin named in mkdocs.yml (plugins: - evalsite)?",
            ) from exc
        if self.with_csp:
            html = with_policy(html, at=stub_output(kind))
        return harvest(kind, html, self._token, hand_written=hand_written)

    def outputs(self) -> Iterator[Output]:
        """Return every file of the finished site, checked.

        Raises:
            InputError: A page fails a check. The caller writes nothing.
        """
        fragments: list[tuple[str, str, str]] = []
        anchors: dict[str, set[str]] = {}
        # Links of the theme, and of hand-written words around our sections.
        for kind, shell in self._shells.items():
            stub, html = stub_output(kind), "".join(shell.segments)
            anchors[stub] = ids(html)
            fragments.extend((stub, *found) for found in self._checked_links(html, stub))
        for path in self._kept:
            data = (self.front / path).read_bytes()
            if path.endswith(".html"):
                html = data.decode("utf-8")
                anchors[path] = ids(html)
                fragments.extend((path, target, fragment) for target, fragment in self._checked_links(html, path))
                data = (with_policy(html, at=path) if self.with_csp else html).encode("utf-8")
            elif path == "sitemap.xml":
                data = _without_stubs(data)
            yield Output(path, data, ())
        for page in self.site.pages:
            yield Output(page.path, self.stamp(page).encode("utf-8"), page.sources)
        for file in self.site.files:
            yield Output(file.path, file.read(), file.sources)
        for source, target, fragment in fragments:
            if fragment and target in anchors and fragment not in anchors[target]:
                raise InputError(f"expected the heading #{fragment} in {target}, found none", at=source, rule="links")

    def stamp(self, page: Page) -> str:
        """Return the finished HTML of one page, checked."""
        body = page.body()
        for piece in (body.crumbs, body.heading, body.lead, *body.sections):
            if piece != EMPTY:
                tags = check_fragment(piece, at=page.path, outside_links=page.kind is Kind.DECISION)
                for target, _ in links_in(tags, page.path):
                    self._require(target, page.path)
        return self._shells[page.kind].stamp(values_of(page, body))

    def _checked_links(self, html: str, page: str) -> Iterator[tuple[str, str]]:
        for target, fragment in links(html, page):
            self._require(target, page)
            yield target, fragment

    def _require(self, target: str, page: str) -> None:
        if target not in self.known and target != page:
            raise InputError(f"expected a page or file at {target}, found none", at=page, rule="links")


def _without_stubs(data: bytes) -> bytes:
    """Return the engine's sitemap without the stubs, which aren't published."""
    kept, skipping = [], False
    entry: list[bytes] = []
    for line in data.splitlines(keepends=True):
        if b"<url>" in line:
            skipping, entry = True, []
        if skipping:
            entry.append(line)
        else:
            kept.append(line)
        if b"</url>" in line:
            skipping = False
            if not any(STUB_FOLDER.encode() in part for part in entry):
                kept.extend(entry)
    return b"".join(kept)
