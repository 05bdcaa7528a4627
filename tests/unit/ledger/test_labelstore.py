# SPDX-License-Identifier: Apache-2.0
"""Private labels on disk: for this user alone, under the passphrase of the keys, whole or not at all."""

import stat

import pytest
from support.labels import sealed
from support.ledgers import LEDGER, fixed_key

from evalsite.errors import InputError, RefusedError, UndecidedError
from evalsite.ledger.keys import store_keys
from evalsite.ledger.labelstore import label_file, load_labels, open_file, store_labels
from evalsite.ledger.passphrase import unlocking

WORD = b"correct horse battery staple"


@pytest.fixture
def keystore(tmp_path):
    """A keystore with plain keys."""
    store_keys(tmp_path / "keys", LEDGER, {role: fixed_key(role) for role in ("root", "runner", "log")})
    return tmp_path / "keys"


@pytest.fixture
def locked(tmp_path):
    """A keystore whose keys are encrypted."""
    with unlocking(WORD, seal=True):
        store_keys(tmp_path / "locked", LEDGER, {role: fixed_key(role) for role in ("root", "runner", "log")})
    return tmp_path / "locked"


def test_labels_come_back_as_they_were_and_for_this_user_alone(keystore) -> None:
    path = store_labels(keystore, sealed())
    assert load_labels(keystore, LEDGER, "human-a") == sealed()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_labels_are_never_overwritten(keystore) -> None:
    store_labels(keystore, sealed())
    with pytest.raises(InputError):
        store_labels(keystore, sealed("human-a", 0, 0, 0))
    assert load_labels(keystore, LEDGER, "human-a") == sealed()


def test_labels_that_are_not_here_are_undecided(keystore) -> None:
    with pytest.raises(UndecidedError):
        load_labels(keystore, LEDGER, "human-b")


@pytest.mark.parametrize("name", ["../human-a", "a/b", "", "A"])
def test_a_name_that_is_none_leads_nowhere(keystore, name) -> None:
    with pytest.raises(InputError):
        label_file(keystore, LEDGER, name)


def test_a_file_that_others_may_read_is_refused(keystore) -> None:
    store_labels(keystore, sealed()).chmod(0o640)
    with pytest.raises(RefusedError, match="0600"):
        load_labels(keystore, LEDGER, "human-a")


def test_a_file_of_another_commitment_is_refused(keystore) -> None:
    path = store_labels(keystore, sealed())
    with pytest.raises(InputError, match="expected the labels human-b, found human-a"):
        open_file(path, "human-b")


class TestPassphrases:
    """AES-256-GCM under scrypt."""

    def test_nothing_of_the_labels_can_be_read_without_it(self, locked) -> None:
        with unlocking(WORD):
            path = store_labels(locked, sealed())
            assert load_labels(locked, LEDGER, "human-a") == sealed()
        data = path.read_bytes()
        for label in sealed().labels:
            assert label.nonce.encode() not in data
        assert b"case_id" not in data

    def test_another_passphrase_opens_nothing_and_is_not_told(self, locked) -> None:
        with unlocking(WORD):
            store_labels(locked, sealed())
        with unlocking(b"another"), pytest.raises(UndecidedError) as caught:
            load_labels(locked, LEDGER, "human-a")
        assert "another'" not in str(caught.value)

    def test_two_files_of_the_same_labels_are_unlike(self, locked, tmp_path) -> None:
        with unlocking(WORD):
            first = store_labels(locked, sealed()).rename(tmp_path / "first")
            second = store_labels(locked, sealed())
        assert first.read_bytes() != second.read_bytes()

    def test_a_file_under_another_name_or_with_a_changed_byte_opens_nothing(self, locked) -> None:
        with unlocking(WORD):
            path = store_labels(locked, sealed())
            other = path.with_name("human-b.json")
            other.write_bytes(path.read_bytes())
            other.chmod(0o600)
            with pytest.raises(UndecidedError):
                load_labels(locked, LEDGER, "human-b")
            data = path.read_bytes()
            place = data.index(b'"sealed":"') + 10
            path.write_bytes(data[:place] + (b"0" if data[place : place + 1] != b"0" else b"1") + data[place + 1 :])
            with pytest.raises(UndecidedError):
                load_labels(locked, LEDGER, "human-a")
