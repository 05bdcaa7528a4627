# SPDX-License-Identifier: Apache-2.0
"""The help texts on docs/reference/cli.md, made from the commands themselves.

``python tests/support/help_page.py --write`` puts them into the page again after a change of a command.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from evalsite.cli.main import cli

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/cli.md"
BLOCK = re.compile(r"(?<=\n)<!-- help: ([a-z ]+) -->\n```text\n(.*?)```\n", re.DOTALL)
START = "<!-- the help texts below are generated: make golden -->\n"
WIDTH = 96


def commands(group: click.Group = cli, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the words and the command of everything that can be called."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        elif command is not None:
            yield (*words, name), command


def helps() -> dict[str, str]:
    """Return the help text of each command, in lines of one fixed width."""
    texts = {}
    for words, command in commands():
        name = " ".join(words)
        context = click.Context(command, info_name=f"evalsite {name}", terminal_width=WIDTH, **cli.context_settings)
        texts[name] = "\n".join(line.rstrip() for line in command.get_help(context).splitlines()) + "\n"
    return texts


def blocks_on_page() -> dict[str, str]:
    """Return the help texts that stand on the page."""
    return dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def write_page() -> None:
    """Put every help text on the page, in the order of the commands."""
    head = PAGE.read_text(encoding="utf-8").partition(START)[0]
    parts = [
        f"## evalsite {name}\n\n<!-- help: {name} -->\n```text\n{text}```\n".replace("\n\n\n", "\n\n")
        for name, text in helps().items()
    ]
    PAGE.write_text(head + START + "\n" + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_page()
    print("same" if blocks_on_page() == helps() else "different")
