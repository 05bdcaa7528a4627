# SPDX-License-Identifier: Apache-2.0
"""``evalsite build``: front, shells, pages, checks, merge. Nothing is written unless all of it holds."""

from dataclasses import dataclass
from pathlib import Path

from evalsite.site.front import CACHE, build_front
from evalsite.site.merge import merge
from evalsite.site.model import SiteInput
from evalsite.site.output import Assembly
from evalsite.site.pages import plan_site
from evalsite.storage import lock


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did.

    Attributes:
        pages: Generated pages.
        files: All files of the site, the manifest apart.
        written: Files that were new or changed.
        removed: Files of the former site that no longer belong to it.
        digest: SHA-256 of the manifest: one value for the whole site.
        engine_started: Whether the engine had to render hand-written pages.
    """

    pages: int
    files: int
    written: int
    removed: int
    digest: str
    engine_started: bool


def build_site(project: Path, given: SiteInput, *, site_dir: Path, epoch: int, strict: bool = True) -> BuildReport:
    """Build the site of a project.

    Args:
        project: The folder with ``mkdocs.yml``.
        given: What the site says; see `evalsite.site.gather.gather`.
        site_dir: Where the site goes; an empty folder, or one that was built before.
        epoch: ``SOURCE_DATE_EPOCH``: the only build time that gets into the pages.
        strict: Whether warnings of the engine stop the build.

    Raises:
        InputError: The project, the theme or a page fails a check. The former site stays as it was.
    """
    with lock(project / CACHE / "build.lock"):  # two builds share the front and the staging folder
        site = plan_site(given)
        front = build_front(project, epoch=epoch, strict=strict)
        assembly = Assembly(site, front.folder, front.token, hand_written=front.hand_written)
        staging = project / CACHE / "staging"
        merged = merge(assembly.outputs(), site_dir, staging=staging, generator=given.generator)
    return BuildReport(
        pages=len(site.pages),
        files=merged.files,
        written=merged.written,
        removed=merged.removed,
        digest=merged.digest,
        engine_started=front.engine_started,
    )
