# SPDX-License-Identifier: Apache-2.0
"""Labels through the command line: sheets, commitments, adjudication, and the whole way in short."""

import json
import re
import stat

import pytest
from support import yaml_text
from support.cli import new_project
from support.sheets import BINARY, CLAIM, EVIDENCE, GRADED, commit, fill, run, steps

from evalsite.campaign.labelling import load_labels
from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger.labelstore import label_file
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.labels import UNLABELLED


@pytest.fixture
def project(tmp_path):
    """A project with a corpus of each protocol."""
    return new_project(tmp_path, EVIDENCE, GRADED, BINARY)


class TestTheWholeWay:
    """Two annotators, an adjudication, a run, a reveal."""

    def test_every_step_is_logged_and_verified(self, project) -> None:
        project.ok("label", "freeze", "--corpus", EVIDENCE)
        commit(project, "human-a", lambda number: number % 2)
        commit(project, "human-b", lambda number: number % 2 if number < 30 else None, suffix="csv")
        said = project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml").out
        assert re.search(r"^alpha +-?[01]\.\d{3} \(-?\d+/\d+\)$", said, re.MULTILINE)
        fill(project, "both.yaml", lambda _: 1)
        project.ok("label", "commit", "both.yaml", "--name", "final", *CLAIM)
        assert run(project, "calibrated", "run-1", final="sealed").code == 0
        for name in ("final", "human-a", "human-b"):
            project.ok("label", "reveal", name)
        found = steps(project)
        assert found[27] == found[28] == 3
        assert found[29] == 4, "an alignment, and the items of three sets of labels"
        rows = json.loads(project.ok("label", "list", "--json").out)["labels"]
        assert [(row["name"], row["kind"], row["named_by"]) for row in rows] == [
            ("human-a", "annotator", []),
            ("human-b", "annotator", []),
            ("final", "adjudication", ["run-1"]),
        ]
        assert all(row["revealed"] for row in rows)

    def test_an_auditors_bundle_of_the_run_holds(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        for run_id in ("run-1", "run-2"):
            assert run(project, run_id, run_id, **{"human-a": "sealed"}).code == 0
        project.ok("label", "reveal", "human-a")
        project.ok("export", "audit", "run-2", "--into", "bundle")
        assert (project.root / "bundle/runs/log/test/labels/human-a.json").is_file()
        project.ok("verify", "bundle")

    def test_annotators_who_agree_on_everything_leave_nothing_to_adjudicate(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda _: 1)
        said = project.ok("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml").out
        assert "differing 0" in said
        assert "undefined" in said
        assert read_sheet(project.root / "both.yaml").sheet.items == ()
        project.ok("label", "commit", "both.yaml", "--name", "final", *CLAIM)

    def test_an_alignment_is_logged_once(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda number: number % 2)
        for into in ("one.yaml", "two.csv"):
            project.ok("label", "adjudicate", "human-a", "human-b", "--into", into)
        log = (project.root / "runs/log/test/entries/000.jsonl").read_text()
        assert log.count('"annotators.aligned"') == 1


class TestSheets:
    """What an annotator is given."""

    def test_two_sheets_differ_in_order_and_one_seed_repeats_it(self, project) -> None:
        for name, seed in (("a", "0" * 16), ("b", "1" * 16), ("c", "0" * 16)):
            project.ok("label", "sheet", "--corpus", EVIDENCE, "--seed", seed, "--into", f"{name}.yaml")
        texts = [[item.texts for item in read_sheet(project.root / f"{name}.yaml").sheet.items] for name in "abc"]
        assert texts[0] == texts[2] != texts[1]
        assert sorted(map(str, texts[0])) == sorted(map(str, texts[1]))

    @pytest.mark.parametrize("suffix", ["yaml", "csv"])
    def test_a_sheet_names_no_case_no_label_and_no_model(self, project, suffix) -> None:
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", f"a.{suffix}")
        text = (project.root / f"a.{suffix}").read_text(encoding="utf-8")
        corpus = (project.root / "corpora" / EVIDENCE / "corpus.yaml").read_text(encoding="utf-8")
        cases = re.findall(r"^  - id: (\S+)", corpus, re.MULTILINE)
        assert len(cases) > 20
        assert [case for case in cases if case in text] == []
        assert "preset" not in text

    def test_faithfulness_shows_whole_cards_and_groundedness_their_heads(self, project) -> None:
        shown = {}
        for criterion in ("faithfulness", "groundedness"):
            file = f"{criterion}.yaml"
            project.ok("label", "sheet", "--corpus", GRADED, "--criterion", criterion, "--into", file)
            items = read_sheet(project.root / file).sheet.items
            shown[criterion] = {text.title for item in items for text in item.texts}
        assert shown["faithfulness"] - shown["groundedness"] == {"Rules of card 1", "Rules of card 2"}

    def test_answers_of_a_run_are_shown_without_run_model_or_verdict(self, project) -> None:
        project.ok("run", project.campaign("binary"), "--run-id", "answers-1")
        project.ok("label", "sheet", "--run", "answers-1", "--into", "answers.yaml")
        text = (project.root / "answers.yaml").read_text(encoding="utf-8")
        assert "answers-1" not in text
        assert "explanation" not in text.split("items:")[1]
        titles = [text.title for text in read_sheet(project.root / "answers.yaml").sheet.items[0].texts]
        assert titles[0] == "Message"
        assert titles[-3:] == ["Answer", "Action of the answer", "The answer says that it refuses"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--corpus", BINARY), "expected a sealed run"),
            (("--corpus", GRADED), "which criterion"),
            (("--corpus", EVIDENCE, "--criterion", "faithfulness"), "criterion of the evidence protocol"),
            (("--corpus", EVIDENCE, "--run", "r"), "one of --corpus and --run"),
            ((), "one of --corpus and --run"),
            (("--corpus", "none"), "expected a corpus folder"),
            (("--corpus", "../corpora/" + EVIDENCE), "expected a corpus name of"),
            (("--run", "none"), "expected a run"),
            (("--run", "none", "--criterion", "evidence"), "criterion binary for answers"),
            (("--corpus", EVIDENCE, "--seed", "zz"), "seed"),
            (("--corpus", EVIDENCE, "--into", "sheet.txt"), ".yaml or .csv"),
        ],
    )
    def test_a_sheet_of_nothing_that_can_be_labelled(self, project, words, said) -> None:
        words = words if "--into" in words else (*words, "--into", "x.yaml")
        outcome = project.evalsite("label", "sheet", *words)
        assert outcome.code == 2
        assert said in outcome.err
        assert not (project.root / "x.yaml").exists()

    def test_a_sheet_never_overwrites_a_file(self, project) -> None:
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
        assert project.evalsite("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml").code == 2


