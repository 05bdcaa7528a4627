# SPDX-License-Identifier: Apache-2.0
"""A comparison in sentences, the same on a terminal and on a page. Pure."""

from collections.abc import Iterator
from fractions import Fraction

from evalsite.judging.comparison import CaseRow, Cause, Cell, Change, Comparison, McNemar, Pair, refused
from evalsite.judging.comparison_power import MOST_CASES
from evalsite.schema.outcome import Mode, Protocol

_NAMED = 12  # the table above names them all
_BINS = ("low", "middle", "high")
_CAUSES = {
    Cause.ANSWER: "the candidate answered otherwise",
    Cause.JUDGE: "same answer, other verdict",
    Cause.CASE: "same answer, other text or expectation of the case",
}


def digits(value: Fraction, places: int) -> str:
    """Return a number that is not negative as decimal text, rounded half up."""
    scaled = int(value * 10**places + Fraction(1, 2))
    return f"{scaled // 10**places}.{scaled % 10**places:0{places}d}"


def p_words(p: Fraction) -> str:
    """Return a p-value with its sign: never zero, since none is."""
    return "< 0.0001" if p < Fraction(1, 10_000) else f"= {digits(p, 4)}"


def percent(value: Fraction) -> str:
    """Return a share in whole percent, or with one digit where it is none."""
    tenths = int(value * 1000 + Fraction(1, 2))
    return f"{tenths // 10}%" if tenths % 10 == 0 else f"{tenths // 10}.{tenths % 10}%"


def variable_words(comparison: Comparison) -> str:
    """Return what was under test, in words."""
    if comparison.variable is not None:
        return comparison.variable.value
    if comparison.before.answers_of == comparison.after.answers_of:
        return "none: the same configuration twice"
    return "none: the same answers, judged again by the same judge"


def fields(count: int) -> str:
    """Return how many fields differ, in words."""
    return "nothing" if not count else f"{count} field{'s' if count > 1 else ''}"


def change_words(comparison: Comparison, change: Change) -> str:
    """Return the word for a change: only a candidate gets worse, a score goes down."""
    if not comparison.has_candidate:
        return change.value
    return {Change.DOWN: "REGRESSION", Change.UP: "improvement"}.get(change, change.value)


def cell_words(cell: Cell, protocol: Protocol) -> str:
    """Return one outcome in a word: the status, the score, or the bin of a grade."""
    if cell.value is None or protocol is Protocol.BINARY:
        return cell.status if cell.side is None else f"{cell.status} ({cell.side})"
    return _BINS[cell.value] if protocol is Protocol.GRADED else str(cell.value)


def tally_words(comparison: Comparison, row: CaseRow, *, after: bool) -> str:
    """Return a case's compared repetitions in one run: passes of all, or the scores one by one."""
    protocol = comparison.before.plan.protocol
    if protocol is Protocol.BINARY:
        tally = row.after if after else row.before
        return f"{tally.passed}/{tally.compared}"
    cells = [pair.after if after else pair.before for pair in row.pairs if pair.change is not Change.EXCLUDED]
    return " ".join(cell_words(cell, protocol) for cell in cells) or "-"


def pair_words(comparison: Comparison, pair: Pair) -> str:
    """Return what happened to a pair, and where it comes from as far as bytes tell."""
    protocol = comparison.before.plan.protocol
    cause = f": {_CAUSES[pair.cause]}" if pair.cause else ""
    return f"{cell_words(pair.before, protocol)} -> {cell_words(pair.after, protocol)}{cause}"


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield everything that must be said below the table of cases."""
    yield counts(comparison)
    yield from breaks(comparison)
    yield overall(comparison)
    yield from exact_test(comparison.mcnemar, has_candidate=comparison.has_candidate)
    yield from variance(comparison)
    yield from standing(comparison)


def counts(comparison: Comparison) -> str:
    """Return how many pairs there are of each change: they add up to what both runs planned."""
    names = {Change.DOWN: "worse", Change.UP: "better"} if comparison.has_candidate else {}
    by = comparison.by_change
    parts = [f"{count} {names.get(change, change.value)}" for change, count in by.items() if count]
    unmatched = len(comparison.only_before) + len(comparison.only_after)
    rest = f"; {unmatched} more were planned in one run only" if unmatched else ""
    return f"Of {len(comparison.pairs)} pairs (case and repetition): {', '.join(parts) or 'none'}{rest}."


def breaks(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for each criterion whose series breaks (R98, R110)."""
    for one in comparison.breaks:
        yield (
            f"Series break: {one.criterion} is of construct version {one.before} before and {one.after} after. "
            "Another thing was measured: that scores differ is expected, and it is no regression. "
            "Both series stay in the record."
        )


