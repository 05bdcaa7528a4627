# SPDX-License-Identifier: Apache-2.0
"""What a verification costs, as ratios of floors that were measured on the same bytes.

``python benchmarks/audit.py --records 1000000`` writes a synthetic run into a temporary folder and
measures, each in a process of its own:

* floor "hash": every line is read and hashed with SHA-256, and nothing else;
* floor "json": the same, and every line is parsed as strict JSON in one pass;
* floor "schema": the same, and every line is validated against its schema;
* ``verify --fast`` against floor "hash", and ``verify --full`` against floor "schema";
* the same with two processes; the greatest memory; the cost of a record at a tenth and a hundredth
  of the size; and what appending a record costs.

Times are CPU time, children included, except where "wall" is said. It judges nothing: a machine
that does other work at the same time gives other numbers. docs/reference/benchmarks.md holds the aims.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from synthetic import LEDGER, MIN_RECORDS, NOW, RUN, fixed_key, make_plan, make_run, shape_of

from evalsite.canonical.strictjson import parse_json
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.runcheck import How
from evalsite.ledger.runwriter import RunWriter
from evalsite.ledger.verify import verify_run
from evalsite.ledger.writer import open_ledger
from evalsite.schema.bounds import MAX_EVENT_BYTES
from evalsite.schema.checks import Area
from evalsite.schema.entries import EVENT

LEAST_COMPARED = 10_000
APPENDED = 1_000
WAYS = ("hash", "json", "schema", "fast", "full")
Numbers = dict[str, float]


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_mebibytes() -> float:
    """Return the greatest memory that this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss may count the parent's memory, from before the exec
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(found.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def floor(project: Path, way: str) -> None:
    """Read and hash every line; parse and validate it if ``way`` says so."""
    sha256, validate = hashlib.sha256, EVENT.validate_json
    for path in sorted((project / "runs" / RUN / "events").iterdir()):
        for line in path.read_bytes().splitlines():
            sha256(line).digest()
            if way != "hash":
                parse_json(line, max_bytes=MAX_EVENT_BYTES)
            if way == "schema":
                validate(line)


def verify(project: Path, *, fast: bool, workers: int) -> None:
    """Verify the run and insist that it holds."""
    report = verify_run(project, RUN, pins={}, how=How(fast=fast, workers=workers))
    findings = [finding for check in report.checks for finding in check.findings]
    if findings or not report.holds(Area.INTEGRITY) or (report.run is None) != fast:
        message = f"the synthetic run does not verify: {findings[:3]}"
        raise SystemExit(message)


def measure(project: Path, way: str, workers: int) -> Numbers:
    """Measure one way in this process."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    if way in ("fast", "full"):
        verify(project, fast=way == "fast", workers=workers)
    else:
        floor(project, way)
    return {"cpu_s": cpu_seconds() - cpu, "wall_s": time.perf_counter() - wall, "peak_mib": peak_mebibytes()}


def measure_apart(project: Path, way: str, workers: int = 1) -> Numbers:
    """Measure one way in a process of its own, whose memory is its own as well."""
    command = [sys.executable, __file__, "--measure", way, "--project", str(project), "--workers", str(workers)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    numbers: Numbers = json.loads(done.stdout)
    return numbers


def append_cost(folder: Path, records: int) -> tuple[float, float]:
    """Append records as a run does, disk and checkpoints included; return CPU milliseconds.

    Returns:
        For one record, and for storing one blob before it.
    """
    project, keystore = folder / "project", folder / "keys"
    project.mkdir(parents=True)
    found_ledger(project, keystore, LEDGER, now=NOW, make_key=fixed_key)
    with open_ledger(project, keystore, LEDGER) as ledger:
        run = ledger.create_run(RUN)
        plan = make_plan(shape_of(2 * records), run.put_blob(b'{"corpus":"bench"}'))
        run.begin(plan, now=NOW)
        cpu = cpu_seconds()
        done = _append(run, [trial.plain() for trial in plan.case_trials()[: -(-records // 2)]])
        line = (cpu_seconds() - cpu) / done
        cpu = cpu_seconds()
        blobs = max(1, records // 10)
        for number in range(blobs):
            run.put_blob(b"a reply of some length, number %d" % number * 20)
        blob = (cpu_seconds() - cpu) / blobs
    return line * 1000, blob * 1000


def _append(run: RunWriter, trials: list[dict[str, object]]) -> int:
    result = {"status": "HostError", "stage": "candidate", "error_type": "X", "detail": None}
    ending = {"candidate_call": None, "judge_call": None, "result": {**result, "answer": None, "verdict": None}}
    for trial in trials:
        run.append("trial.started", {"trial": trial, "attempt": 1}, now=NOW)
        run.append("trial.ended", {"trial": trial, "attempt": 1, **ending}, now=NOW)
    return 2 * len(trials)


def compare(folder: Path, records: int, workers: int) -> None:
    """Make the runs, measure, print."""
    sizes = sorted({size for size in (records // 100, records // 10) if size >= LEAST_COMPARED} | {records})
    cost: dict[int, dict[str, Numbers]] = {}
    for size in sizes:
        place = folder / str(size)
        place.mkdir()
        bytes_of_lines = make_run(place / "project", place / "keys", size)
        print(f"{size} records, {bytes_of_lines / 1e6:.1f} MB of lines")
        cost[size] = {way: measure_apart(place / "project", way) for way in WAYS}
        for way in WAYS:
            numbers = cost[size][way]
            each = numbers["cpu_s"] / size * 1e6
            print(f"  {way:7}{numbers['cpu_s']:9.2f} s CPU{each:9.2f} us a record{numbers['peak_mib']:8.0f} MiB")
    whole = cost[records]
    print(f"fast / hash floor        {_ratio(whole, 'fast', 'hash'):6.2f}   aim: at most 2.5")
    print(f"full / schema floor      {_ratio(whole, 'full', 'schema'):6.2f}   aim: at most 2.0")
    print(f"full / json floor        {_ratio(whole, 'full', 'json'):6.2f}")
    for way in ("fast", "full"):
        small, large = (cost[size][way]["cpu_s"] / size for size in (sizes[0], records))
        print(f"{way}: a record at {records} / at {sizes[0]}  {large / small:6.2f}   aim: about 1, linear")
    for way in ("fast", "full"):
        more = measure_apart(folder / str(records) / "project", way, workers)
        share = more["wall_s"] / whole[way]["wall_s"]
        print(f"{way}: wall with {workers} processes / 1  {share:6.2f}   aim: little more than {1 / workers:.2f}")
        print(f"{way}: peak memory, one process    {whole[way]['peak_mib']:6.0f} MiB   aim: below 200 at a million")


def _ratio(cost: dict[str, Numbers], way: str, below: str) -> float:
    return cost[way]["cpu_s"] / cost[below]["cpu_s"]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure the verification of a synthetic run.")
    parser.add_argument("--records", type=int, default=100_000, help=f"events in the run, at least {MIN_RECORDS}")
    parser.add_argument("--workers", type=int, default=2, help="processes of the parallel measurement")
    parser.add_argument("--into", type=Path, help="a folder for the run instead of a temporary one; it is kept")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--project", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.project, options.measure, options.workers)))
        return
    if options.records < MIN_RECORDS:
        parser.error(f"expected at least {MIN_RECORDS} records, found {options.records}")
    with tempfile.TemporaryDirectory(prefix="evalsite-benchmark-") as temporary:
        folder = options.into or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        compare(folder, options.records, options.workers)
        line, blob = append_cost(folder / "append", min(APPENDED, max(options.records, MIN_RECORDS)))
        print(f"append a record          {line:6.3f} ms CPU   aim: at most 1")
        print(f"store a blob             {blob:6.3f} ms CPU")


if __name__ == "__main__":
    main()
