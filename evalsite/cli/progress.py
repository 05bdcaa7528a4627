# SPDX-License-Identifier: Apache-2.0
"""Progress on stderr: a bar on a terminal, plain lines elsewhere."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from evalsite.campaign.execute import Step


class Watcher(Protocol):
    """Is told of each trial that ended, and counts them by status."""

    counts: Counter[str]

    def step(self, step: Step) -> None:
        """Note one trial."""
        ...


class PlainWatcher:
    """One line per trial, for logs."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def step(self, step: Step) -> None:
        """Write one line."""
        self.counts[step.status.value] += 1
        click.echo(
            f"[{step.done}/{step.planned}] {step.trial.kind.value} {step.trial.label()}: {step.status.value}", err=True
        )


class BarWatcher:
    """A bar that stays on one line, with the counts so far."""

    def __init__(self, title: str) -> None:
        # rich takes a third of a second to import: only here, only on a terminal.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self.counts: Counter[str] = Counter()
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[last]}"),
            console=Console(stderr=True),
        )
        self.task = self.bar.add_task(title, total=None, last="")

    def step(self, step: Step) -> None:
        """Move the bar."""
        self.counts[step.status.value] += 1
        last = f"{step.trial.label()}: {step.status.value}"
        self.bar.update(self.task, total=step.planned, completed=step.done, last=last)


@contextmanager
def watcher(title: str) -> Iterator[Watcher]:
    """Yield a watcher that fits where stderr goes."""
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        yield PlainWatcher()
        return
    bar = BarWatcher(title)
    with bar.bar:
        yield bar
