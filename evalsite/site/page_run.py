# SPDX-License-Identifier: Apache-2.0
"""One run: its verdict with every reason, its counts, its results, and where all of it comes from."""

from collections.abc import Iterator

from evalsite.judging.gates import Reason
from evalsite.schema.entries import RunInterrupted
from evalsite.schema.outcome import Mode, Protocol, Trial
from evalsite.site import figures, marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, el, join, link, num, table
from evalsite.site.marks import badge, icon, legend, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_run_record import consumption_section, plan_section, provenance_section, record_section
from evalsite.site.views import RunView

_MAX_STRIP = 2000


def run_page(catalogue: Catalogue, view: RunView) -> Page:
    """Return the page of one run."""
    return Page(
        kind=Kind.RUN,
        path=view.path,
        title=f"Run {view.run_id}",
        body=lambda: _body(catalogue, view),
        sources=(view.run_id, view.run.head.root),
    )


def _body(catalogue: Catalogue, view: RunView) -> Body:
    return Body(
        crumbs=parts.crumbs(view.path, (Kind.RUNS.address, "Runs"), (view.path, view.run_id)),
        heading=parts.foreign(view.plan.campaign_title),
        lead=_lead(view),
        sections=(
            _counts(view),
            _candidate_failures(view),
            _judge_failures(view),
            _campaign_failures(view),
            _results(view),
            _shows(view),
            consumption_section(view),
            plan_section(view),
            provenance_section(view),
            _interruptions(view),
            record_section(catalogue, view),
        ),
    )


def _lead(view: RunView) -> Html:
    run = view.run
    banner = el(
        "div",
        el("div", badge(view.state), class_="es-verdict-mark"),
        el("div", parts.says(verdict_sentence(view)), parts.says(view.state.meaning, css="es-quiet"), class_="es-verdict-says"),
        class_=f"es-verdict {view.state.tone.value}",
    )
    line = el(
        "p",
        *_meta("Run", parts.code(view.run_id)),
        *_meta("Mode", text(view.mode_words)),
        *_meta("Opened", parts.when(run.opened_at)),
        *_meta("Closed", parts.when(run.closed_at)),
        *_meta("Evidence", text(run.level.value)),
        class_="es-meta",
    )
    how = parts.how_to_read(
        "Read it from the top: the verdict, then what refused it, the candidate's side and the judge's side apart, then "
        "every trial. Nothing here is an average: one trial that didn't pass refuses the whole."
    )
    return join((banner, line, *_mode_note(view), how))


def _mode_note(view: RunView) -> Iterator[Html]:
    if view.plan.mode is Mode.FIXTURE:
        yield parts.note(
            "Deterministic replies out of the corpus were read, judged and decided upon. "
            "That exercises code and contracts; it says nothing about a model.",
            title="A fixture run.",
        )
    if view.plan.mode is Mode.REPLAY:
        yield parts.note(
            "Raw replies that an earlier run recorded were read and decided upon again. No endpoint was asked, "
            "so this is no new campaign and qualifies nothing.",
            title="A replay.",
        )
    if not view.run.sealed:
        yield parts.note("The run isn't closed. It can be resumed, and decides nothing until then.", title="Open.")


def _meta(name: str, value: Html) -> tuple[Html, ...]:
    return (el("span", el("b", text(name)), text(" "), value),)


def verdict_sentence(view: RunView) -> str:
    """Return the verdict in one sentence, by whose side it was refused."""
    counts = view.counts
    if view.state is marks.QUALIFIED:
        return f"All {counts.planned} planned trials passed and every control was classified as expected."
    if view.state is marks.FIXTURE_PASSED:
        return f"All {counts.planned} planned trials ended as the corpus expects. No model was asked."
    if view.state is marks.NO_GATE:
        return f"{counts.passed} of {counts.planned} planned trials have a verdict of the judge. Nothing is qualified by it."
    if view.state is marks.UNDECIDED:
        return f"Not decided: {counts.attempted} of {counts.planned} planned trials have a result."
    sides = [
        parts.plural(len(found), f"condition on the {name} side", f"conditions on the {name} side")
        for name, found in (
            ("candidate's", view.reasons("candidate")),
            ("judge's", view.reasons("judge")),
            ("campaign's", view.reasons("campaign")),
            ("host's", view.reasons("host")),
        )
        if found
    ]
    return f"Not qualified: refused by {' and '.join(sides)}." if sides else "Not qualified."


