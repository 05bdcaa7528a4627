# SPDX-License-Identifier: Apache-2.0
"""Files that survive a crash and files that can be believed."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from evalsite import storage
from evalsite.errors import InputError, IntegrityError, UndecidedError
from evalsite.storage import (
    PRIVATE_FILE,
    TEMPORARY,
    Appender,
    create,
    create_same,
    ensure_folder,
    is_folder,
    list_tree,
    lock,
    move,
    read_regular,
    remove,
    remove_tree,
    replace,
    sweep,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def codes(folder):
    return [(oddity.path, oddity.code) for oddity in list_tree(folder).oddities]


class TestWriteVerbs:
    def test_create_writes_the_bytes_with_the_asked_mode_whatever_the_umask(self, tmp_path):
        before = os.umask(0o077)
        try:
            create(tmp_path / "public", b"one")
            create(tmp_path / "private", b"two", mode=PRIVATE_FILE)
        finally:
            os.umask(before)
        assert (tmp_path / "public").read_bytes() == b"one"
        assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644
        assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
        assert names(tmp_path) == ["private", "public"]

    def test_create_never_overwrites(self, tmp_path):
        create(tmp_path / "file", b"one")
        with pytest.raises(InputError, match="no file of this name"):
            create(tmp_path / "file", b"two")
        assert (tmp_path / "file").read_bytes() == b"one"
        assert names(tmp_path) == ["file"]

    def test_create_does_not_follow_a_dangling_link(self, tmp_path):
        (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InputError):
            create(tmp_path / "file", b"one")
        assert not (tmp_path / "elsewhere").exists()

    def test_create_same_accepts_equal_bytes_only(self, tmp_path):
        create_same(tmp_path / "file", b"one")
        create_same(tmp_path / "file", b"one")
        with pytest.raises(IntegrityError, match="same bytes"):
            create_same(tmp_path / "file", b"two")
        with pytest.raises(InputError):
            create_same(tmp_path / "file", b"on")  # the present file is longer than what is allowed
        assert (tmp_path / "file").read_bytes() == b"one"

    def test_replace_puts_new_bytes_in_the_place_of_old_ones(self, tmp_path):
        replace(tmp_path / "file", b"one")
        replace(tmp_path / "file", b"two")
        assert (tmp_path / "file").read_bytes() == b"two"
        assert names(tmp_path) == ["file"]

    def test_a_failed_rename_keeps_the_old_content_and_leaves_no_temporary_file(self, tmp_path, monkeypatch):
        replace(tmp_path / "file", b"one")

        def refuse(*args, **options):
            raise OSError(errno.EIO, "Input/output error")

        monkeypatch.setattr(os, "rename", refuse)
        with pytest.raises(UndecidedError, match="Input/output error"):
            replace(tmp_path / "file", b"two")
        assert (tmp_path / "file").read_bytes() == b"one"
        assert names(tmp_path) == ["file"]

    def test_a_full_disk_leaves_nothing_behind(self, tmp_path, monkeypatch):
        def refuse(handle, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", refuse)
        with pytest.raises(UndecidedError, match="No space left"):
            create(tmp_path / "file", b"one")
        assert names(tmp_path) == []

    def test_a_missing_folder_is_told(self, tmp_path):
        with pytest.raises(UndecidedError, match="No such file"):
            create(tmp_path / "nowhere" / "file", b"one")

    def test_remove_and_move(self, tmp_path):
        create(tmp_path / "file", b"one")
        remove(tmp_path / "file")
        assert names(tmp_path) == []
        ensure_folder(tmp_path / "a" / "b")
        move(tmp_path / "a" / "b", tmp_path / "c" / "d")
        assert (tmp_path / "c" / "d").is_dir()
        assert not (tmp_path / "a" / "b").exists()

    def test_remove_tree_takes_a_folder_and_follows_no_link(self, tmp_path):
        (tmp_path / "folder" / "below").mkdir(parents=True)
        (tmp_path / "folder" / "below" / "file").write_bytes(b"x")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "kept").write_bytes(b"x")
        (tmp_path / "folder" / "link").symlink_to(tmp_path / "elsewhere")
        remove_tree(tmp_path / "folder")
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "kept"]
        with pytest.raises(UndecidedError, match="could not write"):
            remove_tree(tmp_path / "folder")


class TestReading:
    def test_returns_the_bytes_up_to_the_cap(self, tmp_path):
        (tmp_path / "file").write_bytes(b"12345")
        assert read_regular(tmp_path / "file", 5) == b"12345"
        with pytest.raises(InputError, match="at most 4 bytes"):
            read_regular(tmp_path / "file", 4)

    def test_a_missing_file_is_told(self, tmp_path):
        with pytest.raises(InputError, match="found none"):
            read_regular(tmp_path / "file", 4)

    def test_links_pipes_folders_and_second_names_are_refused(self, tmp_path):
        (tmp_path / "file").write_bytes(b"1")
        (tmp_path / "link").symlink_to(tmp_path / "file")
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "first").write_bytes(b"1")
        os.link(tmp_path / "first", tmp_path / "second")
        for name in ("link", "pipe", "folder", "first", "second"):
            with pytest.raises(IntegrityError):
                read_regular(tmp_path / name, 10)

    def test_a_file_that_may_not_be_read_is_told(self, tmp_path, monkeypatch):
        def refuse(*args, **options):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(os, "open", refuse)
        with pytest.raises(UndecidedError, match="Permission denied"):
            read_regular(tmp_path / "file", 10)

    def test_a_folder_is_one_that_is_no_link(self, tmp_path, monkeypatch):
        (tmp_path / "file").write_bytes(b"x")
        (tmp_path / "link").symlink_to(tmp_path)
        names = ("missing", "file", "file/below", "link")
        assert [is_folder(tmp_path / name) for name in names] == [False] * 4
        assert is_folder(tmp_path)

        def refuse(path):
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(os, "lstat", refuse)
        with pytest.raises(UndecidedError, match="Permission denied"):
            is_folder(tmp_path)


class TestListing:
    def test_lists_files_with_sizes_and_folders(self, tmp_path):
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "file.txt").write_bytes(b"123")
        tree = list_tree(tmp_path)
        assert tree.files == {"a/b/file.txt": 3}
        assert tree.folders == ("a", "a/b")
        assert tree.oddities == ()

    def test_a_missing_folder_or_a_link_to_one_is_refused(self, tmp_path):
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        for name in ("nowhere", "link"):
            with pytest.raises(InputError, match="expected a folder"):
                list_tree(tmp_path / name)

    def test_every_kind_of_odd_entry_is_named(self, tmp_path):
        (tmp_path / "file").write_bytes(b"1")
        (tmp_path / "link").symlink_to("file")
        (tmp_path / "Link-to-folder").symlink_to(tmp_path)
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "hard-1").write_bytes(b"1")
        os.link(tmp_path / "hard-1", tmp_path / "hard-2")
        (tmp_path / "twin").write_bytes(b"1")
        (tmp_path / "TWIN").write_bytes(b"1")
        (tmp_path / ".hidden").write_bytes(b"1")
        (tmp_path / "white space").write_bytes(b"1")
        (tmp_path / os.fsdecode(b"broken-\xff")).write_bytes(b"1")
        assert sorted(codes(tmp_path)) == sorted(
            [
                ("link", "tree.kind"),
                ("Link-to-folder", "tree.kind"),
                ("pipe", "tree.kind"),
                ("hard-1", "tree.hardlink"),
                ("hard-2", "tree.hardlink"),
                ("twin", "tree.twin"),
                (".hidden", "tree.name"),
                ("white space", "tree.name"),
                (os.fsdecode(b"broken-\xff"), "tree.name"),
            ]
        )

    def test_folders_below_folders_without_end_are_refused(self, tmp_path):
        (tmp_path / "/".join("abcdefghijkl")).mkdir(parents=True)
        assert codes(tmp_path) == [("a/b/c/d/e/f/g/h/i", "tree.depth")]

    def test_leftovers_of_a_crash_are_told_apart_and_swept(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / f"{TEMPORARY}0011").write_bytes(b"half")
        (tmp_path / "a" / "file").write_bytes(b"1")
        assert list_tree(tmp_path).leftovers == (f"a/{TEMPORARY}0011",)
        assert sweep(tmp_path) == (f"a/{TEMPORARY}0011",)
        assert list_tree(tmp_path).files == {"a/file": 1}

    def test_a_crash_between_link_and_unlink_makes_no_second_name(self, tmp_path):
        (tmp_path / f"{TEMPORARY}0011").write_bytes(b"whole")
        os.link(tmp_path / f"{TEMPORARY}0011", tmp_path / "file")
        assert codes(tmp_path) == []
        assert read_regular(tmp_path / "file", 5) == b"whole"
        sweep(tmp_path)
        assert list_tree(tmp_path).leftovers == ()


class TestSync:
    def test_what_was_appended_without_waiting_is_waited_for_once(self, tmp_path, monkeypatch):
        waits = []
        monkeypatch.setattr(os, "fdatasync", waits.append)
        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"a", wait=False)
        appender.append(b"b", wait=False)
        assert waits == []
        appender.sync()
        appender.sync()
        assert len(waits) == 1
        appender.append(b"c")
        appender.sync()
        assert len(waits) == 2
        appender.close()
        assert (tmp_path / "file").read_bytes() == b"abc"

    def test_after_a_refusal_nobody_can_tell_and_nothing_is_written_any_more(self, tmp_path, monkeypatch):
        def refuse(handle):
            raise OSError(5, "Input/output error")

        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"a", wait=False)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdatasync", refuse)
            with pytest.raises(UndecidedError, match="Input/output error"):
                appender.sync()
        with pytest.raises(UndecidedError, match="for good"):
            appender.sync()
        with pytest.raises(UndecidedError, match="for good"):
            appender.append(b"b")
        appender.close()


class TestAppender:
    def test_appends_pieces_and_knows_its_length(self, tmp_path):
        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"one\n")
        appender.append(b"two\n")
        assert appender.size_bytes == 8
        appender.close()
        appender.close()
        again = Appender(tmp_path / "file", new=False)
        assert again.size_bytes == 8
        again.truncate(4)
        again.append(b"three\n")
        again.close()
        assert (tmp_path / "file").read_bytes() == b"one\nthree\n"

    def test_a_new_file_must_be_new_and_an_old_one_plain(self, tmp_path):
        (tmp_path / "file").write_bytes(b"1")
        with pytest.raises(InputError):
            Appender(tmp_path / "file", new=True)
        os.link(tmp_path / "file", tmp_path / "second")
        with pytest.raises(IntegrityError):
            Appender(tmp_path / "file", new=False)

    def test_short_writes_are_gone_on_with(self, tmp_path, monkeypatch):
        write = os.write
        monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:3]))
        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"a whole line\n")
        appender.close()
        assert (tmp_path / "file").read_bytes() == b"a whole line\n"

    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, 0])
    def test_a_failed_write_is_cut_back_and_the_file_stays_usable(self, tmp_path, monkeypatch, error):
        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"one\n")
        write, calls = os.write, []

        def half(handle, data):
            calls.append(data)
            if len(calls) == 1:
                return write(handle, bytes(data)[:2])
            if error:
                raise OSError(error, os.strerror(error))
            return 0

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            with pytest.raises(UndecidedError, match="could not write"):
                appender.append(b"two\n")
        assert (tmp_path / "file").read_bytes() == b"one\n"
        appender.append(b"three\n")
        appender.close()
        assert (tmp_path / "file").read_bytes() == b"one\nthree\n"

    def test_a_file_that_cannot_be_cut_back_is_not_used_any_more(self, tmp_path, monkeypatch):
        appender = Appender(tmp_path / "file", new=True)

        def refuse(*args):
            raise OSError(errno.EIO, "Input/output error")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", refuse)
            patch.setattr(os, "ftruncate", refuse)
            with pytest.raises(UndecidedError):
                appender.append(b"one\n")
        with pytest.raises(UndecidedError, match="failed for good"):
            appender.append(b"one\n")
        appender.close()

    def test_a_second_writer_is_noticed(self, tmp_path):
        appender = Appender(tmp_path / "file", new=True)
        appender.append(b"one\n")
        with (tmp_path / "file").open("ab") as other:
            other.write(b"x")
        with pytest.raises(IntegrityError, match="expected 4 bytes before this write, found 5"):
            appender.append(b"two\n")
        appender.close()

    def test_a_real_limit_on_the_file_size_leaves_no_torn_line(self, tmp_path):
        program = (
            "import resource, signal, sys\n"
            "from pathlib import Path\n"
            "from evalsite.errors import UndecidedError\n"
            "from evalsite.storage import Appender\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
            "appender = Appender(Path(sys.argv[1]), new=True)\n"
            "appender.append(b'x' * 999 + b'\\n')\n"
            "try:\n"
            "    appender.append(b'y' * 999 + b'\\n')\n"
            "except UndecidedError as error:\n"
            "    print(error.message)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "file"], capture_output=True, text=True, check=True
        )
        assert "could not write" in done.stdout
        assert (tmp_path / "file").stat().st_size == 1000


HOLD = """
import sys, time
from pathlib import Path
from evalsite.storage import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


