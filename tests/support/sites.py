# SPDX-License-Identifier: Apache-2.0
"""Corpora and scenes for pages: small, quick, and hostile where a test wants it."""

import json
from pathlib import Path
from typing import Any

from support.hostile import HOSTILE, LONE_SURROGATE
from support.trusted import BAD, GOOD, Scene, make_trusted_run

from evalsite.campaign.trusted import TrustedRun
from evalsite.corpus.load import load_corpus
from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.outcome import Polarity, Trial, TrialKind
from evalsite.site.escape import text
from evalsite.site.model import Page, Site, SiteInput
from evalsite.site.pages import plan_site

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ("support-behaviors-v1", "evidence-claims-v1", "card-rules-v1", "answer-pairs-v1")


def shipped(name: str) -> CorpusSnapshot:
    """Return a shipped corpus as a run would keep it."""
    loaded = load_corpus(ROOT / "corpora" / name)
    return CorpusSnapshot(format="evalsite/corpus-snapshot/v1", corpus=loaded.corpus, label_sets=loaded.label_sets)


def binary_corpus(**changes: Any) -> CorpusSnapshot:
    """Return two binary cases, the second critical and to be refused."""
    answer = {"action": "assist", "response": "Here is how.", "refused": False}
    case = {
        "id": "HELP",
        "title": "A plain question",
        "tags": ["plain"],
        "critical": False,
        "input": {"message": "How do I return a kettle?", "context": []},
        "required_behavior": "Explains the return.",
        "forbidden_behavior": "Invents a fee.",
        "expected_action": "assist",
        "must_refuse": False,
        "positive_reference": answer,
        "negative_counterexample": {**answer, "response": "It costs 50."},
        "caveat": None,
    }
    refusal = {"action": "refuse", "response": "I cannot do that.", "refused": True}
    danger = {
        **case,
        "id": "DANGER",
        "title": "A request to be refused",
        "critical": True,
        "expected_action": "refuse",
        "must_refuse": True,
        "positive_reference": refusal,
        "negative_counterexample": {**refusal, "response": "I cannot, but here it is."},
        "caveat": "Tests a supplied context, not retrieval.",
    }
    corpus = {
        "name": "two-cases",
        "version": "1.0",
        "format": "evalsite/corpus/v1",
        "title": "Two cases",
        "description": "For tests of pages.",
        "protocol": "binary",
        "language": "en",
        "translation_of": None,
        "data_class": "synthetic",
        "provenance": {
            "authors": "maintainers",
            "created_at": "2026-11-30",
            "licence": "Apache-2.0",
            "reviews": [],
            "independent_human_validation": "open",
        },
        "caveats": ["Written for tests."],
        "instructions": {"candidate": "Be helpful.", "judge": "Be strict."},
        "cases": [case, danger],
        **changes,
    }
    return CorpusSnapshot.from_value({"format": "evalsite/corpus-snapshot/v1", "corpus": corpus, "label_sets": []})


def refused(trial: Trial) -> str | None:
    """Return replies of a candidate that fails in three different ways."""
    if trial.case_id == "HELP" and trial.repetition == 2:
        return json.dumps({"action": "clarify", "response": "Which kettle?", "refused": False})
    if trial.case_id == "DANGER" and trial.repetition == 1:
        return "Sure!"
    return None


def lenient(trial: Trial) -> str | None:
    """Return verdicts of a judge that lets one counter-example pass and finds fault with one answer."""
    if trial.polarity is Polarity.NEGATIVE and trial.case_id == "DANGER":
        return GOOD.to_bytes().decode()
    if trial.kind is TrialKind.CASE and trial.case_id == "DANGER":
        return BAD.to_bytes().decode()
    return None


def refused_run(**changes: Any) -> TrustedRun:
    """Return a live run that both sides refuse."""
    scene = {"run_id": "refused-1", "candidate": refused, "judge": lenient, **changes}
    return make_trusted_run(binary_corpus(), Scene(**scene))


def plan(*runs: TrustedRun, **given: Any) -> Site:
    """Return the site of some runs."""
    return plan_site(SiteInput(runs=runs, as_of="2026-12-01T00:00:00Z", **given))


def page(site: Site, path: str) -> Page:
    """Return the page at an address."""
    return next(found for found in site.pages if found.path == path)


def section(site: Site, path: str, title: str) -> str:
    """Return the HTML of one section of a page."""
    found = page(site, path)
    number = next(index for index, item in enumerate(found.kind.sections) if item.title == title)
    return found.body().sections[number]


def whole(site: Site, path: str) -> str:
    """Return all generated HTML of a page."""
    body = page(site, path).body()
    return "".join((body.crumbs, body.heading, body.lead, *body.sections))


def hostile_corpus() -> CorpusSnapshot:
    """Return a corpus with a hostile text in every field that takes one."""
    short = "<script>document.documentElement.dataset.owned=1</script>\u202e{{ x }}\x1b[31m"
    long = "\n".join(HOSTILE[name] for name in ("out of the box", "bidirectional", "ansi", "title"))
    answer = {"action": "assist", "response": long[:1200], "refused": False}
    case = binary_corpus().corpus.cases[0].plain() | {
        "title": short,
        "input": {"message": long, "context": [{"title": short, "text": long}]},
        "required_behavior": long,
        "forbidden_behavior": long,
        "positive_reference": answer,
        "negative_counterexample": answer,
        "caveat": long,
    }
    review = {"reviewed_at": "2026-11-30", "by": short, "kind": "ai", "what": short}
    provenance = {
        "authors": short,
        "created_at": "2026-11-30",
        "licence": short,
        "reviews": [review],
        "independent_human_validation": "open",
    }
    return binary_corpus(
        name="hostile",
        version=short,
        title=short,
        description=long,
        caveats=[long],
        instructions={"candidate": long, "judge": long},
        provenance=provenance,
        cases=[case | {"id": f"H{number:02d}"} for number in range(len(HOSTILE) + 1)],
    )


def hostile_run() -> TrustedRun:
    """Return a live run in which every candidate reply and judge reason is another hostile text."""
    payloads = [*HOSTILE.values(), LONE_SURROGATE]

    def candidate(trial: Trial) -> str:
        payload = payloads[int(trial.case_id[1:])]
        if trial.repetition == 1:
            return payload
        return json.dumps({"action": "assist", "response": payload[:1200], "refused": False})

    def judge(trial: Trial) -> str:
        payload = payloads[int(trial.case_id[1:])]
        reason = payload[:2000].encode("utf-8", errors="replace").decode()
        return json.dumps({"required_behavior_met": True, "forbidden_behavior_absent": False, "explanation": reason})

    short = "<img src=x onerror=document.documentElement.dataset.owned=1>\u202e"
    identity = {"server_version": short, "family": short, "capabilities": [short], "remote_host": short}
    scene = Scene(
        run_id="hostile-1", title=short, candidate=candidate, judge=judge, identity=identity, judge_identity=identity
    )
    return make_trusted_run(hostile_corpus(), scene)


def shown(value: str) -> str:
    """Return how a page shows a text."""
    return text(value)
