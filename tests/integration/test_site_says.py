# SPDX-License-Identifier: Apache-2.0
"""What the built pages must say, and must not: one row for each requirement about words that a reader sees."""

import json
import re
from pathlib import Path

import pytest
from support.cli import Project
from support.showcase import CARDS, CLAIMS, SUPPORT, build_showcase, words_of


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with a fixture, a refused live, an evidence and a graded run, and its site."""
    return build_showcase(tmp_path_factory.mktemp("showcase"))


def page(project: Project, pattern: str) -> str:
    """Return the words of the one page that the pattern names."""
    [found] = (project.root / "site").glob(pattern)
    return words_of(found)


SAID = [
    ("R20", "runs/claims/index.html", "A reply broke its contract (NotJson)"),
    ("R39", "runs/fixture/index.html", "Mode fixture"),
    ("R39", "runs/lenient/index.html", "Mode live"),
    ("R46", "runs/lenient/index.html", "Candidate 16 0"),
    ("R46", "runs/lenient/index.html", "Judge, controls 16 0"),
    ("R54", "runs/fixture/index.html", "calibration is neither passed nor failed"),
    ("R55", "runs/lenient/index.html", "Trials of critical cases that did not pass: 0"),
    ("R56", "runs/lenient/index.html", "Replies that broke their contract: 0."),
    ("R58", "runs/lenient/index.html", "Nothing here is an average"),
    ("R58", "caveats.html", "No gate uses an average or a scale from one to five"),
    (
        "R59",
        "runs/lenient/cases/injection-*.html",
        "The answer refused correctly; the request is not thereby permitted.",
    ),
    ("R60", "runs/lenient/index.html", "At zero it qualifies nothing by itself"),
    ("R62", "runs/claims/cases/latency-*.html", "This is neither a low score nor a failure to score."),
    ("R62", "runs/claims/cases/backup-*.html", "Judge unavailable"),
    ("R62", "runs/claims/cases/tests-*.html", "Score 0"),
    (
        "R66",
        "runs/lenient/calibration.html",
        "INJECTION negative counter-example not compliant compliant Calibration failure",
    ),
    ("R66", "runs/lenient/calibration.html", "reply, as it came"),
    (
        "R69",
        "runs/claims/calibration.html",
        "Labelled Judged Agreed False pass False fail Unavailable Why unavailable",
    ),
    ("R70", "runs/claims/calibration.html", "(1 of 2) [9.5"),
    ("R71", "runs/claims/calibration.html", "all 4 2 1 0 1 2 null not decidable: 1 parse failure: 1"),
    ("R72", "runs/claims/calibration.html", "False pass and false fail are never merged"),
    ("R73", "runs/cards/calibration.html", "No agreement figure is shown, since none was measured."),
    ("R74", "runs/claims/calibration.html", "Independently reviewed by people no"),
    ("R75", "runs/claims/calibration.html", "Aligned on the standard first no"),
    ("R76", "runs/cards/calibration.html", "boundary sample"),
    ("R101", "caveats.html", "dated and named as what they are: no new campaign"),
    ("R105", "runs/lenient/index.html", "The answer's action is not the expected one MISSING #1 MISSING #2"),
    ("R105", "runs/lenient/index.html", "The judge accepted a negative counter-example INJECTION negative"),
    ("R106", "runs/claims/cases/licences-*.html", "score 1 cites [0]"),
    ("R106", "runs/claims/cases/licences-*.html", "[0] cited Dependency report"),
    ("R106", "runs/claims/cases/licences-*.html", "Item 0 says so."),
    ("R111", "runs/lenient/index.html", "Prompt version 1 1"),
    ("R111", "runs/lenient/index.html", "pydantic 2."),
    (
        "R113",
        f"corpora/{SUPPORT}/index.html",
        "normative choices of a synthetic corpus (no review beyond the authors' own)",
    ),
    ("R113", f"corpora/{SUPPORT}/index.html", "neither observed outputs nor independent human annotation"),
    ("R113", f"corpora/{SUPPORT}/index.html", "Independent human validation is open."),
    ("R113", "index.html", "Independent human validation is open"),
    ("R114", "runs/lenient/index.html", "the same by digest or name, and ran on the same endpoint"),
    ("R114", "runs/lenient/index.html", "This does not provide an independent judge."),
    ("R114", "caveats.html", "establishes neither independence nor quality of the judge"),
    (
        "R115",
        "runs/lenient/index.html",
        "give determinism, statistical robustness or resistance to injection. They do not.",
    ),
    ("R115", f"corpora/{SUPPORT}/index.html", "guarantee neither determinism nor statistical robustness"),
    ("R116", "caveats.html", "doesn't guarantee reliability on other requests"),
    (
        "R117",
        "index.html",
        "Each record is tamper-evident under the key of its ledger, at the level told here, and no more",
    ),
    ("R117", "caveats.html", "They aren't proof against someone who holds all keys and all copies"),
    ("R118", "runs/lenient/cases/no-evidence-*.html", "It does not test vector retrieval."),
    ("R119", "caveats.html", "lift neither a refused qualification nor the reservation"),
    ("R120", "runs/claims/calibration.html", "A few preset labels demonstrate a method"),
    (
        "R121",
        "runs/claims/calibration.html",
        "A valid structure doesn't show that the judge's reason supports its score",
    ),
    ("R122", "runs/claims/calibration.html", "don't prove resistance to injection"),
    ("R123", f"corpora/{CLAIMS}/index.html", "not a stable public SDK"),
    ("R123", "caveats.html", "They don't pose as a stable public programming interface"),
    ("R124", f"corpora/{CARDS}/index.html", "It is a consequence and not a target."),
    ("R126", f"corpora/{CLAIMS}/index.html", "nothing follows from it about resistance in general"),
]


@pytest.mark.parametrize(("rule", "pattern", "words"), SAID, ids=[f"{row[0]}-{row[1]}" for row in SAID])
def test_the_pages_say(project: Project, rule: str, pattern: str, words: str) -> None:
    assert rule
    assert words in page(project, pattern)


def test_a_refusal_lists_the_candidates_failures_apart_from_the_judges(project: Project) -> None:
    """R105: two lists, each with its own reasons and none of the other's."""
    text = page(project, "runs/lenient/index.html")
    candidate, rest = text.partition("Candidate failures ¶")[2].split("Judge and calibration failures ¶")
    judge = rest.partition("Campaign and host ¶")[0]
    assert "MISSING" in candidate
    assert "INJECTION" not in candidate
    assert "INJECTION negative" in judge
    assert "MISSING" not in judge


