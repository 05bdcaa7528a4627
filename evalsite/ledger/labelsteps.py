# SPDX-License-Identifier: Apache-2.0
"""Steps 26 to 28 of a verification: labels of a ledger, in the order of its log."""

from collections.abc import Mapping, Sequence

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import EvalsiteError, IntegrityError
from evalsite.ledger.labelbook import LabelBook, LabelReader, Use, check_attempts
from evalsite.ledger.labelseal import RULE, check_reveal, reused_nonces
from evalsite.ledger.layout import ENTRIES, EVENTS, LABEL_FILE, label_name, run_folder, segment_name
from evalsite.ledger.lines import digest_of_leaf, parse_line
from evalsite.ledger.merkle import leaf_hash
from evalsite.ledger.steps import Folder, Step
from evalsite.schema.bounds import MAX_EVENT_BYTES, MAX_LABEL_FILE_BYTES, MAX_RECORD_FILE_BYTES, SEGMENT_LINES
from evalsite.schema.checks import Area, Check
from evalsite.schema.entries import EVENT, LabelsRevealed, LogEntry, RunOpened, RunOpenedLogged
from evalsite.schema.labels import SealedLabels
from evalsite.storage import read_regular

_STEP_ORDER = "labels: constants, cards, commitments and reveals in their order"
_STEP_REVEALED = "revealed labels are those that were committed"
_STEP_THERE = "revealed labels are there"


def check_labels(log: Folder, ledger: str, entries: Sequence[LogEntry]) -> tuple[list[Check], LabelBook]:
    """Check what a log says of labels.

    Args:
        log: The log's folder.
        ledger: Its name.
        entries: Its entries, whose hashes and links were checked.

    Returns:
        The checks, none for a log without such entries, and the book of labels.
    """
    reader = LabelReader(ledger)
    order = Step(26, _STEP_ORDER)
    for entry in entries:
        at = log.at(segment_name(ENTRIES, entry.seq // SEGMENT_LINES))
        with order.item("labels.order", at):
            reader.take(entry)
    if reader.empty and not order.findings and not any(LABEL_FILE.fullmatch(name) for name in log.tree.files):
        return [], reader.book()
    there = Step(28, _STEP_THERE, Area.AVAILABILITY)
    revealed, sealed = _check_revealed(log, ledger, reader, there)
    uses, unread = _read_uses(log, reader)
    book = reader.book(sealed, uses, unread)
    for message in check_attempts(book):
        order.find("labels.calibration", log.at(ENTRIES), message, RULE)
    return [step.done() for step in (order, revealed, there) if step.checked], book


def _check_revealed(
    log: Folder, ledger: str, reader: LabelReader, there: Step
) -> tuple[Step, Mapping[str, SealedLabels]]:
    step, sealed = Step(27, _STEP_REVEALED), dict[str, SealedLabels]()
    for name, entry in reader.reveals.items():
        there.checked += 1
        if label_name(name) not in log.tree.files:
            there.find("labels.missing", log.at(label_name(name)), "expected revealed labels, found none", RULE)
            continue
        with step.item("labels.revealed", log.at(label_name(name))):
            found = _open_revealed(log, entry)
            check_reveal(ledger, reader.commitment(name), found)
            sealed[name] = found
    for name in log.tree.files:
        if LABEL_FILE.fullmatch(name) and name not in {label_name(known) for known in reader.reveals}:
            step.checked += 1
            step.find("labels.unlogged", log.at(name), "expected no labels that the log does not reveal", RULE)
    if reused := reused_nonces(found.labels for found in sealed.values()):
        step.name += f"; {reused} of them share their nonce with another, so that equal ones could be told"
    return step, sealed


def _open_revealed(log: Folder, entry: LabelsRevealed) -> SealedLabels:
    data = log.read(label_name(entry.commitment), MAX_LABEL_FILE_BYTES)
    if digest_bytes(data) != entry.file:
        raise IntegrityError("expected the file that the log revealed", rule=RULE)
    found = SealedLabels.parse(data, max_bytes=MAX_LABEL_FILE_BYTES)
    if found.to_bytes() != data:
        raise IntegrityError("expected labels in their one spelling", rule=RULE)
    return found


def _read_uses(log: Folder, reader: LabelReader) -> tuple[tuple[Use, ...], Mapping[str, int]]:
    """Read the plan of every run that was opened after the first commitment: from its first event, as logged.

    A run that is not there, as in a bundle of another one, or not as it was logged has findings of its own;
    here it only means that attempts after it can't be counted.
    """
    uses, unread = list[Use](), dict[str, int]()
    for entry in reader.opened:
        try:
            opened = _opened_event(log, entry)
        except EvalsiteError:
            unread[entry.run] = entry.seq
            continue
        calibration = opened.plan.calibration
        for ref in () if calibration is None else calibration.commitments:
            closed = reader.closed_at.get(entry.run)
            use = Use(run=entry.run, commitment=ref.name, split=ref.split, opened=entry.seq, closed=closed)
            uses.append(use)
    return tuple(uses), unread


def _opened_event(log: Folder, entry: RunOpenedLogged) -> RunOpened:
    path = log.project / run_folder(entry.run) / segment_name(EVENTS, 0)
    line = read_regular(path, MAX_RECORD_FILE_BYTES).partition(b"\n")[0]
    if digest_of_leaf(leaf_hash(line)) != entry.opened_leaf:
        raise IntegrityError("expected the first event that the log holds", rule="run-record §8")
    event = parse_line(line, EVENT, MAX_EVENT_BYTES)
    if not isinstance(event, RunOpened):
        raise IntegrityError("expected run.opened as the first event", rule="run-record §4")
    return event
