# SPDX-License-Identifier: Apache-2.0
"""What is exported of runs that are open or have lost a blob, and which keys the page names."""

import shutil

import pytest
from support.bundles import CASE, audit_bundle, example_project
from support.ledgers import LEDGER, RUN, begin_run, fixed_key, make_ledger, reopen

from evalsite.campaign.bundles import inspect_bundle
from evalsite.campaign.export import Wanted, export_audit, export_case, open_for_export
from evalsite.campaign.exportkeys import signers_of
from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.bundle import read_manifest
from evalsite.ledger.ed25519 import public_pem
from evalsite.schema.checks import Area

TRUST = f"runs/trust/{LEDGER}"


@pytest.fixture
def project(tmp_path):
    return example_project(tmp_path)


def areas(state):
    return {check.area for check in state.checks if not check.holds}


def test_an_open_run_is_exported_and_said_to_be_open(tmp_path):
    make_ledger(tmp_path / "project")
    with reopen(tmp_path / "project") as ledger:
        begin_run(ledger)
    run = open_for_export(tmp_path / "project", RUN, pins={})
    export_audit(run, tmp_path / "bundle", detach=None)
    assert not (tmp_path / "bundle" / "statement.json").exists()
    assert Area.COMPLETENESS in areas(inspect_bundle(tmp_path / "bundle", pins={}))
    with pytest.raises(InputError, match="no line of A"):
        export_case(run, Wanted(case_id=CASE), tmp_path / "case")
    assert not (tmp_path / "case").exists()


def test_a_run_that_lost_a_blob_is_exported_and_so_is_its_case(project, tmp_path):
    run = open_for_export(project, RUN, pins={})
    call = next(event for event in run.events if event.type == "call.recorded").call
    digits = call.reply.removeprefix("sha256:")
    (project / "runs" / RUN / "blobs" / digits[:2] / digits).unlink()
    run = open_for_export(project, RUN, pins={})
    export_audit(run, tmp_path / "audit", detach=None)
    export_case(run, Wanted(case_id=CASE), tmp_path / "case")
    assert Area.AVAILABILITY in areas(inspect_bundle(tmp_path / "audit", pins={}))
    assert areas(inspect_bundle(tmp_path / "case", pins={})) == {Area.AVAILABILITY}


def test_a_run_whose_integrity_does_not_hold_stays_here(project):
    path = project / "runs" / RUN / "checkpoint"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(IntegrityError):
        open_for_export(project, RUN, pins={})
    with pytest.raises(InputError, match="found no folder"):
        open_for_export(project, "other", pins={})


def test_a_repetition_is_chosen(project, tmp_path):
    run = open_for_export(project, RUN, pins={})
    export_case(run, Wanted(case_id=CASE, repetition=1), tmp_path / "first")
    assert read_manifest(tmp_path / "first").repetition == 1
    with pytest.raises(InputError):
        export_case(run, Wanted(case_id=CASE, repetition=2), tmp_path / "second")


def test_policy_and_anchors_go_with_the_run(project, tmp_path):
    policy = project / "corpora" / "one-case" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_bytes(b"format: evalsite/policy/v1\n")
    audit_bundle(project, tmp_path / "audit")
    assert (tmp_path / "audit" / "corpora" / "one-case" / "policy.yaml").read_bytes() == policy.read_bytes()


def test_keys_that_are_not_the_newest_get_files_of_their_own(project, tmp_path):
    """As after a rotation: the PEM files of the ledger are those of other keys than the ones that signed."""
    run = open_for_export(project, RUN, pins={})
    shutil.copytree(project / TRUST, tmp_path / "bundle" / TRUST)
    other = public_pem(fixed_key("newer").public_key)
    for role in ("log", "runner"):
        (tmp_path / "bundle" / TRUST / f"{role}.pem").write_bytes(other)
    signers = signers_of(run, tmp_path / "bundle")
    digits = {role: fixed_key(role).key_id.removeprefix("sha256:")[:16] for role in ("log", "runner")}
    assert signers.record == signers.log
    assert signers.record.file == f"keys/log-{digits['log']}.pem"
    assert signers.statement.file == f"keys/runner-{digits['runner']}.pem"
    assert [key.file for key in signers.keyrings.values()] == [f"{TRUST}/root.pem"]
    assert (tmp_path / "bundle" / signers.log.file).read_bytes() == public_pem(fixed_key("log").public_key)
