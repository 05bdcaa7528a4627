# SPDX-License-Identifier: Apache-2.0
"""Faults of the operating system, made where the storage floor asks it."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

WRITING = ("write", "fsync", "fdatasync", "link", "unlink", "rename", "mkdir", "open", "ftruncate", "fchmod")
READING = ("read", "scandir", "fstat", "lstat", "listdir")
_OPEN = os.open
STRERROR = {number: os.strerror(number) for number in (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT)}


class Fault:
    """Counts calls of the system; from the n-th on, or at the n-th only, they fail with an error."""

    def __init__(self, moment: int, number: int, *, for_good: bool) -> None:
        self.left = moment
        self.fired = False
        self._number = number
        self._for_good = for_good

    def wrap(self, original: Callable[..., object]) -> Callable[..., object]:
        """Return ``original`` with the fault in front of it."""

        def call(*args: Any, **options: Any) -> object:
            if original is _OPEN and args[1] & (os.O_ACCMODE | os.O_DIRECTORY) == os.O_RDONLY:
                return original(*args, **options)  # opened for reading; `READING` fails later
            self.left -= 1
            if self.left == -1 or (self.left < 0 and self._for_good):
                self.fired = True
                raise OSError(self._number, STRERROR[self._number])
            return original(*args, **options)

        return call


@contextmanager
def failing(moment: int, number: int, *, for_good: bool = False, calls: tuple[str, ...] = WRITING) -> Iterator[Fault]:
    """Let the n-th call of the operating system fail with an error number while the block runs."""
    fault = Fault(moment, number, for_good=for_good)
    patches = [patch.object(os, name, fault.wrap(getattr(os, name))) for name in calls]
    for item in patches:
        item.start()
    try:
        yield fault
    finally:
        for item in patches:
            item.stop()
