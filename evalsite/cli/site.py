# SPDX-License-Identifier: Apache-2.0
"""``evalsite build`` and ``evalsite serve``: verify first, then write the review site."""

import functools
import http.server
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import click

from evalsite.campaign.project import load_project
from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock, json_option, root_key_option
from evalsite.cli.reports import BuildReport as BuildFacts
from evalsite.errors import InputError
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.policy import keystore_policy
from evalsite.site.build import BuildReport, build_site
from evalsite.site.gather import gather

SITE_FOLDER = "site"
_EPOCH = "SOURCE_DATE_EPOCH"


@click.command()
@click.option("--into", "site_dir", type=click.Path(path_type=Path), help="Where the site goes. Default: site/")
@root_key_option
@json_option
def build(
    site_dir: Path | None,
    root_keys: tuple[str, ...],
    as_json: bool,  # noqa: FBT001 - click hands flags over by name
) -> None:
    """Verify the whole trail, then build the review site.

    Exit 4 when anything does not check out; nothing is written then.
    """
    project = find_project()
    target = site_dir or project / SITE_FOLDER
    report = build_project(project, target, all_pins(root_keys))
    if as_json:
        output.say_report(
            BuildFacts,
            {
                "site": str(target),
                "pages": report.pages,
                "files": report.files,
                "written": report.written,
                "removed": report.removed,
                "digest": report.digest,
            },
        )
        return
    output.say(f"site    {target / 'index.html'}")
    changed = f"{report.written} written, {report.removed} removed"
    output.say(f"pages   {report.pages} from records, {report.files} files ({changed})")
    output.say(f"digest  {report.digest}")


@click.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@root_key_option
def serve(port: int, root_keys: tuple[str, ...]) -> None:
    """Verify, build, and serve the site on this machine only."""
    project = find_project()
    target = project / SITE_FOLDER
    build_project(project, target, all_pins(root_keys))
    handler = functools.partial(_QuietHandler, directory=str(target))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as exc:
        raise InputError(
            f"could not listen on port {port}: {exc.strerror}", at="--port", advice="--port 0 takes a free port."
        ) from exc
    with server:
        output.say(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C stops; for live reload use `mkdocs serve`)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.note("stopped")


def build_project(project: Path, target: Path, pins: dict[str, str]) -> BuildReport:
    """Verify a project and build its site.

    Raises:
        IntegrityError: Something does not check out; nothing was written.
    """
    # Heads that this verifier remembers stay out: they would make a page depend on who looked before.
    policy = keystore_policy(keystore_folder(), memory=False)
    state = load_project(project, pins=pins, policy=policy)
    # Expiries are judged by the day, so that a second build on the same day gives the same bytes.
    today = f"{host_clock().now()[:10]}T00:00:00Z"
    newest = max((run.closed_at or run.opened_at for run in state.trusted_runs()), default=today)
    return build_site(project, gather(project, state, as_of=_as_of(today)), site_dir=target, epoch=_epoch(newest))


def _epoch(newest: str) -> int:
    """Return ``SOURCE_DATE_EPOCH``, or the time of the newest record."""
    stated = os.environ.get(_EPOCH)
    if stated is None:
        return int(datetime.strptime(newest, "%Y-%m-%dT%H:%M:%S%z").timestamp())
    if not re.fullmatch(r"[0-9]{1,11}", stated):
        raise InputError(f"expected whole seconds in {_EPOCH}, got {stated!a}", at=_EPOCH)
    return int(stated)


def _as_of(today: str) -> str:
    stated = os.environ.get(_EPOCH)
    if stated is None:
        return today
    return datetime.fromtimestamp(_epoch(today), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line per request."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Say nothing."""
