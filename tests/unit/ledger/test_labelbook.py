# SPDX-License-Identifier: Apache-2.0
"""The order of a log's entries about labels: what may stand where, and what follows from it."""

from fractions import Fraction
from typing import Any

import pytest
from support.labels import CORPUS, calibration, commitment, lock, sealed
from support.ledgers import LEDGER, NOW, ZERO
from support.plans import make_plan, role_plan_value

from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.labelbook import LabelBook, LabelReader, Use, check_attempts, check_plan, lock_digest
from evalsite.schema.calibration import Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.entries import LOG_ENTRY
from evalsite.schema.plan import AnswersRef, RolePlan

ONE = "sha256:" + "1" * 64


class Log:
    """Entries in order, as a log holds them."""

    def __init__(self) -> None:
        self.reader = LabelReader(LEDGER)
        self.size = 0

    def add(self, entry_type: str, /, **body: Any) -> "Log":
        frame = {"format": "evalsite/log/v1", "ledger": LEDGER, "seq": self.size, "prev": None, "recorded_at": NOW}
        self.reader.take(LOG_ENTRY.validate_json(canonical_bytes({**frame, **body, "type": entry_type})))
        self.size += 1
        return self

    def constants(self, **changes: Any) -> "Log":
        return self.add("constants.frozen", corpus=CORPUS, lock=lock(**changes).plain())

    def cards(self, **changes: Any) -> "Log":
        return self.add("cards.frozen", **{"corpus": CORPUS, "fingerprint": ZERO, "run": None, **changes})

    def commit(self, name: str = "human-a", **changes: Any) -> "Log":
        return self.add("labels.committed", commitment=commitment(sealed(name), **changes).plain())

    def align(self, *names: str, **changes: Any) -> "Log":
        return self.add("annotators.aligned", **{"commitments": list(names), "compared": 2, "alpha": [1, 2], **changes})

    def open(self, run: str) -> "Log":
        return self.add("run.opened", run=run, opened_leaf=ZERO, plan_digest=ZERO)

    def close(self, run: str, root: str = ZERO) -> "Log":
        return self.add("run.closed", run=run, size=1, root=root, statement=ZERO)

    def reveal(self, name: str = "human-a") -> "Log":
        return self.add("labels.revealed", commitment=name, file=ZERO)

    def record(self, run: str, name: str = "human-a", **changes: Any) -> "Log":
        seal = dict.fromkeys(("labeled", "judged", "agreed", "false_pass", "false_fail"), 0)
        seal |= {"criterion": "evidence", "outcome": "PASS"}
        body = {"run": run, "commitment": name, "lock": lock_digest(lock()), "attempt": 1, "seal": seal}
        return self.add("calibration.recorded", **{**body, **changes})

    def frozen(self) -> "Log":
        return self.constants().cards()


def subject_value(**changes: Any) -> dict[str, Any]:
    return {**commitment(sealed()).subject.plain(), **changes}


def test_the_whole_order_is_accepted_and_told_by_positions() -> None:
    log = Log().frozen().commit().commit("human-b").align("human-a", "human-b")
    log.commit("final", kind="adjudication", of=["human-a", "human-b"])
    log.open("judge").close("judge").reveal("final").record("judge", "final")
    book = log.reader.book()
    assert list(book.labels) == ["human-a", "human-b", "final"]
    positions = book.labels["final"].positions
    assert (positions.constants, positions.cards, positions.committed) == (0, 1, 5)
    assert (positions.aligned, positions.revealed, positions.known) == (4, 8, 8)
    alignment = book.labels["final"].alignment
    assert alignment is not None
    assert (alignment.alpha, alignment.compared) == (Fraction(1, 2), 2)
    assert book.labels["human-a"].positions.known == 8, "an adjudication tells what its annotators agree on"
    assert book.labels["human-a"].positions.revealed is None
    assert book.locks == {CORPUS: lock()}
    assert book.frozen(commitment(sealed()).subject)


