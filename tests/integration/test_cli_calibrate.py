# SPDX-License-Identifier: Apache-2.0
"""A judge on trial through the command line: from blind labels to a gate, and the judges that must be caught."""

import json

import pytest
from support import claims, yaml_text

from evalsite.campaign.labelling import load_labels
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger.labelbook import lock_digest
from evalsite.ledger.labelseal import labels_root
from evalsite.ledger.labelstore import store_labels
from evalsite.ledger.writer import open_ledger
from evalsite.schema.calibration import GateOutcome
from evalsite.schema.labels import SealedLabels

OWN = {"criterion": "evidence", "run": None}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A project in which people labelled the claims blind, before any judge ran."""
    project = claims.new_bench(tmp_path_factory.mktemp("bench"))
    claims.label(project, "human-a")
    return project


@pytest.fixture(scope="module")
def calibrated(bench):
    """The same after a fair judge ran on the claims, and the labels were revealed."""
    claims.judge(bench, "fair", claims.fair, commitments=["human-a"], gates=[OWN])
    before = bench.evalsite("gate", "fair")
    assert before.code == 5
    assert "the labels human-a are not revealed" in before.out
    assert "human-a are committed, and not revealed yet" in bench.ok("calibrate", "fair").out
    bench.ok("label", "reveal", "human-a")
    return bench


def report_of(project, run, *words):
    return json.loads(project.ok("calibrate", run, "--json", *words).out)


def gate_of(project, run):
    outcome = project.evalsite("gate", run, "--json")
    return outcome.code, json.loads(outcome.out)


def test_a_fair_judge_passes_and_every_number_is_there(calibrated):
    report = report_of(calibrated, "fair", "--labels", "human-a")
    (table,) = report["criteria"]
    counts = table["counts"]
    assert (counts["labeled"], counts["judged"], counts["agreed"]) == (76, 76, 76)
    assert (table["human_fail"], table["human_pass"]) == (62, 14)
    gate = table["gate"]
    assert (gate["outcome"], gate["standing"], gate["attempt"], gate["reasons"]) == ("PASS", "decided", 1, [])
    assert gate["words"].startswith("calibrated at 95 % confidence")
    assert (report["controls"]["right"], report["controls"]["planned"], report["findings"]) == (5, 5, [])
    assert float(table["false_pass"]["high"]) < 0.05
    positions = [row["position"] for row in table["order"] if row["position"] is not None]
    assert positions == sorted(positions), "constants, cards, labels, run, reveal: in this order"


def test_revealed_labels_that_are_gone_are_no_unrevealed_ones(calibrated):
    """A report without them would hide what they say of the judge: not decided, with the file named."""
    path = next(calibrated.root.glob("runs/log/*/labels/human-a.json"))
    kept = path.read_bytes()
    path.unlink()
    try:
        asked = calibrated.evalsite("calibrate", "fair")
    finally:
        path.write_bytes(kept)
    assert asked.code == 5
    assert "labels/human-a.json" in asked.err


def test_the_gate_is_the_conjunction(calibrated):
    code, facts = gate_of(calibrated, "fair")
    assert (code, facts["qualification"]) == (0, "passed")
    assert [gate["outcome"] for gate in facts["calibration_gates"]] == ["PASS"]
    assert calibrated.ok("calibrate", "fair", "--gate").code == 0


def test_a_recorded_calibration_is_derived_again_by_every_verification(calibrated):
    said = calibrated.ok("calibrate", "fair", "--record").err
    assert "recorded: fair against human-a, PASS" in said
    assert "recorded already" in calibrated.ok("calibrate", "fair", "--record").err
    assert calibrated.ok("verify").code == 0
    order = report_of(calibrated, "fair", "--labels", "human-a")["criteria"][0]["order"]
    assert [row["step"] for row in order if row["position"] is not None][-1] == "calibration.recorded"


def test_a_stakeholder_can_read_it(calibrated):
    said = calibrated.ok("calibrate", "fair").out
    for words in (
        "PASS: calibrated at 95 % confidence",
        "labels.committed",
        "5 of 5 as expected",
        "Disagreements: none",
    ):
        assert words in said


def test_the_tables_are_written_for_spreadsheets(calibrated):
    calibrated.ok("calibrate", "fair", "--csv", "tables")
    names = sorted(path.name for path in (calibrated.root / "tables").iterdir())
    assert names == [
        "t1-calibration.csv",
        "t10-order.csv",
        "t2-disagreements.csv",
        "t3-annotators.csv",
        "t5-repetitions.csv",
        "t8-bins.csv",
        "t9-lengths.csv",
    ]
    assert "human-a" in (calibrated.root / "tables/t1-calibration.csv").read_text(encoding="utf-8")


def test_a_run_that_relies_on_another_judge_is_stale(calibrated):
    named = {"criterion": "evidence", "run": "fair"}
    claims.judge(calibrated, "same", claims.fair, gates=[named])
    code, facts = gate_of(calibrated, "same")
    assert (code, facts["qualification"]) == (0, "passed")
    claims.judge(calibrated, "warmer", claims.fair, gates=[named], temperature="0.5")
    code, facts = gate_of(calibrated, "warmer")
    (gate,) = facts["calibration_gates"]
    assert (code, facts["qualification"], gate["standing"]) == (5, "undecided", "stale")
    assert gate["reasons"][0]["items"] == ["sampling temperature"]


def test_a_gate_on_a_run_that_is_not_there_is_not_decided(calibrated):
    claims.judge(calibrated, "hopeful", claims.fair, gates=[{"criterion": "evidence", "run": "nowhere"}])
    outcome = calibrated.evalsite("gate", "hopeful")
    assert outcome.code == 5
    assert "nowhere" in outcome.err


def test_a_run_without_committed_labels_records_nothing(calibrated):
    claims.judge(calibrated, "alone", claims.fair)
    outcome = calibrated.evalsite("calibrate", "alone", "--record")
    assert (outcome.code, "R78" in outcome.err) == (2, True)
    unknown = calibrated.evalsite("calibrate", "fair", "--labels", "nobody")
    assert (unknown.code, "human-a" in unknown.err) == (2, True)


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """Judges that lie, each on the same labels, all revealed at the end."""
    project = claims.new_bench(tmp_path_factory.mktemp("liars"))
    claims.label(project, "human-a")
    liars = {
        "always-yes": claims.always(1),
        "always-no": claims.always(0),
        "head-only": claims.head_only,
        "obedient": claims.obedient,
        "inventive": claims.inventive,
    }
    for name, answer in liars.items():
        claims.judge(project, name, answer, commitments=["human-a"], gates=[OWN])
    project.ok("label", "reveal", "human-a")
    return project


@pytest.mark.parametrize(
    ("run", "finding", "outcome", "code"),
    [
        ("always-yes", "constant-pass", "FAIL", 3),
        ("always-no", "constant-fail", "FAIL", 3),
        ("head-only", "calibration-tail-missed", "FAIL", 3),
        ("obedient", "calibration-injection-obeyed", "FAIL", 3),
        ("inventive", "phantom-evidence", "FAIL", 3),
    ],
)
def test_each_lying_judge_is_caught_by_a_finding_of_its_own(trials, run, finding, outcome, code):
    report = report_of(trials, run)
    named = [found["code"] for found in report["findings"]]
    assert finding in named
    (table,) = report["criteria"]
    assert table["gate"]["outcome"] == outcome
    assert finding in [reason["code"] for reason in table["gate"]["reasons"]]
    found, facts = gate_of(trials, run)
    assert (found, facts["qualification"]) == (code, "refused")
    assert finding in trials.evalsite("calibrate", run).out


def test_the_finding_of_one_liar_is_not_the_finding_of_another(trials):
    own = {
        "always-yes": {"constant-pass", "calibration-false-pass"},
        "obedient": {"calibration-injection-obeyed"},
        "inventive": {"phantom-evidence"},
    }
    for run, codes in own.items():
        named = {found["code"] for found in report_of(trials, run)["findings"]}
        assert codes <= named
    obedient = {found["code"] for found in report_of(trials, "obedient")["findings"]}
    assert obedient == {"calibration-injection-obeyed"}


def test_each_further_run_against_the_same_labels_has_it_harder(trials):
    attempts = [
        report_of(trials, run)["criteria"][0]["gate"]["attempt"] for run in ("always-yes", "always-no", "inventive")
    ]
    assert attempts == [1, 2, 5]


def test_what_cites_nothing_real_has_no_verdict(trials):
    (table,) = report_of(trials, "inventive")["criteria"]
    assert table["counts"]["judged"] == 0
    assert table["counts"]["unavailable"] == {"unknown_evidence": 76}
    assert table["agreement"]["value"] is None


@pytest.fixture(scope="module")
def adjudicated(tmp_path_factory):
    """Two annotators who differ on some claims, an adjudication, and a judge that is wrong on one."""
    project = claims.new_bench(tmp_path_factory.mktemp("adjudicated"))
    claims.label(project, "human-a")
    claims.label(project, "human-b", says=lambda text: 1 if text.endswith(" 1001 errors.") else claims.person(text))
    project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")
    claims.fill(project, "both.yaml", claims.person)
    project.ok("label", "commit", "both.yaml", "--name", "final", *claims.CLAIM)
    claims.judge(project, "nearly", claims.wrong_on("1062"), commitments=["final"], gates=[OWN])
    project.ok("label", "reveal", "final")
    return project


def test_an_alpha_that_no_revealed_labels_give_opens_no_gate(adjudicated):
    """The log's word for an alpha is its writer's. What was recorded by then stays true when all are revealed."""
    (before,) = report_of(adjudicated, "nearly")["criteria"]
    hidden = "the annotators' alpha does not follow from labels until they are revealed: human-a, human-b"
    assert hidden in [reason["message"] for reason in before["gate"]["reasons"]]
    assert (before["gate"]["outcome"], before["labels"]["human_alpha"]) == ("INSUFFICIENT", None)
    assert "human-a, human-b not revealed" in before["annotators"]["alpha"]["reason"]
    code, gate = gate_of(adjudicated, "nearly")
    assert code == 5
    assert hidden in json.dumps(gate)
    for name in ("human-a", "human-b"):
        adjudicated.ok("label", "reveal", name)
        adjudicated.ok("verify")
    (after,) = report_of(adjudicated, "nearly")["criteria"]
    assert "human-alpha-hidden" not in {reason["code"] for reason in after["gate"]["reasons"]}
    assert float(after["labels"]["human_alpha"]) > 0.9


@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    """Annotators who agree on nothing, an alpha of 1 in the log, and an adjudication that is one of them."""
    project = claims.new_bench(tmp_path_factory.mktemp("forged"))
    claims.label(project, "human-a")
    claims.label(project, "human-b", says=lambda text: 1 - claims.person(text))
    kept = project.keystore / "test/labels"
    final = SealedLabels.parse((kept / "human-a.json").read_bytes(), max_bytes=10**6)
    final = final.model_copy(update={"commitment": "final"})
    store_labels(project.keystore, final)
    with open_ledger(project.root, project.keystore, "test") as writer:
        of = ["human-a", "human-b"]
        aligned = {"commitments": of, "compared": 76, "alpha": [1, 1]}
        writer.labels.append("annotators.aligned", aligned, now="2026-12-01T12:00:00Z")
        one = writer.labels.book.labels["human-a"].commitment.plain()
        body = {"commitment": {**one, "name": "final", "kind": "adjudication", "of": of}}
        writer.labels.append("labels.committed", body, now="2026-12-01T12:00:00Z")
    claims.judge(project, "fair", claims.fair, commitments=["final"], gates=[OWN])
    project.ok("label", "reveal", "final")
    return project


def test_a_forged_alpha_opens_no_gate_and_is_found_at_the_reveal(forged):
    assert gate_of(forged, "fair")[0] == 5
    forged.evalsite("calibrate", "fair", "--record")
    forged.ok("verify")
    for name in ("human-a", "human-b"):
        forged.ok("label", "reveal", name)
    for words in (("gate", "fair"), ("verify",)):
        outcome = forged.evalsite(*words)
        assert outcome.code == 4
        assert "the log says 76 items, alpha 1, the labels give" in outcome.out + outcome.err


def test_people_among_themselves_are_the_ceiling(adjudicated):
    (table,) = report_of(adjudicated, "nearly")["criteria"]
    people = table["annotators"]
    assert people["names"] == ["human-a", "human-b"]
    assert (people["ceiling"]["count"], people["ceiling"]["of"], people["adjudicated"]) == (75, 76, 76)
    assert float(people["alpha"]["value"]) > 0.9
    assert (table["labels"]["raters"], table["labels"]["adjudicated"]) == (2, True)
    steps = [row["step"] for row in table["order"] if row["position"] is not None]
    assert steps.index("annotators.aligned") < steps.index("run.opened") < steps.index("labels.revealed")


def test_one_error_among_62_labels_is_too_thin(adjudicated):
    (table,) = report_of(adjudicated, "nearly")["criteria"]
    (reason,) = table["gate"]["reasons"]
    assert (table["gate"]["outcome"], reason["code"], reason["more_labels"]) == ("INSUFFICIENT", "false-pass", 93 - 62)
    (found,) = table["disagreements"]
    assert (found["human"], found["judge"], found["annotators"]) == (0, 1, {"human-a": 0, "human-b": 0})
    assert (gate_of(adjudicated, "nearly")[0], adjudicated.evalsite("calibrate", "nearly", "--gate").code) == (5, 5)


def test_a_recorded_number_that_does_not_follow_is_an_integrity_failure(adjudicated):
    seal = {"criterion": "evidence", "labeled": 76, "judged": 76, "agreed": 76, "false_pass": 0, "false_fail": 0}
    body = {
        "run": "nearly",
        "commitment": "final",
        "lock": lock_digest(DEFAULT_LOCK),
        "attempt": 1,
        "seal": seal | {"outcome": "PASS"},
    }
    with open_ledger(adjudicated.root, adjudicated.keystore, "test") as writer:
        writer.labels.append("calibration.recorded", body, now="2026-12-01T12:00:00Z")
    outcome = adjudicated.evalsite("verify")
    assert outcome.code == 4
    assert "the calibration of nearly says other agreed, false_pass, outcome" in outcome.out + outcome.err


def test_a_gate_rests_on_no_weaker_evidence_than_is_asked(calibrated):
    outcome = calibrated.evalsite("gate", "same", "--minimum-level", "A3")
    assert outcome.code == 5
    assert "expected evidence of level A3 for fair" in outcome.err


def test_what_was_recorded_before_the_annotators_were_revealed_stays_true(tmp_path):
    project = claims.new_bench(tmp_path)
    for name in ("human-a", "human-b"):
        claims.label(project, name)
    project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")
    project.ok("label", "commit", "both.yaml", "--name", "final", *claims.CLAIM)
    claims.judge(project, "fair", claims.fair, commitments=["final"], gates=[OWN])
    project.ok("label", "reveal", "final")
    project.evalsite("calibrate", "fair", "--record")
    for name in ("human-a", "human-b"):
        project.ok("label", "reveal", name)
    project.ok("verify")
    project.ok("calibrate", "fair", "--record")
    project.ok("gate", "fair")
    project.ok("verify")
    book = load_labels(project.root, "test", pins={})
    assert [entry.seal.outcome for entry in book.calibrations] == [GateOutcome.INSUFFICIENT, GateOutcome.PASS]


def test_labels_of_an_item_that_does_not_exist_are_never_laid_to_the_judge(tmp_path):
    """Forged into a commitment: the calibration is invalid, and the labels are an integrity finding."""
    project = claims.new_bench(tmp_path)
    claims.label(project, "human-a")
    kept = project.keystore / "test/labels/human-a.json"
    value = SealedLabels.parse(kept.read_bytes(), max_bytes=10**6).plain()
    value["labels"][-1]["item"]["case_id"] = "zzz-not-there"
    ghost = SealedLabels.from_value({**value, "commitment": "ghost"})
    store_labels(project.keystore, ghost)
    with open_ledger(project.root, project.keystore, "test") as writer:
        one = writer.labels.book.labels["human-a"].commitment.plain()
        body = {"commitment": {**one, "name": "ghost", "root": labels_root(ghost.labels)}}
        writer.labels.append("labels.committed", body, now="2026-12-01T12:00:00Z")
    claims.judge(project, "fair", claims.fair, commitments=["ghost"], gates=[OWN])
    project.ok("label", "reveal", "ghost")
    (table,) = report_of(project, "fair")["criteria"]
    assert (table["gate"]["outcome"], table["gate"]["standing"]) == ("INSUFFICIENT", "invalid")
    assert "labels are about zzz-not-there, which claims does not have" in table["not_measured"]
    assert project.evalsite("calibrate", "fair", "--record").code == 2
    outcome = project.evalsite("verify")
    assert outcome.code == 4
    assert "expected items that fair has, not zzz-not-there" in outcome.out + outcome.err


def test_labels_of_other_texts_than_the_judge_read_are_an_integrity_failure(tmp_path, monkeypatch):
    """A forger's plan names labels of a claim that was another one when people read it."""
    project = claims.new_bench(tmp_path)
    claims.label(project, "human-a")
    changed_corpus(project, lambda value: value["cases"][0].update(explanation="The report counts 1 errors, it says."))
    monkeypatch.setattr("evalsite.campaign.labelplan._check", lambda *_: None)
    claims.judge(project, "fair", claims.fair, commitments=["human-a"], gates=[OWN])
    monkeypatch.undo()
    for words in (("verify",), ("gate", "fair"), ("calibrate", "fair")):
        outcome = project.evalsite(*words)
        assert outcome.code == 4
        assert "expected the labels human-a of what the run judges" in outcome.out + outcome.err


@pytest.mark.parametrize("change", [{"title": "Tiny 2"}, {"version": "2.0.0"}])
def test_another_title_or_version_of_the_corpus_hides_no_revealed_labels(tmp_path, change):
    """The texts stay the same, so that what people said of them is as public as before."""
    project = claims.new_bench(tmp_path)
    claims.label(project, "human-a")
    claims.judge(project, "first", claims.fair, commitments=["human-a"], gates=[OWN])
    project.ok("label", "reveal", "human-a")
    changed_corpus(project, lambda value: value.update(change))
    claims.label(project, "again")
    with pytest.raises(AssertionError, match="others of the same texts, are revealed"):
        claims.judge(project, "second", claims.fair, commitments=["again"], gates=[OWN])


def changed_corpus(project, change):
    """Change the file of the corpus."""
    path = project.root / "corpora" / claims.CORPUS / "corpus.yaml"
    value = yaml_text.load(path)
    change(value)
    yaml_text.dump(value, path)
