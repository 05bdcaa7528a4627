# SPDX-License-Identifier: Apache-2.0
"""Every file of a small project cut at every byte, and every byte of keys and log changed."""

import pytest
from support.ledgers import LEDGER, RUN

from evalsite.ledger.verify import check_ledgers, verify_in
from evalsite.schema.checks import Area

RUN_FOLDER = f"runs/{RUN}"
FOLDERS = (RUN_FOLDER, f"runs/log/{LEDGER}", f"runs/trust/{LEDGER}")


def names_under(project, folder):
    return sorted(path.relative_to(project).as_posix() for path in (project / folder).rglob("*") if path.is_file())


def holds(project, ledgers, name):
    """Return whether everything holds, and whether a file is named among what does not."""
    report = verify_in(project, RUN, ledgers)
    told = {finding.at for check in report.checks for finding in check.findings}
    return all(report.holds(area) for area in Area), name in told


@pytest.mark.parametrize("folder", FOLDERS)
def test_any_file_cut_at_any_byte_is_refused_and_named(project, folder):
    """Also cut to nothing; never does a shorter file hold."""
    missed = []
    before = check_ledgers(project, pins={})
    for name in names_under(project, folder):
        path = project / name
        data = path.read_bytes()
        for length in range(len(data)):
            path.write_bytes(data[:length])
            ledgers = before if folder == RUN_FOLDER else check_ledgers(project, pins={})
            whole, named = holds(project, ledgers, name)
            if whole or not named:
                missed.append((name, length))
        path.write_bytes(data)
    assert missed == []
    assert holds(project, check_ledgers(project, pins={}), "")[0]


@pytest.mark.parametrize("folder", FOLDERS[1:])
def test_any_byte_of_keys_and_log_changed_is_refused_and_named(project, folder):
    """One bit each, going round; the bytes of the run are changed in tests/property/test_ledger_flips.py."""
    missed = []
    for name in names_under(project, folder):
        path = project / name
        data = path.read_bytes()
        for offset in range(len(data)):
            path.write_bytes(data[:offset] + bytes([data[offset] ^ 1 << (offset * 3) % 8]) + data[offset + 1 :])
            checked = check_ledgers(project, pins={})[LEDGER]
            told = {finding.at for check in checked.report.checks for finding in check.findings}
            if checked.facts is not None or name not in told:
                missed.append((name, offset))
        path.write_bytes(data)
    assert missed == []
