# SPDX-License-Identifier: Apache-2.0
"""A run beside its previous one (R93-R96, R98, R107, R110): what got worse, where it comes from, what it decides."""

from collections.abc import Iterator

from evalsite.judging import comparison_words as words
from evalsite.judging.comparison import refused
from evalsite.schema.outcome import Mode
from evalsite.schema.plan import RolePlan
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.comparisons import Beside, beside
from evalsite.site.escape import Html, text
from evalsite.site.html import bullets, el, join, link, num, table
from evalsite.site.marks import badge, pill
from evalsite.site.model import Body, Kind, Page
from evalsite.site.names import relative
from evalsite.site.page_comparison_cases import cases_section, causes_section
from evalsite.site.views import RunView

_MAX_FIELDS = 60


def comparison_pages(catalogue: Catalogue, view: RunView) -> Iterator[Page]:
    """Return the comparison page of a run, if it has a previous one."""
    before = catalogue.previous(view)
    if before is None:
        return

    def body() -> Body:
        found = beside(catalogue, view)
        if found is None:
            raise ValueError(view.run_id)
        return _body(found)

    yield Page(
        kind=Kind.COMPARISON,
        path=view.comparison_path,
        title=f"{view.run_id} against {before.run_id}",
        body=body,
        sources=(before.run_id, view.run_id),
    )


def _body(found: Beside) -> Body:
    view, page = found.after, found.after.comparison_path
    return Body(
        crumbs=parts.crumbs(page, (Kind.RUNS.address, "Runs"), (view.path, view.run_id), (page, "Comparison")),
        heading=text("What changed"),
        lead=_lead(found, page),
        sections=(
            cases_section(found),
            _compared(found, page),
            causes_section(found),
            _numbers(found),
            _decides(found),
        ),
    )


def _lead(found: Beside, page: str) -> Html:
    banner = el(
        "div",
        el("div", badge(found.mark), class_="es-verdict-mark"),
        el(
            "div",
            parts.says(found.headline),
            parts.says(f"{words.proportion(found.comparison)}{_whole(found)}{_open(found)}", css="es-quiet"),
            *([] if found.mark is marks.REGRESSION_OPEN else [parts.says(found.mark.meaning, css="es-quiet")]),
            class_="es-verdict-says",
        ),
        class_=f"es-verdict {found.mark.tone.value}",
    )
    runs = el(
        "p",
        *_meta("Before", link(relative(found.before.path, page), parts.foreign(found.before.run_id))),
        *_meta("After", link(relative(found.after.path, page), parts.foreign(found.after.run_id))),
        *_meta("Differs in", text(words.variable_words(found.comparison))),
        class_="es-meta",
    )
    how = parts.how_to_read(
        "Read it case by case: before and after are repetitions of the same case in two sealed runs. One case that "
        "got worse is a regression whatever the whole did; what was unavailable is set apart, never counted as failed."
    )
    return join((banner, runs, *_warnings(found), how))


def _open(found: Beside) -> str:
    """Return what is open where something is: it stands in the banner, since it limits the headline."""
    points = found.comparison.open_points if found.mark is marks.REGRESSION_OPEN else ()
    return f" Open: {'; '.join(points)}." if points else ""


def _whole(found: Beside) -> str:
    before, after, _ = found.comparison.passed
    softened = bool(found.comparison.regressions) and after >= before
    return " That the whole did not fall takes nothing away from it." if softened else ""


def _meta(name: str, value: Html) -> tuple[Html, ...]:
    return (el("span", el("b", text(name)), text(" "), value),)


def _warnings(found: Beside) -> Iterator[Html]:
    for one in words.breaks(found.comparison):
        yield parts.note(one.removeprefix("Series break: "), title="Series break, an expected difference.")
    if refused(found.comparison.after):
        yield parts.note(
            f"{found.after.run_id} was refused by its own gate. That nothing got worse, or that much got better, "
            "changes nothing about it.",
            title="Still refused.",
        )
    if found.after.plan.mode is Mode.FIXTURE:
        yield parts.note("This compares code and corpus, and says nothing about a model.", title="Two fixture runs.")
    weak = [view.run_id for view in (found.before, found.after) if not view.evidence_holds]
    if weak:
        yield parts.note(
            f"The evidence of {' and '.join(weak)} is weaker than its ledger's policy asks for: nothing rests on this.",
            title="Weak evidence.",
        )
    if not found.shows_text:
        yield parts.note(parts.withheld_words(found.after.plan.corpus.data_class), title="Names or texts are withheld.")


