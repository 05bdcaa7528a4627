# SPDX-License-Identifier: Apache-2.0
"""Standard streams that nobody may be reading: a reader that goes away changes no verdict and ends no run."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, TextIO


class PatientStream:
    """A text stream that is let go of when it can't be written to, so that the program goes on without it.

    Attributes:
        failure: Why it could not be written to, unless its reader went away (``| head -1``); null if it could.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        """Write text, or drop it once the stream is gone."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Hand on what was written."""
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        """Look everything else up in the stream."""
        return getattr(self._stream, name)

    def _try(self, act: Callable[[], object]) -> None:
        if self._gone:
            return
        try:
            act()
        except OSError as exc:
            self._gone = True
            self.failure = None if isinstance(exc, BrokenPipeError) else exc
            self._lead_to_nowhere()

    def _lead_to_nowhere(self) -> None:
        """Keep what the stream still holds from failing again when the program ends."""
        with contextlib.suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def patient_streams(out: TextIO, err: TextIO) -> Iterator[PatientStream]:
    """Make the standard streams patient while the block runs, and give that of the results.

    ``evalsite verify | head -1`` ends with the code of its verdict, and a run goes on when its terminal is gone.
    """
    results, messages = PatientStream(out), PatientStream(err)
    with contextlib.redirect_stdout(results), contextlib.redirect_stderr(messages):
        yield results
