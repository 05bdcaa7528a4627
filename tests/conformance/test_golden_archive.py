# SPDX-License-Identifier: Apache-2.0
"""The frozen v1 archive is verified by this version too. It must never be made anew: see tests/golden/README.md."""

import hashlib
import shutil

import pytest
from support import stranger

from evalsite.ledger.verify import verify_project
from evalsite.schema.checks import Area, Level

LEDGER, RUN = "desk", "run-1"
FINGERPRINT = "sha256:b7ce03777e46aa301501bffb6c7a2df91c202fcbc2ae923ed95f862efed5cf88"
RUN_ROOT = "sha256:0e802d38c2da4acf7493ad8ea298e444ad0a6a1422f144c0ff4691e7fee2e099"
STATEMENT = "sha256:1b424c8842d3eea13977228b4472639a33bf5439048c72a4d5245e26771414a9"
FILES = 22
DIGEST = "df9de0f8f4ac917bb49a6f1357c423254e8b64d298e1cfe2b452deeff8e8dad3"


@pytest.fixture
def archive(repository):
    return repository / "tests" / "golden" / "v1-archive"


def test_not_a_byte_of_the_archive_has_changed(archive):
    paths = sorted(path for path in archive.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(archive).as_posix()}\n" for path in paths
    ]
    assert len(lines) == FILES
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == DIGEST, "put the archive back; don't change this line"


def test_todays_verifier_accepts_it_in_every_area(archive):
    report = verify_project(archive, pins={LEDGER: FINGERPRINT})
    assert [finding.message for finding in report.findings()] == []
    assert all(report.holds(area) for area in Area)
    assert [ledger.level for ledger in report.ledgers] == [Level.A1]


def test_todays_verifier_reads_the_same_facts(archive):
    run = verify_project(archive, pins={LEDGER: FINGERPRINT}).authentic()[RUN]
    assert (run.size, run.root, run.statement_digest, run.sealed) == (5, RUN_ROOT, STATEMENT, True)
    assert run.blob(run.events[0].plan.corpus.snapshot) == b"{}"


def test_the_independent_verifier_accepts_it(archive):
    code, said = stranger.ask(archive, FINGERPRINT)
    assert code == 0, said


def test_any_changed_byte_of_any_file_is_refused(archive, tmp_path):
    """One byte in the middle of each file: integrity, for the lines and signatures as for the derived key files."""
    names = sorted(path.relative_to(archive) for path in archive.rglob("*") if path.is_file())
    for number, name in enumerate(names):
        copy = tmp_path / str(number)
        shutil.copytree(archive, copy)
        data = bytearray((copy / name).read_bytes())
        data[len(data) // 2] ^= 1
        (copy / name).write_bytes(bytes(data))
        report = verify_project(copy, pins={LEDGER: FINGERPRINT})
        assert not report.holds(Area.INTEGRITY), name
        assert stranger.ask(copy, FINGERPRINT)[0] == 4, name
