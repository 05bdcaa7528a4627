# SPDX-License-Identifier: Apache-2.0
"""One case in one run: what was asked, what came back, what it was read as, in every repetition."""

from collections.abc import Iterator

from evalsite.campaign.trusted import TrialRecord
from evalsite.judging.results import failed_conditions
from evalsite.schema.outcome import Result, Status, Trial
from evalsite.site import marks, parts
from evalsite.site.casetext import cards_of, case_section
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, download, el, join, link, table
from evalsite.site.marks import Mark, of_control, pill
from evalsite.site.model import Body, Kind, Page, SiteFile
from evalsite.site.names import relative
from evalsite.site.replies import answer_part, files_of, line_path, seqs_of, verdict_part
from evalsite.site.views import RunView

_CONDITIONS = {
    "action": "the action is not the expected one",
    "refused": "the refused flag is not the expected one",
    "required_behavior_met": "the judge found the required behaviour missing",
    "forbidden_behavior_absent": "the judge found the forbidden behaviour",
    "checks": "code found a check of the answer's text not fulfilled",
}


def trial_pages(view: RunView) -> Iterator[Page]:
    """Return a page per planned case of a run; none where even ids are withheld."""
    if not view.shows_cases:
        return
    for case_id in view.planned:
        yield _page(view, case_id)


def trial_files(view: RunView) -> Iterator[SiteFile]:
    """Return the files that the pages of a run offer for download."""
    for record in (*view.run.controls, *view.run.cases):
        yield from files_of(view, record)


def _page(view: RunView, case_id: str) -> Page:
    records = [record for _, record in view.trials_of(case_id) if record is not None]
    lines = tuple(f"{view.run_id}#{seq}" for record in records for seq in seqs_of(record))
    return Page(
        kind=Kind.TRIAL,
        path=view.case_path(case_id),
        title=f"{case_id} in {view.run_id}",
        body=lambda: _body(view, case_id),
        sources=lines,
    )


def _body(view: RunView, case_id: str) -> Body:
    page = view.case_path(case_id)
    case = view.cases.get(case_id)
    trials = view.trials_of(case_id)
    crumbs = parts.crumbs(page, (Kind.RUNS.address, "Runs"), (view.path, view.run_id), (page, case_id))
    title = parts.foreign(case.title) if case is not None and view.shows_text else parts.quiet("title withheld")
    said = "what the candidate wrote, what the judge said of it" if view.is_binary else "what the judge said"
    summary = join(
        pill(
            view.mark_of(record),
            f"#{trial.repetition}{_dimension(trial)} {parts.outcome(record, view.mark_of(record))}",
        )
        for trial, record in trials
    )
    lead = join(
        (
            parts.para(title, css="es-title"),
            parts.para(summary, text(" "), parts.critical() if view.planned[case_id].critical else text("")),
            parts.para(
                el("span", text("In run "), link(relative(view.path, page), parts.foreign(view.run_id))),
                pill(view.state),
                link(
                    relative(f"corpora/{view.plan.corpus.name}/cases/{page.rsplit('/', 1)[-1]}", page),
                    text("this case in all runs"),
                ),
                css="es-meta",
            ),
            parts.how_to_read(
                f"Each repetition shows {said}, and what host code decided. Text in a box marked untrusted was written "
                "by an endpoint and is shown as it came."
            ),
        )
    )
    if not view.shows_text:
        withheld = parts.withheld(view)
        outcomes = bullets(
            join((text(f"#{trial.repetition} "), pill(view.mark_of(record)))) for trial, record in trials
        )
        return Body(
            crumbs=crumbs,
            heading=parts.foreign(case_id),
            lead=lead,
            sections=(withheld, outcomes, withheld, _record(view, case_id)),
        )
    text_of_case = (
        case_section(case, cards_of(view)) if case is not None else parts.says("This case is not part of the corpus.")
    )
    return Body(
        crumbs=crumbs,
        heading=parts.foreign(case_id),
        lead=lead,
        sections=(
            text_of_case,
            join(_repetition(view, trial, record, page) for trial, record in trials),
            _controls(view, case_id, page),
            _record(view, case_id),
        ),
    )


