# SPDX-License-Identifier: Apache-2.0
"""One run: its verdict with every reason, its counts, its results, and where all of it comes from."""

from collections.abc import Iterator

from evalsite.judging.gates import Reason
from evalsite.schema.outcome import Mode, Trial
from evalsite.site import parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.comparisons import beside, changed_line
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join, link, table
from evalsite.site.marks import badge
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_calibration_labels import gate_block
from evalsite.site.page_run_record import consumption_section, plan_section, provenance_section, record_section
from evalsite.site.page_run_results import counts_section, interruptions_section, results_section, shows_section
from evalsite.site.verdicts import trust_lines, verdict_note, verdict_sentence
from evalsite.site.views import RunView


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
        lead=_lead(catalogue, view),
        sections=(
            counts_section(view),
            _candidate_failures(view),
            _judge_failures(view),
            _campaign_failures(view),
            results_section(view),
            shows_section(view),
            consumption_section(view),
            plan_section(view),
            provenance_section(view),
            interruptions_section(view),
            record_section(catalogue, view),
        ),
    )


def _lead(catalogue: Catalogue, view: RunView) -> Html:
    run = view.run
    banner = el(
        "div",
        el("div", badge(view.state), class_="es-verdict-mark"),
        el(
            "div",
            parts.says(verdict_sentence(view)),
            parts.says(verdict_note(view), css="es-quiet"),
            class_="es-verdict-says",
        ),
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
        "Read it from the top: the verdict, then what refused it, the candidate's side and the judge's side apart, "
        "then every trial. Nothing here is an average: one trial that didn't pass refuses the whole."
    )
    return join((banner, line, *_mode_note(view), how, _at_a_glance(catalogue, view)))


def _at_a_glance(catalogue: Catalogue, view: RunView) -> Html:
    """Return what a reader asks next: how far the judge can be trusted, and what changed since the run before."""
    found = beside(catalogue, view)
    changed = (
        text("There is no earlier run that this one can be compared with.")
        if found is None
        else changed_line(found, view.path)
    )
    rows = [
        ("How far the judge can be trusted", join(trust_lines(view, view.path))),
        ("What changed", changed),
    ]
    return parts.fact_list(rows)


def _mode_note(view: RunView) -> Iterator[Html]:
    if view.plan.answers is not None:
        yield parts.note(
            f"The answers that {view.plan.answers.run} recorded were put before the judge again; the candidate was "
            "not asked. This tells about the judge, opens no gate and qualifies nothing.",
            title="Recorded answers, judged again.",
        )
    if view.plan.mode is Mode.FIXTURE:
        yield parts.note(
            "Deterministic replies out of the corpus were read, judged and decided upon. "
            "That exercises code and contracts; it says nothing about a model.",
            title="A fixture run.",
        )
    if view.plan.mode is Mode.REPLAY:
        yield parts.note(
            f"Raw replies that an earlier run recorded were read and decided upon again. {_asked_anew(view)} "
            "This is no new campaign and qualifies nothing.",
            title="A replay.",
        )
    if not view.run.sealed:
        yield parts.note("The run isn't closed. It can be resumed, and decides nothing until then.", title="Open.")


def _asked_anew(view: RunView) -> str:
    roles = {"candidate": view.plan.candidate, "judge": view.plan.judge}
    asked = [name for name, role in roles.items() if role is not None and role.identity.endpoint_kind != "replay"]
    return f"Only the {asked[0]} was asked anew." if asked else "No endpoint was asked."


def _meta(name: str, value: Html) -> tuple[Html, ...]:
    return (el("span", el("b", text(name)), text(" "), value),)


def _candidate_failures(view: RunView) -> Html:
    if not view.is_binary:
        return parts.says("This protocol has no candidate: the judge reads texts of the corpus.")
    found = view.reasons("candidate")
    if not found:
        return parts.says(
            "None. That alone does not qualify anything: calibration and completeness are decided apart, below."
        )
    answers = view.plan.answers
    if answers is None:
        return _reasons(view, found)
    said = f"About the answers that {answers.run} recorded, as this judge sees them. Its own record decides about them."
    return join((parts.says(said), _reasons(view, found)))


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
        shown = "" if view.plan.control_trials() else " The plan holds no case, so that no control was shown."
        pieces.append(parts.says(f"The calibration did not pass.{shown}"))
    elif calibrated is None and view.plan.control_trials():
        pieces.append(
            parts.says(
                "Controls are shown below, one by one. They decide in a live run only: "
                "calibration is neither passed nor failed."
            )
        )
    elif calibrated is None:
        pieces.append(
            parts.says(
                "No control was shown to the judge, since there is none in this kind of run or of this corpus: "
                "calibration is neither passed nor failed."
            )
        )
    if view.qualification.gates:
        pieces.append(el("h3", text("Calibration gates that the plan declares")))
        pieces.extend(gate_block(gate) for gate in view.qualification.gates)
    if view.has_calibration:
        pieces.append(
            parts.para(
                link(relative(view.calibration_path, view.path), text("Controls and labels, one by one"), css="es-more")
            )
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
            parts.listed(_trial_link(view, label, names.get(label)) for label in reason.trials)
            if reason.trials
            else parts.quiet("the campaign"),
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
