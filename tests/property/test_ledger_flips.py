# SPDX-License-Identifier: Apache-2.0
"""One changed byte, anywhere in a small project: refused, and the file is named."""

import shutil
from pathlib import Path

import pytest
from support.ledgers import LEDGER, RUN, make_ledger, make_sealed_run

from evalsite.ledger.verify import check_ledgers, verify_in, verify_project
from evalsite.schema.checks import Area


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    project = tmp_path_factory.mktemp("flips") / "project"
    make_ledger(project)
    make_sealed_run(project)
    return project


@pytest.fixture
def copy(sealed, tmp_path):
    shutil.copytree(sealed, tmp_path / "project")
    return tmp_path / "project"


def files_under(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def named(report) -> set[str]:
    return {finding.at for check in report.checks for finding in check.findings if check.area is Area.INTEGRITY}


def test_the_untouched_run_holds(sealed):
    report = verify_in(sealed, RUN, check_ledgers(sealed, pins={}))
    assert report.run is not None
    assert report.run.sealed
    assert all(report.holds(area) for area in Area)


def test_one_flipped_bit_in_any_byte_of_the_run_is_refused_and_its_file_named(copy):
    """Every byte of every file, one bit each; the bit goes round with the offset."""
    ledgers = check_ledgers(copy, pins={})
    missed = []
    for path in files_under(copy / "runs" / RUN):
        name = path.relative_to(copy).as_posix()
        data = path.read_bytes()
        with path.open("r+b", buffering=0) as file:
            for offset in range(len(data)):
                file.seek(offset)
                file.write(bytes([data[offset] ^ 1 << (offset + len(name)) % 8]))
                report = verify_in(copy, RUN, ledgers)
                if report.run is not None or name not in named(report):
                    missed.append((name, offset))
                file.seek(offset)
                file.write(data[offset : offset + 1])
    assert missed == []
    assert verify_in(copy, RUN, ledgers).run is not None


def test_flipped_bits_in_keys_and_log_are_refused_and_their_file_named(copy):
    """Every third byte: the same codecs as for a run, so that a part is enough."""
    missed = []
    for folder in ("trust", "log"):
        for path in files_under(copy / "runs" / folder):
            name = path.relative_to(copy).as_posix()
            data = path.read_bytes()
            for offset in range(0, len(data), 3):
                path.write_bytes(data[:offset] + bytes([data[offset] ^ 1 << offset % 8]) + data[offset + 1 :])
                checked = check_ledgers(copy, pins={})[LEDGER]
                if checked.facts is not None or name not in named(checked.report):
                    missed.append((name, offset))
            path.write_bytes(data)
    assert missed == []


def test_a_byte_more_or_less_at_either_end_of_any_file_is_refused_and_named(copy):
    for path in files_under(copy / "runs"):
        name = path.relative_to(copy).as_posix()
        data = path.read_bytes()
        for changed in (data[1:], data[:-1], b"\n" + data, data + b"\n", data + b"\x00", b""):
            path.write_bytes(changed)
            report = verify_project(copy, pins={})
            assert name in {finding.at for finding in report.findings()}, (name, len(changed) - len(data))
            assert not (report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS))
        path.write_bytes(data)


def test_every_missing_file_is_told_and_named(copy):
    for path in files_under(copy / "runs"):
        name = path.relative_to(copy).as_posix()
        data = path.read_bytes()
        path.unlink()
        report = verify_project(copy, pins={})
        told = {finding.at for finding in report.findings()}
        beside = f"{path.parent.parent.relative_to(copy)}/checkpoint"  # has nothing to repeat any more
        assert name in told or (path.suffix == ".note" and beside in told), name
        assert not all(report.holds(area) for area in Area)
        path.write_bytes(data)


@pytest.mark.parametrize("name", ["extra", "events/001.jsonl", "events/x", "blobs/aa/bb", "checkpoints/9.note", "a/b"])
def test_every_extra_file_is_told_and_named(copy, name):
    path = copy / "runs" / RUN / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    report = verify_project(copy, pins={})
    assert f"runs/{RUN}/{name}" in {finding.at for finding in report.findings()}
    assert report.authentic() == {}
