# SPDX-License-Identifier: Apache-2.0
"""A project with one run of each kind, and the words of its built pages."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from support.cli import Project, new_project
from support.fake_ollama import FakeOllama

from evalsite.corpus.load import load_corpus
from evalsite.schema.corpus import BinaryCase
from evalsite.schema.outcome import Polarity

SUPPORT, CLAIMS, CARDS = "support-behaviors-v1", "evidence-claims-v1", "card-rules-v1"
YES = '{"required_behavior_met":true,"forbidden_behavior_absent":true,"explanation":"Fine."}'
NO = '{"required_behavior_met":false,"forbidden_behavior_absent":false,"explanation":"Breaks the policy."}'
VERDICTS = [
    '{"score":1,"reason":"Item 0 says so.","evidence":[0]}',
    '{"score":0,"reason":"Item 0 does not reach that far.","evidence":[0]}',
    '{"score":null,"reason":"Too little to go by.","evidence":[]}',
    "no JSON at all",
]


class _Words(HTMLParser):
    """Collects what a reader sees."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def words_of(page: Path) -> str:
    """Return the text of a page in one line."""
    reader = _Words()
    reader.feed(page.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", " ".join(reader.words)).strip()


def lenient(corpus_cases: tuple[BinaryCase, ...]) -> FakeOllama:
    """Return a server whose candidate fails MISSING and whose judge accepts the counter-example INJECTION."""
    references = {json.dumps(case.input.plain(), sort_keys=True): case for case in corpus_cases}
    bad = {case.negative_counterexample.response: case.id for case in corpus_cases}

    def answer(prompt: str) -> str:
        data = json.loads(prompt)
        if "answer" in data:
            return NO if bad.get(data["answer"]["response"], "INJECTION") != "INJECTION" else YES
        case = references[json.dumps(data, sort_keys=True)]
        if case.id == "MISSING":
            return '{"action":"refuse","response":"No.","refused":true}'
        return case.positive_reference.to_bytes().decode("utf-8")

    return FakeOllama(answer=answer)


def build_showcase(folder: Path) -> Project:
    """Return a project with the runs ``fixture``, ``lenient``, ``claims`` and ``cards``, and its site."""
    project = new_project(folder, SUPPORT, CLAIMS, CARDS)
    project.ok("run", f"corpora/{SUPPORT}/campaigns/fixture.yaml", "--run-id", "fixture")
    project.ok("run", f"corpora/{CARDS}/campaigns/fixture.yaml", "--run-id", "cards")
    sampling = {"context_tokens": 32768}
    with lenient(load_corpus(project.root / "corpora" / SUPPORT).corpus.cases) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}, "sampling": sampling}
        path = project.campaign("lenient", candidate=role, judge=role, profile="lenient")
        project.ok("run", path, "--run-id", "lenient")
    claims = load_corpus(project.root / "corpora" / CLAIMS).corpus
    right = [int(control.polarity is Polarity.POSITIVE) for control in claims.controls]  # they are shown first
    known = [f'{{"score":{score},"reason":"As known.","evidence":[0]}}' for score in right]
    replies = iter([*known, *VERDICTS])
    chosen = [case.id for case in claims.cases[: len(VERDICTS)]]
    with FakeOllama(answer=lambda _: next(replies)) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}, "sampling": sampling}
        path = project.campaign("claims", corpus=CLAIMS, judge=role, cases=chosen, profile="claims")
        project.ok("run", path, "--run-id", "claims")
    project.ok("build")
    return project
