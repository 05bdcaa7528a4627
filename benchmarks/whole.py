# SPDX-License-Identifier: Apache-2.0
"""What ``evalsite verify`` costs as a whole, facts included, and how much memory it needs.

``python benchmarks/whole.py --records 1000000`` records a campaign of one repetition with the real
runner, writes it again with as many repetitions as it takes, and measures in processes of their own:

* floor "read": every line, and every blob as often as an event names it, is read, hashed with SHA-256
  and parsed as strict JSON; every line is validated against its schema;
* ``evalsite verify`` in full, with one process and with several, and in fast.

Times are CPU time, children included, except where "wall" is said. It judges nothing.
"""

import argparse
import asyncio
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from synthetic import LEDGER, NOW, RUN, fixed_key, repeat_run

from evalsite.campaign.execute import Clock
from evalsite.campaign.session import Host, start_run
from evalsite.canonical.strictjson import parse_json
from evalsite.corpus.load import load_campaign
from evalsite.errors import InputError
from evalsite.ledger.blob import unpack_blob
from evalsite.ledger.founding import found_ledger
from evalsite.ledger.layout import blob_name, run_folder
from evalsite.ledger.writer import open_ledger
from evalsite.schema.bounds import MAX_EVENT_BYTES, MAX_REPETITIONS
from evalsite.schema.entries import EVENT, CallRecorded
from evalsite.yamltext import parse_yaml

CORPUS = Path(__file__).parents[1] / "corpora" / "support-behaviors-v1" / "corpus.yaml"
EVENTS_PER_TRIAL = 4
WAYS = ("read", "fast", "full")
#: A small process that starts the measured one: its memory is counted with it until it runs.
_LAUNCHER = """
import json, os, subprocess, sys, time
wall = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
code, wall = os.waitstatus_to_exitcode(status), time.perf_counter() - wall
print(json.dumps([code, used.ru_utime + used.ru_stime, wall, used.ru_maxrss]))
"""


def make_project(folder: Path, records: int) -> Path:
    """Write a project with one sealed run of about ``records`` events; return its folder."""
    repetitions = min(MAX_REPETITIONS, max(1, records // EVENTS_PER_TRIAL // 8))
    corpus = _corpus(max(1, records // EVENTS_PER_TRIAL // repetitions))
    source = folder / "source"
    place = source / "corpora" / "bench"
    (place / "campaigns").mkdir(parents=True)
    (place / "corpus.yaml").write_text(json.dumps(corpus), "utf-8")
    campaign = {
        "format": "evalsite/campaign/v1",
        "name": "fixture",
        "title": "A benchmark",
        "profile": "bench",
        "purpose": "Measure the verification.",
        "repetitions": 1,
        "cases": None,
        "candidate": {"endpoint": {"kind": "fixture"}},
        "judge": {"endpoint": {"kind": "fixture"}},
    }
    (place / "campaigns" / "fixture.yaml").write_text(json.dumps(campaign), "utf-8")
    found_ledger(source, folder / "source-keys", LEDGER, now=NOW, make_key=fixed_key)
    host = Host(clock=Clock(now=lambda: NOW, elapsed_ms=lambda: 0), watch=lambda _: None, load_run=_no_run)
    with open_ledger(source, folder / "source-keys", LEDGER) as ledger:
        asyncio.run(start_run(ledger, load_campaign(place / "campaigns" / "fixture.yaml"), "one", host))
    size = repeat_run(source / run_folder("one"), folder / "project", folder / "keys", repetitions)
    (folder / "project" / "mkdocs.yml").write_text("site_name: benchmark\n")
    print(f"{size} records: {len(corpus['cases'])} cases, {repetitions} repetitions")
    return folder / "project"


def _corpus(cases: int) -> dict[str, list[dict[str, object]]]:
    corpus: dict[str, list[dict[str, object]]] = parse_yaml(
        CORPUS.read_bytes(), name=CORPUS.name, max_bytes=MAX_EVENT_BYTES
    ).value
    pattern = corpus["cases"]
    corpus["cases"] = [
        {**case, "id": f"{case['id'][:40]}-{number}", "title": f"{case['title'][:200]} {number}"}
        for number in range(cases)
        for case in [pattern[number % len(pattern)]]
    ]
    return {**corpus, "name": "bench"}


def _no_run(run_id: str) -> None:
    raise InputError(f"expected no earlier run, asked for {run_id}")


def floor(project: Path) -> None:
    """Read, hash, parse and validate the same bytes, and compare nothing."""
    run = project / run_folder(RUN)
    for path in sorted((run / "events").iterdir()):
        for line in path.read_bytes().splitlines():
            hashlib.sha256(line).digest()
            parse_json(line, max_bytes=MAX_EVENT_BYTES)
            event = EVENT.validate_json(line)
            if isinstance(event, CallRecorded):
                for digest in (event.call.request, event.call.reply):
                    if digest is not None:
                        data = (run / blob_name(digest)).read_bytes()
                        hashlib.sha256(data).digest()
                        parse_json(unpack_blob(data), max_bytes=MAX_EVENT_BYTES)


def measure(project: Path, way: str, workers: int) -> dict[str, float]:
    """Measure one way in a process of its own; memory is that of its greatest process."""
    command = [sys.executable, __file__, "--floor-of", str(project)]
    if way != "read":
        command = [sys.executable, "-m", "evalsite", "verify", RUN, f"--{way}", "--workers", str(workers), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *command], cwd=project, check=True, stdout=subprocess.PIPE, text=True
    )
    code, cpu, wall, peak = json.loads(done.stdout.splitlines()[-1])
    if code not in {0, 5}:  # 5: nobody vouches for the keys of a benchmark
        message = f"{way} ended with the exit code {code}"
        raise SystemExit(message)
    return {"cpu_s": cpu, "wall_s": wall, "peak_mib": peak / 1024}


def compare(project: Path, workers: int) -> None:
    """Measure each way and print ratios."""
    cost = {
        (way, count): measure(project, way, count) for way in WAYS for count in {1, workers if way != "read" else 1}
    }
    for (way, count), numbers in cost.items():
        print(f"  {way:5}{count:3} process(es)  {numbers['cpu_s']:8.2f} s CPU  {numbers['wall_s']:8.2f} s wall", end="")
        print(f"  {numbers['peak_mib']:6.0f} MiB")
    print(f"full / read floor         {cost['full', 1]['cpu_s'] / cost['read', 1]['cpu_s']:6.2f}   aim: about 2")
    for way in ("fast", "full"):
        share = cost[way, workers]["wall_s"] / cost[way, 1]["wall_s"]
        print(f"{way}: wall with {workers} processes / 1   {share:6.2f}   aim: little more than {1 / workers:.2f}")
    print(f"full: peak memory         {cost['full', 1]['peak_mib']:6.0f} MiB   aim: below 200 at a million records")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure `evalsite verify` on a synthetic run.")
    parser.add_argument("--records", type=int, default=20_000, help="events in the run, about")
    parser.add_argument("--workers", type=int, default=2, help="processes of the parallel measurement")
    parser.add_argument("--into", type=Path, help="a folder for the run instead of a temporary one; it is kept")
    parser.add_argument("--floor-of", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.floor_of:
        floor(options.floor_of)
        return
    with tempfile.TemporaryDirectory(prefix="evalsite-benchmark-") as temporary:
        folder = options.into or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        compare(make_project(folder, options.records), options.workers)


if __name__ == "__main__":
    main()
