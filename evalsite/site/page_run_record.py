# SPDX-License-Identifier: Apache-2.0
"""The parts of a run's page that say where it comes from: consumption, plan, provenance, record."""

from collections.abc import Iterable

from evalsite.ledger.evidence import Vouched
from evalsite.schema.checks import Check
from evalsite.schema.plan import OllamaEndpointSpec, ReplayEndpointSpec, RolePlan
from evalsite.site import marks, parts
from evalsite.site.catalogue import Catalogue
from evalsite.site.escape import Html, text
from evalsite.site.html import EMPTY, bullets, download, el, join, link, num, table
from evalsite.site.levels import LEVEL_WORDS
from evalsite.site.marks import pill
from evalsite.site.model import Kind
from evalsite.site.names import relative
from evalsite.site.views import Consumption, RunView


def consumption_section(view: RunView) -> Html:
    """Return what each role consumed, the two roles never added up (R46)."""
    if not view.consumption:
        return parts.says("No call was made.")
    rows = [_consumed(item) for item in view.consumption]
    names = ("Role", "Calls", "Without a usable reply", "Prompt tokens", "Output tokens", "Endpoint time", "Host time")
    attempts = ", ".join(f"{role}: {count}" for role, count in view.run.totals.calls_by_role.items())
    return join(
        (
            table(tuple(text(name) for name in names), rows, caption="Consumption by role"),
            parts.says(
                "Token counts and endpoint time are the endpoint's own figures; host time is measured here. A figure "
                "that was not told is not a zero. "
                f"Calls of every attempt, those of interrupted trials included: {attempts or 'none'}.",
                css="es-quiet",
            ),
        )
    )


def _consumed(item: Consumption) -> tuple[Html, ...]:
    return (
        text(item.role),
        num(parts.number(item.calls)),
        num(parts.number(item.without_reply)),
        num(parts.summed(item.prompt_tokens)),
        num(parts.summed(item.output_tokens)),
        num(parts.summed(item.endpoint_ms, "ms")),
        num(join((parts.number(item.wall_ms), text(" ms")))),
    )


def plan_section(view: RunView) -> Html:
    """Return what was fixed before the first case."""
    plan = view.plan
    head = view.run.head
    facts = [
        ("Purpose", parts.foreign(plan.purpose)),
        ("Campaign", join((parts.foreign(plan.campaign_name), text(" "), parts.digest(plan.campaign_digest)))),
        ("Profile", parts.foreign(plan.profile)),
        ("Protocol", text(plan.protocol.value)),
        (
            "Cases \u00d7 repetitions",
            text(f"{len(plan.cases)} \u00d7 {plan.repetitions} = {parts.plural(len(plan.case_trials()), 'trial')}"),
        ),
        ("Controls", text(parts.plural(len(plan.control_trials()), "control"))),
        ("Logged before the first case", text(f"entry {head.opened_index} of the log of ledger {view.run.ledger}")),
    ]
    return join(
        (
            parts.says(
                "The plan is the first event of the record. Its digest entered the ledger's log before any case ran."
            ),
            parts.fact_list(facts),
        )
    )


def provenance_section(view: RunView) -> Html:
    """Return what was asked, with which prompts, by which code."""
    plan, corpus = view.plan, view.plan.corpus
    facts = [
        (
            "Corpus",
            join(
                (
                    link(relative(f"corpora/{corpus.name}/index.html", view.path), parts.foreign(corpus.name)),
                    text(" version "),
                    parts.foreign(corpus.version),
                )
            ),
        ),
        ("Corpus fingerprint", parts.digest(corpus.fingerprint)),
        ("Language, class", text(f"{corpus.language}, {corpus.data_class.value}")),
        ("evalsite", parts.foreign(plan.environment.evalsite_version)),
        ("Code digest", parts.digest(plan.environment.code_digest)),
        ("Python, platform", parts.foreign(f"{plan.environment.python_version}, {plan.environment.platform}")),
        (
            "Packages",
            parts.listed(
                parts.foreign(f"{name} {version}") for name, version in sorted(plan.environment.packages.items())
            ),
        ),
    ]
    roles = [(name, role) for name, role in (("Candidate", plan.candidate), ("Judge", plan.judge)) if role is not None]
    return join((parts.fact_list(facts), _roles(roles)))


def _roles(roles: list[tuple[str, RolePlan]]) -> Html:
    rows: list[tuple[Html, ...]] = []
    columns = [_role_facts(role) for _, role in roles]
    for index, (name, _) in enumerate(columns[0]):
        rows.append((text(name), *(column[index][1] for column in columns)))
    head = (text("Role"), *(text(name) for name, _ in roles))
    return table(head, rows, css="es-roles", caption="What each role was")


