# SPDX-License-Identifier: Apache-2.0
"""A git tag whose message is a checkpoint: made by git itself, signed if git is set up to sign."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from evalsite.errors import InputError, UndecidedError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_TIMEOUT_S = 120  # a signer may ask for a passphrase


def make_tag(project: Path, name: str, note: bytes) -> tuple[str, bytes]:
    """Return the id and the raw object of the annotated tag ``name``, which is made unless it exists.

    Raises:
        InputError: Not a tag's name, or no annotated tag.
        UndecidedError: git is not there, or refused.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise InputError("expected a tag name of letters, digits, '.', '_', '-' and '/'", at="--git-tag")
    git = shutil.which("git")
    if git is None:
        raise UndecidedError("expected git, found none", at="--git-tag")
    ref = f"refs/tags/{name}"
    if _run(git, project, "rev-parse", "--verify", "--quiet", ref).returncode:
        signed = _run(git, project, "config", "--get", "user.signingkey").returncode == 0
        kind = "--sign" if signed else "--annotate"
        _must(_run(git, project, "tag", kind, "--cleanup=verbatim", "--file=-", name, given=note))
    object_id = _must(_run(git, project, "rev-parse", "--verify", ref)).decode().strip()
    kind_of = _must(_run(git, project, "cat-file", "-t", object_id)).decode().strip()
    if kind_of != "tag":
        raise InputError(f"expected an annotated tag, found a {kind_of}", at="--git-tag")
    return object_id, _must(_run(git, project, "cat-file", "tag", object_id))


def _run(git: str, project: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(  # noqa: S603 - git, found on the path, with words of our own and a checked name
        [git, "-C", str(project), *words],
        input=given,
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
        env=environment,
    )


def _must(done: subprocess.CompletedProcess[bytes]) -> bytes:
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise UndecidedError(f"git refused: {lines[-1][:200]}", at="--git-tag")
    return done.stdout
