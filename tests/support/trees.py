# SPDX-License-Identifier: Apache-2.0
"""What a forger does to the lines and checkpoints of a tree: relink, and sign anew with some key."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from support.ledgers import LEDGER, RUN, fixed_key

from evalsite.canonical.jcs import canonical_bytes
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.merkle import Frontier, leaf_hash

RUN_TREE = (f"runs/{RUN}", "events", f"{LEDGER}/run/{RUN}")
LOG_TREE = (f"runs/log/{LEDGER}", "entries", f"{LEDGER}/log")


def relink(lines: Iterable[bytes]) -> bytes:
    """Return lines with ``seq`` and ``prev`` made to fit, each with its newline."""
    linked: list[bytes] = []
    prev = None
    for seq, line in enumerate(lines):
        linked.append(canonical_bytes({**json.loads(line), "seq": seq, "prev": prev}))
        prev = f"sha256:{leaf_hash(linked[-1]).hex()}"
    return b"".join(line + b"\n" for line in linked)


def sign_tree(project: Path, tree: tuple[str, str, str] = RUN_TREE, *, signer: Signer | None = None) -> None:
    """Sign whatever lines stand there now: a note for every size that had one, and for every later one."""
    folder, kind, origin = tree
    lines = (project / folder / kind / "000.jsonl").read_bytes().splitlines()
    notes = project / folder / "checkpoints"
    kept = {int(path.stem) for path in notes.iterdir()}
    shutil.rmtree(notes)
    notes.mkdir()
    frontier = Frontier()
    for line in lines:
        frontier.append(leaf_hash(line))
        if frontier.size in kept or frontier.size > max(kept, default=0) or frontier.size == len(lines):
            checkpoint = Checkpoint(origin, frontier.size, frontier.root())
            note = sign_checkpoint(checkpoint, f"{LEDGER}/log", signer or fixed_key("log"))
            (notes / f"{frontier.size}.note").write_bytes(note)
            (project / folder / "checkpoint").write_bytes(note)


def rewrite(
    project: Path,
    change: Callable[[list[bytes]], list[bytes]],
    *,
    tree: tuple[str, str, str] = RUN_TREE,
    linked: bool = True,
    signer: Signer | None = None,
) -> None:
    """Change a tree's lines, and, as asked, relink them and sign them again."""
    folder, kind, _ = tree
    path = project / folder / kind / "000.jsonl"
    lines = change(path.read_bytes().splitlines())
    path.write_bytes(relink(lines) if linked else b"".join(line + b"\n" for line in lines))
    if signer is not None:
        sign_tree(project, tree, signer=signer)
