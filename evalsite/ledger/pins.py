# SPDX-License-Identifier: Apache-2.0
"""Which root keys this verifier trusts, and where it keeps that: outside of every project.

Pins come from the keystore, from ``EVALSITE_ROOT_KEYS`` (for pipelines) and from the caller, the
later ones over the earlier; never from the project that is verified.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from evalsite.errors import InputError
from evalsite.ledger.keys import read_pins

KEYSTORE_VARIABLE = "EVALSITE_KEYS"
PINS_VARIABLE = "EVALSITE_ROOT_KEYS"
_PREFIX = "sha256:"


def keystore_folder() -> Path:
    """Return where private keys and pins are kept: ``EVALSITE_KEYS``, or the user's configuration."""
    stated = os.environ.get(KEYSTORE_VARIABLE)
    if stated:
        return Path(stated)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "evalsite" / "keys"


def parse_pins(values: Iterable[str]) -> dict[str, str]:
    """Return root fingerprint by ledger, from ``LEDGER=sha256:...`` words.

    Raises:
        InputError: A word has another form.
    """
    pins: dict[str, str] = {}
    for value in values:
        ledger, _, fingerprint = value.partition("=")
        if not ledger or not fingerprint.startswith(_PREFIX) or len(fingerprint) != len(_PREFIX) + 64:
            raise InputError(
                "expected LEDGER=sha256:<64 hexadecimal digits>",
                at="root key",
                advice="Get the fingerprint that `evalsite keys init` printed from the key holder, not here.",
            )
        pins[ledger] = fingerprint
    return pins


def stated_pins(stated: Iterable[str] = ()) -> dict[str, str]:
    """Return the pins of the environment and of the caller: those that were stated for this project.

    Raises:
        InputError: A pin has another form.
    """
    return {**parse_pins(os.environ.get(PINS_VARIABLE, "").split()), **parse_pins(stated)}


def all_pins(stated: Iterable[str] = ()) -> dict[str, str]:
    """Return every pin of this verifier: keystore, environment, and what the caller states.

    Raises:
        InputError: A stated pin has another form.
    """
    return {**read_pins(keystore_folder()), **stated_pins(stated)}
