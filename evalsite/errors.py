# SPDX-License-Identifier: Apache-2.0
"""The error tree and the exit codes.

Every error that evalsite raises on purpose derives from `EvalsiteError` and maps to one exit
code of the published table. Exit 1 is left to Python's own traceback, so that a crash can never
look like a verdict.

    EvalsiteError
      InputError            2    bad usage or bad input; nothing was written
        CanonicalizationError    a value has no canonical bytes
      RefusedError          3    decided completely, and the answer is no
      IntegrityError        4    a digest, link, root, signature or proof does not check out
      UndecidedError        5    incomplete, missing key, evidence below the asked level
      LeakError             6    withheld content found in a built edition
      EndpointError         7    nothing was evaluated: endpoint unreachable or unfit
      RunInterruptedError 130    interrupted; what was recorded is whole

`ValueError` and `TypeError` mean a bug in the caller and are not part of this tree.
"""

from typing import ClassVar, Self

_MAX_VALUE_CHARS = 200


def shorten(value: object, limit: int = _MAX_VALUE_CHARS) -> str:
    """Return ``repr(value)`` cut to ``limit`` characters, with what was cut told in words."""
    text = ascii(value)
    if len(text) <= limit:
        return text
    return f"{text[:limit]}... ({len(text)} characters in all)"


class EvalsiteError(Exception):
    """Base of all errors raised on purpose.

    Args:
        message: What was expected and what was found, in one sentence. Never a secret.
        at: The place: ``file:line`` or a path such as ``cases[3].input.message``.
        rule: The rule that was broken, for instance ``R19`` or ``RFC 8785 §3.2.3``.
        advice: What the reader can do about it.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, at: str = "", rule: str = "", advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.at = at
        self.rule = rule
        self.advice = advice

    def under(self, parent: str) -> Self:
        """Prefix the place with ``parent`` while the error travels outward; returns itself."""
        separator = "" if self.at.startswith("[") or not self.at else "."
        self.at = f"{parent}{separator}{self.at}"
        return self

    def __str__(self) -> str:
        """Return message, place and rule in one line."""
        place = f" at {self.at}" if self.at else ""
        rule = f" [{self.rule}]" if self.rule else ""
        return f"{self.message}{place}{rule}"


class InputError(EvalsiteError):
    """Usage or input error; nothing was written (exit 2)."""


class CanonicalizationError(InputError):
    """A value has no canonical bytes: a float, a lone surrogate, too deep, too large a number."""


class RefusedError(EvalsiteError):
    """Decided completely, and the answer is no (exit 3)."""

    exit_code = 3


class IntegrityError(EvalsiteError):
    """A chain link, root, signature, digest or proof does not check out (exit 4)."""

    exit_code = 4


class UndecidedError(EvalsiteError):
    """Not decided: incomplete run, missing key, evidence below the asked level (exit 5)."""

    exit_code = 5


class LeakError(EvalsiteError):
    """Withheld content was found in a built edition (exit 6)."""

    exit_code = 6


class EndpointError(EvalsiteError):
    """Nothing was evaluated: the endpoint is unreachable or does not offer what the plan needs (exit 7)."""

    exit_code = 7


class RunInterruptedError(EvalsiteError):
    """The run was interrupted; what was recorded is whole and can be resumed (exit 130)."""

    exit_code = 130
