# SPDX-License-Identifier: Apache-2.0
"""From two runs to their comparison (R93-R95, T7). Pure."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from evalsite.errors import UndecidedError
from evalsite.judging import comparison_power as counting
from evalsite.judging.comparability import (
    Difference,
    SeriesBreak,
    Variable,
    declarable,
    differences,
    lock_of,
    same_judge,
    series_breaks,
    undeclared,
)
from evalsite.judging.comparison import (
    CaseRow,
    Cause,
    Cell,
    Change,
    Comparison,
    McNemar,
    Pair,
    Retest,
    RunFacts,
    Tally,
)
from evalsite.judging.gates import side_of
from evalsite.judging.statistics.paired import pass_hat_k
from evalsite.judging.statistics.undefined import Undefined
from evalsite.schema.outcome import Protocol, Result, Status, Trial, VerdictFacts
from evalsite.schema.plan import Plan

_SHOWN, _NAMED = 6, 24  # differing fields in an error, with their values and by name alone


def compare(
    before: RunFacts,
    after: RunFacts,
    variable: Variable | None = None,
    *,
    alpha: Fraction = counting.ALPHA,
    power: Fraction = counting.POWER,
) -> Comparison:
    """Compare two runs.

    Args:
        before: The run that is compared with.
        after: The run under test.
        variable: The one thing that was meant to differ; null if nothing was.
        alpha: The level of the exact test.
        power: The power that the numbers of needed cases are for.

    Raises:
        UndecidedError: The configurations can't be compared; the differing fields are named (R95).
    """
    one, other = _facing(before, after), _facing(after, before)
    found = differing(before, after)
    _refuse(found, variable)
    breaks = series_breaks(one.plan, other.plan)
    left, right = one.plan.case_trials(), other.plan.case_trials()
    shared = set(left) & set(right)
    cases = _case_rows(one, other, tuple(trial for trial in left if trial in shared), breaks)
    return Comparison(
        before=before,
        after=after,
        variable=variable,
        differences=found,
        breaks=breaks,
        cases=cases,
        only_before=tuple(trial for trial in left if trial not in shared),
        only_after=tuple(trial for trial in right if trial not in shared),
        mcnemar=_mcnemar(cases, alpha, power),
        retest=_retest(one, other, shared, found),
    )


def _facing(facts: RunFacts, other: RunFacts) -> RunFacts:
    """Return a run as the run sees it that judged its answers again: once for each time that an answer was judged."""
    if other.answers_of != facts.run:
        return facts
    plan = facts.plan.model_copy(update={"repetitions": other.plan.repetitions})
    source = {
        trial: trial.model_copy(update={"repetition": other.plan.answered(trial.repetition or 1)})
        for trial in plan.case_trials()
    }
    return replace(
        facts,
        plan=plan,
        results={trial: facts.results[old] for trial, old in source.items() if old in facts.results},
        answers={trial: facts.answers[old] for trial, old in source.items() if old in facts.answers},
    )


def differing(before: RunFacts, after: RunFacts) -> tuple[Difference, ...]:
    """Return every field that differs between two runs and can change an outcome."""
    found = differences(_facing(before, after).plan, _facing(after, before).plan)
    if after.answers_of == before.run or before.answers_of == after.run:
        # One run judged the other's answers: the candidate that made them is the same, whatever a plan says of it.
        return tuple(difference for difference in found if not difference.field.startswith("candidate."))
    return found


def _refuse(found: tuple[Difference, ...], variable: Variable | None) -> None:
    differing = undeclared(found, variable)
    if not differing:
        return
    named = "; ".join(f"{one} [{one.variable or 'never declared'}]" for one in differing[:_SHOWN])
    others = [one.field for one in differing[_SHOWN : _SHOWN + _NAMED]]
    unnamed = len(differing) - _SHOWN - len(others)
    more = f"; and {', '.join(others)}" if others else ""
    more += f", and {unnamed} more" if unnamed > 0 else ""
    single = declarable(found)
    raise UndecidedError(
        f"expected runs that differ in {f'the {variable} alone' if variable else 'nothing'}, "
        f"but these fields differ: {named}{more}",
        rule="R95, T9",
        advice=f"If that is what is under test, declare it: --variable {single}."
        if single
        else "Change one thing at a time. Mode, protocol and repetitions can't be declared.",
    )


def _case_rows(
    before: RunFacts, after: RunFacts, shared: tuple[Trial, ...], breaks: tuple[SeriesBreak, ...]
) -> tuple[CaseRow, ...]:
    broken = {one.criterion for one in breaks}
    same_text = _same_cases(before.plan, after.plan)
    grouped: dict[tuple[str, str | None], list[Pair]] = {}
    for trial in shared:
        dimension = trial.dimension.value if trial.dimension else None
        is_broken = (dimension or before.plan.protocol.value) in broken
        pair = _pair(before, after, trial, same_text=trial.case_id in same_text, broken=is_broken)
        grouped.setdefault((trial.case_id, dimension), []).append(pair)
    critical = {case.case_id for plan in (before.plan, after.plan) for case in plan.cases if case.critical}
    top = max(_values(before.plan.protocol))
    return tuple(
        _case_row(case_id, dimension, tuple(pairs), critical=case_id in critical, top=top)
        for (case_id, dimension), pairs in grouped.items()
    )


def _same_cases(before: Plan, after: Plan) -> set[str]:
    known = {case.case_id: case for case in before.cases}
    return {case.case_id for case in after.cases if known.get(case.case_id) == case}


def _pair(before: RunFacts, after: RunFacts, trial: Trial, *, same_text: bool, broken: bool) -> Pair:
    left, right = (_cell(facts.results.get(trial), facts.plan) for facts in (before, after))
    cause = None
    if left.value is None or right.value is None:
        change = Change.EXCLUDED
    elif broken:
        change = Change.BREAK
    elif left.value == right.value:
        change = Change.SAME
    else:
        change = Change.UP if right.value > left.value else Change.DOWN
        if before.answers.get(trial) != after.answers.get(trial):
            cause = Cause.ANSWER
        else:
            cause = Cause.JUDGE if same_text else Cause.CASE
    return Pair(trial=trial, before=left, after=right, change=change, cause=cause)


def _values(protocol: Protocol) -> tuple[int, ...]:
    """Return the values of a protocol, worst first.

    Raises:
        UndecidedError: Its verdicts have no order, such as which answer of a pair is the better one.
    """
    values = {Protocol.BINARY: (0, 1), Protocol.EVIDENCE: (0, 1), Protocol.GRADED: (0, 1, 2)}.get(protocol)
    if values is None:
        raise UndecidedError(
            f"expected a protocol whose verdicts say better and worse, got {protocol.value}", rule="R95"
        )
    return values


def _cell(result: Result | None, plan: Plan) -> Cell:
    if result is None:
        return Cell(value=None, status="no result", side="campaign")
    value = None
    if plan.protocol is Protocol.BINARY and result.status in (Status.PASSED, Status.VIOLATION):
        value = int(result.status is Status.PASSED)
    elif result.status is Status.JUDGED and result.verdict is not None and result.verdict.score is not None:
        score = result.verdict.score
        value = lock_of(plan).bin_of(score) if plan.protocol is Protocol.GRADED else score
    return Cell(value=value, status=result.status.value, side=side_of(result) if value is None else None)


def _case_row(case_id: str, dimension: str | None, pairs: tuple[Pair, ...], *, critical: bool, top: int) -> CaseRow:
    compared = [pair for pair in pairs if pair.before.value is not None and pair.after.value is not None]
    before = _tally([pair.before for pair in compared], len(pairs), top)
    after = _tally([pair.after for pair in compared], len(pairs), top)
    if not compared:
        change = Change.EXCLUDED
    elif compared[0].change is Change.BREAK:
        change = Change.BREAK
    elif before.total == after.total:
        change = Change.SAME
    else:
        change = Change.UP if after.total > before.total else Change.DOWN
    return CaseRow(
        case_id=case_id,
        dimension=dimension,
        critical=critical,
        pairs=pairs,
        before=before,
        after=after,
        change=change,
    )


def _tally(cells: list[Cell], planned: int, top: int) -> Tally:
    values = [cell.value for cell in cells if cell.value is not None]
    passed = sum(value == top for value in values)
    every = pass_hat_k(len(values), passed, planned)
    return Tally(
        compared=len(values),
        passed=passed,
        total=sum(values),
        every=None if isinstance(every, Undefined) else every,
    )


def _mcnemar(cases: tuple[CaseRow, ...], alpha: Fraction, power: Fraction) -> McNemar:
    found = Counter(row.change for row in cases)
    down, up = found[Change.DOWN], found[Change.UP]
    compared = down + up + found[Change.SAME]
    seen = counting.Shares(worse=down / compared, better=up / compared) if down != up else None
    return McNemar(
        compared=compared,
        down=down,
        up=up,
        p=counting.exact_p(down, up),
        alpha=alpha,
        power=power,
        needed=counting.discordant_needed(min(down, up), alpha),
        cases_needed=counting.cases_needed(seen, alpha=alpha, power=power) if seen else None,
        visible=counting.least_visible(compared, alpha=alpha, power=power) if compared else None,
    )


def _retest(before: RunFacts, after: RunFacts, shared: set[Trial], found: tuple[Difference, ...]) -> Retest:
    same_text = _same_cases(before.plan, after.plan)
    asked = said = 0
    for trial in shared:
        left, right = (_verdict(facts.results.get(trial)) for facts in (before, after))
        same_question = trial.case_id in same_text and before.answers.get(trial) == after.answers.get(trial)
        if same_question and left is not None and right is not None:
            asked += 1
            said += left == right
    return Retest(asked_twice=asked, said_the_same=said, same_judge=same_judge(found))


def _verdict(result: Result | None) -> VerdictFacts | None:
    """Return the decisions of a verdict, without what it cites for them."""
    if result is None or result.verdict is None:
        return None
    return result.verdict.model_copy(update={"evidence": None})
