# SPDX-License-Identifier: Apache-2.0
"""Decisions, retention, caveats and verification: what stands on their pages."""

import html
import re

from support import sites
from support.trusted import Scene, make_trusted_run

from evalsite.decisions.adr import parse_decision
from evalsite.retention.policy import parse_policy
from evalsite.site.model import PolicyInForce
from evalsite.site.page_decisions import decision_address
from evalsite.site.scan import check_fragment

RECORD = b"""\
---
status: accepted
date: 2026-11-30
decision-makers: release board
evalsite:
  format: evalsite/decision/v1
  kind: qualification
  outcome: approved-with-conditions
  run: refused-1
  profile: support-default
  reservations:
    - {id: R1, text: "Nobody outside reviewed the corpus.", state: open}
  conditions:
    - {id: C1, text: "Review by people.", owner: release board, due: "2026-11-01", state: open}
---
# Release the assistant

## Context and Problem Statement

Text with <script>x</script>, [a file](0002-other.md), [outside](https://example.invalid/) and [bad](javascript:x).

| a | b |
|---|---|
| 1 | 2 |

## Decision Outcome

Chosen option: "go".
"""
OTHER = b"# Other\n\n## Status\n\nSomething nobody knows\n"
POLICY = b"""\
format: evalsite/policy/v1
data_class: synthetic
access: public
owner: corpus maintainers
effective: "2026-11-30"
rules:
  - id: raw
    applies_to: [payload]
    keep: P1Y6M
    floor: P6M
    trigger: run.finished
    basis: {kind: policy, cite: "<b>because</b>"}
    action: delete
"""


def _decisions():
    return (
        parse_decision(RECORD, name="docs/decisions/0001-release.md"),
        parse_decision(OTHER, name="docs/decisions/0002-other.md"),
    )


def test_accepted_in_a_text_is_no_approval() -> None:
    site = sites.plan(sites.refused_run(), decisions=_decisions())
    register = sites.section(site, "decisions/index.html", "Register")
    assert "accepted in text, not signed" in register
    assert "es-good" not in register
    assert "unknown" in register or "unstated" in register


def test_open_items_and_overdue_conditions_are_told_on_two_pages() -> None:
    site = sites.plan(sites.refused_run(), decisions=_decisions())
    items = sites.section(site, "decisions/index.html", "Open items")
    assert "Nobody outside reviewed the corpus." in items
    assert "overdue" in items
    assert "2 open conditions or reservations" in sites.section(site, "index.html", "Open points")


def test_an_approval_of_a_refused_run_is_called_a_contradiction() -> None:
    record, _ = _decisions()
    site = sites.plan(sites.refused_run(), decisions=_decisions())
    page = sites.section(site, decision_address(record), "Decision")
    assert "Contradiction." in page
    assert "refused" in page
    card = sites.section(site, "index.html", "State of each profile")
    assert decision_address(record) in card


def test_a_decision_about_a_run_that_is_not_there_says_so() -> None:
    record, _ = _decisions()
    site = sites.plan(decisions=_decisions())
    assert "not among the verified runs" in sites.section(site, decision_address(record), "Decision")


def test_a_qualification_that_cannot_be_read_is_not_called_absent() -> None:
    broken = parse_decision(RECORD.replace(b"outcome: approved", b"outcome: maybe"), name="docs/decisions/0003-x.md")
    page = sites.section(sites.plan(decisions=(broken,)), decision_address(broken), "Decision")
    assert "Not readable." in page
    assert "decides no qualification" not in page


def test_the_text_of_a_record_is_rendered_without_any_of_its_markup() -> None:
    record, other = _decisions()
    site = sites.plan(decisions=_decisions())
    text = sites.section(site, decision_address(record), "Text")
    check_fragment(text, at="decision", outside_links=True)
    assert "&lt;script&gt;" in text
    assert f'href="{decision_address(other).removeprefix("decisions/")}"' in text
    assert "<table>" in text
    assert 'href="javascript' not in text


def test_every_file_of_the_folder_is_listed() -> None:
    register = sites.section(sites.plan(decisions=_decisions()), "decisions/index.html", "Register")
    assert register.count("<tr>") == 3


def test_retention_shows_rules_in_words_and_gaps() -> None:
    loaded = parse_policy(POLICY, name="corpora/two-cases/policy.yaml")
    policies = tuple(PolicyInForce(corpus=name, loaded=loaded) for name in ("two-cases", "other"))
    site = sites.plan(sites.refused_run(), policies=policies, corpora=(sites.binary_corpus(),))
    rules = sites.section(site, "retention/index.html", "Rules")
    assert "1 year 6 months" in rules
    assert "at least 6 months" in rules
    assert "2028-05-30" in rules
    assert "&lt;b&gt;because&lt;/b&gt;" in rules
    assert "no rule for judge" in rules
    assert rules.count("<h3>") == 1
    assert "no statement of legal compliance" in sites.whole(site, "retention/index.html")
    assert "No corpus states a policy" in sites.section(sites.plan(), "retention/index.html", "Rules")


def test_commands_name_the_real_ledger_run_and_fingerprint() -> None:
    run = make_trusted_run(sites.binary_corpus(), Scene(run_id="good-1"))
    newer_open = sites.refused_run(closed_at=None, opened_at="2026-12-03T00:00:00Z")
    site = sites.plan(run, newer_open)
    commands = html.unescape(re.sub(r"<[^>]*>", "", sites.section(site, "verify.html", "With evalsite")))
    assert f"evalsite verify good-1 --root-key {run.ledger}={run.root_fingerprint}" in commands
    without = html.unescape(re.sub(r"<[^>]*>", "", sites.section(site, "verify.html", "Without evalsite")))
    assert "python3 root.py runs/good-1" in without
    assert f"{run.head.size} {run.head.root}" in without


def test_caveats_that_must_be_shown_are_shown() -> None:
    site = sites.plan(sites.refused_run(), corpora=(sites.binary_corpus(),))
    caveats = html.unescape(sites.whole(site, "caveats.html"))
    for words in (
        "neither observed outputs nor truth that independent people annotated",  # R113
        "neither independence nor quality of the judge",  # R114
        "neither determinism, nor statistical robustness, nor resistance to injection",  # R115
        "doesn't guarantee reliability on other requests",  # R116
        "tamper-evident under the keys",  # R117
        "doesn't test the retrieval",  # R118
        "lift neither a refused qualification nor the reservation",  # R119
        "Two preset labels demonstrate a method",  # R120
        "doesn't show that a reason supports its score",  # R121
        "don't prove resistance to injection",  # R122
        "don't pose as a stable public programming interface",  # R123
        "never a target",  # R124
    ):
        assert words in caveats
    corpus = html.unescape(sites.whole(site, "corpora/two-cases/index.html"))
    assert "neither observed outputs nor independent human annotation" in corpus
    assert "Independent human validation is open" in corpus
