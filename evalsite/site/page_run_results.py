# SPDX-License-Identifier: Apache-2.0
"""The parts of a run's page that say what happened: counts, results, limits, interruptions."""

from evalsite.schema.entries import RunInterrupted
from evalsite.schema.outcome import Mode, Protocol
from evalsite.site import figures, marks, parts
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, table
from evalsite.site.marks import legend
from evalsite.site.names import relative
from evalsite.site.views import RunView

_MAX_STRIP = 2000


def counts_section(view: RunView) -> Html:
    """Return the headline counts, which add up to what was planned."""
    counts, decision = view.counts, view.run.decision
    figures_ = [
        ("planned", counts.planned, "", "cases \u00d7 repetitions, fixed before the first one ran"),
        ("attempted", counts.attempted, "", "planned trials that have a result of any kind"),
        ("passed" if view.is_binary else "judged", counts.passed, "es-good", _passed_words(view)),
        ("failed", counts.failed, "es-bad", "the candidate's: violation, broken contract, no answer"),
        (
            "judge unavailable",
            counts.judge_unavailable,
            "es-judge",
            "no verdict to use; never counted against the candidate",
        ),
        ("errored", counts.errored, "es-open", "no usable reply, or a fault of the host"),
        ("missing", counts.missing, "es-open", "planned, and no result at all"),
    ]
    tiles = [
        el(
            "div",
            el("dt", text(name)),
            el("dd", parts.number(value), class_="es-figure-number"),
            el("dd", text(words), class_="es-figure-words"),
            class_=f"es-tile {css if value else ''}".strip(),
        )
        for name, value, css, words in figures_
    ]
    bar = figures.segments(
        [(name, value, css) for name, value, css, _ in figures_[2:]], name="Outcomes of the planned trials"
    )
    extra = []
    if view.is_binary:
        extra.append(
            parts.para(
                text(f"Trials of critical cases that did not pass: {decision.critical_failures}. "),
                text(
                    "This number makes sensitive cases visible. At zero it qualifies nothing by itself: every case "
                    "must pass, critical or not, and every control."
                ),
            )
        )
        extra.append(parts.para(text(f"Replies that broke their contract: {decision.contract_errors}.")))
    return join((el("dl", *tiles, class_="es-tiles"), bar, *extra))


def _passed_words(view: RunView) -> str:
    return "every condition holds" if view.is_binary else "a valid score: high, low or graded, not a pass"


def results_section(view: RunView) -> Html:
    """Return every trial, as a figure and as the table that carries it."""
    if not view.planned:
        return parts.note("The plan holds no case. An empty campaign is never accepted.", title="Empty.")
    rows = []
    strip = []
    for case_id, planned in view.planned.items():
        trials = view.trials_of(case_id)
        cells = [(view.trial_name(trial), view.mark_of(record)) for trial, record in trials]
        strip.append((view.case_name(case_id), cells))
        name = parts.foreign(view.case_name(case_id))
        shown = link(relative(view.case_path(case_id), view.path), name) if view.shows_cases else name
        flags = parts.critical() if planned.critical else EMPTY
        outcomes = parts.outcomes(view, case_id)
        rows.append((join((shown, text(" "), flags)), _title(view, case_id), _expected(view, case_id), outcomes))
    head = tuple(text(name) for name in ("Case", "Title", "Expected", "Each repetition"))
    figure = figures.strip(strip, name="Outcome of each case in each repetition") if len(strip) <= _MAX_STRIP else EMPTY
    used = {mark for _, cells in strip for _, mark in cells}
    shown_marks = tuple(mark for mark in dict.fromkeys((*marks.OUTCOMES, *marks.SCORES)) if mark in used)
    return join(
        (
            figure,
            table(head, rows, css="es-results", caption="Results by case and repetition"),
            el("details", el("summary", text("What the shapes mean")), legend(shown_marks)),
        )
    )


def _title(view: RunView, case_id: str) -> Html:
    case = view.cases.get(case_id)
    if case is None or not view.shows_text:
        return parts.quiet("withheld")
    return parts.foreign(case.title)


def _expected(view: RunView, case_id: str) -> Html:
    planned = view.planned[case_id]
    if planned.expected_action is None:
        return parts.quiet("a choice" if view.plan.protocol is Protocol.PAIRWISE else "a score")
    return text(f"{planned.expected_action.value}, refused {'true' if planned.must_refuse else 'false'}")


def shows_section(view: RunView) -> Html:
    """Return what the run shows and what it does not (R114-R124)."""
    shown = [
        "Which trials were planned before the first one ran, and that each has exactly one result or none.",
        "What was asked and what came back, byte for byte, under the digests of the record.",
        "That host code, run again over these bytes while this site was built, decides as the record says.",
    ]
    not_shown = [
        "That the endpoint is what it says it is: names, versions and digests are its own words.",
        (
            "That temperature 0, a small known corpus and repetitions give determinism, statistical robustness or "
            "resistance to injection. They do not."
        ),
        (
            "That the request of a passed case is permitted: Passed on a dangerous request means that the answer "
            "refused correctly."
        ),
        "That a reason given by a judge supports its score. A valid structure does not show it.",
    ]
    if view.plan.mode is Mode.FIXTURE:
        not_shown.insert(0, "Anything about a model. The fixture took its answers from the corpus.")
    if view.plan.protocol is Protocol.BINARY and view.plan.mode is Mode.LIVE:
        not_shown.append(
            "That the judge is right beyond these controls, which are normative choices of the corpus's authors."
        )
    return el(
        "div",
        el("div", el("h3", text("It shows")), bullets(text(item) for item in shown)),
        el("div", el("h3", text("It does not show")), bullets(text(item) for item in not_shown)),
        parts.para(el("strong", text("Judge and candidate. ")), text(view.independence), css="es-wide"),
        class_="es-two",
    )


def interruptions_section(view: RunView) -> Html:
    """Return when the run was interrupted and resumed."""
    if not view.run.interruptions:
        return parts.says("None: the run went through in one piece.")
    rows = []
    for event in view.run.interruptions:
        if isinstance(event, RunInterrupted):
            flight = parts.listed(parts.foreign(view.trial_name(trial)) for trial in event.in_flight)
            what = join((text("Interrupted by "), parts.code(event.cause)))
            rows.append(
                (
                    text(str(event.seq)),
                    parts.when(event.recorded_at),
                    what,
                    flight if event.in_flight else parts.quiet("nothing"),
                )
            )
        else:
            changed = "environment changed" if event.environment_changed else "same environment"
            detail = join(
                (
                    text(f"{event.kept} events kept, {event.dropped_bytes} bytes set aside, {changed} "),
                    parts.digest(event.quarantine) if event.quarantine else EMPTY,
                )
            )
            rows.append((text(str(event.seq)), parts.when(event.recorded_at), text("Resumed"), detail))
    head = tuple(text(name) for name in ("Event", "Recorded", "What", "In flight, or what was kept"))
    return table(head, rows, caption="Interruptions")