def proportion(comparison: Comparison) -> str:
    """Return how much of what was compared passed in each run."""
    before, after, of = comparison.passed
    if not of:
        return "Overall: no pair could be compared."
    what = {Protocol.BINARY: "passed", Protocol.EVIDENCE: "scored 1"}.get(
        comparison.before.plan.protocol, "in the high bin"
    )
    return f"Overall, beside the cases: {before} of {of} {what} before, {after} of {of} after."


def overall(comparison: Comparison) -> str:
    """Return the proportion, which stands beside the cases and never instead of them (R94)."""
    before, after, of = comparison.passed
    said = proportion(comparison)
    if of and after >= before and comparison.down:
        return f"{said} It did not fall, and yet {len(comparison.down)} went down: {_names(comparison.down)}."
    return said


def _names(rows: tuple[CaseRow, ...]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row.name for row in rows[:_NAMED]) + more


def exact_test(test: McNemar, *, has_candidate: bool = True) -> Iterator[str]:
    """Yield what the exact test says, and what it would take where it decides nothing."""
    down, up = ("worse", "better") if has_candidate else ("down", "up")
    said = "no case changed" if test.p is None else f"exact McNemar p {p_words(test.p)}"
    yield f"Cases: {test.down} {down}, {test.up} {up} of {test.compared} compared; {said}."
    if test.conclusive:
        yield f"That is beyond chance at {percent(test.alpha)}."
        return
    more = test.needed - test.down - test.up
    yield (
        f"Within chance at {percent(test.alpha)}: neither a difference nor equality is shown. With "
        f"{min(test.down, test.up)} against the trend it takes {test.needed} changed cases, {more} more than here."
    )
    if test.visible is None:
        yield f"{test.compared} cases can't show any difference, were all of them to change."
    else:
        yield (
            f"{test.compared} cases show a one-way change of {percent(test.visible)} of the cases or more with "
            f"{percent(test.power)} power."
        )
    if test.down != test.up:
        needed = f"more than {MOST_CASES}" if test.cases_needed is None else f"about {test.cases_needed}"
        yield f"To see a difference like this one with {percent(test.power)} power takes {needed} cases."


def variance(comparison: Comparison) -> Iterator[str]:
    """Yield where flips come from, and how the judge did on identical questions."""
    causes = [f"{count} ({_CAUSES[cause]})" for cause, count in comparison.by_cause.items() if count]
    if causes:
        yield f"Flips: {', '.join(causes)}."
    if comparison.before.plan.mode is Mode.FIXTURE:
        return  # a fixture's judge reads the corpus: it has no variation
    retest = comparison.retest
    if not retest.asked_twice:
        yield "No question to the judge was the same in both runs: nothing is known of its own variation."
        return
    who = "the same judge (test-retest)" if retest.same_judge else "two judges"
    yield f"Of {retest.asked_twice} identical questions {who} gave {retest.said_the_same} the same verdict."


def standing(comparison: Comparison) -> Iterator[str]:
    """Yield what this comparison decides, and what it leaves as it was (R96)."""
    if comparison.before.plan.mode is Mode.FIXTURE:
        yield "Both are fixture runs: this compares code and corpus, and says nothing about a model."
    worse = comparison.regressions
    if worse:
        yield f"Regression in {len(worse)} of {len(comparison.cases)} cases: {_names(worse)}."
    if comparison.open_points:
        what = "anything else" if worse else "anything"
        yield f"Whether {what} regressed is not decided: {'; '.join(comparison.open_points)}."
    elif not worse:
        yield "No case regressed."
    after = comparison.after
    if after.answers_of:
        yield f"{after.run} judged the answers of {after.answers_of} again: it opens no gate."
    elif refused(after):
        yield f"{after.run} was refused by its own gate and stays refused: no comparison changes that."
    else:
        yield f"Whether {after.run} qualifies is decided by its own gate (`evalsite gate`), not by this comparison."
