# SPDX-License-Identifier: Apache-2.0
"""Labels against verdicts, set by set: gate, counts, rates with their bounds, confusion, disagreements, annotators."""

from collections.abc import Iterator

from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import GateOutcome
from evalsite.schema.calibration import rate_of as rate_of_text
from evalsite.schema.corpus import EvidenceCase
from evalsite.schema.tables import AnnotatorsTable, CriterionTables, Disagreement, GateResult
from evalsite.site import parts
from evalsite.site.charts import Agreement, confusion, rates
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, num, table
from evalsite.site.names import relative
from evalsite.site.page_calibration_rates import gate_pill, name_of, rate_of, shown
from evalsite.site.page_labels import LABEL_LEVELS
from evalsite.site.views import RunView

_MAX_DISAGREEMENTS = 200
_EFFECTS = {GateOutcome.FAIL: "refuses", GateOutcome.INSUFFICIENT: "leaves it undecided"}


def gate_block(gate: GateResult, told: frozenset[str] = frozenset()) -> Html:
    """Return one gate: what it says, and every condition that does not hold.

    Args:
        gate: The gate.
        told: Codes of findings whose items stand above already.
    """
    head = el(
        "p", gate_pill(gate), text(f" {gate.criterion.value} against "), parts.foreign(gate.labels or "no labels")
    )
    pieces = [head, parts.says(sentence(gate.words))]
    reasons = []
    for reason in gate.reasons:
        items = () if reason.code in told else reason.items
        listed = join((text(" "), parts.listed(parts.foreign(item) for item in items))) if items else EMPTY
        rule = parts.quiet(f"{_EFFECTS[reason.effect]}; {reason.rule}")
        reasons.append(join((text(f"{sentence(reason.message)} "), rule, listed)))
    if reasons:
        pieces.append(bullets(reasons, css="es-reasons"))
    attempt = f"Attempt {gate.attempt} against these labels, tested at {gate.alpha}. " if gate.attempt else ""
    pieces.append(el("p", text(f"{attempt}Constants "), parts.digest(gate.constants), class_="es-quiet"))
    return el("div", *pieces, class_="es-box")


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}."


def against_labels(view: RunView) -> Html:
    """Return T1 of each criterion and set of labels."""
    found = view.calibration.criteria
    if not found:
        return parts.note(
            "No label stands beside this run: the judge's verdicts can't be compared.", title="No labels."
        )
    return join(_against(view, one) for one in found)


def _against(view: RunView, one: CriterionTables) -> Html:
    pieces = [el("h3", parts.foreign(name_of(one))), _labels(one)]
    if not one.measured:
        words = f"{sentence(one.not_measured or '')} No agreement figure is shown, since none was measured."
        pieces.append(parts.note(words, title="No agreement."))
        pieces.append(_counts(one))
        return join(pieces)
    pieces += [_counts(one), _chart(view, one), _rates(one), _confusion(one)]
    words = (
        "These labels were chosen, not drawn from production: agreement, kappa and prevalence describe them. The rates "
        "of false passes and false fails keep their meaning."
    )
    pieces.append(parts.caveat(words))
    words = "Verdicts without a score are never left out to improve a rate: the worst case counts them as wrong."
    pieces.append(parts.says(words, css="es-quiet"))
    return join(pieces)


def _labels(one: CriterionTables) -> Html:
    labels = one.labels
    alpha = labels.human_alpha or "none"
    return parts.fact_list(
        (
            ("Level", text(LABEL_LEVELS[labels.level])),
            ("Claimed level", text(labels.claimed_level.value)),
            ("Annotator", parts.foreign(labels.annotator)),
            ("Blind to the judge", text("yes" if labels.blind else "no")),
            ("Adjudicated", text("yes" if labels.adjudicated else "no")),
            ("Annotators among themselves", text(f"{labels.raters} known, Krippendorff's alpha {alpha}")),
            ("Independently reviewed by people", text("yes" if labels.independently_reviewed else "no")),
            ("Aligned on the standard first", text("yes" if labels.aligned_first else "no")),
            ("Construct version", parts.foreign(labels.construct_version)),
            ("Split", text(labels.split.value)),
            ("Labels", text(f"{labels.total}, of which {labels.undecided} could not be decided by people")),
        )
    )