def test_the_home_page_never_calls_a_fixture_or_a_refused_run_qualified(project: Project) -> None:
    """R52, R60: one profile each, and none of them is qualified."""
    states = page(project, "index.html").partition("State of each profile")[2].partition("Evidence ¶")[0]
    assert "Fixture only" in states
    assert "Refused" in states
    assert "Qualified" not in states


def test_no_page_of_a_run_shows_a_mean(project: Project) -> None:
    """R58: no average and no percentage of anything."""
    for path in (project.root / "site/runs").glob("*/index.html"):
        text = words_of(path)
        assert not re.search(r"\d\s?%", text), path
        assert not re.search(r"\b(?:mean|average) (?:score|of)\b", text), path


def test_every_raw_output_of_a_live_run_is_kept_and_offered(project: Project) -> None:
    """R100: each reply that the record names is a file of the record, and the page names its digest."""
    run = project.root / "runs/lenient"
    lines = [json.loads(line) for line in (run / "events/000.jsonl").read_bytes().splitlines()]
    replies = [line["call"]["reply"] for line in lines if line["type"] == "call.recorded"]
    assert len(replies) == 48
    for reply in replies:
        digits = reply.removeprefix("sha256:")
        assert (run / "blobs" / digits[:2] / digits).is_file()


def test_a_run_keeps_all_of_its_provenance(project: Project) -> None:
    """R99: what a later reader needs to know stands in the first line of the record."""
    first = (project.root / "runs/lenient/events/000.jsonl").read_bytes().split(b"\n", 1)[0]
    plan = json.loads(first)["plan"]
    role = plan["judge"]
    told = {
        "dataset": plan["corpus"]["snapshot"],
        "fingerprints": [case["fingerprint"] for case in plan["cases"]],
        "prompts": role["instructions_digest"],
        "contract": role["contract_digest"],
        "code": plan["environment"]["code_digest"],
        "packages": plan["environment"]["packages"],
        "configuration": plan["campaign_digest"],
        "parameters": role["spec"]["sampling"]["temperature"],
        "endpoint": role["identity"]["endpoint_host"],
        "server": role["identity"]["server_version"],
        "digest": role["identity"]["model_digest"],
        "quantisation": role["identity"]["quantization"],
    }
    assert [name for name, value in told.items() if not value] == []


def test_nothing_of_another_origin_is_claimed_as_ours(project: Project) -> None:
    """R102, R113: the reviews and results that the sources tell of are not those of our corpora."""
    for path in Path(project.root / "site").rglob("*.html"):
        text = words_of(path)
        assert "Codex" not in text, path
        assert "Lot-014" not in text, path
