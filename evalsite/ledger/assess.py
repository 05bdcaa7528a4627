# SPDX-License-Identifier: Apache-2.0
"""A checked ledger against what its verifier holds and trusts: heads (step 25) and the evidence."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evalsite.errors import EvalsiteError, UndecidedError
from evalsite.ledger.authentic import Head
from evalsite.ledger.ed25519 import parse_base64
from evalsite.ledger.evidence import DEFAULT_QUORUM, Evidence, Policy, covers_of, heads_of
from evalsite.ledger.heads import STEP, HeldHead, Shown, check_heads, remembered_head
from evalsite.ledger.ledgercheck import CheckedLedger, LedgerFacts
from evalsite.ledger.steps import Step
from evalsite.schema.entries import LedgerOpened


def assess(project: Path, checked: CheckedLedger, policy: Policy, *, alone: bool) -> CheckedLedger:
    """Return a checked ledger with its evidence, and with the heads that the verifier holds checked.

    A ledger whose integrity does not hold is returned as it is.

    Args:
        project: The project's root folder.
        checked: The ledger after steps 1 to 8 and 24.
        policy: What the verifier holds and trusts.
        alone: Whether it is the project's only ledger.
    """
    facts = checked.facts
    if facts is None:
        return checked
    ledger = checked.report.ledger
    heads = list(heads_of(policy, ledger, alone=alone))
    step, held = _check(project, ledger, facts, _Heads(heads, policy.memory))
    report = checked.report if step is None else replace(checked.report, checks=(*checked.report.checks, step.done()))
    if step is not None and step.findings:
        return CheckedLedger(report=report, facts=None)
    evidence = Evidence(
        pinned=facts.evidence.pinned,
        held=held,
        quorum=policy.quorum or DEFAULT_QUORUM,
        covers=covers_of(facts.anchors, policy, own_keys=own_keys(facts), appointed=appointed(facts)),
    )
    newest = len(facts.entries) - 1
    head = Head(facts.notes.raw[facts.notes.newest], founding_root(facts))
    report = replace(report, level=evidence.level_of(newest), vouched=evidence.vouched(newest), head=head)
    return CheckedLedger(report=report, facts=replace(facts, evidence=evidence))


def own_keys(facts: LedgerFacts) -> frozenset[bytes]:
    """Return the raw public keys that a ledger ever had for itself, which never count as a witness's."""
    raw: set[bytes] = set()
    for keys in facts.history.versions:
        keyring = keys.keyring
        named = [item.public_key for item in keyring.keys if item.role != "witness"]
        raw |= {parse_base64(key) for key in (keyring.root_public_key, *named)}
        raw |= {keys.log_key.public_key, *keys.runner_keys.values()}
    return frozenset(raw)


def appointed(facts: LedgerFacts) -> frozenset[bytes]:
    """Return the raw public keys that a ledger's keyring names as witnesses and has not revoked."""
    keys = facts.keys.keyring.keys
    return frozenset(
        parse_base64(item.public_key) for item in keys if item.role == "witness" and item.revoked_at is None
    )


def founding_root(facts: LedgerFacts) -> str:
    """Return the fingerprint of the root key that a ledger was founded with."""
    first = facts.entries[0]
    if not isinstance(first, LedgerOpened):  # pragma: no cover - step 7 has seen to it
        raise TypeError(first.type)
    return first.root_fingerprint


class _Heads:
    """The heads that are stated, then the remembered one; a damaged memory is an error of its own."""

    def __init__(self, stated: list[HeldHead], memory: Path | None) -> None:
        self.stated = stated
        self.memory = memory

    def all(self, ledger: str, founding: str) -> Iterator[HeldHead]:
        yield from self.stated
        if self.memory is not None:
            head = remembered_head(self.memory, ledger, founding)
            if head is not None:
                yield head


def _check(project: Path, ledger: str, facts: LedgerFacts, heads: _Heads) -> tuple[Step | None, bool]:
    shown = Shown(ledger, facts.leaves, facts.notes.raw, facts.history.log_keys)
    try:
        held = list(heads.all(ledger, founding_root(facts)))
    except UndecidedError:
        raise  # the keystore can't be read, which says nothing of the log
    except EvalsiteError as exc:
        step = Step(STEP, "log extends the heads that this verifier holds")
        step.checked = 1
        step.find("head.memory", f"runs/log/{ledger}", f"{exc.message} ({exc.at})", exc.rule)
        return step, False
    return check_heads(project, shown, held)
