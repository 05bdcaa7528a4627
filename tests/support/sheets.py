# SPDX-License-Identifier: Apache-2.0
"""Sheets of labels filled and committed through the command line, and runs that name them."""

import json

from evalsite.campaign.labelsheet import read_sheet, write_sheet

EVIDENCE, GRADED, BINARY = "evidence-claims-v1", "card-rules-v1", "support-behaviors-v1"
CLAIM = ("--level", "human-blind-anchored")


def fill(project, name, decide):
    """Fill a sheet's file: ``decide`` is given the number of each item in the file."""
    path = project.root / name
    sheet = read_sheet(path).sheet
    items = [item.model_copy(update={"label": decide(number)}) for number, item in enumerate(sheet.items)]
    write_sheet(path, sheet.model_copy(update={"items": tuple(items)}))


def commit(project, name, decide, *more, suffix="yaml"):
    """Make, fill and commit a sheet of the evidence corpus."""
    file = f"{name}.{suffix}"
    project.ok("label", "sheet", "--corpus", EVIDENCE, "--into", file)
    fill(project, file, decide)
    return project.ok("label", "commit", file, "--name", name, *CLAIM, *more)


def run(project, name, run_id, *, corpus=EVIDENCE, **commitments):
    """Run a fixture campaign that names labels."""
    calibration = {"commitments": commitments, "gates": []}
    return project.evalsite("run", project.campaign(name, corpus=corpus, calibration=calibration), "--run-id", run_id)


def steps(project):
    """Return how many items each step of a verification looked at, by number."""
    report = json.loads(project.ok("verify", "--json").out)
    return {check["step"]: check["checked"] for check in report["checks"]}
