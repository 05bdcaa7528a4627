# SPDX-License-Identifier: Apache-2.0
"""Where a passphrase comes from: what a command set, ``EVALSITE_PASSPHRASE``, or a prompt.

A passphrase is never printed, recorded, or put into an error.
"""

import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from evalsite.errors import InputError, UndecidedError

VARIABLE = "EVALSITE_PASSPHRASE"
_MAX_BYTES = 1024  # what OpenSSL takes
_given: ContextVar[bytes | None] = ContextVar("given", default=None)
_sealing: ContextVar[bytes | None] = ContextVar("sealing", default=None)


@contextmanager
def unlocking(passphrase: bytes | None, *, seal: bool = False) -> Iterator[None]:
    """Open encrypted keys with ``passphrase`` inside the block.

    Args:
        passphrase: Null leaves it to the environment or a prompt.
        seal: Encrypt new keys with it as well.
    """
    given, sealing = _given.set(passphrase), _sealing.set(passphrase if seal else None)
    try:
        yield
    finally:
        _given.reset(given)
        _sealing.reset(sealing)


def handed_passphrase() -> bytes | None:
    """Return the passphrase that the command was given for the keys it opens; null if it was given none."""
    return _given.get()


def sealing_passphrase() -> bytes | None:
    """Return what new keys are encrypted with; null if they are not."""
    return _sealing.get()


def passphrase_for(what: str) -> bytes:
    """Return the passphrase of a key.

    Raises:
        InputError: It is empty or too long.
        UndecidedError: There is none, and nobody to ask.
    """
    given = _given.get()
    if given is not None:
        return given
    stated = os.environ.get(VARIABLE)
    if stated is not None:
        return check_passphrase(os.fsencode(stated))
    require_somebody(what)
    return check_passphrase(getpass.getpass(f"Passphrase of the {what}: ").encode())


def require_somebody(what: str) -> None:
    """Refuse to ask for a passphrase where nobody can answer.

    Raises:
        UndecidedError: The standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UndecidedError(
            f"expected a passphrase for the {what}, found none",
            rule="key not usable",
            advice=f"set {VARIABLE}, hand it over with --passphrase-fd, or use a terminal",
        )


def read_passphrase(descriptor: int) -> bytes:
    """Return the first line of an open file descriptor.

    Raises:
        InputError: It can't be read, or it is empty or too long.
    """
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            line = file.readline(_MAX_BYTES + 2)
    except OSError as exc:
        raise InputError("expected an open file descriptor", at="--passphrase-fd", advice="as in 3< file") from exc
    return check_passphrase(line.rstrip(b"\r\n"))


def check_passphrase(passphrase: bytes) -> bytes:
    """Return the passphrase if it can be one.

    Raises:
        InputError: Empty or longer than 1,024 bytes. The message holds nothing of it.
    """
    if not 1 <= len(passphrase) <= _MAX_BYTES:
        raise InputError(f"expected a passphrase of 1 to {_MAX_BYTES} bytes", at="passphrase", rule="RFC 5958")
    return passphrase
