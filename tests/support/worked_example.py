# SPDX-License-Identifier: Apache-2.0
"""The worked example of the record's specification: made anew, and compared with the page byte for byte.

``python tests/support/worked_example.py --write`` puts the blocks into the page again after a change of
the format. Such a change breaks every record that exists: think first.
"""

import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.ledgers import (  # noqa: E402 - run as a script, it must find its own folder first
    LATER,
    LEDGER,
    NOW,
    RUN,
    close_run,
    fixed_key,
    make_ledger,
    reopen,
    run_trials,
)

from evalsite.ledger.dsse import parse_envelope  # noqa: E402
from evalsite.schema.plan import Plan  # noqa: E402

PAGE = ROOT / "docs" / "spec" / "run-record-v1.md"
BLOCK = re.compile(r"(?ms)^<!-- worked: ([a-z-]+) -->\n```text\n(.*?)^```$")
SNAPSHOT = b"{}"
_DIGEST = "sha256:" + "0" * 64
_IDENTITY = {
    "capabilities": None,
    "client_version": None,
    "endpoint_host": None,
    "endpoint_kind": "fixture",
    "family": None,
    "model_digest": None,
    "model_name": None,
    "model_size_bytes": None,
    "parameter_size": None,
    "quantization": None,
    "raw": None,
    "remote_host": None,
    "replayed_run": None,
    "server_version": None,
    "trained_context_tokens": None,
}
_ROLE = {
    "contract_digest": _DIGEST,
    "identity": _IDENTITY,
    "instructions_digest": _DIGEST,
    "prompt_version": "1",
    "spec": {"endpoint": {"kind": "fixture"}},
}


def plan_of(snapshot: str) -> Plan:
    """Return the example's plan: one case, once, on the fixture."""
    return Plan.from_value(
        {
            "format": "evalsite/plan/v1",
            "campaign_name": "fixture",
            "campaign_title": "Worked example",
            "campaign_digest": _DIGEST,
            "purpose": "Show bytes.",
            "profile": "default",
            "mode": "fixture",
            "protocol": "binary",
            "corpus": {
                "name": "one-case",
                "version": "1",
                "fingerprint": _DIGEST,
                "language": "en",
                "data_class": "synthetic",
                "snapshot": snapshot,
            },
            "cases": [
                {
                    "case_id": "A",
                    "fingerprint": _DIGEST,
                    "critical": False,
                    "expected_action": "assist",
                    "must_refuse": False,
                }
            ],
            "repetitions": 1,
            "candidate": _ROLE,
            "judge": _ROLE,
            "environment": {
                "evalsite_version": "0",
                "code_digest": _DIGEST,
                "python_version": "3.11",
                "platform": "linux",
                "packages": {},
            },
        }
    )


def make_example(project: Path) -> None:
    """Write the example's ledger and its sealed run."""
    make_ledger(project)
    with reopen(project) as ledger:
        run = ledger.create_run(RUN)
        plan = plan_of(run.put_blob(SNAPSHOT))
        run.begin(plan, now=NOW)
        run_trials(run, plan)
        close_run(run, plan)
        run.seal(now=LATER)


def blocks_of(project: Path) -> dict[str, str]:
    """Return the text of every block, from the files of the example."""
    run, log, trust = (project / "runs" / name for name in (RUN, f"log/{LEDGER}", f"trust/{LEDGER}"))
    keyring, statement = trust / "keyring" / "001.dsse.json", run / "statement.dsse.json"
    snapshot = plan_snapshot(run)
    return {
        "root-fingerprint": fixed_key("root").key_id + "\n",
        "log-vkey": (trust / "log.vkey").read_text(encoding="utf-8"),
        "keyring": keyring.read_text(encoding="utf-8"),
        "keyring-payload": parse_envelope(keyring.read_bytes()).payload.decode() + "\n",
        "blob": f"{snapshot.name}\n{snapshot.read_bytes().hex()}\n",
        "events": (run / "events" / "000.jsonl").read_text(encoding="utf-8"),
        "run-checkpoint": (run / "checkpoint").read_text(encoding="utf-8"),
        "log-entries": (log / "entries" / "000.jsonl").read_text(encoding="utf-8"),
        "log-checkpoint": (log / "checkpoint").read_text(encoding="utf-8"),
        "statement": statement.read_text(encoding="utf-8"),
        "statement-payload": parse_envelope(statement.read_bytes()).payload.decode() + "\n",
        "proof-opened": (run / "proofs" / "run-opened.tlog-proof").read_text(encoding="utf-8"),
        "proof-closed": (run / "proofs" / "run-closed.tlog-proof").read_text(encoding="utf-8"),
    }


def plan_snapshot(run: Path) -> Path:
    """Return the blob file of the corpus snapshot: the one that holds ``{}``."""
    return next(path for path in run.glob("blobs/*/*") if path.read_bytes().endswith(b"\n" + SNAPSHOT))


def blocks_on_page() -> dict[str, str]:
    """Return the blocks that stand on the page."""
    return dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))


def write_page(blocks: dict[str, str]) -> None:
    """Put every block in its place on the page."""
    text = PAGE.read_text(encoding="utf-8")
    text = BLOCK.sub(lambda found: f"<!-- worked: {found[1]} -->\n```text\n{blocks[found[1]]}```", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "project"
        make_example(made)
        if "--write" in sys.argv:
            write_page(blocks_of(made))
        print("same" if blocks_on_page() == blocks_of(made) else "different")