def _dimension(trial: Trial) -> str:
    return f" {parts.aspect(trial).strip()}".rstrip()


def _repetition(view: RunView, trial: Trial, record: TrialRecord | None, page: str) -> Html:
    mark = view.mark_of(record)
    name = f"Repetition {trial.repetition}{_dimension(trial)}"
    head = el("h3", text(f"{name} "), pill(mark))
    if record is None:
        return el("section", head, parts.says(mark.meaning), class_="es-trial")
    pieces = [head, _decision(view, record, mark)]
    if view.is_binary:
        pieces.append(el("h4", text("Candidate")))
        pieces.append(answer_part(view, record, page))
    pieces.append(el("h4", text("Judge")))
    pieces.append(verdict_part(view, record, page))
    return el("section", *pieces, class_=f"es-trial {mark.tone.value}")


def _decision(view: RunView, record: TrialRecord, mark: Mark) -> Html:
    """Return what host code decided, by conditions; the judge only helped to read the prose (R48)."""
    result, planned = record.result, view.planned[record.trial.case_id]
    if result.status is Status.VIOLATION and result.answer is not None and result.verdict is not None:
        broken = failed_conditions(planned, result.answer, result.verdict)
        return join(
            (
                parts.says("Host code decides: violation, since"),
                bullets(join((text(_CONDITIONS[name]), _missed(result, name))) for name in broken),
            )
        )
    if mark is marks.PASSED and planned.must_refuse:
        return parts.says(
            "Host code decides: passed. The answer refused correctly; the request is not thereby permitted."
        )
    where = f" (stage: {result.stage.value})" if result.stage else ""
    return parts.says(f"Host code decides: {mark.label.lower()}{where}. {mark.meaning}")


def _missed(result: Result, condition: str) -> Html:
    """Return the names of the checks by code that an answer does not fulfil."""
    missed = result.answer.failed_checks if result.answer is not None and condition == "checks" else None
    return join((text(": "), parts.listed(parts.code(name) for name in missed))) if missed else EMPTY


def _controls(view: RunView, case_id: str, page: str) -> Html:
    records = view.controls_of(case_id)
    if not records:
        if not view.is_binary and not view.plan.control_trials():
            return parts.says("No control was shown to the judge in this run.")
        words = (
            "No control was shown in this run: a fixture's judge reads the expected classification from the corpus, so "
            "that showing it controls would prove nothing."
            if view.is_binary
            else "Controls of this protocol belong to no case: they stand on the calibration page of the run."
        )
        return parts.says(words)
    rows = []
    for record in records:
        mark = of_control(record.result)
        polarity = record.trial.polarity.value if record.trial.polarity else ""
        rows.append((text(f"{polarity} control"), pill(mark), text(mark.meaning)))
    head = tuple(text(name) for name in ("Control", "Result", "Meaning"))
    more = parts.para(link(relative(view.calibration_path, page), text("Raw verdicts of all controls"), css="es-more"))
    return join((table(head, rows, caption="Controls of this case"), more))


def _record(view: RunView, case_id: str) -> Html:
    page = view.case_path(case_id)
    planned = view.planned[case_id]
    facts = []
    if view.shows_text:  # a digest of a withheld text would let a reader guess it
        facts.append(("Case fingerprint", parts.full_digest(planned.fingerprint)))
    rows = []
    for trial, record in view.trials_of(case_id):
        if record is None:
            continue
        lines = [
            download(relative(line_path(view, seq), page), parts.code(str(seq)))
            if view.shows_text
            else parts.code(str(seq))
            for seq in seqs_of(record)
        ]
        rows.append(
            (text(view.trial_name(trial)), parts.listed(lines), text(str(record.attempts)), parts.when(record.ended_at))
        )
    head = tuple(text(name) for name in ("Trial", "Lines of the record", "Attempts", "Ended"))
    return join((parts.fact_list(facts) if facts else text(""), table(head, rows, caption="Lines of the record")))
