# SPDX-License-Identifier: Apache-2.0
"""The passphrase of encrypted private keys, for every command that signs: one option, one way in."""

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import click

from evalsite.ledger.passphrase import (
    VARIABLE,
    check_passphrase,
    handed_passphrase,
    read_passphrase,
    require_somebody,
    unlocking,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")


def passphrase_option(command: Callable[_P, _T]) -> Callable[..., _T]:
    """Give a command ``--passphrase-fd``; what it names opens encrypted keys while the command runs."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **given: _P.kwargs) -> _T:
        descriptor = given.pop("passphrase_fd")
        with unlocking(read_passphrase(descriptor) if isinstance(descriptor, int) else None):
            return command(*args, **given)

    return click.option(
        "--passphrase-fd",
        type=int,
        metavar="N",
        help="Read the passphrase of your keys from this open file descriptor (for CI).",
    )(wrapped)


@contextmanager
def sealing(*, asked: bool) -> Iterator[None]:
    """Encrypt the keys that the block makes, if that is asked for or a descriptor handed a passphrase over.

    Raises:
        InputError: The passphrase is empty or too long.
        UndecidedError: There is none, and nobody to ask.
    """
    passphrase = handed_passphrase()
    if passphrase is None and asked:
        stated = os.environ.get(VARIABLE)
        passphrase = check_passphrase(_ask() if stated is None else os.fsencode(stated))
    with unlocking(passphrase, seal=passphrase is not None):
        yield


def _ask() -> bytes:
    require_somebody("new keys")
    said: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=True, err=True)
    return said.encode()
