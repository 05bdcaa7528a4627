# SPDX-License-Identifier: Apache-2.0
"""One run: its verdict with every reason, its counts, its results, and where all of it comes from."""

from collections.abc import Iterator

from evalsite.judging.gates import Reason
from evalsite.schema.outcome import Mode, Protocol, Trial
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import el, join, link, table
from evalsite.site.marks import badge
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_run_record import consumption_section, plan_section, provenance_section, record_section
from evalsite.site.page_run_results import counts_section, interruptions_section, results_section, shows_section
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
        lead=_lead(view),
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


def _lead(view: RunView) -> Html:
    run = view.run
    banner = el(
        "div",
        el("div", badge(view.state), class_="es-verdict-mark"),
        el(
            "div",
            parts.says(verdict_sentence(view)),
            parts.says(view.state.meaning, css="es-quiet"),
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


def verdict_sentence(view: RunView) -> str:
    """Return the verdict in one sentence, by whose side it was refused."""
    counts = view.counts
    if view.state is marks.QUALIFIED:
        every = f"All {counts.planned} planned trials passed and every control was classified as expected."
        return every + view.left_out
    if view.state is marks.FIXTURE_PASSED:
        how = "ended as the corpus expects" if view.plan.protocol is Protocol.BINARY else "have a valid verdict"
        return f"All {counts.planned} planned trials {how}. No model was asked.{view.left_out}"
    if view.state is marks.NO_GATE:
        if view.is_binary:
            return f"{counts.passed} of {counts.planned} planned trials passed. Nothing is qualified by it."
        return (
            f"{counts.passed} of {counts.planned} planned trials have a verdict of the judge. Nothing is qualified by "
            "it."
        )
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
                "No control was shown to the judge, since no judge was asked about controls in this kind of run: "
                "calibration is neither passed nor failed."
            )
        )
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
