# SPDX-License-Identifier: Apache-2.0
"""A revoked key in a thief's hands: what was anchored before stays good, whatever it signs later is refused.

The log's positions decide, and anchors bound them in time. The thief states any time; others do not.
"""

import shutil

import pytest
from support.ledgers import LATER, LEDGER, NOW, RUN, fixed_key, keystore_of, make_sealed_run
from support.verdicts import codes
from support.witnesses import PIN, TIME_S, anchor, trusting

from evalsite.errors import RefusedError
from evalsite.ledger.checkpoint import parse_checkpoint, sign_checkpoint
from evalsite.ledger.dsse import parse_envelope, sign_envelope
from evalsite.ledger.evidence import Policy
from evalsite.ledger.heads import HeldHead
from evalsite.ledger.layout import log_origin
from evalsite.ledger.note import parse_note
from evalsite.ledger.rotation import Place, add_key, revoke
from evalsite.ledger.verify import check_ledgers, verify_run
from evalsite.schema.checks import Area, Level
from evalsite.storage import PRIVATE_FILE, replace

AFTER = "run-2"
WITNESSED_AT = "2026-12-01T09:00:00Z"
HOUR_S = 3600
ROLES = ["runner", "log"]


def place_of(project):
    return Place(project=project, keystore=keystore_of(project), ledger=LEDGER)


def take_away(project, role):
    """Revoke the key that the thief holds a copy of."""
    revoke(place_of(project), fixed_key(role).key_id, reason="laptop stolen", now=LATER)


def steal(project, role):
    """Put the revoked key back where the thief's own evalsite signs with it; return the keystore as it was."""
    path = keystore_of(project) / LEDGER / f"{role}.pem"
    kept = path.read_bytes()
    replace(path, fixed_key(role).to_pem(), mode=PRIVATE_FILE)
    return path, kept


def checked(project, run_id, policy):
    return verify_run(project, run_id, pins=PIN, policy=policy)


@pytest.mark.parametrize("role", ROLES)
def test_a_run_that_was_anchored_before_its_key_was_revoked_stays_good_at_that_time(project, role):
    anchor(project, "w1", time_s=TIME_S)
    take_away(project, role)
    anchor(project, "w1", time_s=TIME_S + HOUR_S)
    report = checked(project, RUN, trusting("w1"))
    assert report.holds(Area.INTEGRITY)
    assert (report.run.level, report.run.vouched.at) == (Level.A3, WITNESSED_AT)
    told = any("revoked later" in check.name for check in report.checks)
    assert told is (role == "runner")  # checkpoints of the log say by their size under which key they stand


@pytest.mark.parametrize("role", ROLES)
def test_a_run_that_was_closed_after_the_anchor_takes_no_time_from_it(project, role):
    """The anchored time covers what stood in the log then: not the revocation, and not what came behind it."""
    anchor(project, "w1", time_s=TIME_S)
    take_away(project, role)
    make_sealed_run(project, AFTER)
    report = checked(project, AFTER, trusting("w1"))
    assert report.holds(Area.INTEGRITY)
    assert (report.run.level, report.run.vouched.at) == (Level.A1, None)


def test_a_statement_signed_after_the_revocation_is_refused_whatever_time_it_states(project):
    """The run states that it was closed before the revocation, and a witness even anchors it."""
    take_away(project, "runner")
    make_sealed_run(project, AFTER)
    path = project / "runs" / AFTER / "statement.dsse.json"
    envelope = parse_envelope(path.read_bytes())
    assert NOW.encode() in envelope.payload
    assert NOW < LATER
    path.write_bytes(sign_envelope(envelope.payload_type, envelope.payload, fixed_key("runner")).to_bytes())
    anchor(project, "w1", time_s=TIME_S - HOUR_S)
    report = checked(project, AFTER, trusting("w1"))
    assert codes(report) == {"statement"}
    assert report.run is None


@pytest.mark.parametrize("size", ["newest", "first behind the revocation"])
def test_a_checkpoint_signed_after_the_revocation_is_refused(project, size):
    take_away(project, "log")
    make_sealed_run(project, AFTER)
    folder = project / "runs/log" / LEDGER
    sizes = sorted(int(path.stem) for path in (folder / "checkpoints").iterdir())
    chosen = sizes[-1] if size == "newest" else 5  # of four entries, before keys.published of the second version
    path = folder / "checkpoints" / f"{chosen}.note"
    checkpoint = parse_checkpoint(parse_note(path.read_bytes()).text)
    path.write_bytes(sign_checkpoint(checkpoint, log_origin(LEDGER), fixed_key("log")))
    if size == "newest":
        (folder / "checkpoint").write_bytes(path.read_bytes())
    checks = check_ledgers(project, pins=PIN, policy=trusting("w1"))[LEDGER].report.checks
    assert "checkpoint.key" in {finding.code for check in checks for finding in check.findings}


@pytest.mark.parametrize("role", ROLES)
def test_a_thief_who_goes_on_from_before_the_revocation_is_told_by_the_anchored_head(project, tmp_path, role):
    """A copy without the revocation verifies alone: it is older, and a head from behind the revocation says so."""
    shutil.copytree(tmp_path / "copy", tmp_path / "thief")
    stolen = tmp_path / "thief" / "project"
    take_away(project, role)
    log = project / "runs/log" / LEDGER
    note = (log / "checkpoint").read_bytes()
    checkpoint = parse_checkpoint(parse_note(note).text)
    make_sealed_run(stolen, "forged-1")
    make_sealed_run(stolen, "forged-2")
    assert checked(stolen, "forged-1", Policy()).holds(Area.INTEGRITY)
    held = HeldHead("anchored", LEDGER, checkpoint.size, checkpoint.root)
    report = checked(stolen, "forged-1", Policy(heads=(held,)))
    assert report.run is None
    assert codes(report) == {"head"}


def test_the_tools_of_the_thief_refuse_a_revoked_key_too(project):
    for role in ROLES:
        take_away(project, role)
        path, kept = steal(project, role)
        with pytest.raises(RefusedError, match=f"expected the keyring's {role} key"):
            make_sealed_run(project, f"forged-{role}")
        replace(path, kept, mode=PRIVATE_FILE)


def test_a_witness_that_the_keyring_appointed_counts_no_more_once_it_is_revoked(project):
    """Not even for what it cosigned before: whoever holds its key states any time in a cosignature."""
    add_key(place_of(project), "witness", "w1", fixed_key("witness w1").public_key, now=LATER)
    anchor(project, "w1", time_s=TIME_S)
    appointing = Policy(appointed=True)
    assert checked(project, RUN, appointing).run.level is Level.A3
    revoke(place_of(project), fixed_key("witness w1").key_id, reason="left", now=LATER)
    report = checked(project, RUN, appointing)
    assert report.holds(Area.INTEGRITY)
    assert (report.run.level, report.run.vouched.at) == (Level.A1, None)
