# SPDX-License-Identifier: Apache-2.0
"""Labels made to fit the verdicts, by somebody who holds the log's key: what order and roots still show."""

import json

import pytest
from support.labels import Desk, calibration, commitment, lock, sealed
from support.ledgers import LEDGER, begin_run, make_ledger, reopen

from evalsite.errors import UndecidedError
from evalsite.ledger.labelseal import labels_root
from evalsite.ledger.verify import verify_project
from evalsite.schema.calibration import CalibrationPlan
from evalsite.schema.checks import Area
from evalsite.schema.labels import SealedLabels

REVEALED = f"runs/log/{LEDGER}/labels/human-a.json"


@pytest.fixture
def desk(tmp_path):
    """A ledger of its own for each attack, in which no label is yet."""
    make_ledger(tmp_path / "project")
    return Desk(tmp_path / "project")


def refused(desk, *expected):
    """Verify a project whose integrity must not hold; every expected code is among its findings."""
    report = verify_project(desk.project, pins={})
    assert not report.holds(Area.INTEGRITY)
    assert set(expected) <= {finding.code for finding in report.findings()}
    assert not any(run.run for run in report.runs), "no fact of a run is handed out"
    return report


def places(report):
    """Return the places of all findings."""
    return {finding.at for finding in report.findings()}


def words(report):
    """Return what all findings say."""
    return " ".join(finding.message for finding in report.findings())


def other_labels(name="human-a"):
    """Labels that fit the verdicts better."""
    return sealed(name, 0, 0, 0)


def named_other_root(name="human-a"):
    """A plan that names labels under the root of other ones."""
    plain = calibration(name).plain()
    plain["commitments"][0]["root"] = labels_root(other_labels(name).labels)
    return CalibrationPlan.from_value(plain)


def test_the_honest_order_holds(desk):
    """What the attacks below are told apart from."""
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.reveal()
    desk.record("run-1")
    report = verify_project(desk.project, pins={})
    assert all(report.holds(area) for area in Area)
    assert {check.step for check in report.all_checks()} >= {26, 27, 28}


def test_labels_revealed_before_they_were_committed(desk):
    desk.freeze()
    desk.reveal()
    refused(desk, "labels.order")


def test_labels_committed_behind_the_run_that_they_are_calibrated_with(desk):
    desk.freeze()
    desk.run("run-1")
    desk.commit()
    desk.reveal()
    desk.record("run-1")
    refused(desk, "labels.order")


def test_labels_committed_behind_the_run_that_names_them(desk):
    """The plan of a run can't name what comes later without knowing its root; whoever makes both can."""
    desk.freeze()
    desk.run("run-1", calibration("human-a"))
    desk.commit()
    report = refused(desk, "run.opened-entry")
    assert "committed before the run" in words(report)


def test_a_run_that_names_labels_which_nobody_committed(desk):
    desk.run("run-1", calibration("human-a"))
    refused(desk, "run.opened-entry")


def test_labels_known_while_the_judge_ran(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-0", calibration("human-a"))
    desk.reveal()
    desk.run("run-1", calibration("human-a"))
    report = refused_run(desk, "run-1")
    assert "revealed before" in words(report)


def test_the_same_labels_under_a_second_name_after_the_first_was_revealed(desk):
    """The second run is tuned with labels that are public; its plan says that they are sealed."""
    desk.freeze()
    desk.commit()
    desk.commit("human-c")
    desk.run("run-1", calibration("human-a"))
    desk.reveal()
    desk.run("run-2", calibration("human-c"))
    desk.reveal("human-c")
    report = refused_run(desk, "run-2")
    assert "others of the same texts, were revealed before" in words(report)
    assert next(run.run for run in report.runs if run.run_id == "run-1") is not None, "nobody could know them by then"


def test_one_sheet_that_agrees_with_itself(desk):
    """Committed twice, one person's labels would be two annotators in full agreement."""
    desk.freeze()
    desk.commit("human-a", seed="0" * 16)
    desk.commit("human-c", seed="0" * 16)
    desk.log("annotators.aligned", commitments=["human-a", "human-c"], compared=2, alpha=[1, 1])
    report = refused(desk, "labels.order")
    assert "human-a and human-c state the seed of one sheet" in words(report)


def refused_run(desk, run_id):
    """Verify a project of which one run must not hold."""
    report = verify_project(desk.project, pins={})
    found = {run.run_id: run.run for run in report.runs}
    assert found[run_id] is None
    assert not report.holds(Area.INTEGRITY)
    return report


def test_labels_revealed_while_the_run_was_open(desk):
    desk.freeze()
    desk.commit()
    with reopen(desk.project) as writer:
        begin_run(writer, "run-1", calibration=calibration("human-a").plain())
    desk.reveal()
    refused_run(desk, "run-1")


def test_labels_changed_behind_the_commit(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.reveal(labels=other_labels())
    assert REVEALED in places(refused(desk, "labels.revealed"))


def test_a_revealed_file_changed_behind_the_reveal(desk):
    desk.freeze()
    desk.commit()
    desk.reveal()
    (desk.project / REVEALED).write_bytes(other_labels().to_bytes())
    assert REVEALED in places(refused(desk, "labels.revealed"))


def test_the_same_labels_in_another_spelling(desk):
    """The log names the bytes of the file, so that not even a space can be added to it."""
    desk.freeze()
    desk.commit()
    desk.reveal()
    path = desk.project / REVEALED
    path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1), encoding="utf-8")
    refused(desk, "labels.revealed")


