# SPDX-License-Identifier: Apache-2.0
"""Everything of one site by name: runs, corpora, cases over all runs, ledgers."""

from dataclasses import dataclass
from functools import cached_property

from evalsite.campaign.compare import compare_with_previous, previous_of
from evalsite.campaign.trusted import TrustedRun
from evalsite.canonical.digest import digest_value
from evalsite.errors import UndecidedError
from evalsite.judging.comparison import Comparison
from evalsite.ledger.labelbook import LabelBook
from evalsite.schema.checks import Level
from evalsite.schema.corpus import Case, CorpusSnapshot, DataClass
from evalsite.site.model import SiteInput
from evalsite.site.names import file_slug
from evalsite.site.profiles import ProfileState, profiles
from evalsite.site.views import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusView:
    """One corpus: as it is in the project, or as the newest run used it, with the runs over it."""

    snapshot: CorpusSnapshot
    fingerprint: str
    is_current: bool
    runs: tuple[RunView, ...]

    @property
    def name(self) -> str:
        """Return the corpus's name."""
        return self.snapshot.corpus.name

    @property
    def path(self) -> str:
        """Return the address of the corpus's page."""
        return f"corpora/{self.name}/index.html"

    @property
    def shows_text(self) -> bool:
        """Return whether texts of this corpus may be published."""
        return self.snapshot.corpus.data_class is DataClass.SYNTHETIC

    @property
    def shows_cases(self) -> bool:
        """Return whether ids of cases may be published."""
        return self.snapshot.corpus.data_class in (DataClass.SYNTHETIC, DataClass.INTERNAL)

    def case_path(self, case_id: str) -> str:
        """Return the address of a case over all runs: the same for ever."""
        return f"corpora/{self.name}/cases/{file_slug(case_id)}.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """One ledger as its runs show it."""

    name: str
    root_fingerprint: str
    level: Level
    minimum_level: Level
    runs: tuple[RunView, ...]


class Catalogue:
    """The whole input, indexed. Runs are newest first everywhere."""

    def __init__(self, given: SiteInput) -> None:
        self.given = given
        views = (RunView(run, given.labels.get(run.ledger), self._calibrated) for run in given.runs)
        self.runs = tuple(sorted(views, key=lambda view: (view.run.opened_at, view.run_id), reverse=True))
        self._compared: tuple[str, Comparison | None] = ("", None)

    def _calibrated(self, run_id: str) -> tuple[TrustedRun, LabelBook | None]:
        """Return the run that a calibration gate names, with its labels."""
        found = next((view for view in self.runs if view.run_id == run_id), None)
        if found is None:
            raise UndecidedError("expected a run that a calibration gate names", at=f"runs/{run_id}", rule="T2")
        return found.run, found.book

    @cached_property
    def _previous(self) -> dict[str, RunView]:
        by_id = {view.run_id: view for view in self.runs}
        runs = [view.run for view in self.runs]
        found = ((run.run_id, previous_of(run, runs)) for run in runs)
        return {run_id: by_id[other.run_id] for run_id, other in found if other is not None}

    def previous(self, view: RunView) -> RunView | None:
        """Return the earlier run that a run can be compared with, if there is one."""
        return self._previous.get(view.run_id)

    def comparison(self, view: RunView) -> Comparison | None:
        """Return a run beside its previous one.

        Only the last comparison is held: its pages are made one after the other, and all of them together may
        not fit into memory.
        """
        if self._compared[0] != view.run_id:
            other = self.previous(view)
            self._compared = (view.run_id, None if other is None else compare_with_previous(view.run, (other.run,)))
        return self._compared[1]

    @cached_property
    def profiles(self) -> list[ProfileState]:
        """Return the state of each profile."""
        return profiles(self.runs)

    @cached_property
    def corpora(self) -> tuple[CorpusView, ...]:
        """Return every corpus of the project and of the runs, by name."""
        current = {snapshot.corpus.name: snapshot for snapshot in self.given.corpora}
        by_run: dict[str, list[RunView]] = {}
        for view in self.runs:
            by_run.setdefault(view.plan.corpus.name, []).append(view)
        found = []
        for name in sorted({*current, *by_run}):
            runs = tuple(by_run.get(name, ()))
            snapshot = current.get(name)
            if snapshot is not None:
                fingerprint = digest_value(snapshot.plain())
            else:
                snapshot, fingerprint = runs[0].run.snapshot, runs[0].plan.corpus.fingerprint
            found.append(CorpusView(snapshot=snapshot, fingerprint=fingerprint, is_current=name in current, runs=runs))
        return tuple(found)

    @cached_property
    def ledgers(self) -> tuple[LedgerView, ...]:
        """Return every ledger that a run stands in; its level is that of its weakest run."""
        by_name: dict[tuple[str, str], list[RunView]] = {}
        for view in self.runs:
            by_name.setdefault((view.run.ledger, view.run.root_fingerprint), []).append(view)
        order = list(Level)
        return tuple(
            LedgerView(
                name=name,
                root_fingerprint=root,
                level=min((view.run.level for view in found), key=order.index),
                minimum_level=found[0].run.minimum_level,
                runs=tuple(found),
            )
            for (name, root), found in sorted(by_name.items())
        )

    def corpus(self, name: str) -> CorpusView:
        """Return a corpus by its name."""
        return next(corpus for corpus in self.corpora if corpus.name == name)

    def cases_of(self, corpus: CorpusView) -> dict[str, tuple[Case, bool]]:
        """Return every case of a corpus now or in any run, with whether it is part of it now."""
        found: dict[str, tuple[Case, bool]] = {case.id: (case, True) for case in corpus.snapshot.corpus.cases}
        for view in corpus.runs:
            for case_id in view.planned:
                if case_id in view.cases:
                    found.setdefault(case_id, (view.cases[case_id], False))
        return found

    def has_record(self, path: str) -> bool:
        """Return whether a public file of the record can be downloaded from this site."""
        return path in self.given.record