NOT_ALLOWED = {
    "cards without constants": lambda: Log().cards(),
    "cards of an open run": lambda: Log().constants().open("r").cards(run="r"),
    "labels without cards": lambda: Log().constants().commit(),
    "labels of other cards": lambda: Log().constants().cards(fingerprint=ONE).commit(),
    "labels of another corpus": lambda: Log().frozen().commit(subject=subject_value(corpus="other")),
    "constants changed behind the cards": lambda: Log().frozen().constants(alpha="0.01").commit(),
    "one name twice": lambda: Log().frozen().commit().commit(),
    "an adjudication of nothing": lambda: Log().frozen().commit(kind="adjudication"),
    "annotator's labels of others": lambda: Log().frozen().commit().commit("b", of=["human-a"]),
    "an adjudication before the alignment": lambda: (
        Log().frozen().commit().commit("b").commit("c", kind="adjudication", of=["human-a", "b"])
    ),
    "an adjudication of others than were aligned": lambda: (
        Log()
        .frozen()
        .commit()
        .commit("b")
        .commit("c")
        .align("human-a", "b")
        .commit("d", kind="adjudication", of=["human-a", "c"])
    ),
    "a root of a run that was closed with another": lambda: (
        Log()
        .constants()
        .open("r")
        .close("r", ONE)
        .cards(run="r")
        .commit(subject=subject_value(run="r", run_root=ZERO, criterion="binary"))
    ),
    "a root without a run": lambda: Log().frozen().commit(subject=subject_value(run_root=ZERO)),
    "superseding nothing": lambda: Log().frozen().commit(supersedes="human-z"),
    "aligned with itself": lambda: Log().frozen().commit().align("human-a", "human-a"),
    "aligned with nobody": lambda: Log().frozen().commit().align("human-a", "human-b"),
    "aligned behind a reveal": lambda: Log().frozen().commit().commit("b").reveal().align("human-a", "b"),
    "aligned over more items than there are": lambda: (
        Log().frozen().commit().commit("b").align("human-a", "b", compared=4)
    ),
    "aligned about two subjects": lambda: (
        Log().frozen().commit().commit("b", subject=subject_value(rubric_digest=ONE)).align("human-a", "b")
    ),
    "aligned with a copy of one sheet": lambda: (
        Log().frozen().commit(seed="0" * 16).commit("b", seed="0" * 16).align("human-a", "b")
    ),
    "revealed before the commit": lambda: Log().frozen().reveal(),
    "revealed twice": lambda: Log().frozen().commit().reveal().reveal(),
    "a calibration before the reveal": lambda: Log().frozen().commit().open("r").close("r").record("r"),
    "a calibration of an open run": lambda: Log().frozen().commit().open("r").reveal().record("r"),
    "a calibration of a run that was opened before the labels": lambda: (
        Log().frozen().open("r").close("r").commit().reveal().record("r")
    ),
    "a calibration of a run opened between two commitments": lambda: (
        Log().frozen().commit("b").open("r").commit().close("r").reveal().record("r")
    ),
    "a calibration under other constants": lambda: (
        Log().frozen().commit().open("r").close("r").reveal().record("r", lock=ONE)
    ),
    "a calibration of another criterion": lambda: (
        Log()
        .frozen()
        .commit()
        .open("r")
        .close("r")
        .reveal()
        .record(
            "r",
            seal={
                **dict.fromkeys(("labeled", "judged", "agreed", "false_pass", "false_fail"), 0),
                "criterion": "binary",
                "outcome": "PASS",
            },
        )
    ),
}


@pytest.mark.parametrize("case", NOT_ALLOWED)
def test_what_may_not_stand_where_it_stands_is_refused(case) -> None:
    with pytest.raises(IntegrityError):
        NOT_ALLOWED[case]()


def test_cards_frozen_again_behind_new_constants_take_labels_again() -> None:
    log = Log().frozen().commit().constants(alpha="0.01").cards().commit("later")
    book = log.reader.book()
    assert book.labels["human-a"].lock == lock()
    assert book.labels["later"].lock == lock(alpha="0.01")


