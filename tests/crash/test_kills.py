# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, and several writers at once: nothing signed is lost, nothing is mixed up."""

import os
import random
import shutil
import signal
import time

from support.crashes import assert_whole, finish_or_begin
from support.ledgers import begin_run, finish_run, make_sealed_run, reopen

from evalsite.errors import InputError
from evalsite.ledger.verify import verify_project
from evalsite.schema.entries import RunResumed

KILLS = 200
RUNS_FOR_EACH_COPY = 10


def killed_at_random(project, run_id, chance):
    """Write a run in a child that is killed after a random time; return whether the kill came first."""
    child = os.fork()
    if not child:
        code = 1
        try:
            make_sealed_run(project, run_id, repetitions=2)
            code = 0
        finally:
            os._exit(code)
    time.sleep(chance.uniform(0, 0.05))
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in {0, -signal.SIGKILL}
    return code != 0


def signed_lines(project, run_id):
    """Return the lines that a note of the run covers, as they stand on disk."""
    folder = project / "runs" / run_id
    sizes = [int(path.stem) for path in folder.glob("checkpoints/*.note")]
    if not sizes:
        return []
    return (folder / "events" / "000.jsonl").read_bytes().splitlines()[: max(sizes)]


def test_kill_9_two_hundred_times(founded, tmp_path):
    """The child is killed at random; the next process finishes the run; all runs of a copy are verified together."""
    seed = time.time_ns()
    print(f"seed {seed}")  # shown when something fails
    chance = random.Random(seed)  # noqa: S311 - no secret
    killed, stages = 0, set()
    copies = 0
    while killed < KILLS:
        project = tmp_path / f"copy-{copies}" / "project"
        shutil.copytree(founded.parent, project.parent)
        copies += 1
        for number in range(RUNS_FOR_EACH_COPY):
            run_id = f"run-{number}"
            killed += killed_at_random(project, run_id, chance)
            before = signed_lines(project, run_id)
            stages.add(len(before))
            finish_or_begin(project, run_id, repetitions=2)
            after = (project / "runs" / run_id / "events" / "000.jsonl").read_bytes().splitlines()
            assert after[: len(before)] == before
        runs = assert_whole(project).authentic()
        assert len(runs) == RUNS_FOR_EACH_COPY
        assert all(run.sealed for run in runs.values())
        shutil.rmtree(project.parent)
        assert copies < KILLS, "nearly every child was done before its kill"
    assert len(stages) > 1, "the kills came at one stage only"


def test_several_writers_at_once_wait_for_each_other_and_mix_nothing(project):
    """Each process asks until it has the lock; every run of every process is there and holds."""
    children = []
    for writer in range(3):
        child = os.fork()
        if not child:
            code = 1
            try:
                for number in range(4):
                    insist(project, f"run-{writer}-{number}")
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0, 0]
    report = assert_whole(project)
    assert sorted(report.authentic()) == [f"run-{writer}-{number}" for writer in range(3) for number in range(4)]


def insist(project, run_id):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            make_sealed_run(project, run_id, repetitions=2)
        except InputError as exc:
            if "only writer" not in exc.message:
                raise
            time.sleep(0.01)
        else:
            return
    raise TimeoutError


def test_a_killed_writer_leaves_no_lock_and_the_next_one_tells_what_it_found(project):
    ready, started = os.pipe()
    child = os.fork()
    if not child:
        with reopen(project) as ledger:
            begin_run(ledger)
            os.write(started, b"x")
            time.sleep(60)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    os.close(started)
    with reopen(project) as ledger:
        finish_run(ledger)
    events = next(iter(verify_project(project, pins={}).authentic().values())).events
    assert [event.kept for event in events if isinstance(event, RunResumed)] == [1]
