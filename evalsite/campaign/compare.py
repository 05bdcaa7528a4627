# SPDX-License-Identifier: Apache-2.0
"""From trusted runs to comparisons: sealed and verified runs only, answers told apart by their bytes."""

from collections.abc import Iterable
from dataclasses import replace

from evalsite.campaign.trusted import TrialRecord, TrustedRun
from evalsite.canonical.digest import digest_bytes
from evalsite.endpoint.content import reply_content
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.comparability import declarable
from evalsite.judging.comparing import compare, differing
from evalsite.judging.comparison import Comparison, RunFacts
from evalsite.schema.outcome import Protocol


def run_facts(run: TrustedRun) -> RunFacts:
    """Return what a comparison reads of a run.

    Raises:
        UndecidedError: The run is open: whatever it says can still change.
    """
    if not run.sealed:
        raise UndecidedError(
            "expected a sealed run, this one is open",
            at=f"runs/{run.run_id}",
            rule="R93",
            advice=f"Finish it with `evalsite run --resume {run.run_id}`.",
        )
    answers = {record.trial: digest for record in run.cases if (digest := _answer_digest(run, record)) is not None}
    return replace(_without_answers(run), answers=answers)


def compare_with_previous(run: TrustedRun, others: Iterable[TrustedRun]) -> Comparison | None:
    """Compare a run with the one that `previous_of` finds; null where there is none."""
    other = previous_of(run, others)
    if other is None:
        return None
    before, after = run_facts(other), run_facts(run)
    return compare(before, after, declarable(differing(before, after)))


def previous_of(run: TrustedRun, others: Iterable[TrustedRun]) -> TrustedRun | None:
    """Return the newest earlier run that a run can be compared with, from plans alone.

    That is a sealed run of the same profile and corpus that differs in nothing or in one variable; for a run
    that judged answers again it is the run that they are of. Nobody declared that variable before: the
    reader must be told that it was found. Which answer of a pair is better is no better or worse over time,
    so that pairs have no previous run.
    """
    if not run.sealed or run.plan.protocol is Protocol.PAIRWISE:
        return None
    after = _without_answers(run)
    earlier = (other for other in others if _is_before(other, run))
    for other in sorted(earlier, key=lambda one: (one.opened_at, one.run_id), reverse=True):
        found = differing(_without_answers(other), after)
        if not found or declarable(found) is not None:
            return other
    return None


def _is_before(other: TrustedRun, run: TrustedRun) -> bool:
    if not other.sealed or other.opened_at >= run.opened_at:
        return False
    if run.plan.answers is not None:
        return other.run_id == run.plan.answers.run
    same_series = (other.plan.profile, other.plan.corpus.name) == (run.plan.profile, run.plan.corpus.name)
    return same_series and other.plan.answers is None


def _without_answers(run: TrustedRun) -> RunFacts:
    return RunFacts(
        run=run.run_id,
        plan=run.plan,
        opened_at=run.opened_at,
        results={record.trial: record.result for record in run.cases},
        answers={},
        decision=run.decision,
    )


def _answer_digest(run: TrustedRun, record: TrialRecord) -> str | None:
    """Return the digest of the exact content that the candidate gave: a body's times and counters are no answer."""
    call = record.candidate_call
    if call is None or call.reply is None:
        return None
    raw = run.blob(call.reply)
    try:
        content = reply_content(raw, call.reply_format)
    except InputError:
        return digest_bytes(raw)  # no content can be told from its body
    return digest_bytes(content.encode("utf-8", errors="surrogatepass"))