class TestLevels:
    """T8: the lesser of the claim and of what the order shows."""

    @pytest.mark.parametrize("claim", list(LabelLevel))
    def test_committed_before_the_run_and_not_known_until_its_end_is_the_claim(self, claim) -> None:
        log = Log().frozen().commit(claimed_level=claim.value, blind=True).open("r").close("r").reveal()
        assert log.reader.book().labels["human-a"].level_for(3, 4) is claim

    @pytest.mark.parametrize(("opened", "closed"), [(1, 2), (3, None), (3, 6), (6, 7)])
    def test_any_other_order_shows_less(self, opened, closed) -> None:
        proven = Log().frozen().commit().open("r").close("r").reveal().reader.book().labels["human-a"]
        assert proven.level_for(opened, closed) is LabelLevel.HUMAN_REVIEWED

    def test_labels_that_are_not_revealed_are_hidden(self) -> None:
        proven = Log().frozen().commit().open("r").reader.book().labels["human-a"]
        assert proven.level_for(3, None) is LabelLevel.HUMAN_BLIND_ANCHORED

    @pytest.mark.parametrize("subject", [{}, {"corpus_fingerprint": ONE}], ids=["same bytes", "another title"])
    def test_labels_of_the_same_texts_revealed_before_make_later_ones_known(self, subject) -> None:
        """The same labels under a second name were public before the second run."""
        log = Log().frozen().commit().cards(fingerprint=ONE).commit("human-c", subject=subject_value(**subject))
        log.open("r").close("r").reveal().open("s").close("s").reveal("human-c")
        found = log.reader.book().labels
        assert (found["human-c"].positions.known, found["human-c"].positions.revealed) == (7, 10)
        assert found["human-c"].level_for(5, 6) is LabelLevel.HUMAN_BLIND_ANCHORED
        assert found["human-c"].level_for(8, 9) is LabelLevel.HUMAN_REVIEWED

    def test_labels_committed_behind_a_reveal_of_the_same_texts_are_known_from_the_start(self) -> None:
        proven = Log().frozen().commit().reveal().commit("human-c").open("s").close("s").reader.book().labels["human-c"]
        assert proven.positions.known == 3
        assert proven.level_for(5, 6) is LabelLevel.HUMAN_REVIEWED

    def test_a_reveal_of_other_texts_tells_nothing(self) -> None:
        other = subject_value(construct_version="2")
        book = Log().frozen().commit().commit("human-c", subject=other).reveal("human-c").reader.book()
        assert book.labels["human-a"].positions.known is None
        assert book.alike("human-a") == {"human-a"}

    def test_two_annotators_and_their_adjudication_may_be_revealed_one_after_the_other(self) -> None:
        log = Log().frozen().commit().commit("b").align("human-a", "b")
        log.commit("final", kind="adjudication", of=["human-a", "b"]).open("r").close("r")
        book = log.reveal("b").reveal("final").reveal("human-a").reader.book()
        assert {proven.positions.known for proven in book.labels.values()} == {8}
        assert {proven.level_for(6, 7) for proven in book.labels.values()} == {LabelLevel.HUMAN_BLIND_ANCHORED}

    def test_labels_that_are_not_blind_show_less(self) -> None:
        proven = Log().frozen().commit(blind=False).reader.book().labels["human-a"]
        assert proven.level_for(3, 4) is LabelLevel.HUMAN_REVIEWED


def book_of(log: Log, *uses: Use, unread: dict[str, int] | None = None) -> LabelBook:
    return log.reader.book(uses=uses, unread=unread)


def use(run: str, opened: int, closed: int | None = None, name: str = "human-a") -> Use:
    return Use(run=run, commitment=name, split=Split.SEALED, opened=opened, closed=closed)