def _counts(one: CriterionTables) -> Html:
    rows = []
    named = [(f"repetition {item.repetition}", item.counts) for item in one.repetitions if len(one.repetitions) > 1]
    for name, counts in (("all", one.counts), *named):
        reasons = [(why.value.replace("_", " "), count) for why, count in counts.unavailable.items() if count]
        why = parts.listed(text(f"{word}: {count}") for word, count in reasons) if reasons else parts.quiet("none")
        missing = sum(counts.unavailable.values())
        cells = (counts.labeled, counts.judged, counts.agreed, counts.false_pass, counts.false_fail, missing)
        rows.append((text(name), *(num(parts.told(cell)) for cell in cells), why))
    head = ("Verdicts", "Labelled", "Judged", "Agreed", "False pass", "False fail", "Unavailable", "Why unavailable")
    return table(tuple(map(text, head)), rows, caption=f"Counts of {name_of(one)}")


def _chart(view: RunView, one: CriterionTables) -> Html:
    lock = DEFAULT_LOCK if view.plan.calibration is None else view.plan.calibration.design_lock
    constants = lock.gate(one.criterion)
    limits = (None, None) if constants is None else (constants.false_pass_tolerance, constants.false_fail_tolerance)
    most_passes, most_fails = (None if limit is None else rate_of_text(limit) for limit in limits)
    rows = [
        rate_of("False passes", one.false_pass, limit=most_passes),
        rate_of("False fails", one.false_fail, limit=most_fails),
        rate_of("Agreement", one.agreement),
        rate_of("Agreement, worst case", one.agreement_worst),
        rate_of("Best constant answer", one.baseline),
    ]
    return rates(rows, name=f"Rates of {name_of(one)} with their bounds; the same numbers stand in the table below")


def _rates(one: CriterionTables) -> Html:
    rows = [
        ("False passes", one.false_pass, True, "a bad one was let through"),
        ("False fails", one.false_fail, True, "a good one was rejected"),
        ("Agreement", one.agreement, True, "of what was judged"),
        ("Agreement, worst case", one.agreement_worst, True, "what has no verdict counted as wrong"),
        ("Best constant answer", one.baseline, True, "what always saying the commoner value would reach"),
        ("Prevalence", one.prevalence, True, "labels that pass"),
        ("Judge's pass rate", one.judge_rate, True, "verdicts that pass"),
        ("Cohen's kappa", one.kappa, False, "secondary: depends on prevalence, no gate reads it"),
        ("Gwet's AC1", one.ac1, False, "secondary: no gate reads it"),
    ]
    cells = [(text(name), shown(figure, rate=is_rate), text(words)) for name, figure, is_rate, words in rows]
    column = one.column
    words = column.reason or ("all alike" if column.constant else "not all alike")
    said = f"{words}; {column.decided} decided, longest run of equal verdicts {column.longest_run}"
    cells.append((text("Column of verdicts"), text(said), text("a judge that always says the same is found here")))
    return table(tuple(map(text, ("Quantity", "Value", "Meaning"))), cells, caption=f"Rates of {name_of(one)}")


def _confusion(one: CriterionTables) -> Html:
    matrix = one.confusion
    if matrix.cells is None:
        return EMPTY
    cells = [
        [(count, _meaning(row, column, matrix.rows)) for column, count in enumerate(line)]
        for row, line in enumerate(matrix.cells)
    ]
    lines = zip(matrix.rows, matrix.cells, strict=True)
    rows = [(text(name), *(num(parts.number(count)) for count in line)) for name, line in lines]
    head = (text("People said"), *(text(f"judge: {name}") for name in matrix.columns))
    return join(
        (
            confusion(matrix.rows, matrix.columns, cells, name=f"People against judge, {name_of(one)}"),
            table(head, rows, caption=f"People against judge, {name_of(one)}"),
        )
    )


def _meaning(row: int, column: int, rows: tuple[str, ...]) -> Agreement:
    """Return what a cell stands for: decided values are listed from the worst on, in rows and columns alike."""
    decided = len(rows) - 1
    if row >= decided or column >= decided:
        return Agreement.NO_VERDICT
    if row == column:
        return Agreement.AGREE
    return Agreement.FALSE_PASS if column > row else Agreement.FALSE_FAIL


