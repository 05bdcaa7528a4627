# SPDX-License-Identifier: Apache-2.0
"""What this verifier trusts and holds beyond root keys, gathered from outside of the project.

<keystore>/witnesses       verifier keys of trusted witnesses, one per line; # starts a comment
<keystore>/tsa-roots.pem   root certificates of trusted time stamp authorities
<keystore>/.heads/         heads that earlier verifications saw
"""

from collections.abc import Iterable
from pathlib import Path

from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.cosignature import WitnessKey, parse_witness_key
from evalsite.ledger.evidence import Policy
from evalsite.ledger.timestamps import root_fingerprints
from evalsite.storage import read_regular

WITNESSES = "witnesses"
TSA_ROOTS = "tsa-roots.pem"
_MAX_POLICY_BYTES = 1024 * 1024


def read_witnesses(keystore: Path) -> tuple[WitnessKey, ...]:
    """Return the witnesses that the keystore names.

    Raises:
        InputError: The file holds something else than one verifier key per line.
    """
    path = keystore / WITNESSES
    if not path.is_file():
        return ()
    lines = read_regular(path, _MAX_POLICY_BYTES).decode("utf-8", "replace").splitlines()
    return parse_witnesses(
        ((f"{WITNESSES}:{number}", line) for number, line in enumerate(lines, start=1)),
    )


def parse_witnesses(lines: Iterable[tuple[str, str]]) -> tuple[WitnessKey, ...]:
    """Return the witness keys in lines, each given with its place; blank lines and comments are passed over.

    Raises:
        InputError: A line is no witness's verifier key.
    """
    keys: list[WitnessKey] = []
    for at, line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            keys.append(parse_witness_key(text))
        except EvalsiteError as exc:
            raise InputError(
                f"expected a witness's verifier key: {exc.message}",
                at=at,
                rule=exc.rule,
                advice="Get the line that `evalsite witness init` printed from the witness, not from the project.",
            ) from exc
    return tuple(keys)


def read_tsa_roots(keystore: Path) -> frozenset[str]:
    """Return the fingerprints of the time stamp authorities' roots that the keystore names.

    Raises:
        InputError: The file holds something else than certificates in PEM.
    """
    path = keystore / TSA_ROOTS
    return root_fingerprints(read_regular(path, _MAX_POLICY_BYTES)) if path.is_file() else frozenset()


def keystore_policy(keystore: Path, *, memory: bool) -> Policy:
    """Return what the keystore says about whom this verifier trusts.

    Args:
        keystore: The verifier's own folder.
        memory: Whether heads of earlier verifications are held too.

    Raises:
        InputError: A file of the keystore holds something else.
    """
    return Policy(
        witnesses=read_witnesses(keystore),
        tsa_roots=read_tsa_roots(keystore),
        memory=keystore if memory else None,
    )


def require_ledgers(policy: Policy, names: Iterable[str]) -> None:
    """Refuse a project in which a ledger is missing of which the verifier holds a head.

    Raises:
        IntegrityError: A ledger is gone.
        InputError: A head does not say of which of several ledgers it is.
    """
    known = sorted(names)
    for head in policy.heads:
        if head.ledger is None and len(known) != 1:
            raise InputError(f"expected LEDGER= before the head, this project has {len(known)} ledgers", at=head.source)
        if head.ledger is not None and head.ledger not in known:
            raise IntegrityError(
                f"expected the ledger {head.ledger}, of which this verifier holds a head, found none",
                at="runs/log",
                rule="run-record §11",
            )
