# SPDX-License-Identifier: Apache-2.0
"""The verdict of a run in words, for every page that states it: by whose side it was refused, and what is open."""

from collections.abc import Iterator

from evalsite.schema.calibration import GateOutcome
from evalsite.schema.outcome import Mode, Protocol
from evalsite.schema.tables import GateResult, Standing
from evalsite.site import marks, parts
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, join, link
from evalsite.site.names import relative
from evalsite.site.page_calibration_labels import one_line
from evalsite.site.page_calibration_rates import gate_pill
from evalsite.site.views import RunView

_SIDES = (("candidate", "candidate's"), ("judge", "judge's"), ("campaign", "campaign's"), ("host", "host's"))


def verdict_sentence(view: RunView) -> str:
    """Return the verdict in one sentence, by whose side it was refused."""
    counts = view.counts
    if view.state is marks.QUALIFIED:
        gates = view.qualification.gates
        calibrated = f", and {parts.plural(len(gates), 'calibration gate')} passed" if gates else ""
        every = f"All {counts.planned} planned trials passed and every control was classified as expected{calibrated}."
        return every + view.left_out
    if view.state is marks.FIXTURE_PASSED:
        how = "ended as the corpus expects" if view.is_binary else "have a valid verdict"
        return f"All {counts.planned} planned trials {how}. No model was asked.{view.left_out}"
    if view.state is marks.NO_GATE:
        judged = "passed" if view.is_binary else "have a verdict of the judge"
        return f"{counts.passed} of {counts.planned} planned trials {judged}. Nothing is qualified by it."
    if view.state is marks.CALIBRATION_PASSED:
        passed = parts.plural(len(view.qualification.gates), "calibration gate")
        return f"{passed} of the plan passed over {counts.planned} planned trials. No candidate is qualified by it."
    if view.state is marks.UNDECIDED:
        return _undecided(view)
    return _refused(view)


def _undecided(view: RunView) -> str:
    counts = view.counts
    if not view.run.sealed or counts.missing:
        return f"Not decided: {counts.attempted} of {counts.planned} planned trials have a result."
    if view.not_on_site:
        return f"Not decided: a calibration gate names {view.not_on_site}, which is not on this site."
    open_ = [gate for gate in view.qualification.gates if gate.outcome is not GateOutcome.PASS]
    if open_:
        passed = "every trial and every control passed, but " if view.is_binary else ""
        return f"Not decided: {passed}{' and '.join(map(_open_gate, open_))}."
    return "Not decided: the gate's conditions hold, but the evidence is weaker than the ledger's own policy asks for."


def _open_gate(gate: GateResult) -> str:
    standing = gate.standing.value if gate.standing in (Standing.STALE, Standing.INVALID) else "open"
    return f"the calibration gate of {gate.criterion.value} verdicts is {standing}"


def verdict_note(view: RunView) -> str:
    """Return what the verdict means, below its sentence."""
    if view.state is marks.UNDECIDED:
        return "It qualifies nothing and refuses nothing until that is decided."
    return view.state.meaning


def _refused(view: RunView) -> str:
    sides = [
        parts.plural(len(found), f"condition on the {name} side", f"conditions on the {name} side")
        for side, name in _SIDES
        if (found := view.reasons(side))
    ]
    failed = sum(1 for gate in view.qualification.gates if gate.outcome is GateOutcome.FAIL)
    if failed:
        sides.append(parts.plural(failed, "calibration gate"))
    what = "Not to be relied on" if view.plan.protocol is not Protocol.BINARY else "Not qualified"
    return f"{what}: refused by {' and '.join(sides)}." if sides else f"{what}."


def trust_lines(view: RunView, page: str) -> Iterator[Html]:
    """Yield in one line each how far the judge of a run can be trusted, with a link to where it stands."""
    lines = list(_trust(view, page))
    more = link(relative(view.calibration_path, page), text("Calibration"), css="es-more")
    for index, line in enumerate(lines):
        last = index + 1 == len(lines) and view.has_calibration
        yield parts.para(line, *((text(" "), more) if last else ()))


def _trust(view: RunView, page: str) -> Iterator[Html]:
    yield from _gates(view, page)
    if view.declares_gates and not view.not_on_site:
        return
    if view.plan.mode is Mode.FIXTURE:
        yield text("Nothing is known of a judge: the fixture played it.")
        return
    own = list(one_line(view))
    yield from own
    if own:
        return
    pairs = view.calibration.position
    if pairs is not None:
        same = pairs.wins_a + pairs.wins_b + pairs.ties
        yield text(f"It said the same of {same} of {pairs.both_decided} pairs in both orders; no label decides here.")
        return
    controls = len(view.run.controls)
    if view.run.decision.calibration_passed is True:
        yield text(
            f"The judge classified all {controls} known controls as expected; no label of people stands behind it."
        )
    elif view.run.decision.calibration_passed is False:
        yield text("The judge did not classify every known control as expected: it is not to be relied on.")
    else:
        yield text("Nothing is known of this judge: it was shown neither controls nor texts that people labelled.")


def _gates(view: RunView, page: str) -> Iterator[Html]:
    if view.not_on_site:
        yield text(f"Not decided: a calibration gate names {view.not_on_site}, which is not on this site.")
    for gate in view.qualification.gates:
        where = EMPTY
        if gate.run != view.run_id:
            run = link(relative(f"runs/{gate.run}/index.html", page), parts.foreign(gate.run))
            where = join((text(" (calibrated in the run "), run, text(")")))
        yield join((gate_pill(gate), text(f" {gate.criterion.value}: {gate.words}"), where, text(".")))


def gate_reasons(view: RunView) -> Iterator[Html]:
    """Yield in short why declared calibration gates refuse a run or leave it undecided."""
    for gate in view.qualification.gates:
        if gate.outcome is not GateOutcome.PASS:
            for reason in gate.reasons:
                yield text(f"Calibration, {gate.criterion.value}: {reason.message}")