def disagreements(view: RunView) -> Html:
    """Return T2: every item on which judge and people differ, with the evidence that was cited (R106, R121)."""
    found = [(one, item) for one in view.calibration.criteria for item in one.disagreements]
    if not found:
        if not any(one.measured for one in view.calibration.criteria):
            return parts.says("Not stated: nothing was measured that labels could be held against.")
        return parts.says("None was found, as far as labels and verdicts stand beside each other.")
    note = "A valid structure does not show that a reason supports its score: read the cited evidence yourself."
    rows = [_disagreement(view, one, item) for one, item in found[:_MAX_DISAGREEMENTS]]
    more = len(found) - _MAX_DISAGREEMENTS
    tail = parts.says(f"{more} more are in `evalsite calibrate {view.run_id} --json`.") if more > 0 else EMPTY
    return join((parts.says(note, css="es-quiet"), join(rows), tail))


def _disagreement(view: RunView, one: CriterionTables, item: Disagreement) -> Html:
    name = parts.foreign(item.item if view.shows_cases else view.case_name(item.case_id))
    page = view.calibration_path
    linked = link(relative(view.case_path(item.case_id), page), name) if view.shows_cases else name
    said = text(f" {item.kind}: people {item.human}, judge {item.judge} ")
    pieces = [el("summary", linked, said, parts.quiet(name_of(one)))]
    if not view.shows_text:
        pieces.append(parts.withheld(view))
        return el("details", *pieces, class_="es-details es-control es-open")
    if item.reason is not None:
        pieces.append(el("p", el("strong", text("The judge's reason, untrusted: ")), parts.foreign(item.reason)))
    pieces.append(_cited(view, item))
    if item.label_note:
        pieces.append(el("p", el("strong", text("Note of the annotator: ")), parts.foreign(item.label_note)))
    if item.annotators:
        people = item.annotators.items()
        values = parts.listed(join((parts.foreign(who), text(f": {_value(value)}"))) for who, value in people)
        pieces.append(el("p", el("strong", text("Annotators: ")), values))
    return el("details", *pieces, class_="es-details es-control es-open", open_="open")


def _cited(view: RunView, item: Disagreement) -> Html:
    case = view.cases.get(item.case_id)
    if not isinstance(case, EvidenceCase):
        return EMPTY
    if not item.evidence:
        return parts.says("It cited no evidence.")
    cited = [
        el("li", el("span", text(f"[{index}] "), class_="es-index"), parts.foreign(case.evidence[index]))
        for index in item.evidence
        if index < len(case.evidence)
    ]
    of = f"Evidence that it cited, of {parts.plural(item.evidence_supplied, 'item')}:"
    return join((el("p", text(of)), el("ol", *cited, class_="es-evidence")))


def _value(value: int | None) -> str:
    return "could not decide" if value is None else str(value)


def annotators(view: RunView) -> Html:
    """Return T3: what people reach among themselves is the ceiling for a judge."""
    found = [one for one in view.calibration.criteria if one.annotators.names]
    if not found:
        return parts.says("Fewer than two annotators are known for the labels of this run: no ceiling can be stated.")
    return join(_annotators(one, one.annotators) for one in found)


def _annotators(one: CriterionTables, people: AnnotatorsTable) -> Html:
    rows = [
        (text("Ceiling: all pairs of ratings"), shown(people.ceiling), text("what people reach among themselves")),
        (text("Krippendorff's alpha"), shown(people.alpha, rate=False), text("a gate asks for the lock's least value")),
    ]
    for pair in people.pairs:
        names = join((parts.foreign(pair.first), text(" and "), parts.foreign(pair.second)))
        rows.append((names, shown(pair.agreement), text("both decided")))
    counts = people.undecided.items()
    undecided = parts.listed(join((parts.foreign(name), text(f": {count}"))) for name, count in counts)
    said = f"{people.items} items with two ratings or more, {people.adjudicated} adjudicated. Undecided: "
    return join(
        (
            el("h3", parts.foreign(name_of(one))),
            table(tuple(map(text, ("Who", "Agreement", "Meaning"))), rows, caption=f"Annotators of {name_of(one)}"),
            el("p", text(said), undecided),
        )
    )


def one_line(view: RunView) -> Iterator[Html]:
    """Yield in one sentence each how far the judge of a run can be trusted, gate by gate."""
    for one in view.calibration.criteria:
        gate = one.gate
        yield join((gate_pill(gate), text(f" {gate.criterion.value}: {gate.words}.")))
