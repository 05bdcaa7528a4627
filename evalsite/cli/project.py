# SPDX-License-Identifier: Apache-2.0
"""``evalsite init``: a new project."""

from pathlib import Path

import click

from evalsite.cli import output
from evalsite.cli.scaffold import create_project

STARTER = "support-behaviors-v1"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--corpus", "corpora", multiple=True, help=f"Shipped corpus to start from (repeatable). Default: {STARTER}"
)
def init(folder: Path, corpora: tuple[str, ...]) -> None:
    """Start a new project in FOLDER, which must be new or empty."""
    create_project(folder, corpora=corpora or (STARTER,), name=folder.resolve().name)
    output.say(f"project {folder}")
    output.note(f"Next: cd {folder} && evalsite keys init")
