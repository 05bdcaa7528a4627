# SPDX-License-Identifier: Apache-2.0
"""Both orders of every pair together (R97, T4; docs/reference/calibration.md). Pure.

A judge says which place is better; here that becomes which answer. An answer wins a pair only if both orders
say so: orders that contradict each other are inconsistent, which is no tie, and an order without a verdict
makes the pair unavailable.
"""

from collections.abc import Mapping

from evalsite.judging import calibrating_figures as figures
from evalsite.judging.statistics.position import Choice
from evalsite.schema.outcome import Order, Result, Status, Trial
from evalsite.schema.replies import Winner
from evalsite.schema.tables import PositionTable

#: What a label's value says of a pair.
CHOICES = {0: Choice.TIE, 1: Choice.A, 2: Choice.B}


def choice_of(trial: Trial, result: Result) -> Choice | None:
    """Return which answer a trial preferred; null without a verdict."""
    winner = result.verdict.winner if result.status is Status.JUDGED and result.verdict is not None else None
    if winner is None:
        return None
    if winner is Winner.TIE:
        return Choice.TIE
    return Choice.A if (winner is Winner.FIRST) is (trial.order is Order.AB) else Choice.B


def pairs_of(
    planned: tuple[Trial, ...], results: Mapping[Trial, Result]
) -> dict[tuple[str, int], tuple[Choice | None, Choice | None]]:
    """Return what both orders prefer, a first and b first, by case and repetition; null without a verdict."""
    found: dict[tuple[str, int], dict[Order, Choice | None]] = {}
    for trial in planned:
        if trial.order is not None:
            choice = choice_of(trial, results[trial]) if trial in results else None
            found.setdefault((trial.case_id, trial.repetition or 1), {})[trial.order] = choice
    return {key: (orders.get(Order.AB), orders.get(Order.BA)) for key, orders in found.items()}


def pairwise_table(planned: tuple[Trial, ...], results: Mapping[Trial, Result]) -> PositionTable:
    """Return T4: every planned pair in both orders, each repetition a pair of its own.

    Args:
        planned: The case trials of a plan of the pairwise protocol.
        results: What became of them; a missing one is an order without a verdict.
    """
    return figures.position(pairs_of(planned, results).values())
