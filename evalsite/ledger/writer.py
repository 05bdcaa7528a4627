# SPDX-License-Identifier: Apache-2.0
"""Writing: one locked ledger, its log, and the runs that are recorded in it.

Order of writing, so that a crash at any point leaves a record that can be finished:

* begin: blobs, first event, run checkpoint, log entry ``run.opened``, log checkpoint, proof;
* each event: line, fdatasync; every `CHECKPOINT_EVERY` lines a run checkpoint;
* seal: run checkpoint, statement, log entry ``run.closed``, log checkpoint, proof.

A run's private keys never leave this process; nothing is signed before the disk was read again.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalsite.canonical.digest import digest_bytes
from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.ledger.authentic import read_blob
from evalsite.ledger.blob import SALT_BYTES, blob_digest, pack_blob
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.keys import load_key, usable_ledgers
from evalsite.ledger.layout import (
    CHECKPOINT,
    ENTRIES,
    EVENTS,
    PROOF_CLOSED,
    PROOF_OPENED,
    STATEMENT,
    WORK,
    blob_name,
    check_name,
    lock_file,
    log_folder,
    log_origin,
    note_name,
    run_folder,
    run_origin,
    trust_folder,
)
from evalsite.ledger.ledgercheck import LedgerFacts, check_ledger
from evalsite.ledger.lines import LineLog, digest_of_leaf, parse_line
from evalsite.ledger.merkle import inclusion_proof
from evalsite.ledger.order import RunOrder
from evalsite.ledger.recovery import Recovered, Recovery, drop_tail, recover
from evalsite.ledger.statement import plan_digest
from evalsite.ledger.stating import seal_statement
from evalsite.ledger.tlogproof import TlogProof
from evalsite.schema.bounds import MAX_EVENT_BYTES, MAX_LOG_ENTRY_BYTES
from evalsite.schema.entries import (
    EVENT,
    LOG_ENTRY,
    Event,
    LogEntry,
    RunClosedLogged,
    RunOpened,
    RunOpenedLogged,
    RunResumed,
)
from evalsite.schema.plan import Plan
from evalsite.storage import create_same, ensure_folder, lock, replace, sweep

__all__ = ["LedgerWriter", "Recovery", "RunWriter", "found_ledger", "open_ledger", "usable_ledgers"]

CHECKPOINT_EVERY = 32  # lines that may stand unsigned behind a checkpoint
Salts = Callable[[], bytes]


def _salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)
