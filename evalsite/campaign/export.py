# SPDX-License-Identifier: Apache-2.0
"""Bundles are made here: a whole run for an auditor, or one case of it alone.

Files are copied as they stand, never written anew, and only from a run whose integrity holds. What is
added for other tools (sums, the statement's payload, an SSH signature, the page of commands) follows
from them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.exportkeys import signers_of
from evalsite.campaign.exportpage import AuditPage, CasePage
from evalsite.errors import InputError, UndecidedError
from evalsite.ledger.authentic import AuthenticRun, refuse
from evalsite.ledger.bundle import BundleManifest, put, seal_bundle
from evalsite.ledger.checkpoint import parse_checkpoint
from evalsite.ledger.disclosure import (
    blobs_of,
    entry_name,
    entry_proof_name,
    line_name,
    line_proof_name,
    trial_of,
)
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES, parse_envelope
from evalsite.ledger.layout import (
    CHECKPOINT,
    ENTRIES,
    STATEMENT,
    blob_name,
    log_folder,
    note_name,
    run_folder,
    trust_folder,
)
from evalsite.ledger.lines import read_segments, segment_files
from evalsite.ledger.merkle import inclusion_proof, leaf_hash
from evalsite.ledger.note import parse_note
from evalsite.ledger.tlogproof import TlogProof
from evalsite.ledger.verify import require_run, verify_run
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_NOTE_BYTES, MAX_RECORD_FILE_BYTES, MAX_YAML_BYTES
from evalsite.schema.entries import Event, RunOpened
from evalsite.storage import ensure_folder, list_tree, read_regular

STATEMENT_PAYLOAD = "statement.json"
STATEMENT_SSHSIG = "statement.json.sig"
PAGE = "VERIFY.md"

Detach = Callable[[bytes], bytes]
"""Makes a detached SSH signature over some bytes with the ledger's runner key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which lines of a run are disclosed: those of one case, in one repetition or in all."""

    case_id: str
    repetition: int | None = None


def open_for_export(project: Path, run_id: str, *, pins: Mapping[str, str]) -> AuthenticRun:
    """Return a run that may leave: one whose integrity holds. It need not be complete.

    Raises:
        InputError: There is no such run.
        IntegrityError: Something does not check out; the first finding names the file.
        UndecidedError: Nothing was signed yet, or something can't be read.
    """
    require_run(project, run_id)
    report = verify_run(project, run_id, pins=pins)
    if report.run is None:
        refuse(report.checks, at=run_folder(run_id))
        raise UndecidedError("expected a run with signed events", at=run_folder(run_id))
    return report.run


def export_audit(run: AuthenticRun, into: Path, *, detach: Detach | None) -> BundleManifest:
    """Write everything that an auditor needs about one run into a new or empty folder.

    Args:
        run: From `open_for_export`.
        into: The bundle's folder.
        detach: Signs the statement for ``ssh-keygen``; None where the runner key is not at hand.

    Raises:
        InputError: The folder holds something.
        UndecidedError: The operating system refused.
    """
    _claim(into)
    for folder in (trust_folder(run.ledger), log_folder(run.ledger), run_folder(run.run_id)):
        for name in sorted(list_tree(run.project / folder).files):
            _copy(run.project, into, f"{folder}/{name}", MAX_RECORD_FILE_BYTES)
    policy = f"corpora/{_corpus_name(run)}/policy.yaml"
    if (run.project / policy).is_file():
        _copy(run.project, into, policy, MAX_YAML_BYTES)
    if (into / run_folder(run.run_id) / STATEMENT).is_file():
        payload = parse_envelope(read_regular(into / run_folder(run.run_id) / STATEMENT, MAX_ENVELOPE_BYTES)).payload
        put(into, STATEMENT_PAYLOAD, payload)
        if detach is not None:
            put(into, STATEMENT_SSHSIG, detach(payload))
    has_sshsig = (into / STATEMENT_SSHSIG).exists()
    put(into, PAGE, AuditPage(run=run, signers=signers_of(run, into), has_sshsig=has_sshsig).text())
    manifest = _manifest(run, "audit", None, ())
    seal_bundle(into, manifest)
    return manifest


