# SPDX-License-Identifier: Apache-2.0
"""The order of a log's entries about labels: what may stand where, and what follows from it."""

from fractions import Fraction
from typing import Any

import pytest
from support.labels import CORPUS, calibration, commitment, lock, sealed
from support.ledgers import LEDGER, NOW, ZERO
from support.plans import make_plan

from evalsite.canonical.jcs import canonical_bytes
from evalsite.errors import IntegrityError, UndecidedError
from evalsite.ledger.labelbook import LabelBook, LabelReader, Use, check_attempts, check_plan, lock_digest
from evalsite.schema.calibration import Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.entries import LOG_ENTRY

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
        log.commit("b").commit("other", subject=subject_value(rubric_digest=ONE))
        uses = (use("r1", 6), use("r2", 7, name="again"), use("r2", 7, name="b"), use("r3", 8, name="again"))
        book = book_of(log, *uses, use("r4", 9, name="other"))
        assert book.attempt("again", "r2") == book.attempt("b", "r2") == 2
        assert book.attempt("again", "r3") == 3
        assert book.attempt("other", "r4") == 1, "another rubric is another subject"

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

    def test_one_name_stands_once(self) -> None:
        with pytest.raises(IntegrityError, match="each commitment once"):
            check_plan(Log().frozen().commit().reader.book(), self.plan("human-a", "human-a"), 3, 4)

    def test_a_reveal_of_an_annotator_tells_an_adjudication(self) -> None:
        log = Log().frozen().commit().commit("b").align("human-a", "b")
        log.commit("final", kind="adjudication", of=["human-a", "b"]).reveal("b")
        with pytest.raises(IntegrityError, match="revealed before"):
            check_plan(log.reader.book(), self.plan("final"), 7, 8)