def test_a_root_swapped_in_the_plan(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-1", named_other_root())
    refused_run(desk, "run-1")


def test_a_root_swapped_by_a_second_commitment_of_the_name(desk):
    desk.freeze()
    desk.commit()
    desk.log("labels.committed", commitment=commitment(other_labels()).plain())
    refused(desk, "labels.order")


def test_an_item_twice_instead_of_another(desk):
    """A label that fits, twice: the root is over both, so that only the items show it."""
    twice = SealedLabels.from_value(
        {**sealed().plain(), "labels": [sealed().labels[0].plain(), {**sealed().labels[0].plain(), "nonce": "0" * 64}]}
    )
    desk.freeze()
    desk.log("labels.committed", commitment=commitment(twice).plain())
    desk.reveal(labels=twice)
    refused(desk, "labels.revealed")


def test_a_value_outside_the_vocabulary(desk):
    graded = SealedLabels.from_value(
        {**sealed().plain(), "labels": [{**label.plain(), "value": 50} for label in sealed().labels]}
    )
    desk.freeze()
    desk.log("labels.committed", commitment=commitment(graded).plain())
    desk.reveal(labels=graded)
    refused(desk, "labels.revealed")


def test_labels_in_the_folder_that_the_log_does_not_reveal(desk):
    """A file that looks revealed, in a ledger without any label at all."""
    path = desk.project / REVEALED
    path.parent.mkdir()
    path.write_bytes(sealed().to_bytes())
    assert REVEALED in places(refused(desk, "labels.unlogged"))


def test_constants_changed_behind_the_labels(desk):
    desk.freeze()
    desk.commit()
    other = calibration("human-a").plain() | {"design_lock": lock(alpha="0.1").plain()}
    desk.run("run-1", CalibrationPlan.from_value(other))
    refused_run(desk, "run-1")


def test_constants_changed_in_the_calibration(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.reveal()
    desk.record("run-1", lock=f"sha256:{'0' * 64}")
    refused(desk, "labels.order")


def test_attempts_that_are_not_counted(desk):
    """Three runs at the same labels, of which the last one says that it was the first."""
    desk.freeze()
    desk.commit()
    for run_id in ("run-1", "run-2", "run-3"):
        desk.run(run_id, calibration("human-a"))
    desk.reveal()
    desk.record("run-3", attempt=1)
    report = refused(desk, "labels.calibration")
    assert "expected attempt 3" in words(report)


def test_attempts_that_begin_anew_under_another_name(desk):
    """The same labels committed again: the second run at them is no first attempt."""
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.commit("again", supersedes="human-a")
    desk.run("run-2", calibration("again"))
    desk.reveal("again")
    desk.record("run-2", "again", attempt=1)
    report = refused(desk, "labels.calibration")
    assert "expected attempt 2" in words(report)


def test_a_calibration_of_a_run_that_does_not_name_the_labels(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-1")
    desk.reveal()
    desk.record("run-1")
    refused(desk, "labels.calibration")


def test_nonces_used_twice_are_told_and_fail_nothing(desk):
    """Equal labels have equal leaves then, but nobody sees a leaf before the reveal."""
    reused = sealed(reused=True)
    desk.freeze()
    desk.log("labels.committed", commitment=commitment(reused).plain())
    desk.reveal(labels=reused)
    report = verify_project(desk.project, pins={})
    assert report.holds(Area.AVAILABILITY)
    assert any(check.step == 27 and "share their nonce" in check.name and check.holds for check in report.all_checks())


def test_revealed_labels_taken_away_are_a_matter_of_availability(desk):
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.reveal()
    (desk.project / REVEALED).unlink()
    report = verify_project(desk.project, pins={})
    assert report.holds(Area.INTEGRITY)
    assert not report.holds(Area.AVAILABILITY)
    assert REVEALED in places(report)


def first_events(desk, run_id):
    return desk.project / "runs" / run_id / "events" / "000.jsonl"


@pytest.mark.parametrize("how", ["taken away", "another"])
def test_the_plan_of_an_earlier_attempt_is_not_what_it_was(desk, how):
    """Without its first event nobody could count it. It fails itself; the others are not blamed, nor counted."""
    desk.freeze()
    desk.commit()
    desk.run("run-1", calibration("human-a"))
    desk.run("run-2", calibration("human-a"))
    if how == "another":
        first_events(desk, "run-1").write_bytes(first_events(desk, "run-2").read_bytes())
    else:
        first_events(desk, "run-1").unlink()
    report = refused_run(desk, "run-1")
    assert {run.run_id: run.run is not None for run in report.runs} == {"run-1": False, "run-2": True}
    [ledger] = report.ledgers
    with pytest.raises(UndecidedError, match="count its attempt"):
        ledger.labels.attempt("human-a", "run-2")