class TestAttempts:
    """Every run that names the labels counts, sealed or not."""

    def test_they_count_in_the_order_of_the_log(self) -> None:
        book = book_of(Log().frozen().commit(), use("a", 3), use("b", 4), use("c", 5, name="other"))
        assert [book.attempt("human-a", run) for run in ("a", "b", "c")] == [1, 2, None]
        assert [found.run for found, _ in book.in_force("b")] == ["b"]

    def test_labels_committed_anew_under_another_name_are_no_first_attempt(self) -> None:
        log = Log().frozen().commit().commit("again", supersedes="human-a")
        log.commit("b").commit("other", subject=subject_value(construct_version="2"))
        uses = (use("r1", 6), use("r2", 7, name="again"), use("r2", 7, name="b"), use("r3", 8, name="again"))
        book = book_of(log, *uses, use("r4", 9, name="other"))
        assert book.attempt("again", "r2") == book.attempt("b", "r2") == 2
        assert book.attempt("again", "r3") == 3
        assert book.attempt("other", "r4") == 1, "another construct is labelled anew"

    def test_one_word_more_in_the_rubric_is_no_first_attempt_and_hides_no_public_label(self) -> None:
        log = Log().frozen().commit().open("r1").close("r1").reveal()
        log.commit("again", subject=subject_value(rubric_digest=ONE))
        book = book_of(log, use("r1", 3, 4), use("r2", 7, name="again"))
        assert book.attempt("again", "r2") == 2
        assert book.labels["again"].level_for(7, 8) is LabelLevel.HUMAN_REVIEWED

    def test_another_title_of_the_corpus_is_no_first_attempt(self) -> None:
        log = Log().frozen().commit().cards(fingerprint=ONE)
        log.commit("again", subject=subject_value(corpus_fingerprint=ONE))
        assert book_of(log, use("r1", 5), use("r2", 6, name="again")).attempt("again", "r2") == 2

    def test_a_run_whose_plan_is_not_there_makes_later_ones_uncountable(self) -> None:
        book = book_of(Log().frozen().commit(), use("a", 3), use("c", 5), unread={"b": 4})
        assert book.attempt("human-a", "a") == 1
        for run in ("b", "c"):
            with pytest.raises(UndecidedError, match="plan of every run"):
                book.attempt("human-a", run)

    def test_a_recorded_attempt_is_counted_again(self) -> None:
        log = Log().frozen().commit().open("r").close("r").reveal().record("r", attempt=1)
        assert not list(check_attempts(book_of(log, use("r", 3))))
        assert "attempt 2" in " ".join(check_attempts(book_of(log, use("before", 2), use("r", 3))))
        assert "does not name" in " ".join(check_attempts(book_of(log)))
        assert not list(check_attempts(book_of(log, unread={"r": 3}))), "a bundle of another run"


