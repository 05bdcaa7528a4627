# SPDX-License-Identifier: Apache-2.0
"""A ledger's public key material for an auditor: history, allowed signers, verifier keys, fingerprints."""

from pathlib import Path

from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES
from evalsite.ledger.layout import keyring_name, trust_folder
from evalsite.ledger.note import NoteKey
from evalsite.ledger.trust import ED25519, allowed_signer
from evalsite.ledger.writer import verified_ledger
from evalsite.storage import create, ensure_folder, read_regular


def exported_keys(project: Path, ledger: str) -> dict[str, bytes]:
    """Return the public files of a verified ledger by name.

    ``allowed_signers`` says of each runner key when it was valid, by the keyring's own times, as
    ``ssh-keygen -Y verify -O verify-time=...`` reads it; ``fingerprints`` says at which log entry each
    version came into force, which is what evalsite judges by.

    Raises:
        IntegrityError: Keys or log do not verify.
    """
    facts = verified_ledger(project, ledger)
    files = {}
    lines = []
    for keys, index in zip(facts.history.versions, facts.history.published, strict=True):
        version = keys.keyring.version
        name = keyring_name(version)
        files[name] = read_regular(project / trust_folder(ledger) / name, MAX_ENVELOPE_BYTES)
        lines.append(f"version {version} from log entry {index}\n  root {keys.root_fingerprint}\n")
        for item in keys.keyring.keys:
            state = "revoked" if item.revoked_at else "replaced" if item.not_after else "in force"
            name = item.name if item.algorithm == ED25519 else f"{item.name} ({item.algorithm})"
            lines.append(f"  {name} {item.key_id} {state}\n")
    newest = facts.keys.keyring.keys
    files["allowed_signers"] = "".join(
        allowed_signer(item, ledger, begin=True) for item in newest if item.role == "runner"
    ).encode()
    keys_of_log = facts.history.log_keys
    vkeys = [NoteKey(key.name, key.public_key).to_text() for key in keys_of_log]
    vkeys += [key.second.to_text() for key in keys_of_log if key.second is not None]
    files["log-vkeys"] = "".join(f"{vkey}\n" for vkey in dict.fromkeys(vkeys)).encode()
    files["fingerprints"] = "".join(lines).encode()
    return files


def export_keys(project: Path, ledger: str, into: Path) -> tuple[str, ...]:
    """Write `exported_keys` into a folder; return the names.

    Raises:
        InputError: A file of one of the names is there already.
        IntegrityError: Keys or log do not verify.
        UndecidedError: The operating system refused.
    """
    files = exported_keys(project, ledger)
    for name, data in files.items():
        ensure_folder((into / name).parent)
        create(into / name, data)
    return tuple(files)
