# SPDX-License-Identifier: Apache-2.0
"""A run beside its previous one, as pages may say it: the headline, marks of changes, names that may be shown."""

from dataclasses import dataclass, replace

from evalsite.campaign.trusted import TrialRecord
from evalsite.judging import comparison_words as words
from evalsite.judging.comparability import Difference, Variable
from evalsite.judging.comparison import CaseRow, Change, Comparison, Outcome, Pair
from evalsite.schema.outcome import Protocol
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join, link
from evalsite.site.marks import Mark, pill
from evalsite.site.names import relative
from evalsite.site.views import RunView

_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A comparison with the views of both runs."""

    comparison: Comparison
    before: RunView
    after: RunView

    @property
    def shows_cases(self) -> bool:
        """Return whether ids of cases of both runs may be published."""
        return self.before.shows_cases and self.after.shows_cases

    @property
    def shows_text(self) -> bool:
        """Return whether texts of both runs, and digests of them, may be published."""
        return self.before.shows_text and self.after.shows_text

    def name(self, row: CaseRow) -> str:
        """Return the name of a case and its dimension, or its number where ids are withheld."""
        return self._renamed(row).name

    def _renamed(self, row: CaseRow) -> CaseRow:
        return row if self.shows_cases else replace(row, case_id=_number(self.after, row.case_id))

    @property
    def said(self) -> Comparison:
        """Return the comparison for sentences: with no name of a case that must not be published."""
        cases = tuple(self._renamed(row) for row in self.comparison.cases)
        return self.comparison if self.shows_cases else replace(self.comparison, cases=cases)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Return the fields that differ; texts of cases as one line where their digests are withheld."""
        found = self.comparison.differences
        if self.shows_text:
            return found
        kept = tuple(one for one in found if one.variable is not Variable.CORPUS_TEXT)
        if len(kept) == len(found):
            return found
        withheld = Difference(
            field=f"cases: {words.fields(len(found) - len(kept))}",
            before="withheld",
            after="withheld",
            variable=Variable.CORPUS_TEXT,
        )
        return (*kept, withheld)

    def record_before(self, pair: Pair) -> TrialRecord | None:
        """Return what the earlier run recorded of a pair: of the answer itself, where it was judged again."""
        trial = pair.trial
        if self.comparison.after.answers_of == self.comparison.before.run:
            source = self.after.plan.answered(trial.repetition or 1)
            trial = trial.model_copy(update={"repetition": source})
        return self.before.by_trial.get(trial)

    def record_after(self, pair: Pair) -> TrialRecord | None:
        """Return what the later run recorded of a pair."""
        return self.after.by_trial.get(pair.trial)

    @property
    def mark(self) -> Mark:
        """Return what the comparison comes to."""
        if not self.comparison.has_candidate:
            return marks.JUDGE_MOVED
        return _OUTCOMES[self.comparison.outcome]

    def change(self, change: Change) -> Mark:
        """Return the mark of a change: only a candidate gets worse, a score goes down."""
        if not self.comparison.has_candidate:
            return {Change.DOWN: marks.LOWER, Change.UP: marks.HIGHER}.get(change, _CHANGES[change])
        return _CHANGES[change]

    @property
    def headline(self) -> str:
        """Return the verdict in one sentence: what got worse comes first, and no gain stands beside it (R94)."""
        compared = self.comparison
        if compared.regressions:
            count = len(compared.regressions)
            said = ", ".join(self._fell(row) for row in compared.regressions[:_NAMED])
            more = f" and {count - _NAMED} more" if count > _NAMED else ""
            return f"{parts.plural(count, 'case')} regressed: {said}{more}."
        of = parts.plural(compared.mcnemar.compared, "question" if _by_dimension(compared) else "case")
        if not compared.mcnemar.compared:
            return "Nothing could be compared."
        if not compared.has_candidate:
            if not compared.down and not compared.up:
                return f"The judge went neither down nor up on any of {of} compared."
            return f"The judge went down on {len(compared.down)} and up on {len(compared.up)} of {of} compared."
        if compared.open_points:
            return f"No case is seen to have regressed among {of} compared, and not all is known."
        return f"No case regressed: {of} compared."

    def _fell(self, row: CaseRow) -> str:
        before, after = (words.tally_words(self.comparison, row, after=after) for after in (False, True))
        return f"{self.name(row)} ({before} before, {after} after)"


def _number(view: RunView, case_id: str) -> str:
    return f"case {list(view.planned).index(case_id) + 1}"


def _by_dimension(compared: Comparison) -> bool:
    return compared.before.plan.protocol is Protocol.GRADED


def beside(catalogue: Catalogue, view: RunView) -> Beside | None:
    """Return a run beside its previous one, if there is one."""
    before, compared = catalogue.previous(view), catalogue.comparison(view)
    if before is None or compared is None:
        return None
    return Beside(comparison=compared, before=before, after=view)


def changed_line(found: Beside, page: str) -> Html:
    """Return in one line what changed since the previous run, with links to it and to the comparison."""
    more = link(relative(found.after.comparison_path, page), text("See every pair"), css="es-more")
    before = link(relative(found.before.path, page), parts.foreign(found.before.run_id))
    return join((pill(found.mark), text(f" {found.headline} Compared with "), before, text(". "), el("span", more)))


_OUTCOMES = {
    Outcome.REGRESSED: marks.REGRESSED,
    Outcome.HOLDS: marks.NOT_REGRESSED,
    Outcome.UNDECIDED: marks.REGRESSION_OPEN,
}
_CHANGES = {
    Change.SAME: marks.SAME,
    Change.DOWN: marks.WORSE,
    Change.UP: marks.BETTER,
    Change.EXCLUDED: marks.EXCLUDED,
    Change.BREAK: marks.SERIES_BREAK,
}