class TestPlans:
    """Which labels a run may name."""

    def plan(self, *names: str, **changes: Any) -> Any:
        return make_plan().model_copy(update={"calibration": calibration(*names, **changes)})

    def test_labels_committed_before_and_known_behind_it(self) -> None:
        log = Log().frozen().commit().open("r").close("r").reveal()
        check_plan(log.reader.book(), self.plan("human-a"), 3, 4)

    def test_a_plan_without_labels_needs_none(self) -> None:
        check_plan(LabelBook(ledger=LEDGER), make_plan(), 2, None)

    def test_development_labels_may_be_known(self) -> None:
        log = Log().frozen().commit().reveal()
        check_plan(log.reader.book(), self.plan("human-a", split="dev"), 5, 6)

    @pytest.mark.parametrize(
        ("log", "opened", "closed", "said"),
        [
            (Log, 2, 3, "committed before"),
            (lambda: Log().frozen().commit(), 1, 9, "committed before"),
            (lambda: Log().frozen().commit(root=ONE), 3, 4, "root"),
            (lambda: Log().constants(alpha="0.01").cards().commit(), 3, 4, "constants"),
            (lambda: Log().frozen().commit().reveal(), 4, 5, "revealed before"),
            (lambda: Log().frozen().commit().open("r").reveal().close("r"), 3, 5, "revealed before"),
            (lambda: Log().frozen().commit().open("r").reveal(), 3, None, "revealed before"),
        ],
    )
    def test_any_other_run_may_not_name_them(self, log, opened, closed, said) -> None:
        with pytest.raises(IntegrityError, match=said):
            check_plan(log().reader.book(), self.plan("human-a"), opened, closed)

    def test_the_same_labels_under_a_second_name_are_no_sealed_ones_after_the_reveal_of_the_first(self) -> None:
        log = Log().frozen().commit().commit("human-c").reveal()
        with pytest.raises(IntegrityError, match=r"others of the same texts, were revealed before"):
            check_plan(log.reader.book(), self.plan("human-c"), 5, 6)
        check_plan(log.reader.book(), self.plan("human-c", split="dev"), 5, 6)

    @pytest.mark.parametrize(
        ("subject", "said"),
        [
            ({"corpus": "other"}, "not those of the corpus other"),
            ({"corpus_fingerprint": ONE}, f"not those of the corpus {CORPUS} {ONE}"),
            ({"run": "answers", "run_root": ZERO}, "not answers of answers"),
        ],
    )
    def test_labels_of_other_texts_than_the_run_judges_are_refused(self, subject, said) -> None:
        about = subject_value(**subject)
        log = Log().open("answers").close("answers")
        log.add("constants.frozen", corpus=about["corpus"], lock=lock().plain())
        log.cards(corpus=about["corpus"], fingerprint=about["corpus_fingerprint"], run=about["run"])
        log.commit(subject=about)
        for split in Split:
            with pytest.raises(IntegrityError, match=said):
                check_plan(log.reader.book(), self.plan("human-a", split=split), 9, 10)

    @pytest.mark.parametrize(
        ("replayed", "root", "said"),
        [
            ("answers", ZERO, None),
            ("answers", None, None),
            ("other", ZERO, "not answers of answers"),
            ("answers", ONE, "not answers of answers"),
            (None, None, "not answers of answers"),
        ],
    )
    def test_labels_of_answers_are_of_the_run_and_the_root_that_are_judged(self, replayed, root, said) -> None:
        """A replay of an earlier run holds no root of it: the commitment's own is that of the log."""
        log = Log().open("answers").close("answers").constants().cards(run="answers")
        log.commit(subject=subject_value(run="answers", run_root=ZERO))
        plan = self.plan("human-a")
        if replayed is not None:
            candidate = role_plan_value({"kind": "replay", "run": replayed})
            plan = plan.model_copy(update={"candidate": RolePlan.from_value(candidate)})
        if root is not None:
            answers = {"run": replayed, "root": root, "statement": ZERO, "repetitions": 1}
            plan = plan.model_copy(update={"answers": AnswersRef.from_value(answers)})
        if said is None:
            check_plan(log.reader.book(), plan, 9, 10)
            return
        with pytest.raises(IntegrityError, match=said):
            check_plan(log.reader.book(), plan, 9, 10)

    def test_labels_of_a_corpus_are_none_of_answers_of_it(self) -> None:
        candidate = RolePlan.from_value(role_plan_value({"kind": "replay", "run": "answers"}))
        plan = self.plan("human-a").model_copy(update={"candidate": candidate})
        with pytest.raises(IntegrityError, match="not texts of the corpus"):
            check_plan(Log().frozen().commit().reader.book(), plan, 3, 4)

    def test_one_name_stands_once(self) -> None:
        with pytest.raises(IntegrityError, match="each commitment once"):
            check_plan(Log().frozen().commit().reader.book(), self.plan("human-a", "human-a"), 3, 4)

    def test_a_reveal_of_an_annotator_tells_an_adjudication(self) -> None:
        log = Log().frozen().commit().commit("b").align("human-a", "b")
        log.commit("final", kind="adjudication", of=["human-a", "b"]).reveal("b")
        with pytest.raises(IntegrityError, match="revealed before"):
            check_plan(log.reader.book(), self.plan("final"), 7, 8)
