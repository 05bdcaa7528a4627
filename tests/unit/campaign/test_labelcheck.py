# SPDX-License-Identifier: Apache-2.0
"""What is derived again from revealed labels: alignments, adjudications, items, recorded calibrations."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support import sites
from support.labels import commitment, lock, sealed
from support.ledgers import NOW, ZERO
from support.trusted import Scene, make_trusted_run

from evalsite.campaign.labelcheck import check_book, runs_to_derive
from evalsite.errors import UndecidedError
from evalsite.ledger.labelbook import Alignment, LabelBook, Positions, ProvenLabels, Use, lock_digest
from evalsite.schema.calibration import CalibrationSeal, Split
from evalsite.schema.entries import CalibrationRecorded

CORPUS = "evidence-claims-v1"
SEAL = CalibrationSeal.from_value(
    {
        "criterion": "evidence",
        "labeled": 3,
        "judged": 2,
        "agreed": 2,
        "false_pass": 0,
        "false_fail": 0,
        "outcome": "INSUFFICIENT",
    }
)


@pytest.fixture(scope="module")
def run():
    """A trusted run over the evidence corpus."""
    return make_trusted_run(sites.shipped(CORPUS), Scene(run_id="run-1"))


def proven(name, *values, **changes):
    """Return revealed labels of the items A, B, C."""
    labels = sealed(name, *values)
    return ProvenLabels(
        ledger="desk",
        commitment=commitment(labels, **changes),
        lock=lock(),
        positions=Positions(constants=2, cards=3, committed=4, revealed=9, known=9),
        alignment=None,
        labels={label.item: label for label in labels.labels},
    )


def aligned(one, other, **changes):
    """Return two annotators with an alignment, true for 1 0 0 and 1 1 0 unless told otherwise."""
    names = (one.commitment.name, other.commitment.name)
    found = Alignment(commitments=names, compared=3, alpha=Fraction(4, 9), position=6)
    return [replace(labels, alignment=replace(found, **changes)) for labels in (one, other)]


def book(*labels, **changes):
    return LabelBook(ledger="desk", labels={one.commitment.name: one for one in labels}, **changes)


def findings(of, runs=None, recompute=lambda *_: SEAL):
    """Return what is found; the check itself must be there."""
    check = check_book(of, runs or {}, recompute)
    assert check is not None
    assert check.step == 29
    return [(finding.code, finding.message) for finding in check.findings]


def recorded(run_id="run-1", seal=SEAL):
    return CalibrationRecorded.from_value(
        {
            "format": "evalsite/log/v1",
            "ledger": "desk",
            "seq": 10,
            "prev": ZERO,
            "recorded_at": NOW,
            "type": "calibration.recorded",
            "run": run_id,
            "commitment": "human-a",
            "lock": lock_digest(lock()),
            "attempt": 1,
            "seal": seal.plain(),
        }
    )


def test_a_book_without_anything_revealed_has_nothing_to_derive() -> None:
    hidden = replace(proven("human-a", 1, 0, 0), labels=None)
    for nothing in (book(hidden), book()):
        assert check_book(nothing, {}, lambda *_: SEAL) is None


class TestAlignments:
    """The log said a count and an alpha; the labels say them again."""

    def test_a_true_one(self) -> None:
        assert findings(book(*aligned(proven("a", 1, 0, 0), proven("b", 1, 1, 0)))) == []

    @pytest.mark.parametrize("change", [{"compared": 2}, {"alpha": Fraction(1)}, {"alpha": None}])
    def test_a_false_one(self, change) -> None:
        [(code, message)] = findings(book(*aligned(proven("a", 1, 0, 0), proven("b", 1, 1, 0), **change)))
        assert code == "labels.alignment"
        assert "the labels give 3 items, alpha 4/9" in message

    def test_one_that_can_not_be_derived_yet(self) -> None:
        one, other = aligned(proven("a", 1, 0, 0), proven("b", 1, 1, 0), alpha=Fraction(1))
        assert findings(book(one, replace(other, labels=None))) == []

    def test_annotators_of_other_items(self) -> None:
        [(code, _)] = findings(book(*aligned(proven("a", 1, 0, 0), proven("b", 1, 1))))
        assert code == "labels.alignment"


class TestAdjudications:
    """Nothing is decided against what everybody said."""

    def labels(self, *values):
        one, other = aligned(proven("a", 1, 0, 0), proven("b", 1, 1, 0))
        return book(one, other, proven("final", *values, kind="adjudication", of=["a", "b"]))

    @pytest.mark.parametrize("decided", [0, 1, None])
    def test_what_they_differ_in_may_be_decided_either_way(self, decided) -> None:
        assert findings(self.labels(1, decided, 0)) == []

    def test_what_they_agree_on_is_kept(self) -> None:
        [(code, message)] = findings(self.labels(0, 1, 0))
        assert code == "labels.items"
        assert "as all annotators labelled it" in message

    def test_it_is_about_the_same_items(self) -> None:
        [(code, _)] = findings(self.labels(1, 1))
        assert code == "labels.items"


class TestItems:
    """Labels are about cases that there are."""

    def test_an_item_that_the_corpus_does_not_have(self, run) -> None:
        subject = commitment(sealed("human-a")).subject.plain()
        of = proven("human-a", 1, 0, 0, subject={**subject, "corpus_fingerprint": run.plan.corpus.fingerprint})
        [(code, message)] = findings(book(of), {"run-1": run})
        assert code == "labels.items"
        assert "not A" in message

    def test_a_run_over_another_corpus_says_nothing(self, run) -> None:
        assert findings(book(proven("human-a", 1, 0, 0)), {"run-1": run}) == []


class TestCalibrations:
    """The counts and the outcome of a recorded calibration are derived again."""

    def test_a_true_one(self, run) -> None:
        of = book(proven("human-a", 1, 0, 0), calibrations=(recorded(),))
        assert runs_to_derive(of) == {"run-1"}
        assert findings(of, {"run-1": run}) == []

    @pytest.mark.parametrize("field", ["agreed", "judged", "false_pass"])
    def test_a_false_count(self, run, field) -> None:
        false = SEAL.model_copy(update={field: 3})
        of = book(proven("human-a", 1, 0, 0), calibrations=(recorded(seal=false),))
        [(code, message)] = findings(of, {"run-1": run})
        assert code == "labels.calibration"
        assert f"says other {field} than" in message

    def test_one_that_can_not_be_derived(self, run) -> None:
        def recompute(*_):
            raise UndecidedError("no verdicts")

        of = book(proven("human-a", 1, 0, 0), calibrations=(recorded(),))
        [(code, message)] = findings(of, {"run-1": run}, recompute)
        assert code == "labels.calibration"
        assert "no verdicts" in message

    @pytest.mark.parametrize(("revealed", "there", "tried"), [(9, True, True), (9, False, False), (11, False, True)])
    def test_one_that_rests_on_labels_whose_file_is_away_is_not_derived(self, run, revealed, there, tried) -> None:
        """What was revealed by then has to be there; what was revealed later is nothing that it rests on."""
        one, other = aligned(proven("human-a", 1, 0, 0), proven("b", 1, 1, 0))
        other = replace(
            other, labels=other.labels if there else None, positions=replace(other.positions, revealed=revealed)
        )
        calls = []
        findings(book(one, other, calibrations=(recorded(),)), {"run-1": run}, lambda *_: calls.append(1) or SEAL)
        assert bool(calls) is tried

    def test_one_of_a_run_that_is_not_trusted_has_findings_elsewhere(self) -> None:
        assert findings(book(proven("human-a", 1, 0, 0), calibrations=(recorded(),))) == []


def test_runs_whose_answers_were_labelled_are_derived_too() -> None:
    subject = {**commitment(sealed("human-a")).subject.plain(), "run": "answers-1", "run_root": ZERO}
    assert runs_to_derive(book(proven("human-a", 1, 0, 0, subject=subject))) == {"answers-1"}
    assert runs_to_derive(None) == frozenset()


def test_a_run_that_names_revealed_labels_is_derived_for_their_items() -> None:
    """Labels of an item that does not exist are found out without any recorded calibration."""
    uses = tuple(
        Use(run=name, commitment="human-a", split=Split.SEALED, opened=at, closed=at + 1)
        for at, name in ((5, "run-1"), (7, "run-2"))
    )
    assert runs_to_derive(book(proven("human-a", 1, 0, 0), uses=uses)) == {"run-1"}, "one holds the corpus"
    assert runs_to_derive(book(replace(proven("human-a", 1, 0, 0), labels=None), uses=uses)) == frozenset()
