# SPDX-License-Identifier: Apache-2.0
"""``evalsite power``: how many cases, repetitions or labels it takes, before anything is run or labelled."""

from decimal import Decimal
from fractions import Fraction

import click

from evalsite.cli import output
from evalsite.cli.context import json_option
from evalsite.cli.reports import BoundReport, PowerReport
from evalsite.errors import InputError
from evalsite.judging import comparison_power as counting
from evalsite.judging.comparison_words import digits, percent
from evalsite.judging.statistics.binomial import gate_power, min_labels

_MOST_REPETITIONS = 5
_PLACES = 6
_LEAST_TOLERANCE = Fraction(1, 100)  # below it takes more labels than anybody gives, and long to count


def _rate(context: click.Context, param: click.Parameter, text: str | None) -> Fraction | None:
    """Return the exact value of a rate, as click's callback of an option."""
    if text is None:
        return None
    try:
        rate = Fraction(text)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(-1)
    if not 0 <= rate <= 1:
        raise click.BadParameter(f"expected a rate from 0 to 1 such as 0.05, got {text!a}", context, param)
    return rate


_alpha = click.option(
    "--alpha", callback=_rate, metavar="RATE", default="0.05", show_default=True, help="Chance of a false finding."
)


@click.group()
def power() -> None:
    """Say how many cases, repetitions or labels it takes to show something. Nothing is read or written."""


@power.command()
@click.option("--before", callback=_rate, metavar="RATE", help="Share of repetitions that pass now.")
@click.option(
    "--after",
    callback=_rate,
    metavar="RATE",
    help="Share of repetitions that pass after the change that is to be seen.",
)
@click.option("--worse", callback=_rate, metavar="RATE", help="Instead: share of cases that get worse.")
@click.option("--better", callback=_rate, metavar="RATE", help="With --worse: share of cases that get better.")
@click.option(
    "--power",
    "wanted",
    callback=_rate,
    metavar="RATE",
    default="0.8",
    show_default=True,
    help="Chance to see the difference.",
)
@_alpha
@json_option
def difference(  # noqa: PLR0913 - one name for each option
    *,
    before: Fraction | None,
    after: Fraction | None,
    worse: Fraction | None,
    better: Fraction | None,
    wanted: Fraction,
    alpha: Fraction,
    as_json: bool,
) -> None:
    """Say how many cases it takes to see a difference between two runs (exact McNemar test over cases).

    State either --before and --after, with a row for each number of repetitions, or --worse and --better.
    """
    _between("--power", wanted)
    _between("--alpha", alpha)
    rows = [
        (repetitions, shares, counting.cases_needed(shares, alpha=alpha, power=wanted))
        for repetitions, shares in _planned(before, after, worse, better)
    ]
    if as_json:
        told = [
            {"repetitions": count, "worse": _text(shares.worse), "better": _text(shares.better), "cases": cases}
            for count, shares, cases in rows
        ]
        output.say_report(
            PowerReport, {"alpha": digits(alpha, _PLACES), "power": digits(wanted, _PLACES), "rows": told}
        )
        return
    _print_difference(rows)
    output.say(f"With that many cases the difference is seen with a chance of {percent(wanted)}, at {percent(alpha)}.")
    if before is not None:
        output.say("Repetitions and runs are taken as independent and cases as alike: real corpora need fewer.")
    none = counting.discordant_needed(0, alpha)
    output.say(f"Below {none} changed cases no difference is ever seen.")


def _print_difference(rows: list[tuple[int, counting.Shares, int | None]]) -> None:
    output.say_table(
        ("repetitions", "cases that get worse", "that get better", "cases needed", "answers needed"),
        [
            (
                repetitions,
                percent(_exact(shares.worse)),
                percent(_exact(shares.better)),
                f"> {counting.MOST_CASES}" if cases is None else cases,
                "-" if cases is None else cases * repetitions,
            )
            for repetitions, shares, cases in rows
        ],
    )
    output.say()


@power.command()
@click.option(
    "--tolerance",
    callback=_rate,
    metavar="RATE",
    required=True,
    help="The rate of errors that is to be shown not to be exceeded.",
)
@click.option(
    "--true-rate",
    callback=_rate,
    metavar="RATE",
    help="The rate that you expect in truth. Default: a fifth of the tolerance.",
)
@click.option(
    "--errors", type=click.IntRange(0, 20), default=5, show_default=True, help="Up to how many errors to plan for."
)
@_alpha
@json_option
def bound(*, tolerance: Fraction, true_rate: Fraction | None, errors: int, alpha: Fraction, as_json: bool) -> None:
    """Say how many labels show that errors stay within a tolerance (exact binomial bound).

    Labels of the class in which the error can happen: labels that humans failed for false passes,
    labels that humans passed for false fails.
    """
    _between("--tolerance", tolerance, least=_LEAST_TOLERANCE)
    _between("--alpha", alpha)
    expected = tolerance / 5 if true_rate is None else true_rate
    if expected == 1:
        raise InputError("expected a true rate below 100%", at="--true-rate")
    rows = []
    for allowed in range(errors + 1):
        labels = min_labels(allowed, tolerance, alpha)
        rows.append((allowed, labels, gate_power(labels, expected, tolerance, alpha)))
    if as_json:
        output.say_report(
            BoundReport,
            {
                "tolerance": digits(tolerance, _PLACES),
                "alpha": digits(alpha, _PLACES),
                "true_rate": digits(expected, _PLACES),
                "rows": [{"errors": k, "labels": n, "power": digits(p, _PLACES)} for k, n, p in rows],
            },
        )
        return
    output.say_table(
        ("errors allowed", "labels needed", f"chance to pass at {percent(expected)} true errors"),
        [(allowed, labels, percent(chance)) for allowed, labels, chance in rows],
    )
    output.say()
    output.say(
        f"With so many labels and no more errors, a rate of at most {percent(tolerance)} is shown at {percent(alpha)}. "
        "Choose the row before labelling: going on until it fits is another test."
    )


def _planned(
    before: Fraction | None, after: Fraction | None, worse: Fraction | None, better: Fraction | None
) -> list[tuple[int, counting.Shares]]:
    if before is not None and after is not None and worse is None and better is None:
        if before == after:
            raise InputError(
                "expected two different rates", at="--after", advice="State the change that is to be seen."
            )
        each = range(1, _MOST_REPETITIONS + 1)
        return [(count, counting.shares_of(float(before), float(after), count)) for count in each]
    if before is None and after is None and worse is not None:
        shares = counting.Shares(worse=float(worse), better=float(better or 0))
        if worse == (better or 0) or worse + (better or 0) > 1:
            raise InputError(
                "expected shares that differ and are no more than all cases together", at="--worse, --better"
            )
        return [(1, shares)]
    raise InputError(
        "expected --before and --after, or --worse with --better", at="evalsite power difference", rule="one question"
    )


def _between(option: str, rate: Fraction, least: Fraction = Fraction(0)) -> None:
    if not least <= rate < 1 or not rate:
        at_least = f"of {percent(least)} at least" if least else "above 0%"
        got = Decimal(rate.numerator) * 100 / Decimal(rate.denominator)  # as it was given: 0% is not what is not 0
        raise InputError(f"expected a rate {at_least} and below 100%, got {got:.6g}%", at=option)


def _exact(share: float) -> Fraction:
    return Fraction(share).limit_denominator(10**_PLACES)


def _text(share: float) -> str:
    return digits(_exact(share), _PLACES)
