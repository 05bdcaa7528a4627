# SPDX-License-Identifier: Apache-2.0
"""Single lines of a run, disclosed alone: each with its proof, and with the blobs that it names.

Nothing is believed that stands beside a line: its leaf hash is computed from the line in hand, its
index and the tree come from a checkpoint whose signature is checked, and size and root of that
checkpoint stand in the ledger's log, under a root that the newest log key signed. That these are *all* lines of
a case is not shown by this; only the whole run shows that.

```
checkpoint                        the run's newest signed root
lines/<seq>.json                  a line without its newline
proofs/<seq>.tlog-proof           line to checkpoint
log/<seq>.json  log/<seq>.tlog-proof   entries of the ledger's log about this run, each with its proof
runs/trust/<ledger>/...  blobs/<aa>/<64 hex>
```
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError, IntegrityError, shorten
from evalsite.ledger.blob import unpack_blob
from evalsite.ledger.bundle import STEP_FILES, BundleManifest
from evalsite.ledger.checkpoint import Checkpoint, open_checkpoint
from evalsite.ledger.dsse import MAX_ENVELOPE_BYTES
from evalsite.ledger.layout import CHECKPOINT, blob_name, keyring_name, log_origin, run_origin, trust_folder
from evalsite.ledger.lines import parse_line
from evalsite.ledger.merkle import leaf_hash, verify_inclusion
from evalsite.ledger.steps import Step, open_signed
from evalsite.ledger.tlogproof import MAX_PROOF_BYTES, parse_proof
from evalsite.ledger.trust import KeySet, open_keyring
from evalsite.schema.bounds import MAX_BLOB_OF_CORPUS_BYTES, MAX_EVENT_BYTES, MAX_LOG_ENTRY_BYTES, MAX_NOTE_BYTES
from evalsite.schema.checks import Area, Check, Level
from evalsite.schema.entries import EVENT, LOG_ENTRY, CallRecorded, Event, RunClosedLogged, TrialEnded, TrialStarted
from evalsite.schema.outcome import Trial
from evalsite.storage import read_regular

_LOG_LINE = re.compile(r"(0|[1-9][0-9]{0,18})\.json", re.ASCII)
_RULE = "run-record: bundles"


def line_name(seq: int) -> str:
    """Return the file of a disclosed line."""
    return f"lines/{seq}.json"


def line_proof_name(seq: int) -> str:
    """Return the file of a disclosed line's proof."""
    return f"proofs/{seq}.tlog-proof"


def entry_name(seq: int) -> str:
    """Return the file of a log entry about the run."""
    return f"log/{seq}.json"


def entry_proof_name(seq: int) -> str:
    """Return the file of a log entry's proof."""
    return f"log/{seq}.tlog-proof"


def trial_of(event: Event) -> Trial | None:
    """Return the trial that an event is about, if it is about one."""
    if isinstance(event, TrialStarted | TrialEnded):
        return event.trial
    return event.call.trial if isinstance(event, CallRecorded) else None


def blobs_of(events: Iterable[Event]) -> Iterator[str]:
    """Yield the digests of the blobs that calls name."""
    for event in events:
        if isinstance(event, CallRecorded):
            yield event.call.request
            if event.call.reply is not None:
                yield event.call.reply


def check_disclosure(
    folder: Path, manifest: BundleManifest, pins: Mapping[str, str]
) -> tuple[list[Check], Level, Level | None]:
    """Check a disclosed case; return the checks, the evidence level, and the level that the ledger asks for.

    Args:
        folder: The unpacked bundle.
        manifest: Its manifest.
        pins: Root fingerprints that the verifier trusts, by ledger.
    """
    return _DisclosureCheck(folder, manifest, pins.get(manifest.ledger)).run()


