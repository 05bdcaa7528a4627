# SPDX-License-Identifier: Apache-2.0
"""The command line in process, and small projects to use it in."""

import io
import os
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from support import yaml_text

from evalsite.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What one call of the command line did."""

    code: int
    out: str
    err: str


@contextmanager
def _surroundings(folder: Path, keystore: Path):
    before_folder, before_argv, before_keys = Path.cwd(), sys.argv, os.environ.get("EVALSITE_KEYS")
    os.chdir(folder)
    os.environ["EVALSITE_KEYS"] = str(keystore)
    try:
        yield
    finally:
        os.chdir(before_folder)
        sys.argv = before_argv
        if before_keys is None:
            del os.environ["EVALSITE_KEYS"]
        else:
            os.environ["EVALSITE_KEYS"] = before_keys


@dataclass(frozen=True)
class Project:
    """A project folder with its keystore beside it."""

    root: Path
    keystore: Path

    def evalsite(self, *words: str) -> Outcome:
        """Call the command line in this project."""
        out, err = io.StringIO(), io.StringIO()
        with _surroundings(self.root, self.keystore), redirect_stdout(out), redirect_stderr(err):
            sys.argv = ["evalsite", *words]
            try:
                main()
            except SystemExit as exc:
                code = exc.code if isinstance(exc.code, int) else 1
        return Outcome(code, out.getvalue(), err.getvalue())

    def ok(self, *words: str) -> Outcome:
        """Call the command line and expect exit 0."""
        outcome = self.evalsite(*words)
        assert outcome.code == 0, (words, outcome)
        return outcome

    def campaign(self, name: str, *, corpus: str = "support-behaviors-v1", **changes: object) -> str:
        """Write a variant of the corpus's fixture campaign; return its path in the project."""
        folder = self.root / "corpora" / corpus / "campaigns"
        value = yaml_text.load(folder / "fixture.yaml") | {"name": name} | changes
        yaml_text.dump(value, folder / f"{name}.yaml")
        return f"corpora/{corpus}/campaigns/{name}.yaml"


def new_project(folder: Path, *corpora: str) -> Project:
    """Return a new project with a ledger named ``test``."""
    keystore = folder / "keys"
    outside = Project(folder, keystore)
    words = [word for corpus in corpora or ("support-behaviors-v1",) for word in ("--corpus", corpus)]
    outside.ok("init", "project", *words)
    project = Project(folder / "project", keystore)
    project.ok("keys", "init", "--ledger", "test")
    return project
