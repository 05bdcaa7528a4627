# SPDX-License-Identifier: Apache-2.0
"""Limits that the operating system really sets: full disks, full inode tables, read-only folders, file sizes."""

import os
import resource
import shutil
import subprocess

import pytest
from support.cli import new_project
from support.crashes import assert_whole, blamed, finish_or_begin
from support.ledgers import (
    RUN,
    begin_run,
    finish_run,
    make_sealed_run,
    reopen,
)

from evalsite.errors import UndecidedError
from evalsite.ledger.verify import verify_project
from evalsite.storage import create, lock, replace

NOBODY = 65534


def fill(place):
    """Take all the space of a disk, and return the file that has it."""
    path = place / "ballast"
    with path.open("wb", buffering=0) as file:
        size = 64 * 1024
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    return path


def test_a_full_disk_at_every_fill_level(founded, small_disk):
    """256 KiB, less and less of it free: each run stops clearly, what it signed stays, and space lets it go on."""
    place = small_disk("size=256k")
    outcomes = set()
    for spare in range(0, 192, 16):
        shutil.copytree(founded.parent, place / "copy")
        project = place / "copy" / "project"
        ballast = fill(place)
        os.truncate(ballast, max(0, ballast.stat().st_size - spare * 1024))
        try:
            make_sealed_run(project)
        except UndecidedError as exc:
            outcomes.add(exc.message.rpartition(": ")[2])
        else:
            outcomes.add("done")
        assert blamed(project) == set()
        ballast.unlink()
        finish_or_begin(project)
        assert_whole(project)
        shutil.rmtree(place / "copy")
    assert outcomes == {"No space left on device", "done"}


def test_a_full_inode_table(founded, small_disk):
    """Space enough, but no name more: the same."""
    place = small_disk("size=2m,nr_inodes=90")
    outcomes = set()
    for spare in range(40):
        shutil.copytree(founded.parent, place / "copy")
        project = place / "copy" / "project"
        taken = place / "taken"
        taken.mkdir()
        names = []
        while True:
            try:
                (taken / str(len(names))).touch()
            except OSError:
                break
            names.append(taken / str(len(names)))
        for path in names[:spare]:
            path.unlink()
        try:
            make_sealed_run(project)
        except UndecidedError as exc:
            outcomes.add(exc.message.rpartition(": ")[2])
        else:
            outcomes.add("done")
        shutil.rmtree(taken)
        assert blamed(project) == set()
        finish_or_begin(project)
        assert_whole(project)
        shutil.rmtree(place / "copy")
    assert outcomes == {"No space left on device", "done"}


def test_a_full_disk_before_the_first_event_leaves_no_folder(tmp_path, small_disk):
    """By the command: exit 5 and nothing there, or a run whose name and resumption the message tells."""
    place = small_disk("size=1m")
    project = new_project(place)
    words = ("run", project.campaign("one", repetitions=1), "--run-id", "one")
    outcomes = []
    for spare in range(0, 512, 16):
        ballast = fill(place)
        os.truncate(ballast, max(0, ballast.stat().st_size - spare * 1024))
        outcome = project.evalsite(*words)
        ballast.unlink()
        begun = (project.root / "runs/one").is_dir()
        outcomes.append((outcome.code, begun))
        assert outcome.code == 0 or "No space left on device" in outcome.err, outcome
        if begun:
            break
        assert "runs/one" not in project.evalsite("verify").out
    assert outcomes[0] == (5, False)
    assert outcomes[-1][1]
    if outcome.code:
        assert "--resume one" in outcome.err
        project.ok("run", words[1], "--resume", "one")
    project.ok("verify")


def test_a_read_only_file_system(founded, small_disk):
    """Nothing is written and nothing is lost; verifying needs no right to write."""
    place = small_disk("size=2m")
    shutil.copytree(founded.parent, place / "copy")
    project = place / "copy" / "project"
    make_sealed_run(project)
    with reopen(project) as ledger:
        begin_run(ledger, "run-2")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    for work in (lambda: make_sealed_run(project, "run-3"), lambda: finish(project, "run-2")):
        with pytest.raises(UndecidedError, match="Read-only file system") as refused:
            work()
        assert refused.value.exit_code == 5
    assert not blamed(project)
    subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
    finish(project, "run-2")
    assert_whole(project)


def finish(project, run_id):
    with reopen(project) as ledger:
        finish_run(ledger, run_id)


def test_a_folder_that_becomes_read_only_under_a_writer(small_disk):
    place = small_disk("size=2m")
    (place / "file").write_bytes(b"old")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    with pytest.raises(UndecidedError, match="Read-only"):
        create(place / "new", b"new")
    with pytest.raises(UndecidedError, match="Read-only"):
        replace(place / "file", b"new")
    with pytest.raises(UndecidedError, match="Read-only"), lock(place / "lock"):
        pytest.fail("locked")
    assert (place / "file").read_bytes() == b"old"


def in_a_child(work):
    """Run ``work`` in a child process and return the number that it returns, 99 for anything unexpected."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        code = work()
    finally:
        os._exit(code)


def test_a_folder_without_the_right_to_write_or_read(founded, tmp_path_factory):
    """For a user who is not root: exit 5 and no change, and a folder that cannot be listed does not hold."""
    if os.geteuid():
        pytest.skip("needs root to become another user")
    place = tmp_path_factory.mktemp("rights")
    project = place / "project"
    shutil.copytree(founded.parent, place, dirs_exist_ok=True)
    make_sealed_run(project)
    try:
        os.chown(place, NOBODY, NOBODY)
    except OSError as exc:
        pytest.skip(f"needs the right to give files away, which a user namespace takes: {exc}")
    for path in place.rglob("*"):
        os.chown(path, NOBODY, NOBODY)
    (project / "runs").chmod(0o555)
    opened = [path for path in place.parents if path.is_dir() and path.stat().st_mode & 0o005 != 0o005]
    modes = {path: path.stat().st_mode for path in opened}
    for path in opened:
        path.chmod(path.stat().st_mode | 0o011)

    def write():
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            make_sealed_run(project, "run-2")
        except UndecidedError as exc:
            return exc.exit_code if "Permission denied" in exc.message else 1
        return 0

    def verify():
        os.setresuid(NOBODY, NOBODY, NOBODY)
        report = verify_project(project, pins={})
        return 4 if not report.authentic() and "tree.unreadable" in {item.code for item in report.findings()} else 0

    try:
        assert in_a_child(write) == 5
        (project / "runs" / RUN / "events").chmod(0o000)
        assert in_a_child(verify) == 4
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    (project / "runs" / RUN / "events").chmod(0o755)
    assert_whole(project)


def test_a_limit_on_the_size_of_files(founded, tmp_path):
    """RLIMIT_FSIZE makes writes short before it makes them fail."""
    outcomes = set()
    for limit in range(0, 7000, 311):
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"

        def limited(project=project, limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                make_sealed_run(project)
            except UndecidedError as exc:
                return 5 if "File too large" in exc.message else 1
            return 0

        outcomes.add(in_a_child(limited))
        assert blamed(project) == set()
        finish_or_begin(project)
        assert_whole(project)
        shutil.rmtree(tmp_path / "copy")
    assert outcomes == {0, 5}