class TestCommits:
    """What is refused before anything is logged, and what is kept."""

    @pytest.mark.parametrize("suffix", ["yaml", "csv"])
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda items: (items[0].model_copy(update={"label": UNLABELLED}), *items[1:]), "expected a label"),
            (lambda items: (items[0].model_copy(update={"label": 7}), *items[1:]), "expected 0, 1 or null"),
            (lambda items: items[1:], "1 more items"),
            (lambda items: (items[1], *items[1:]), "once"),
            (lambda items: (items[0].model_copy(update={"key": "f" * 16}), *items[1:]), "expected no item"),
            (
                lambda items: (items[0].model_copy(update={"texts": items[1].texts}), *items[1:]),
                "texts as they are judged",
            ),
        ],
        ids=["unlabelled", "vocabulary", "missing", "double", "unknown", "other texts"],
    )
    def test_a_sheet_that_is_not_complete_is_refused_with_its_line(self, project, change, said, suffix) -> None:
        file = f"a.{suffix}"
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", file)
        fill(project, file, lambda _: 1)
        sheet = read_sheet(project.root / file).sheet
        write_sheet(project.root / file, sheet.model_copy(update={"items": change(sheet.items)}))
        outcome = project.evalsite("label", "commit", file, "--name", "human-a", *CLAIM)
        assert outcome.code == 2
        assert said in outcome.err
        assert re.search(rf"{file}:\d+", outcome.err)
        assert not label_file(project.keystore, "test", "human-a").exists()
        assert project.evalsite("label", "list").out.count("human-a") == 0

    def test_a_sheet_of_a_corpus_that_changed_is_refused(self, project) -> None:
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
        fill(project, "a.yaml", lambda _: 1)
        corpus = project.root / "corpora" / EVIDENCE / "corpus.yaml"
        corpus.write_text(corpus.read_text(encoding="utf-8").replace("title: ", "title: A ", 1), encoding="utf-8")
        outcome = project.evalsite("label", "commit", "a.yaml", "--name", "human-a", *CLAIM)
        assert outcome.code == 2
        assert "corpus fingerprint" in outcome.err

    def test_labels_stay_private_and_are_never_printed(self, project) -> None:
        said = commit(project, "human-a", lambda number: number % 2)
        path = label_file(project.keystore, "test", "human-a")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        kept = json.loads(path.read_bytes())["labels"]
        assert kept
        for label in kept:
            assert label["nonce"] not in said.out + said.err
        public = b"".join(file.read_bytes() for file in (project.root / "runs").rglob("*") if file.is_file())
        assert not any(label["nonce"].encode() in public for label in kept)

    def test_a_file_that_others_may_read_is_refused(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        label_file(project.keystore, "test", "human-a").chmod(0o644)
        outcome = project.evalsite("label", "reveal", "human-a", "--unused")
        assert outcome.code == 3
        assert "0600" in outcome.err

    def test_a_name_stands_once(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "b.yaml")
        fill(project, "b.yaml", lambda _: 0)
        assert project.evalsite("label", "commit", "b.yaml", "--name", "human-a", *CLAIM).code == 2
        project.ok("label", "commit", "b.yaml", "--name", "human-b", "--supersedes", "human-a", *CLAIM)

    @pytest.mark.parametrize(
        "words", [("--name", "../up"), ("--name", "A B"), ("--name", ""), ("--name", "a", "--supersedes", "no such")]
    )
    def test_a_name_that_is_none_is_refused(self, project, words) -> None:
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
        fill(project, "a.yaml", lambda _: 1)
        assert project.evalsite("label", "commit", "a.yaml", *words, *CLAIM).code == 2
        assert not (project.keystore / "test/labels").exists()

    def test_blind_labels_cannot_have_seen_verdicts(self, project) -> None:
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
        fill(project, "a.yaml", lambda _: 1)
        words = ("label", "commit", "a.yaml", "--name", "human-a", "--saw-verdicts")
        assert project.evalsite(*words, *CLAIM).code == 2
        project.ok(*words, "--level", "human-reviewed")
        assert not json.loads(project.ok("label", "list", "--json").out)["labels"][0]["blind"]

    def test_a_spot_check_by_who_knew_verdicts_is_recorded_as_one(self, project) -> None:
        """Behind the judge's run, and by who saw it: that is what the labels count for beside any run (T8)."""
        project.ok("run", f"corpora/{EVIDENCE}/campaigns/fixture.yaml", "--run-id", "judged-1")
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "spot.yaml")
        fill(project, "spot.yaml", lambda _: 1)
        words = ("label", "commit", "spot.yaml", "--name", "spot-check", "--saw-verdicts")
        project.ok(*words, "--level", "human-reviewed")
        project.ok("label", "reveal", "spot-check", "--unused")
        assert steps(project)[27] == 1
        proven = load_labels(project.root, "test", pins={}).labels["spot-check"]
        assert proven.level_for(2, 3) is LabelLevel.HUMAN_REVIEWED
        assert not proven.commitment.blind

    def test_constants_of_the_corpus_are_frozen_before_those_of_the_software(self, project) -> None:
        project.ok("label", "freeze", "--corpus", EVIDENCE)
        frozen = load_labels(project.root, "test", pins={}).locks[EVIDENCE]
        assert frozen == DEFAULT_LOCK
        own = frozen.model_copy(update={"name": "own", "alpha": "0.01"})
        yaml_text.dump(own.plain(), project.root / "corpora" / EVIDENCE / "design-lock.yaml")
        assert "constants.frozen, cards.frozen" in project.ok("label", "freeze", "--corpus", EVIDENCE).out
        assert "nothing new" in project.ok("label", "freeze", "--corpus", EVIDENCE).out
        assert load_labels(project.root, "test", pins={}).locks[EVIDENCE] == own

    def test_a_commit_that_stopped_before_its_entry_can_be_repeated(self, project) -> None:
        """The private file is written first; the same labels are taken up again, others are not."""
        commit(project, "human-a", lambda _: 1)
        kept = label_file(project.keystore, "test", "human-a").read_bytes()
        fresh = label_file(project.keystore, "test", "human-b")
        fresh.write_bytes(kept.replace(b'"commitment":"human-a"', b'"commitment":"human-b"'))
        fresh.chmod(0o600)
        project.ok("label", "commit", "human-a.yaml", "--name", "human-b", *CLAIM)
        assert fresh.read_bytes() != kept
        fill(project, "human-a.yaml", lambda _: 0)
        other = label_file(project.keystore, "test", "human-c")
        other.write_bytes(kept.replace(b'"commitment":"human-a"', b'"commitment":"human-c"'))
        other.chmod(0o600)
        outcome = project.evalsite("label", "commit", "human-a.yaml", "--name", "human-c", *CLAIM)
        assert outcome.code == 2
        assert "others than these" in outcome.err

    def test_labels_handed_over_as_a_file_are_taken(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda number: number % 2)
        handed = project.root / "human-b.json"
        label_file(project.keystore, "test", "human-b").rename(handed)
        words = ("label", "adjudicate", "human-a", "human-b", "--into", "both.yaml")
        missing = project.evalsite(*words)
        assert missing.code == 5
        assert "--from human-b.json" in missing.err
        project.ok(*words, "--from", "human-b.json")

    def test_a_reveal_of_labels_that_nobody_committed_names_those_that_are(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        outcome = project.evalsite("label", "reveal", "nobody")
        assert outcome.code == 2
        assert "none named 'nobody'" in outcome.err
        assert "Committed are: human-a." in outcome.err

    def test_a_corpus_that_is_named_by_a_path_is_not_frozen(self, project) -> None:
        outcome = project.evalsite("label", "freeze", "--corpus", f"../corpora/{EVIDENCE}")
        assert outcome.code == 2
        assert "expected a corpus name of" in outcome.err


class TestPassphrases:
    """Where the ledger's keys are sealed, so are the labels."""

    def test_labels_are_encrypted_under_the_passphrase_of_the_keys(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("EVALSITE_PASSPHRASE", "correct horse")
        project = new_project(tmp_path, EVIDENCE)
        project.ok("keys", "init", "--ledger", "sealed", "--passphrase")
        project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
        fill(project, "a.yaml", lambda _: 1)
        project.ok("label", "commit", "a.yaml", "--name", "human-a", "--ledger", "sealed", *CLAIM)
        path = label_file(project.keystore, "sealed", "human-a")
        assert b"nonce" not in path.read_bytes().replace(b'"nonce"', b"", 1)
        assert b"case_id" not in path.read_bytes()
        project.ok("label", "reveal", "human-a", "--unused", "--ledger", "sealed")
        path.write_bytes(path.read_bytes()[:-4] + b'0"}\n'[:4])
        assert project.evalsite("label", "reveal", "human-a", "--unused", "--ledger", "sealed").code in {2, 5}


class TestAdjudications:
    """Who can be compared with whom."""

    def refused(self, project, *names, said):
        outcome = project.evalsite("label", "adjudicate", *names, "--into", "both.yaml")
        assert outcome.code == 2
        assert said in outcome.err
        assert not (project.root / "both.yaml").exists()

    def test_two_are_needed_each_once_and_committed(self, project) -> None:
        commit(project, "human-a", lambda _: 1)
        self.refused(project, "human-a", said="two annotators or more")
        self.refused(project, "human-a", "human-a", said="each once")
        self.refused(project, "human-a", "human-b", said="committed labels human-b")

    def test_an_adjudication_is_not_adjudicated(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda _: 1)
        project.ok("label", "adjudicate", "human-a", "human-b", "--into", "one.yaml")
        project.ok("label", "commit", "one.yaml", "--name", "final", *CLAIM)
        self.refused(project, "final", "human-a", said="one subject")

    def test_annotators_label_one_thing(self, project) -> None:
        for criterion in ("faithfulness", "groundedness"):
            file = f"{criterion}.yaml"
            project.ok("label", "sheet", "--corpus", GRADED, "--criterion", criterion, "--into", file)
            fill(project, file, lambda _: 100)
            project.ok("label", "commit", file, "--name", criterion, *CLAIM)
        self.refused(project, "faithfulness", "groundedness", said="one subject")

    def test_other_labels_than_were_committed_are_not_compared(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda _: 1)
        path = label_file(project.keystore, "test", "human-b")
        path.write_bytes(path.read_bytes().replace(b'"value":1', b'"value":0', 1))
        self.refused(project, "human-a", "human-b", said="found others")

    def test_a_corpus_that_changed_since_is_not_adjudicated(self, project) -> None:
        for name in ("human-a", "human-b"):
            commit(project, name, lambda _: 1)
        corpus = project.root / "corpora" / EVIDENCE / "corpus.yaml"
        corpus.write_text(corpus.read_text(encoding="utf-8").replace("title: ", "title: A ", 1), encoding="utf-8")
        self.refused(project, "human-a", "human-b", said="another by now")


def test_nothing_is_written_for_a_ledger_without_keys(project) -> None:
    project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", "a.yaml")
    fill(project, "a.yaml", lambda _: 1)
    outcome = project.evalsite("label", "commit", "a.yaml", "--name", "human-a", "--ledger", "other", *CLAIM)
    assert outcome.code == 5
    assert not (project.keystore / "other").exists()
