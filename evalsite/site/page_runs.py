# SPDX-License-Identifier: Apache-2.0
"""The list of all runs, and the table of runs that other pages show."""

from collections.abc import Sequence

from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, join, link, num, table
from evalsite.site.marks import legend, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.views import RunView


def runs_page(catalogue: Catalogue) -> Page:
    """Return the list of runs, newest first."""
    path = Kind.RUNS.address

    def body() -> Body:
        shown = run_table(catalogue.runs, path) if catalogue.runs else parts.says("No run is recorded yet.")
        reading = join(
            (
                parts.says(
                    "Runs are listed by the time at which they were opened. Each run was verified while this site "
                    "was built: its bytes, its chain, its signatures, and every result, decided again from what is "
                    "recorded. A run that doesn't check out stops the build."
                ),
                legend(marks.RUN_STATES),
            )
        )
        return Body(
            crumbs=parts.crumbs(path),
            heading=text("Runs"),
            lead=parts.how_to_read(
                "One line per campaign that was run. The verdict is host code's, never the judge's."
            ),
            sections=(shown, reading),
        )

    return Page(
        kind=Kind.RUNS, path=path, title="Runs", body=body, sources=tuple(view.run_id for view in catalogue.runs)
    )


def run_table(views: Sequence[RunView], page: str) -> Html:
    """Return a table of runs as seen from ``page``."""
    head = ("Run", "Verdict", "Asked", "Passed", "Opened", "Evidence")
    return table(
        tuple(text(name) for name in head), [_row(view, page) for view in views], css="es-runs", caption="Runs"
    )


def _row(view: RunView, page: str) -> tuple[Html, ...]:
    plan, opened = view.plan, view.run.opened_at
    name = plan.candidate.identity.model_name if plan.candidate else plan.judge.identity.model_name
    asked = join((text(view.mode_words), text(": "), parts.foreign(name))) if name else text(view.mode_words)
    passed = f"{view.counts.passed} of {view.counts.planned}"
    if not view.is_binary:
        passed = f"{view.counts.passed} of {view.counts.planned} judged"
    return (
        join(
            (
                link(relative(view.path, page), parts.foreign(view.run_id)),
                parts.para(parts.foreign(plan.campaign_title), css="es-sub"),
            )
        ),
        pill(view.state) if view.run.sealed else join((pill(view.state), EMPTY)),
        join((asked, parts.para(parts.foreign(plan.corpus.name), css="es-sub"))),
        num(text(passed)),
        join((parts.day(opened), parts.para(text(f"{opened[11:16]} UTC"), css="es-sub"))),
        text(view.run.level.value),
    )
