# SPDX-License-Identifier: Apache-2.0
"""A founded ledger to crash in, small file systems to fill, and salts that never repeat."""

import os
import shutil
import subprocess

import pytest
import support.ledgers
from support.ledgers import make_ledger


@pytest.fixture(autouse=True)
def new_salts(monkeypatch):
    """A run that is gone on with after a crash never repeats a salt."""
    monkeypatch.setattr(support.ledgers, "FixedSalts", lambda: lambda: os.urandom(32))


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    """A process that dies or is refused leaves the kernel's view of the files, synced or not."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(os, "fdatasync", lambda _: None)


@pytest.fixture(scope="module")
def founded(tmp_path_factory):
    """A project with a ledger and no run, which no test changes; its keystore beside it."""
    project = tmp_path_factory.mktemp("founded") / "project"
    make_ledger(project)
    return project


@pytest.fixture
def project(founded, tmp_path):
    """A copy of the founded project that a test may change."""
    shutil.copytree(founded.parent, tmp_path / "copy")
    return tmp_path / "copy" / "project"


@pytest.fixture
def small_disk(tmp_path):
    """Mount file systems of a few hundred KiB; needs root and says so where it is not there."""
    mounted = []

    def mount(options):
        place = tmp_path / f"disk-{len(mounted)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("needs the command `mount`")
        if done.returncode:
            pytest.skip(f"needs the right to mount a tmpfs: {done.stderr.strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)
