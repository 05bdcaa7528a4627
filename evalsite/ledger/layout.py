# SPDX-License-Identifier: Apache-2.0
"""Where everything stands, as paths below the project with ``/``. Pure.

```
runs/trust/<ledger>/keyring/001.dsse.json  root.vkey  log.vkey  root.pem  runner.pem  log.pem  allowed_signers
runs/log/<ledger>/entries/000.jsonl  checkpoint  checkpoints/<size>.note  anchors/<size>.*
                    labels/<commitment>.json
runs/<run>/events/000.jsonl  checkpoint  checkpoints/<size>.note  statement.dsse.json
           blobs/<aa>/<64 hex>  proofs/run-opened.tlog-proof  proofs/run-closed.tlog-proof  quarantine/<seq>.bin
.evalsite/<ledger>.lock
```
"""

import re

from evalsite.canonical.digest import hex_of
from evalsite.errors import InputError, shorten

RUNS = "runs"
TRUST = "runs/trust"
LOG = "runs/log"
WORK = ".evalsite"  # locks and leftovers, outside the evidence and outside version control
RESERVED = frozenset({"trust", "log"})
CHECKPOINT = "checkpoint"
STATEMENT = "statement.dsse.json"
PROOF_OPENED = "proofs/run-opened.tlog-proof"
PROOF_CLOSED = "proofs/run-closed.tlog-proof"
EVENTS = "events"
ENTRIES = "entries"
NOTE_FILE = re.compile(r"checkpoints/(0|[1-9][0-9]{0,18})\.note", re.ASCII)
BLOB_FILE = re.compile(r"blobs/([0-9a-f]{2})/(\1[0-9a-f]{62})")
QUARANTINE_FILE = re.compile(r"quarantine/(0|[1-9][0-9]{0,18})\.bin", re.ASCII)
LABEL_FILE = re.compile(r"labels/[a-z0-9][a-z0-9._-]{0,63}\.json", re.ASCII)
KEYRING_FILE = re.compile(r"keyring/([0-9]{3,})\.dsse\.json", re.ASCII)
RUN_FOLDERS = re.compile(r"events|checkpoints|proofs|quarantine|blobs(/[0-9a-f]{2})?")
LOG_FOLDERS = re.compile(r"entries|checkpoints|anchors|labels")
TRUST_FOLDERS = re.compile(r"keyring")
_FOLDER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_name(name: str) -> bool:
    """Return whether ``name`` can be a run's or a ledger's folder."""
    return _FOLDER_NAME.fullmatch(name) is not None and name not in RESERVED and not name.endswith(".")


def check_name(name: str, kind: str) -> str:
    """Return ``name`` if it can be a folder of its own.

    Args:
        name: Name of a run or ledger.
        kind: ``run`` or ``ledger``, for the message.

    Raises:
        InputError: Other characters than ``a-z 0-9 . _ -``, longer than 64, or a reserved name.
    """
    if not is_name(name):
        raise InputError(
            f"expected a {kind} name of a-z, 0-9, '.', '_' and '-', at most 64 characters, found {shorten(name)}",
            rule="FolderName",
        )
    return name


def trust_folder(ledger: str) -> str:
    """Return the folder of a ledger's public keys."""
    return f"{TRUST}/{ledger}"


def log_folder(ledger: str) -> str:
    """Return the folder of a ledger's log."""
    return f"{LOG}/{ledger}"


def run_folder(run_id: str) -> str:
    """Return the folder of a run."""
    return f"{RUNS}/{run_id}"


def keyring_name(version: int) -> str:
    """Return the file of a keyring version, below the trust folder."""
    return f"keyring/{version:03d}.dsse.json"


def segment_name(kind: str, number: int) -> str:
    """Return the file of a segment of lines (``events/000.jsonl``)."""
    return f"{kind}/{number:03d}.jsonl"


def note_name(size: int) -> str:
    """Return the file of the checkpoint of one size."""
    return f"checkpoints/{size}.note"


def blob_name(digest: str) -> str:
    """Return the file of a blob, below the run folder."""
    digits = hex_of(digest)
    return f"blobs/{digits[:2]}/{digits}"


def quarantine_name(seq: int) -> str:
    """Return the file of the torn bytes that were set aside before event ``seq``, below the run folder."""
    return f"quarantine/{seq}.bin"


def label_name(commitment: str) -> str:
    """Return the file of revealed labels, below the log folder."""
    return f"labels/{commitment}.json"


def lock_file(ledger: str) -> str:
    """Return the lock file of a ledger's one writer."""
    return f"{WORK}/{ledger}.lock"


def log_origin(ledger: str) -> str:
    """Return the checkpoint origin of a ledger's log, which is also the name of its key."""
    return f"{ledger}/log"


def run_origin(ledger: str, run_id: str) -> str:
    """Return the checkpoint origin of a run."""
    return f"{ledger}/run/{run_id}"
