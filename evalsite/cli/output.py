# SPDX-License-Identifier: Apache-2.0
"""How results look on a terminal: plain aligned tables on stdout, messages on stderr."""

import json
from collections.abc import Mapping, Sequence

import click

from evalsite.schema.base import StrictModel

_COLOURS = {
    "ok": "green",
    "passed": "green",
    "FAILED": "red",
    "refused": "red",
    "open": "yellow",
    "undecided": "yellow",
}


def say(text: str = "") -> None:
    """Write one line of result to stdout."""
    click.echo(text)


def note(text: str) -> None:
    """Write one line of progress or advice to stderr."""
    click.echo(text, err=True)


def say_json(value: object) -> None:
    """Write a JSON value to stdout, keys sorted, readable."""
    click.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=True))


def say_report(contract: type[StrictModel], facts: object) -> None:
    """Write the facts of a reporting command to stdout as JSON, under their published contract."""
    say_json(contract.from_value(facts).plain())


def say_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write an aligned table to stdout; numbers stand at the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(name), *(len(row[index]) for row in cells), 0) for index, name in enumerate(header)]
    right = [all(row[index].isdigit() or row[index] in ("", "-") for row in cells) for index in range(len(header))]
    lines = [list(header), ["-" * width for width in widths], *cells]
    for number, line in enumerate(lines):
        padded = [
            cell.rjust(width) if at_right and number != 1 else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        ]
        say("  ".join(_coloured(cell) for cell in padded).rstrip())


def say_facts(facts: Mapping[str, object]) -> None:
    """Write name and value pairs, aligned."""
    width = max((len(name) for name in facts), default=0)
    for name, value in facts.items():
        say(f"{name.ljust(width)}  {value}")


def _coloured(cell: str) -> str:
    colour = _COLOURS.get(cell.strip())
    return click.style(cell, fg=colour) if colour else cell