def export_case(run: AuthenticRun, wanted: Wanted, into: Path) -> BundleManifest:
    """Write the lines of one case, each with its proof and its blobs, into a new or empty folder.

    Raises:
        InputError: The folder holds something, or the run has no line of this case.
        UndecidedError: The operating system refused.
    """
    events = [event for event in run.events if _is_wanted(event, wanted)]
    if not events:
        known = sorted({trial.case_id for event in run.events if (trial := trial_of(event)) is not None})
        raise InputError(
            f"expected a case of this run, found no line of {wanted.case_id}",
            at=run_folder(run.run_id),
            advice=f"Its cases: {', '.join(known[:20])}",
        )
    _claim(into)
    folder = run.project / run_folder(run.run_id)
    note = read_regular(folder / note_name(run.size), MAX_NOTE_BYTES)
    put(into, CHECKPOINT, note)
    for event in events:
        proof = TlogProof(event.seq, inclusion_proof(run.leaves, event.seq), note)
        put(into, line_name(event.seq), run.line(event.seq))
        put(into, line_proof_name(event.seq), proof.to_bytes())
    for digest in sorted(set(blobs_of(events))):
        if (folder / blob_name(digest)).is_file():
            put(into, blob_name(digest), read_regular(folder / blob_name(digest), MAX_BLOB_OF_CORPUS_BYTES))
    for name in sorted(list_tree(run.project / trust_folder(run.ledger)).files):
        _copy(run.project, into, f"{trust_folder(run.ledger)}/{name}", MAX_RECORD_FILE_BYTES)
    _put_entries(run, into)
    lines = [event.seq for event in events]
    put(into, PAGE, CasePage(run=run, signers=signers_of(run, into), wanted=wanted.case_id, lines=lines).text())
    manifest = _manifest(run, "case", wanted, lines)
    seal_bundle(into, manifest)
    return manifest


def _put_entries(run: AuthenticRun, into: Path) -> None:
    """Write the log's entries about the run, each proved against the log's newest signed root.

    The proofs of the record are older: after a rotation their roots are signed with a log key that counts no more.
    """
    folder = run.project / log_folder(run.ledger)
    names, _ = segment_files(ENTRIES, list_tree(folder).files)
    lines = [line for segment in read_segments(folder, names) for line in segment.lines]
    note = read_regular(folder / CHECKPOINT, MAX_NOTE_BYTES)
    leaves = [leaf_hash(line) for line in lines[: parse_checkpoint(parse_note(note).text).size]]
    for seq in (run.opened_index, run.closed_index):
        if seq is not None:
            put(into, entry_name(seq), lines[seq])
            put(into, entry_proof_name(seq), TlogProof(seq, inclusion_proof(leaves, seq), note).to_bytes())


def _is_wanted(event: Event, wanted: Wanted) -> bool:
    trial = trial_of(event)
    if trial is None or trial.case_id != wanted.case_id:
        return False
    return wanted.repetition is None or trial.repetition == wanted.repetition


def _manifest(run: AuthenticRun, kind: str, wanted: Wanted | None, lines: list[int] | tuple[()]) -> BundleManifest:
    return BundleManifest.from_value(
        {
            "format": "evalsite/bundle/v1",
            "kind": kind,
            "ledger": run.ledger,
            "run": run.run_id,
            "case_id": wanted.case_id if wanted else None,
            "repetition": wanted.repetition if wanted else None,
            "lines": list(lines),
        }
    )


def _corpus_name(run: AuthenticRun) -> str:
    first = run.events[0]
    return first.plan.corpus.name if isinstance(first, RunOpened) else ""


def _claim(into: Path) -> None:
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise InputError("expected a new or an empty folder", at=into.name, advice="name another one with --into")
    ensure_folder(into)


def _copy(project: Path, into: Path, name: str, max_bytes: int) -> None:
    put(into, name, read_regular(project / name, max_bytes))