class TestLock:
    def test_a_second_holder_is_refused_and_the_lock_dies_with_its_process(self, tmp_path):
        path = tmp_path / "work" / "desk.lock"
        with subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(InputError, match="only writer"), lock(path):
                pytest.fail("two holders")
            holder.send_signal(signal.SIGKILL)
            holder.wait()
        started = time.monotonic()
        with lock(path):
            assert time.monotonic() - started < 5

    def test_a_link_in_the_place_of_the_lock_is_not_followed(self, tmp_path):
        (tmp_path / "victim").write_bytes(b"1")
        (tmp_path / "desk.lock").symlink_to(tmp_path / "victim")
        with pytest.raises(UndecidedError), lock(tmp_path / "desk.lock"):
            pytest.fail("followed")
        assert (tmp_path / "victim").read_bytes() == b"1"


def test_the_folder_is_synced_after_the_name_and_the_file_before_it(tmp_path, monkeypatch):
    order = []
    for name in ("fsync", "link", "rename"):
        original = getattr(os, name)

        def recorded(*args, _name=name, _original=original, **options):
            is_folder = _name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
            order.append("fsync folder" if is_folder else _name)
            return _original(*args, **options)

        monkeypatch.setattr(storage.os, name, recorded)
    create(tmp_path / "one", b"1")
    replace(tmp_path / "one", b"2")
    assert order == ["fsync", "link", "fsync folder", "fsync", "rename", "fsync folder"]
