# SPDX-License-Identifier: Apache-2.0
"""Witnesses, held heads and time stamp authorities for tests; keys are fixed, so they are no secrets."""

import shutil
import subprocess
from pathlib import Path

from support.ledgers import LEDGER, NOW, fixed_key, keystore_of

from evalsite.ledger.anchoring import AnchoredLog
from evalsite.ledger.cosignature import WitnessKey, cosign, signature_line
from evalsite.ledger.evidence import Policy
from evalsite.ledger.keys import load_key
from evalsite.ledger.layout import log_folder
from evalsite.ledger.logwriter import LogWriter
from evalsite.ledger.note import NoteKey, parse_note
from evalsite.ledger.verify import check_ledgers
from evalsite.ledger.witness import Witness, add_log

TIME_S = 1_796_115_600  # 2026-12-01T09:00:00Z
PIN = {LEDGER: fixed_key("root").key_id}
ANCHORS = f"{log_folder(LEDGER)}/anchors"


def witness_key(name: str) -> WitnessKey:
    """Return a witness's public key."""
    return WitnessKey(name, fixed_key(f"witness {name}").public_key)


def log_key() -> NoteKey:
    """Return the log key of `make_ledger`."""
    return NoteKey(f"{LEDGER}/log", fixed_key("log").public_key)


def make_witness(state: Path, name: str = "w1") -> Witness:
    """Return a witness that watches the log of `make_ledger`."""
    state.mkdir(parents=True, exist_ok=True)
    add_log(state, log_key())
    return Witness(state, name, fixed_key(f"witness {name}"))


def open_log(project: Path) -> AnchoredLog:
    """Return the log of `make_ledger`, to be anchored."""
    return AnchoredLog(project, LEDGER, None)


def line_of(name: str, note: bytes, *, time_s: int = TIME_S) -> bytes:
    """Return a witness's signature line over a note, whatever the witness remembers."""
    return signature_line(cosign(parse_note(note).text, name, fixed_key(f"witness {name}"), time_s=time_s)).encode()


def anchor(project: Path, *names: str, time_s: int = TIME_S) -> list[str]:
    """Keep cosignatures of the newest checkpoint by witnesses; return the files' names."""
    log = open_log(project)
    kept = [log.keep_cosignatures(line_of(name, log.note, time_s=time_s), [witness_key(name)]) for name in names]
    return [name for found in kept for name, _ in found]


def trusting(*names: str, **changes: object) -> Policy:
    """Return the policy of a verifier who trusts witnesses."""
    return Policy(witnesses=tuple(witness_key(name) for name in names), **changes)


def ledger_of(project: Path, policy: Policy, *, pins: dict[str, str] | None = None):
    """Return the report of the one ledger under a policy, with the root key pinned."""
    return check_ledgers(project, pins=PIN if pins is None else pins, policy=policy)[LEDGER].report


def fork_log(project: Path, keep: int) -> None:
    """Rewrite the log from entry ``keep`` on, with the true log key: what its holder alone can do."""
    folder = project / log_folder(LEDGER)
    lines = (folder / "entries" / "000.jsonl").read_bytes().splitlines()
    shutil.rmtree(folder)
    log = LogWriter(project, LEDGER, load_key(keystore_of(project), LEDGER, "log"))
    for line in lines[:keep]:
        log._tree.append(line)
        if log._tree.lines.size >= 2:
            log.sign()
    body = {"run": "run-9", "opened_leaf": "sha256:" + "1" * 64, "plan_digest": "sha256:" + "2" * 64}
    log.append("run.opened", body, now=NOW)
    log.sign()
    log.close()


class StampAuthority:
    """A time stamp authority made by OpenSSL in a folder: a root and an authority's certificate of some days."""

    def __init__(self, folder: Path, *, days: int = 1, usage: str = "tsa") -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text(
            "[tsa]\nbasicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
            "extendedKeyUsage=critical,timeStamping\n"
            "[ca]\nbasicConstraints=critical,CA:TRUE\nextendedKeyUsage=critical,timeStamping\n"
            "[plain]\nbasicConstraints=critical,CA:FALSE\n"
            "[stamp]\nserial=serial\ndigests=sha256\ndefault_policy=1.2.3.4\nsigner_digest=sha256\n"
            "ess_cert_id_alg=sha256\naccuracy=secs:1\n"
        )
        self.openssl("req -x509 -newkey rsa:2048 -nodes -keyout root.key -out root.pem -days 9000 -subj /CN=root")
        self.openssl("req -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj /CN=authority")
        signing = f"-CA root.pem -CAkey root.key -CAcreateserial -days {days}"
        self.openssl(f"x509 -req -in tsa.csr {signing} -extfile ca.cnf -extensions {usage} -out tsa.pem")
        self.root = (folder / "root.pem").read_bytes()
        self.chain = self.root + (folder / "tsa.pem").read_bytes()  # in no particular order

    def stamp(self, data: bytes) -> bytes:
        """Return a time stamp response over ``data``."""
        (self.folder / "data").write_bytes(data)
        self.openssl("ts -query -data data -sha256 -no_nonce -out q.tsq")
        reply = "-signer tsa.pem -inkey tsa.key -config ca.cnf -section stamp"
        self.openssl(f"ts -reply -queryfile q.tsq {reply} -out r.tsr")
        return (self.folder / "r.tsr").read_bytes()

    def openssl(self, words: str) -> bytes:
        """Call OpenSSL in the authority's folder."""
        done = subprocess.run(["openssl", *words.split()], cwd=self.folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout
