# SPDX-License-Identifier: Apache-2.0
"""From a project's folder and its verified runs to the input of a site."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from stat import S_ISREG

from evalsite import __version__
from evalsite.campaign.project import ProjectState
from evalsite.campaign.trusted import TrustedRun
from evalsite.corpus.load import load_corpus
from evalsite.decisions.adr import load_decisions
from evalsite.retention.policy import load_policy
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.site.model import PolicyInForce, SiteInput

_NOT_PUBLISHED = ("blobs", "quarantine")


def gather(project: Path, state: ProjectState, *, as_of: str) -> SiteInput:
    """Return what a site of this project says.

    Args:
        project: The folder with ``mkdocs.yml``.
        state: Its verified ledgers and runs.
        as_of: The time by which expiries are judged, UTC.

    Raises:
        InputError: A corpus, policy or decision folder is not what it claims to be.
    """
    runs = state.trusted_runs()
    folders = sorted(path for path in (project / "corpora").glob("*") if (path / "corpus.yaml").is_file())
    loaded = [load_corpus(folder) for folder in folders]
    snapshots = tuple(
        CorpusSnapshot(format="evalsite/corpus-snapshot/v1", corpus=item.corpus, label_sets=item.label_sets)
        for item in loaded
    )
    policies = tuple(
        PolicyInForce(corpus=item.corpus.name, loaded=load_policy(folder / "policy.yaml"))
        for folder, item in zip(folders, loaded, strict=True)
        if (folder / "policy.yaml").is_file()
    )
    return SiteInput(
        runs=runs,
        corpora=snapshots,
        decisions=tuple(load_decisions(project / "docs" / "decisions")),
        policies=policies,
        labels={ledger.ledger: ledger.labels for ledger in state.ledgers if ledger.labels is not None},
        record=public_record(project, runs),
        as_of=as_of,
        generator=f"evalsite {__version__}",
    )


def public_record(project: Path, runs: Iterable[TrustedRun]) -> dict[str, Callable[[], bytes]]:
    """Return the files of the record that a site offers: of verified runs and of their ledgers only.

    Blobs stay out: their bytes stand on the pages, and they double the size of a site.
    """
    folders = []
    for run in runs:
        folders += [f"runs/{run.run_id}", f"runs/trust/{run.ledger}", f"runs/log/{run.ledger}"]
    found: dict[str, Callable[[], bytes]] = {}
    for folder in sorted(set(folders)):
        for path in sorted((project / folder).rglob("*")):
            name = path.relative_to(project).as_posix()
            parts = name.split("/")
            if S_ISREG(path.lstat().st_mode) and not any(part in _NOT_PUBLISHED for part in parts):
                found[name] = partial(_read, path)
    return found


def _read(path: Path) -> bytes:
    return path.read_bytes()
