# SPDX-License-Identifier: Apache-2.0
"""The statement over a sealed run: an in-toto Statement v1 that anybody can derive again. Pure.

The runner signs it; a verifier derives the same bytes from the record and compares, so that the
statement never says more than the record does.
"""

from dataclasses import dataclass
from typing import Any

from evalsite.canonical.digest import digest_bytes, hex_of
from evalsite.canonical.jcs import canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import IntegrityError
from evalsite.schema.entries import RunClosed, RunOpened

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://evalsite.invalid/run-record/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """What a statement says beyond the first and the last event.

    ``plan_digest`` is that of the first event; ``root`` is the run tree's root over ``size`` lines; the
    two hex digests are over all lines, each with its newline.
    """

    plan_digest: str
    size: int
    root: bytes
    sha256: str
    sha512: str


def plan_digest(opened: RunOpened) -> str:
    """Return the digest of the plan's canonical bytes."""
    return digest_bytes(opened.plan.to_bytes())


def statement_payload(opened: RunOpened, closed: RunClosed, sealed: Sealed) -> bytes:
    """Return the statement's canonical bytes.

    Subjects are the event lines, the corpus, and each role's model weights where the endpoint told
    their digest.
    """
    plan = opened.plan
    subjects: list[dict[str, Any]] = [
        {"name": f"runs/{opened.run}/events", "digest": {"sha256": sealed.sha256, "sha512": sealed.sha512}},
        {"name": f"corpora/{plan.corpus.name}", "digest": {"sha256": hex_of(plan.corpus.fingerprint)}},
    ]
    for role, planned in (("candidate", plan.candidate), ("judge", plan.judge)):
        if planned is not None and planned.identity.model_digest is not None:
            digest = {"sha256": hex_of(planned.identity.model_digest)}
            subjects.append({"name": f"{role}:{planned.identity.model_name}", "digest": digest})
    return canonical_bytes(
        {
            "_type": STATEMENT_TYPE,
            "subject": subjects,
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "ledger": opened.ledger,
                "run": opened.run,
                "planDigest": sealed.plan_digest,
                "mode": plan.mode.value,
                "protocol": plan.protocol.value,
                "corpus": {"name": plan.corpus.name, "version": plan.corpus.version},
                "openedAt": opened.recorded_at,
                "closedAt": closed.recorded_at,
                "complete": closed.complete,
                "totals": closed.totals.plain(),
                "tree": {"size": sealed.size, "root": f"sha256:{sealed.root.hex()}"},
            },
        }
    )


def stated_digests(payload: bytes) -> tuple[str, str]:
    """Return the SHA-256 and the SHA-512 over all lines as a statement says them, in hexadecimal.

    For a verifier that compares all else of the statement with what it derived.

    Raises:
        InputError: The payload is not strict JSON.
        IntegrityError: It says no such digests.
    """
    value = parse_json(payload, max_bytes=len(payload))
    try:
        digest = value["subject"][0]["digest"]
        short, long = digest["sha256"], digest["sha512"]
    except (TypeError, KeyError, IndexError) as exc:
        raise IntegrityError("expected the digests of the events in the statement", rule="run-record §7") from exc
    if not isinstance(short, str) or not isinstance(long, str):
        raise IntegrityError("expected digests as text in the statement", rule="run-record §7")
    return short, long
