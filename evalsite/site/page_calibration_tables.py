# SPDX-License-Identifier: Apache-2.0
"""The further tables of a calibration: position, repetition, corrected rate, bins, lengths, order (T4 to T10)."""

from evalsite.schema.tables import CriterionTables, OrderRow, PositionTable, RepetitionTable
from evalsite.site import parts
from evalsite.site.charts import Moment, order, rates
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, el, join, num, table
from evalsite.site.page_calibration_rates import name_of, rate_of, shown
from evalsite.site.views import RunView

_MAX_CASES = 60


def repetition_and_position(view: RunView) -> Html:
    """Return T5, and T4 where pairs were judged in both orders."""
    report = view.calibration
    pieces = [_repetition(view, report.repetition)]
    if report.position is not None:
        pieces.insert(0, _position(report.position))
    return join(pieces)


def _position(found: PositionTable) -> Html:
    counts = [
        ("Pairs", found.pairs, "each shown in both orders"),
        ("Both orders decided", found.both_decided, ""),
        ("Unavailable", found.unavailable, "an order without a verdict is no tie"),
        ("A preferred in both", found.wins_a, ""),
        ("B preferred in both", found.wins_b, ""),
        ("Tie in both", found.ties, ""),
        ("Tie in one order only", found.half_ties, "inconsistent, and no tie"),
        ("Flips to the first place", found.flips_first, "each order prefers what stood first"),
        ("Flips to the second place", found.flips_second, "each order prefers what stood second"),
    ]
    rows = [(text(name), num(parts.number(count)), text(words)) for name, count, words in counts]
    figures = [
        ("Consistent", found.consistent, True),
        ("Share of the first place in flips", found.first_slot, True),
        ("Exact probability of so uneven a split", found.exact_p, False),
    ]
    rows += [(text(name), shown(figure, rate=rate), EMPTY) for name, figure, rate in figures]
    return join(
        (el("h3", text("Position")), table(tuple(map(text, ("Pairs", "Count", "Meaning"))), rows, caption="Position"))
    )


def _repetition(view: RunView, found: RepetitionTable) -> Html:
    pieces = [el("h3", text("Repetition")), parts.says(f"A repetition counts when {found.about}.")]
    if found.pass_power:
        rows = [(text(f"k = {row.k}"), shown(row.all_pass), shown(row.any_pass)) for row in found.pass_power]
        head = tuple(map(text, ("Repetitions", "All pass (pass^k)", "Any passes (pass@k)")))
        pieces.append(table(head, rows, caption="Repetitions"))
    uneven = [case for case in found.cases if case.case_id in found.flaky]
    if uneven:
        names = (parts.foreign(view.case_name(case.case_id)) for case in uneven[:_MAX_CASES])
        pieces.append(el("p", text("Not the same in every repetition: "), parts.listed(names)))
    else:
        pieces.append(parts.says("No case differs between repetitions.", css="es-quiet"))
    said = f"{found.retested} identical questions were put to the judge twice or more; the same verdict each time: "
    pieces.append(el("p", text(said), shown(found.unanimous)))
    return join(pieces)


def rates_and_bins(view: RunView) -> Html:
    """Return T6, T8 and T9 of each criterion."""
    found = [one for one in view.calibration.criteria if one.measured]
    if not found:
        return parts.says("Nothing was measured that could be corrected or sorted into bins.")
    return join(_rates_and_bins(one) for one in found)


def _rates_and_bins(one: CriterionTables) -> Html:
    corrected = one.corrected
    rows = [
        (text("Judge's pass rate"), shown(corrected.judged_rate), text("as the judge said it")),
        (text("Sensitivity"), shown(corrected.sensitivity), text("labels that pass, and the judge agrees")),
        (text("Specificity"), shown(corrected.specificity), text("labels that fail, and the judge agrees")),
        (text("Corrected rate"), shown(corrected.corrected), text("Rogan and Gladen, interval of Lee et al.")),
        (text("Labels alone"), shown(corrected.labels_only), text("without any judge")),
    ]
    head = tuple(map(text, ("Rate", "Value", "Meaning")))
    pieces = [el("h3", parts.foreign(name_of(one))), table(head, rows, caption=f"Corrected rate of {name_of(one)}")]
    if one.bins:
        pieces.append(_bins(one))
    if one.lengths:
        pieces.append(_lengths(one))
    return join(pieces)


def _bins(one: CriterionTables) -> Html:
    rows = []
    for row in one.bins:
        human = parts.quiet("not stated")
        if row.human is not None:
            human = parts.listed(text(f"{name}: {count}") for name, count in row.human.items())
        rows.append((text(row.bin), num(parts.number(row.judged)), human, shown(row.same)))
    chart = rates([rate_of(f"{row.bin}: people agree", row.same) for row in one.bins], name=f"Bins of {name_of(one)}")
    head = tuple(map(text, ("Judge's bin", "Judged", "People said", "Same bin")))
    return join((chart, table(head, rows, caption=f"Bins of {name_of(one)}")))


def _lengths(one: CriterionTables) -> Html:
    rows = []
    for row in one.lengths:
        missing = sum(row.counts.unavailable.values())
        span = f"{row.least_chars} to {row.most_chars} characters"
        cells = (num(parts.number(row.counts.labeled)), num(parts.number(missing)))
        rows.append((text(row.tercile), text(span), *cells, shown(row.human_top), shown(row.judge_top)))
    head = tuple(
        map(text, ("Length", "Characters", "Labelled", "Unavailable", "People: best value", "Judge: best value"))
    )
    return table(head, rows, caption=f"Lengths of {name_of(one)}")


def order_of(view: RunView) -> Html:
    """Return T10: where each step stands in the log. What is proved is order, not what happened in private."""
    found = [one for one in view.calibration.criteria if one.order]
    if not found:
        return parts.says("No labels were committed for this run: there is no order to prove.")
    limit = (
        "Positions in a signed, hash-chained log prove which came first. They do not prove that the judge was never "
        "run in private before the labels were made."
    )
    return join((*(_order(one) for one in found), parts.caveat(limit)))


def _place(row: OrderRow) -> str | None:
    if row.position is not None:
        return f"entry {row.position}"
    return None if row.event is None else f"event {row.event}"


def _order(one: CriterionTables) -> Html:
    moments = [Moment(label=row.step, place=_place(row), said=row.words) for row in one.order]
    rows = [
        (
            text(row.step),
            num(text("-") if row.position is None else parts.number(row.position)),
            num(text("-") if row.event is None else parts.number(row.event)),
            parts.foreign(row.words),
        )
        for row in one.order
    ]
    head = tuple(map(text, ("Step", "Log entry", "Event of the run", "What")))
    return join(
        (
            el("h3", parts.foreign(name_of(one))),
            order(moments, name=f"Order of {name_of(one)}"),
            table(head, rows, caption=f"Order of {name_of(one)}"),
        )
    )
