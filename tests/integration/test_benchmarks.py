# SPDX-License-Identifier: Apache-2.0
"""The benchmark runs and prints its ratios; how large they are is for nobody's test to say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AUDIT = ROOT / "benchmarks" / "audit.py"
RATIOS = ("fast / hash floor", "full / schema floor", "append a record", "store a blob")


def run(*arguments):
    command = [sys.executable, "-W", "error", str(AUDIT), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_audit_benchmark_prints_its_ratios(tmp_path):
    done = run("--records", "100", "--into", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    for name in RATIOS:
        assert re.search(rf"^{re.escape(name)} +[0-9]+\.[0-9]+", done.stdout, re.MULTILINE), name
    assert len(re.findall("wall with 2 processes", done.stdout)) == 2
    assert (tmp_path / "kept" / "100" / "project" / "runs" / "long-run" / "statement.dsse.json").is_file()


@pytest.mark.parametrize("records", ["31"])
def test_too_few_records_are_refused(records):
    done = run("--records", records)
    assert done.returncode != 0
    assert "at least 32" in done.stderr
    assert "Traceback" not in done.stderr
