# SPDX-License-Identifier: Apache-2.0
"""From verified input to all pages and files of a site. Pure: no engine, no disk, no clock."""

from collections.abc import Iterator

from evalsite.site.catalogue import Catalogue
from evalsite.site.model import Site, SiteFile, SiteInput
from evalsite.site.names import refuse_duplicates
from evalsite.site.page_about import caveats_page, glossary_page
from evalsite.site.page_calibration import calibration_page
from evalsite.site.page_case import case_pages
from evalsite.site.page_comparison import comparison_pages
from evalsite.site.page_corpus import corpora_page, corpus_page
from evalsite.site.page_decision import decision_pages
from evalsite.site.page_decisions import decisions_page
from evalsite.site.page_home import home_page
from evalsite.site.page_retention import retention_page
from evalsite.site.page_run import run_page
from evalsite.site.page_runs import runs_page
from evalsite.site.page_trial import trial_files, trial_pages
from evalsite.site.page_verify import verify_page


def plan_site(given: SiteInput) -> Site:
    """Return every page and file of a site; bodies are made when they are asked for.

    Raises:
        InputError: Two pages or files would have the same address.
    """
    catalogue = Catalogue(given)
    pages = [
        home_page(catalogue),
        runs_page(catalogue),
        corpora_page(catalogue),
        decisions_page(catalogue),
        retention_page(catalogue),
        caveats_page(catalogue),
        verify_page(catalogue),
        glossary_page(),
        *decision_pages(catalogue),
    ]
    files: list[SiteFile] = []
    for view in catalogue.runs:
        pages.append(run_page(catalogue, view))
        if view.has_calibration:
            pages.append(calibration_page(view))
        pages.extend(comparison_pages(catalogue, view))
        pages.extend(trial_pages(view))
        files.extend(trial_files(view))
    for corpus in catalogue.corpora:
        pages.append(corpus_page(catalogue, corpus))
        pages.extend(case_pages(catalogue, corpus))
    files.extend(_record_files(catalogue))
    pages.sort(key=lambda page: page.path)
    files.sort(key=lambda file: file.path)
    refuse_duplicates([*(page.path for page in pages), *(file.path for file in files)])
    return Site(pages=tuple(pages), files=tuple(files))


def _record_files(catalogue: Catalogue) -> Iterator[SiteFile]:
    """Return the public files of the record; of a run with withheld texts only what holds no digest of them."""
    withheld = {view.run_id for view in catalogue.runs if not view.shows_text}
    for path, read in catalogue.given.record.items():
        owner = path.split("/")[1] if path.count("/") else ""
        if owner not in withheld or path.endswith(("/checkpoint", "/statement.dsse.json")):
            yield SiteFile(path=f"record/{path}", read=read)