def _compared(found: Beside, page: str) -> Html:
    pair = (found.before, found.after)
    rows: list[tuple[Html, ...]] = [
        (text("Run"), *(link(relative(view.path, page), parts.foreign(view.run_id)) for view in pair)),
        (text("Opened"), *(parts.when(view.run.opened_at) for view in pair)),
        (text("Verdict by its own gate"), *(pill(view.state) for view in pair)),
        (text("Mode"), *(text(view.mode_words) for view in pair)),
        (text("Candidate"), *(_candidate(view) for view in pair)),
        (text("Judge"), *(_role(view.plan.judge) for view in pair)),
        (text("Corpus"), *(parts.foreign(f"{view.plan.corpus.name} {view.plan.corpus.version}") for view in pair)),
        (text("Evidence"), *(text(view.run.level.value) for view in pair)),
    ]
    head = tuple(text(name) for name in ("", "Before", "After"))
    return join((table(head, rows, css="es-roles", caption="The two runs"), _differences(found)))


def _candidate(view: RunView) -> Html:
    answers = view.plan.answers
    if answers is not None:
        return parts.foreign(f"not asked: the answers of {answers.run}")
    if view.plan.candidate is None:
        return parts.quiet("none in this protocol")
    return _role(view.plan.candidate)


def _role(role: RolePlan) -> Html:
    """Return the model of a role, or what stood in for it."""
    name = role.identity.model_name
    return parts.quiet(f"a {role.identity.endpoint_kind}") if name is None else parts.foreign(name)


def _differences(found: Beside) -> Html:
    differ = found.differences
    if not differ:
        return parts.says(
            "Nothing that can change an outcome differs between the two plans: the second run repeats the first. What "
            "changed is variation of the models themselves."
        )
    said = parts.para(
        el("strong", text(f"Found to differ: {words.variable_words(found.comparison)}. ")),
        text("This was found in the two plans. Nobody declared it before the outcomes were known, as "),
        parts.code("evalsite compare --variable"),
        text(" asks for."),
    )
    rows = [(parts.code(one.field), _value(one.before), _value(one.after)) for one in differ[:_MAX_FIELDS]]
    head = tuple(text(name) for name in ("Field", "Before", "After"))
    more = len(differ) - _MAX_FIELDS
    tail = [parts.says(f"and {more} more fields", css="es-quiet")] if more > 0 else []
    return join((said, table(head, rows, caption="Fields that differ"), *tail))


def _value(value: str) -> Html:
    return parts.digest(value) if value.startswith("sha256:") else parts.foreign(value)


def _numbers(found: Beside) -> Html:
    test = found.comparison.mcnemar
    down, up = ("worse", "better") if found.comparison.has_candidate else ("down", "up")
    p = "none: no case changed" if test.p is None else f"p {words.p_words(test.p)}"
    rows = [
        (text("Cases compared"), num(parts.number(test.compared)), text("repetitions of one case count as one")),
        (text(f"Cases {down}"), num(parts.number(test.down)), text("fewer repetitions passed, or a lower score")),
        (text(f"Cases {up}"), num(parts.number(test.up)), text("more repetitions passed, or a higher score")),
        (text("Exact McNemar test"), num(text(p)), text(f"beyond chance at {words.percent(test.alpha)} or less")),
        (
            text("Changed cases that it takes"),
            num(parts.number(test.needed)),
            text("to be beyond chance, with as many against the trend as here"),
        ),
    ]
    head = tuple(text(name) for name in ("Quantity", "Value", "Meaning"))
    said = words.exact_test(test, has_candidate=found.comparison.has_candidate)
    note = (
        "A regression is no question of chance: the case did get worse in these repetitions. The test asks another "
        "thing, whether the two configurations differ on such cases in general."
    )
    return join(
        (table(head, rows, caption="The exact test over cases"), bullets(text(one) for one in said), parts.says(note))
    )


def _decides(found: Beside) -> Html:
    kept = (
        f"The results of {found.before.run_id} stay in history as they are, under the scorer that gave them: a later "
        "run replaces no earlier one."
    )
    return bullets(text(item) for item in (*words.standing(found.said), kept))
