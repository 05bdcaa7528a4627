# SPDX-License-Identifier: Apache-2.0
"""Labels beside runs through the command line: plans that name them, reveals, and what a verification refuses."""

import json
from fractions import Fraction

import pytest
from support.cli import new_project
from support.ledgers import NOW, small_plan
from support.sheets import BINARY, CLAIM, EVIDENCE, GRADED, commit, fill, run, steps

from evalsite.campaign.labelplan import Judged, planned_calibration
from evalsite.corpus.load import load_campaign
from evalsite.ledger.writer import open_ledger


@pytest.fixture
def project(tmp_path):
    """A project with a corpus of each protocol."""
    return new_project(tmp_path, EVIDENCE, GRADED, BINARY)


class TestRuns:
    """Labels that a campaign may name, and when they may be revealed."""

    def test_labels_that_nobody_committed_stop_a_run_before_it_begins(self, project) -> None:
        project.ok("label", "freeze", "--corpus", EVIDENCE)
        outcome = run(project, "calibrated", "run-1", final="sealed")
        assert outcome.code == 2
        assert "R78" in outcome.err
        assert "calibrated.yaml:" in outcome.err
        assert not (project.root / "runs/run-1").exists()

    def test_constants_are_frozen_before_anything_is_planned(self, project) -> None:
        outcome = run(project, "calibrated", "run-1")
        assert outcome.code == 2
        assert "evalsite label freeze --corpus" in outcome.err

    def test_a_plan_embeds_what_the_log_holds(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        assert run(project, "calibrated", "run-1", **{"human-a": "sealed"}).code == 0
        first = json.loads((project.root / "runs/run-1/events/000.jsonl").read_text().splitlines()[0])
        root = json.loads(project.ok("label", "list", "--json").out)["labels"][0]["root"]
        assert first["plan"]["calibration"]["commitments"] == [{"name": "human-a", "root": root, "split": "sealed"}]

    def test_revealed_labels_are_no_sealed_ones_any_more(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        refused = project.evalsite("label", "reveal", "human-a")
        assert refused.code == 5
        assert "--unused" in refused.err
        project.ok("label", "reveal", "human-a", "--unused")
        outcome = run(project, "calibrated", "run-1", **{"human-a": "sealed"})
        assert outcome.code == 2
        assert "revealed" in outcome.err
        assert run(project, "developed", "run-2", **{"human-a": "dev"}).code == 0

    def test_the_same_labels_under_a_second_name_are_known_as_well(self, project) -> None:
        """One filled sheet committed as human-a and human-c: a reveal of the first tells the second."""
        commit(project, "human-a", lambda _: 1)
        project.ok("label", "commit", "human-a.yaml", "--name", "human-c", *CLAIM)
        assert run(project, "first", "run-1", **{"human-a": "sealed"}).code == 0
        project.ok("label", "reveal", "human-a")
        outcome = run(project, "second", "run-2", **{"human-c": "sealed"})
        assert outcome.code == 2
        assert "human-c, or others of the same texts, are revealed" in outcome.err
        assert not (project.root / "runs/run-2").exists()
        assert run(project, "developed", "run-3", **{"human-c": "dev"}).code == 0

    def test_one_sheet_committed_twice_is_no_second_annotator(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        project.ok("label", "commit", "human-a.yaml", "--name", "human-c", *CLAIM)
        outcome = project.evalsite("label", "adjudicate", "human-a", "human-c", "--into", "both.yaml")
        assert outcome.code == 2
        assert "human-a and human-c state the seed of one sheet" in outcome.err
        assert "at:   human-c" in outcome.err
        assert not (project.root / "both.yaml").exists()
        assert "annotators.aligned" not in (project.root / "runs/log/test/entries/000.jsonl").read_text()

    def test_labels_of_other_texts_are_refused(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        project.ok("label", "freeze", "--corpus", GRADED)
        outcome = run(project, "graded", "run-1", corpus=GRADED, **{"human-a": "sealed"})
        assert outcome.code == 2
        assert "other texts" in outcome.err

    def test_nothing_is_revealed_while_a_run_that_must_not_know_is_open(self, project) -> None:
        """Neither the labels that it names, nor those of the annotators that they settle."""
        for name in ("human-a", "human-b"):
            commit(project, name, lambda number: number % 2)
        project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")
        fill(project, "both.yaml", lambda _: 1)
        project.ok("label", "commit", "both.yaml", "--name", "final", *CLAIM)
        path = project.campaign(
            "calibrated", corpus=EVIDENCE, calibration={"commitments": {"final": "sealed"}, "gates": []}
        )
        with open_ledger(project.root, project.keystore, "test") as writer:
            loaded = load_campaign(project.root / path)
            judged = Judged(corpus=loaded.corpus.corpus, fingerprint=loaded.corpus.fingerprint)
            calibration = planned_calibration(loaded.spec.calibration, writer.labels.book, judged)
            run = writer.create_run("open-1")
            snapshot = run.put_blob(loaded.corpus.snapshot.to_bytes())
            run.begin(small_plan(snapshot).model_copy(update={"calibration": calibration}), now=NOW)
        for name in ("final", "human-b"):
            outcome = project.evalsite("label", "reveal", name, "--unused")
            assert outcome.code == 5
            assert "open-1 is open" in outcome.err
        assert "labels.revealed" not in (project.root / "runs/log/test/entries/000.jsonl").read_text()

    def test_a_reveal_that_lost_its_file_is_finished_by_another(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        project.ok("label", "reveal", "human-a", "--unused")
        revealed = project.root / "runs/log/test/labels/human-a.json"
        data = revealed.read_bytes()
        revealed.unlink()
        assert project.evalsite("verify").code == 5
        project.ok("label", "reveal", "human-a", "--unused")
        assert revealed.read_bytes() == data


class TestVerification:
    """Shown by: labels revealed before the commit, changed after it, or a judge's record before it exit with 4."""

    def test_labels_changed_behind_the_reveal(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        assert run(project, "calibrated", "run-1", **{"human-a": "sealed"}).code == 0
        project.ok("label", "reveal", "human-a")
        project.ok("verify")
        path = project.root / "runs/log/test/labels/human-a.json"
        path.write_bytes(path.read_bytes().replace(b'"value":1', b'"value":0', 1))
        outcome = project.evalsite("verify")
        assert outcome.code == 4
        assert "labels/human-a.json" in outcome.out + outcome.err
        assert project.evalsite("label", "list").code == 4

    def test_a_false_alignment(self, project, monkeypatch) -> None:
        """A writer who logs more agreement than there was is found out at the reveal."""
        for name, decide in (("human-a", lambda number: number % 2), ("human-b", lambda _: 1)):
            commit(project, name, decide)
        monkeypatch.setattr("evalsite.judging.aligning.krippendorff_alpha", lambda _: Fraction(1))
        project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")
        monkeypatch.undo()
        for name in ("human-a", "human-b"):
            project.ok("label", "reveal", name, "--unused")
        outcome = project.evalsite("verify")
        assert outcome.code == 4
        assert "alpha 1, the labels give" in outcome.out + outcome.err

    def test_a_false_adjudication(self, project, monkeypatch) -> None:
        """An adjudicator who decides against what both annotators said is found out at the reveal."""
        for name in ("human-a", "human-b"):
            commit(project, name, lambda _: 1)
        project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")

        def against(annotators, criterion, lock):
            found = real(annotators, criterion, lock)
            agreed = tuple(label.model_copy(update={"value": 0}) for label in found.agreed)
            return type(found)(compared=found.compared, alpha=found.alpha, agreed=agreed, differing=found.differing)

        from evalsite.campaign import labelwork  # noqa: PLC0415 - the name that is replaced

        real = labelwork.align_annotators
        monkeypatch.setattr(labelwork, "align_annotators", against)
        project.ok("label", "commit", "both.yaml", "--name", "final", *CLAIM)
        monkeypatch.undo()
        for name in ("human-a", "human-b", "final"):
            project.ok("label", "reveal", name, "--unused")
        outcome = project.evalsite("verify")
        assert outcome.code == 4
        assert "as all annotators labelled it" in outcome.out + outcome.err


def test_labels_of_answers_from_run_to_reveal(project) -> None:
    """Binary: what is labelled are the answers of a sealed run, found again by the sheet alone once they are frozen."""
    project.ok("run", project.campaign("binary"), "--run-id", "answers-1")
    project.ok("label", "freeze", "--run", "answers-1")
    project.ok("label", "sheet", "--run", "answers-1", "--into", "answers.csv")
    fill(project, "answers.csv", lambda number: number % 2)
    project.ok("label", "commit", "answers.csv", "--name", "human-a", *CLAIM)
    project.ok("label", "reveal", "human-a", "--unused")
    assert steps(project)[29] == 1
    outcome = run(project, "again", "again-1", corpus=BINARY, **{"human-a": "dev"})
    assert outcome.code == 2
    assert "other texts" in outcome.err
