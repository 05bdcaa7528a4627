# SPDX-License-Identifier: Apache-2.0
"""A second opinion on a time stamp, by the ``openssl`` command, before it is kept.

Tools differ about what they accept. A time stamp that one of two refuses today is one that an auditor
may not be able to read in some years; it is better not to keep it while another can still be got.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from evalsite.errors import IntegrityError

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n", re.DOTALL)
_TIMEOUT_S = 60


def second_opinion(response: bytes, chain: bytes, message: bytes, *, time_s: int) -> bool:
    """Return whether ``openssl ts -verify`` accepts a time stamp at its own time; false if there is no openssl.

    Args:
        response: The response of the authority.
        chain: Its certificates in PEM, the root's last.
        message: What was stamped.
        time_s: The time that the stamp states, in seconds since 1970, UTC.

    Raises:
        IntegrityError: openssl refuses it.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        return False
    *others, root = _CERTIFICATE.findall(chain)
    with tempfile.TemporaryDirectory(prefix="evalsite-") as name:
        folder = Path(name)
        files = {"message": message, "response": response, "root": root, "others": b"".join(others)}
        for file, data in files.items():
            (folder / file).write_bytes(data)
        words = ["ts", "-verify", "-data", "message", "-in", "response", "-CAfile", "root", "-untrusted", "others"]
        done = subprocess.run(  # noqa: S603 - openssl, found on the path, with fixed words
            [openssl, *words, "-attime", str(time_s)], cwd=folder, capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    if done.returncode:
        raise IntegrityError(
            "expected a time stamp that openssl accepts as well, it refuses it",
            rule="RFC 3161",
            advice="Ask again without certificates in the answer, or ask another authority.",
        )
    return True
