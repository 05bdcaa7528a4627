# SPDX-License-Identifier: Apache-2.0
"""A writer writes nothing about labels that a verification would refuse."""

import pytest
from support.labels import CORPUS, Desk, commitment, lock, sealed
from support.ledgers import LATER, LEDGER, NOW, ZERO, make_ledger, reopen

from evalsite.errors import InputError
from evalsite.ledger.verify import check_ledgers


@pytest.fixture
def desk(tmp_path):
    """A ledger with frozen constants and cards."""
    make_ledger(tmp_path / "project")
    found = Desk(tmp_path / "project")
    found.freeze()
    return found


def log_bytes(desk):
    return (desk.project / "runs/log" / LEDGER / "entries/000.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("entry_type", "body"),
    [
        ("labels.revealed", {"commitment": "human-a", "file": ZERO}),
        ("annotators.aligned", {"commitments": ["human-a", "human-b"], "compared": 0, "alpha": None}),
        ("cards.frozen", {"corpus": "other", "fingerprint": ZERO, "run": None}),
        ("constants.frozen", {"corpus": CORPUS, "lock": {**lock().plain(), "alpha": "1.5"}}),
        ("labels.committed", {"commitment": {**commitment(sealed()).plain(), "count": 0}}),
    ],
)
def test_an_entry_that_may_not_stand_here_is_not_written(desk, entry_type, body) -> None:
    before = log_bytes(desk)
    with reopen(desk.project) as writer, pytest.raises(InputError):
        writer.labels.append(entry_type, body, now=NOW)
    assert log_bytes(desk) == before


def test_an_entry_refused_leaves_the_writer_as_it_was(desk) -> None:
    """What was not written did not happen for what is written next."""
    with reopen(desk.project) as writer:
        body = {"commitment": commitment(sealed()).plain()}
        writer.labels.append("labels.committed", body, now=NOW)
        with pytest.raises(InputError, match="one commitment named human-a"):
            writer.labels.append("labels.committed", body, now=NOW)
        writer.labels.append("labels.committed", {"commitment": commitment(sealed("b")).plain()}, now=NOW)
    book = check_ledgers(desk.project, pins={})[LEDGER].report.labels
    assert book is not None
    assert list(book.labels) == ["human-a", "b"]


def test_only_the_labels_that_were_committed_are_revealed(desk) -> None:
    desk.commit()
    before = log_bytes(desk)
    with reopen(desk.project) as writer:
        with pytest.raises(InputError, match="found others"):
            writer.labels.reveal(sealed("human-a", 0, 0, 0), now=LATER)
        with pytest.raises(InputError, match="found none"):
            writer.labels.reveal(sealed("human-b"), now=LATER)
    assert log_bytes(desk) == before
    assert not (desk.project / "runs/log" / LEDGER / "labels").exists()


def test_a_reveal_that_is_repeated_adds_nothing(desk) -> None:
    desk.commit()
    sizes = []
    for _ in range(2):
        with reopen(desk.project) as writer:
            writer.labels.reveal(sealed(), now=LATER)
        sizes.append(len(log_bytes(desk)))
    assert sizes[0] == sizes[1]


def test_labels_revealed_are_published_as_they_were_salted(desk) -> None:
    desk.commit()
    with reopen(desk.project) as writer:
        writer.labels.reveal(sealed(), now=LATER)
    published = desk.project / "runs/log" / LEDGER / "labels/human-a.json"
    assert published.read_bytes() == sealed().to_bytes()