def _role_facts(role: RolePlan) -> list[tuple[str, Html]]:
    identity, sampling, endpoint = role.identity, role.spec.sampling, role.spec.endpoint
    timeout = text(f"{endpoint.timeout_s} s") if isinstance(endpoint, OllamaEndpointSpec) else parts.quiet("none")
    replayed = parts.told(identity.replayed_run) if isinstance(endpoint, ReplayEndpointSpec) else parts.quiet("none")
    return [
        ("Endpoint", text(identity.endpoint_kind)),
        ("Host", parts.told(identity.endpoint_host)),
        (
            "Server, client",
            join((parts.told(identity.server_version), text(", "), parts.told(identity.client_version))),
        ),
        ("Model name", parts.told(identity.model_name)),
        ("Model digest", parts.digest(identity.model_digest)),
        ("Size in bytes", parts.told(identity.model_size_bytes)),
        ("Family", parts.told(identity.family)),
        (
            "Parameters, quantisation",
            join((parts.told(identity.parameter_size), text(", "), parts.told(identity.quantization))),
        ),
        ("Trained context", parts.told(identity.trained_context_tokens)),
        ("Capabilities", parts.told(", ".join(identity.capabilities) if identity.capabilities is not None else None)),
        ("Forwards to", parts.told(identity.remote_host)),
        ("Replays", replayed),
        (
            "Sampling",
            text(
                f"temperature {sampling.temperature}, seed {sampling.seed}, top-k {sampling.top_k}, top-p "
                f"{sampling.top_p}, min-p {sampling.min_p}, repeat penalty {sampling.repeat_penalty}"
            ),
        ),
        ("Limits", text(f"{sampling.max_output_tokens} output tokens, {sampling.context_tokens} context tokens")),
        ("Timeout", timeout),
        ("Instructions", parts.digest(role.instructions_digest)),
        ("Prompt version", parts.foreign(role.prompt_version)),
        ("Contract", parts.digest(role.contract_digest)),
    ]


def _vouched(vouched: Vouched) -> list[tuple[str, Html]]:
    """Return who vouches from outside, and since when; nothing if nobody does."""
    if vouched.at is None:
        return []
    return [("Closed in the log by", text(vouched.at)), ("As stated by", parts.foreign(", ".join(vouched.by)))]


def record_section(catalogue: Catalogue, view: RunView) -> Html:
    """Return what the verification found, and the files to verify it again."""
    run = view.run
    words = LEVEL_WORDS[run.level]
    statement = run.head.statement_digest
    facts = [
        ("Ledger", parts.foreign(run.ledger)),
        ("Root key", parts.full_digest(run.root_fingerprint)),
        (
            "Evidence level",
            text(
                f"{run.level.value}: {words.long} It leaves open: "
                f"{words.leaves_open[:1].lower()}{words.leaves_open[1:]}"
            ),
        ),
        *_vouched(run.vouched),
        ("Least level by policy", text(run.minimum_level.value)),
        ("Events", parts.number(run.head.size)),
        ("Root of the tree", parts.full_digest(run.head.root)),
        ("Opened in the log at", parts.told(run.head.opened_index)),
        (
            "Closed in the log at",
            parts.told(run.head.closed_index) if run.head.closed_index is not None else parts.quiet("not closed"),
        ),
        ("Signed statement", parts.full_digest(statement) if statement else parts.quiet("none: the run isn't closed")),
    ]
    return join(
        (
            parts.fact_list(facts),
            el("h3", text("What the verification looked at")),
            _checks(run.checks),
            *_files(catalogue, view),
            parts.para(link(relative(Kind.VERIFY.address, view.path), text("Verify it yourself"), css="es-more")),
        )
    )


def _checks(checks: Iterable[Check]) -> Html:
    rows = []
    for check in checks:
        mark = marks.BROKEN if check.findings else marks.HOLDS if check.checked else marks.NOTHING_CHECKED
        found = bullets(
            join((parts.code(item.code), text(" "), parts.foreign(item.message))) for item in check.findings
        )
        rows.append(
            (
                text(f"{check.step}. {check.name}"),
                text(check.area.value),
                num(parts.number(check.checked)),
                join((pill(mark), found if check.findings else EMPTY)),
            )
        )
    head = tuple(text(name) for name in ("Step", "Area", "Items", "Result"))
    return table(head, rows, caption="Checks of this record")


def _files(catalogue: Catalogue, view: RunView) -> Iterable[Html]:
    prefix = f"runs/{view.run_id}/"
    names = [
        f"{prefix}{name}"
        for name in (
            "statement.dsse.json",
            "checkpoint",
            "proofs/run-opened.tlog-proof",
            "proofs/run-closed.tlog-proof",
        )
    ]
    found = [name for name in names if catalogue.has_record(name)]
    found += sorted(name for name in catalogue.given.record if name.startswith(f"{prefix}events/"))
    if not found:
        return
    yield el("h3", text("Files of the record"))
    yield bullets(download(relative(f"record/{name}", view.path), parts.code(name)) for name in found)
