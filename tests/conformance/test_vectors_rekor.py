# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in real bundles of a transparency log that is not ours: notes, cosignatures, inclusion."""

import base64
import json
from urllib.parse import urlsplit

import pytest

from evalsite.errors import EvalsiteError
from evalsite.ledger.checkpoint import parse_checkpoint
from evalsite.ledger.merkle import leaf_hash, verify_inclusion
from evalsite.ledger.note import NoteKey, parse_note, verify_note

#: Cases whose checkpoint must not be accepted; the other ``_fail`` cases are about time stamps.
REFUSED = {
    "rekor2-checkpoint-missing-log-signature_fail",
    "rekor2-checkpoint-missing-origin_fail",
    "rekor2-checkpoint-missing-root-hash_fail",
    "rekor2-checkpoint-missing-size_fail",
    "rekor2-checkpoint-no-matching-signature_fail",
}


@pytest.fixture(scope="session")
def bundles(vectors):
    folder = vectors / "audit/sigstore-conformance/test/assets/bundle-verify"
    return sorted(path for path in folder.iterdir() if path.name.startswith("rekor2-"))


def log_keys(folder):
    """Return the Ed25519 log keys of the bundle's own trust root: raw key, under the log's host name."""
    trusted = json.loads((folder / "trusted_root.json").read_bytes())
    return [
        NoteKey(urlsplit(log["baseUrl"]).netloc, base64.b64decode(log["publicKey"]["rawBytes"])[-32:])
        for log in trusted["tlogs"]
        if log["publicKey"]["keyDetails"] == "PKIX_ED25519"
    ]


def check(folder):
    """Verify checkpoint and inclusion of a bundle's entry, with the leaf computed from the entry in hand."""
    bundle = json.loads((folder / "bundle.sigstore.json").read_bytes())
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    proof = entry["inclusionProof"]
    note = parse_note(proof["checkpoint"]["envelope"].encode())
    checkpoint = parse_checkpoint(note.text)
    keys = [key for key in log_keys(folder) if key.name == checkpoint.origin]
    verify_note(note, keys)
    verify_inclusion(
        leaf_hash(base64.b64decode(entry["canonicalizedBody"])),
        [base64.b64decode(item) for item in proof["hashes"]],
        index=int(proof["logIndex"]),
        size=checkpoint.size,
        root=checkpoint.root,
    )


def test_every_checkpoint_is_accepted_or_refused_as_its_name_says(bundles):
    outcomes = {}
    for folder in bundles:
        try:
            check(folder)
            outcomes[folder.name] = True
        except EvalsiteError:
            outcomes[folder.name] = False
    assert len(outcomes) == 20
    assert {name for name, accepted in outcomes.items() if not accepted} == REFUSED