class _DisclosureCheck:
    def __init__(self, folder: Path, manifest: BundleManifest, pin: str | None) -> None:
        self._folder = folder
        self._manifest = manifest
        self._pin = pin
        self._keys: list[KeySet] = []
        self._events: list[Event] = []
        self._closed: RunClosedLogged | None = None

    def run(self) -> tuple[list[Check], Level, Level | None]:
        checks = [self._keyring()]
        if not checks[0].holds:
            return checks, Level.A0, None
        signed = Step(STEP_FILES + 2, "the run's checkpoint is signed")
        head: Checkpoint | None = None
        with signed.item("case.checkpoint", CHECKPOINT):
            note = read_regular(self._folder / CHECKPOINT, MAX_NOTE_BYTES)
            # Any version's log key: a run may be older than a rotation. The log, below, binds it to the newest key.
            keys = [item.log_key for item in reversed(self._keys)]
            head, _ = open_signed(note, origin=run_origin(self._manifest.ledger, self._manifest.run), keys=keys)
        checks.append(signed.done())
        if head is not None:
            checks += [self._lines(note, head), self._log(head), *self._blobs(), self._complete()]
        level = Level.A0 if self._pin is None else Level.A1
        return checks, level, Level(self._keys[-1].keyring.minimum_level)

    def _keyring(self) -> Check:
        step = Step(STEP_FILES + 1, "keyring, and pin if there is one")
        trust = self._folder / trust_folder(self._manifest.ledger)
        while not self._keys or (trust / keyring_name(len(self._keys) + 1)).exists():
            name = keyring_name(len(self._keys) + 1)
            with step.item("keyring", name):
                data = read_regular(trust / name, MAX_ENVELOPE_BYTES)
                previous = self._keys[-1] if self._keys else None
                self._keys.append(open_keyring(data, ledger=self._manifest.ledger, previous=previous))
            if step.findings:
                return step.done()
        if self._pin is not None and self._pin not in {keys.root_fingerprint for keys in self._keys}:
            step.find("keyring.pin", keyring_name(1), "expected the pinned root key, found another", "run-record §3")
        return step.done()

    def _lines(self, note: bytes, head: Checkpoint) -> Check:
        step = Step(STEP_FILES + 3, "disclosed lines are under the checkpoint")
        for seq in self._manifest.lines:
            with step.item("case.line", line_name(seq)):
                line = read_regular(self._folder / line_name(seq), MAX_EVENT_BYTES)
                proof = parse_proof(read_regular(self._folder / line_proof_name(seq), MAX_PROOF_BYTES))
                if proof.note != note or proof.extra is not None or proof.index != seq:
                    raise IntegrityError("expected a proof of this line against the bundle's checkpoint", rule=_RULE)
                verify_inclusion(leaf_hash(line), proof.hashes, index=seq, size=head.size, root=head.root)
                event = parse_line(line, EVENT, MAX_EVENT_BYTES)
                if event.seq != seq or event.run != self._manifest.run or not self._is_of_case(event):
                    raise IntegrityError("expected a line of this run and case", rule=_RULE)
                self._events.append(event)
        return step.done()

    def _is_of_case(self, event: Event) -> bool:
        trial = trial_of(event)
        if trial is None or trial.case_id != self._manifest.case_id:
            return False
        return self._manifest.repetition in (None, trial.repetition)

    def _log(self, head: Checkpoint) -> Check:
        step = Step(STEP_FILES + 4, "the ledger's log holds this run")
        names = [path.name for path in (self._folder / "log").glob("*.json")]
        for name in sorted(names):
            with step.item("case.log", f"log/{name}"):
                found = _LOG_LINE.fullmatch(name)
                if found is None:
                    raise InputError("expected a file named by its seq", rule=_RULE)
                self._entry(int(found[1]), head)
        return step.done()

    def _entry(self, seq: int, head: Checkpoint) -> None:
        line = read_regular(self._folder / entry_name(seq), MAX_LOG_ENTRY_BYTES)
        proof = parse_proof(read_regular(self._folder / entry_proof_name(seq), MAX_PROOF_BYTES))
        log = open_checkpoint(proof.note, origin=log_origin(self._manifest.ledger), key=self._keys[-1].log_key)
        if proof.index != seq:
            raise IntegrityError(f"expected a proof of entry {seq}, found one of {proof.index}", rule=_RULE)
        verify_inclusion(leaf_hash(line), proof.hashes, index=seq, size=log.size, root=log.root)
        entry = parse_line(line, LOG_ENTRY, MAX_LOG_ENTRY_BYTES)
        if getattr(entry, "run", None) != self._manifest.run:
            raise IntegrityError("expected an entry about this run", rule=_RULE)
        if isinstance(entry, RunClosedLogged):
            self._closed = entry
            if (entry.size, entry.root) != (head.size, f"sha256:{head.root.hex()}"):
                raise IntegrityError("expected the size and root of the run's checkpoint", rule=_RULE)

    def _blobs(self) -> list[Check]:
        held = Step(STEP_FILES + 5, "blobs have the digests that lines name")
        there = Step(STEP_FILES + 6, "every blob that a line names is there", Area.AVAILABILITY)
        for digest in sorted(set(blobs_of(self._events))):
            there.checked += 1
            name = blob_name(digest)
            if not (self._folder / name).exists():
                there.find("blob.missing", name, "expected a blob that a line names, found none", "availability")
                continue
            with held.item("blob.digest", name):
                data = read_regular(self._folder / name, MAX_BLOB_OF_CORPUS_BYTES)
                if digest_bytes(data) != digest:
                    raise IntegrityError(f"expected {shorten(digest, 20)}, found other bytes", rule="run-record §6")
                unpack_blob(data)
        return [step.done() for step in (held, there) if step.checked]

    def _complete(self) -> Check:
        step = Step(STEP_FILES + 7, "each disclosed trial ended, and the run is logged as closed", Area.COMPLETENESS)
        trials = {trial for event in self._events if (trial := trial_of(event)) is not None}
        ended = {event.trial for event in self._events if isinstance(event, TrialEnded)}
        step.checked = len(trials)
        for trial in sorted(trials - ended, key=Trial.label):
            step.find("case.open", trial.label(), "expected this trial to have ended", _RULE)
        if self._closed is None:
            step.find("case.unsealed", "log", "expected the log's entry that closes the run", _RULE)
        return step.done()