def _counts(view: RunView) -> Html:
    counts, decision = view.counts, view.run.decision
    figures_ = [
        ("planned", counts.planned, "", "cases × repetitions, fixed before the first one ran"),
        ("attempted", counts.attempted, "", "planned trials that have a result of any kind"),
        ("passed" if view.is_binary else "judged", counts.passed, "es-good", _passed_words(view)),
        ("failed", counts.failed, "es-bad", "the candidate's: violation, broken contract, no answer"),
        ("judge unavailable", counts.judge_unavailable, "es-judge", "no verdict to use; never counted against the candidate"),
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
                text(f"Critical cases that did not pass: {decision.critical_failures}. "),
                text(
                    "This number makes sensitive cases visible. At zero it qualifies nothing by itself: every case must "
                    "pass, critical or not, and every control."
                ),
            )
        )
        extra.append(parts.para(text(f"Replies that broke their contract: {decision.contract_errors}.")))
    return join((el("dl", *tiles, class_="es-tiles"), bar, *extra))


def _passed_words(view: RunView) -> str:
    return "all four conditions hold" if view.is_binary else "a valid score: high, low or graded, not a pass"


def _candidate_failures(view: RunView) -> Html:
    if not view.is_binary:
        return parts.says("This protocol has no candidate: the judge reads texts of the corpus.")
    found = view.reasons("candidate")
    if not found:
        return parts.says(
            "None. That alone does not qualify anything: calibration and completeness are decided apart, below."
        )
    return _reasons(view, found)


def _judge_failures(view: RunView) -> Html:
    found = view.reasons("judge")
    calibrated = view.run.decision.calibration_passed
    pieces: list[Html] = []
    if found:
        pieces.append(_reasons(view, found))
    if calibrated is True:
        pieces.append(
            parts.says(
                "Every control was classified as expected. These are known examples written by the corpus's authors: "
                "that the judge is right elsewhere does not follow."
            )
        )
    elif calibrated is False and not found:
        pieces.append(parts.says("The calibration did not pass."))
    elif calibrated is None:
        pieces.append(
            parts.says(
                "No control was shown to the judge, since no judge was asked about controls in this kind of run: "
                "calibration is neither passed nor failed."
            )
        )
    if view.has_calibration:
        pieces.append(
            parts.para(link(relative(view.calibration_path, view.path), text("Controls and labels, one by one"), css="es-more"))
        )
    return join(pieces)


def _campaign_failures(view: RunView) -> Html:
    found = view.reasons("campaign", "host")
    return _reasons(view, found) if found else parts.says("None: what was planned was run, and the run is closed.")


def _reasons(view: RunView, reasons: tuple[Reason, ...]) -> Html:
    names = {trial.label(): trial for trial in (*view.plan.case_trials(), *view.plan.control_trials())}
    rows = [
        (
            join((text(reason.message[:1].upper()), text(reason.message[1:]))),
            parts.listed(_trial_link(view, label, names.get(label)) for label in reason.trials) if reason.trials else parts.quiet("the campaign"),
            parts.code(reason.code),
            text(reason.rule),
        )
        for reason in reasons
    ]
    head = tuple(text(name) for name in ("Condition that does not hold", "Where", "Code", "Rule"))
    return table(head, rows, css="es-reasons", caption="Conditions that refused the gate")


def _trial_link(view: RunView, label: str, trial: Trial | None) -> Html:
    if trial is None:
        return parts.foreign(label) if view.shows_cases else parts.quiet("a trial")
    name = parts.foreign(view.trial_name(trial))
    if not view.shows_cases:
        return name
    if trial.polarity is not None:
        return link(relative(view.calibration_path, view.path), name)
    return link(relative(view.case_path(trial.case_id), view.path), name)


