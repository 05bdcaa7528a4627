# SPDX-License-Identifier: Apache-2.0
"""The options by which a verifier says whom it trusts and which heads it holds."""

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from evalsite.ledger.evidence import Policy
from evalsite.ledger.heads import HeldHead, parse_expected, parse_known
from evalsite.ledger.pins import keystore_folder
from evalsite.ledger.policy import keystore_policy, parse_witnesses
from evalsite.ledger.timestamps import root_fingerprints
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.schema.checks import Level
from evalsite.storage import read_regular

_P = ParamSpec("_P")
_T = TypeVar("_T")
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_MAX_PEM_BYTES = 1024 * 1024
_OPTIONS = (
    click.option(
        "--witness",
        "witness_keys",
        multiple=True,
        metavar="VKEY",
        help="Trust this witness (repeatable). Those in your keystore's `witnesses` file are trusted anyway.",
    ),
    click.option(
        "--quorum",
        type=click.IntRange(1, 64),
        metavar="K",
        help="How many distinct trusted witnesses level A4 needs. Default: 2.",
    ),
    click.option(
        "--appointed-witnesses",
        is_flag=True,
        help="Also trust the witness that the ledger's own keyring names: the word of the root key's holder.",
    ),
    click.option(
        "--tsa-root",
        "tsa_roots",
        multiple=True,
        type=_FILE,
        help="Trust time stamps under this root certificate, PEM (repeatable).",
    ),
    click.option(
        "--known-checkpoint",
        "known",
        multiple=True,
        type=_FILE,
        help="A checkpoint of a log that you kept: the log must extend it (repeatable).",
    ),
    click.option(
        "--expect-head",
        "expected",
        multiple=True,
        metavar="[LEDGER=]sha256:ROOT@SIZE",
        help="A head that you wrote down: the log must extend it (repeatable).",
    ),
    click.option(
        "--no-remember",
        is_flag=True,
        help="Neither compare with the heads that earlier verifications saw, nor remember this one.",
    ),
)


_RAISING = {
    Level.A1: "--root-key {ledger}=FINGERPRINT raises it to A1 (get the fingerprint from the key holder)",
    Level.A2: "--known-checkpoint FILE or --expect-head raises it to A2",
    Level.A3: "a witness or a time stamp whom you trust raises it to A3 (`evalsite anchor add`, --witness, --tsa-root)",
    Level.A4: "more trusted witnesses raise it to A4 (`evalsite anchor add`, --witness, --quorum)",
}


def raising(reached: Level, asked: Level, ledger: str) -> str:
    """Return what a verifier can do about a level below the one that is asked for: the first step comes first."""
    return _RAISING[Level.A1 if reached is Level.A0 else asked].format(ledger=ledger)


def policy_options(command: Callable[_P, _T]) -> Callable[..., _T]:
    """Give a command the options; it gets them as one ``policy``."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **given: _P.kwargs) -> _T:
        given["policy"] = _gather(given)
        return command(*args, **given)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _gather(given: dict[str, object]) -> Policy:
    policy = keystore_policy(keystore_folder(), memory=not given.pop("no_remember"))
    stated = parse_witnesses(("--witness", text) for text in _texts(given.pop("witness_keys")))
    roots = [root_fingerprints(read_regular(path, _MAX_PEM_BYTES)) for path in _paths(given.pop("tsa_roots"))]
    known = [_known(path) for path in _paths(given.pop("known"))]
    expected = [parse_expected(text) for text in _texts(given.pop("expected"))]
    quorum = given.pop("quorum")
    return replace(
        policy,
        witnesses=(*policy.witnesses, *stated),
        quorum=quorum if isinstance(quorum, int) else None,
        tsa_roots=policy.tsa_roots.union(*roots),
        heads=(*known, *expected),
        appointed=bool(given.pop("appointed_witnesses")),
    )


def _known(path: Path) -> HeldHead:
    return parse_known(read_regular(path, MAX_NOTE_BYTES), f"--known-checkpoint {path.name}")


def _texts(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, tuple) else []


def _paths(values: object) -> list[Path]:
    return [value for value in values if isinstance(value, Path)] if isinstance(values, tuple) else []
