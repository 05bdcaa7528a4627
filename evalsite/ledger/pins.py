# SPDX-License-Identifier: Apache-2.0
"""Which root keys this verifier trusts, and where it keeps that: outside of every project.

Pins come from the keystore, from ``EVALSITE_ROOT_KEYS`` (for pipelines) and from the caller, the
later ones over the earlier; never from the project that is verified.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from evalsite.errors import InputError, shorten
from evalsite.ledger.keys import is_fingerprint, read_pins

KEYSTORE_VARIABLE = "EVALSITE_KEYS"
PINS_VARIABLE = "EVALSITE_ROOT_KEYS"


def keystore_folder() -> Path:
    """Return where private keys and pins are kept: ``EVALSITE_KEYS``, or the user's configuration."""
    stated = os.environ.get(KEYSTORE_VARIABLE)
    if stated:
        return Path(stated)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "evalsite" / "keys"


def parse_pins(values: Iterable[str], *, at: str) -> dict[str, str]:
    """Return root fingerprint by ledger, from ``LEDGER=sha256:...`` words.

    Args:
        values: The words.
        at: Where they were stated, for the message.

    Raises:
        InputError: A word has another form.
    """
    pins: dict[str, str] = {}
    for value in values:
        ledger, _, fingerprint = value.partition("=")
        if not ledger or not is_fingerprint(fingerprint):
            raise InputError(
                f"expected LEDGER=sha256:<64 hexadecimal digits>, found {shorten(value)}",
                at=at,
                rule="run-record §3",
                advice="Get the fingerprint that `evalsite keys init` printed from the key holder, not here.",
            )
        pins[ledger] = fingerprint
    return pins


def stated_pins(stated: Iterable[str] = ()) -> dict[str, str]:
    """Return the pins of the environment and of the caller: those that were stated for this project.

    Raises:
        InputError: A pin has another form.
    """
    environment = os.environ.get(PINS_VARIABLE, "").split()
    return {**parse_pins(environment, at=PINS_VARIABLE), **parse_pins(stated, at="--root-key")}


def all_pins(stated: Iterable[str] = ()) -> dict[str, str]:
    """Return every pin of this verifier: keystore, environment, and what the caller states.

    Raises:
        InputError: A stated pin has another form.
    """
    return {**read_pins(keystore_folder()), **stated_pins(stated)}