def _results(view: RunView) -> Html:
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
        outcomes = join(
            el("span", icon(mark), text(f"{_number(trial)} {_outcome(view, trial, mark)}"), class_="es-cell")
            for (trial, _), (_, mark) in zip(trials, cells, strict=True)
        )
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


def _number(trial: Trial) -> str:
    dimension = f"{trial.dimension.value} " if trial.dimension else ""
    return f"{dimension}#{trial.repetition}"


def _outcome(view: RunView, trial: Trial, mark: marks.Mark) -> str:
    record = view.by_trial.get(trial)
    if mark is marks.GRADED and record is not None and record.result.verdict is not None:
        return f"{record.result.verdict.score} of 100"
    return mark.label


def _title(view: RunView, case_id: str) -> Html:
    case = view.cases.get(case_id)
    if case is None or not view.shows_text:
        return parts.quiet("withheld")
    return parts.foreign(case.title)


def _expected(view: RunView, case_id: str) -> Html:
    planned = view.planned[case_id]
    if planned.expected_action is None:
        return parts.quiet("a score")
    return text(f"{planned.expected_action.value}, {'must refuse' if planned.must_refuse else 'no refusal'}")


def _shows(view: RunView) -> Html:
    shown = [
        "Which trials were planned before the first one ran, and that each has exactly one result or none.",
        "What was asked and what came back, byte for byte, under the digests of the record.",
        "That host code, run again over these bytes while this site was built, decides as the record says.",
    ]
    not_shown = [
        "That the endpoint is what it says it is: names, versions and digests are its own words.",
        "That temperature 0, a small known corpus and repetitions give determinism, statistical robustness or "
        "resistance to injection. They do not.",
        "That the request of a passed case is permitted: Passed on a dangerous request means that the answer refused "
        "correctly.",
        "That a reason given by a judge supports its score. A valid structure does not show it.",
    ]
    if view.plan.mode is Mode.FIXTURE:
        not_shown.insert(0, "Anything about a model. The fixture took its answers from the corpus.")
    if view.plan.protocol is Protocol.BINARY and view.plan.mode is Mode.LIVE:
        not_shown.append("That the judge is right beyond these controls, which are normative choices of the corpus's authors.")
    return el(
        "div",
        el("div", el("h3", text("It shows")), bullets(text(item) for item in shown)),
        el("div", el("h3", text("It does not show")), bullets(text(item) for item in not_shown)),
        parts.para(el("strong", text("Judge and candidate. ")), text(view.independence), css="es-wide"),
        class_="es-two",
    )


def _interruptions(view: RunView) -> Html:
    if not view.run.interruptions:
        return parts.says("None: the run went through in one piece.")
    rows = []
    for event in view.run.interruptions:
        if isinstance(event, RunInterrupted):
            flight = parts.listed(parts.foreign(view.trial_name(trial)) for trial in event.in_flight)
            what = join((text("Interrupted by "), parts.code(event.cause)))
            rows.append((text(str(event.seq)), parts.when(event.recorded_at), what, flight if event.in_flight else parts.quiet("nothing")))
        else:
            changed = "environment changed" if event.environment_changed else "same environment"
            detail = join((text(f"{event.kept} events kept, {event.dropped_bytes} bytes set aside, {changed} "), parts.digest(event.quarantine) if event.quarantine else EMPTY))
            rows.append((text(str(event.seq)), parts.when(event.recorded_at), text("Resumed"), detail))
    head = tuple(text(name) for name in ("Event", "Recorded", "What", "In flight, or what was kept"))
    return table(head, rows, caption="Interruptions")


def pill_of(view: RunView) -> Html:
    """Return the small verdict of a run."""
    return pill(view.state)


def num_cell(value: int) -> Html:
    """Return a cell with a count."""
    return num(parts.number(value))
