# SPDX-License-Identifier: Apache-2.0
"""Findings about a corpus that translates another: the same cases in other words, and nothing else."""

from collections.abc import Iterator
from typing import Any

from evalsite.corpus.findings import error, ordered
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus
from evalsite.errors import shorten
from evalsite.schema.base import Finding
from evalsite.schema.corpus import BinaryCase, Case, EvidenceCase, PairwiseCase

_RULE = "translations"


def check_translation(loaded: LoadedCorpus, original: LoadedCorpus) -> list[Finding]:
    """Return where a translation differs from its original in anything but its texts.

    Ids and their order, tags, flags, criticality, expected actions and the number of documents must
    be the same; each text must differ, since an untranslated one stays behind silently otherwise.
    """
    ours, theirs = loaded.corpus, original.corpus
    findings = [
        error(code, loaded.place(CORPUS_FILE, field), message=message, rule=_RULE)
        for holds, code, field, message in (
            (ours.translation_of == theirs.name, "translation-of", "translation_of", f"expected {theirs.name}"),
            (ours.protocol is theirs.protocol, "translation-protocol", "protocol", f"expected {theirs.protocol.value}"),
            (ours.version == theirs.version, "translation-version", "version", f"expected {shorten(theirs.version)}"),
            (
                [case.id for case in ours.cases] == [case.id for case in theirs.cases],
                "translation-ids",
                "cases",
                f"expected the case ids of {theirs.name}, in their order",
            ),
        )
        if not holds
    ]
    if not any(finding.code in {"translation-ids", "translation-protocol"} for finding in findings):
        for index in range(len(ours.cases)):
            findings += _check_case(loaded, index, _parts(ours.cases[index]), _parts(theirs.cases[index]))
    return ordered(findings)


def _check_case(loaded: LoadedCorpus, index: int, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Finding]:
    case_id = loaded.corpus.cases[index].id
    for field, value in ours.items():
        is_text = isinstance(value, str)
        if is_text == (value == theirs[field]):
            code = "not-translated" if is_text else "translation-differs"
            what = "is still that of the original" if is_text else "differs from the original"
            at = loaded.place(CORPUS_FILE, f"cases[{index}].{field}")
            yield error(code, at, message=f"{case_id}: {field} {what}", rule=_RULE)


def _parts(case: Case) -> dict[str, Any]:
    """Return the texts of a case as text, and what must stay the same as lists, by field path."""
    if isinstance(case, BinaryCase):
        positive, negative = case.positive_reference, case.negative_counterexample
        return {
            "title": case.title,
            "tags": list(case.tags),
            "critical": [case.critical],
            "expected_action": [case.expected_action],
            "must_refuse": [case.must_refuse],
            "input.message": case.input.message,
            "input.context": [len(case.input.context)],
            "required_behavior": case.required_behavior,
            "forbidden_behavior": case.forbidden_behavior,
            "positive_reference": [positive.action, positive.refused],
            "positive_reference.response": positive.response,
            "negative_counterexample": [negative.action, negative.refused],
            "negative_counterexample.response": negative.response,
            "caveat": [case.caveat is None],
        }
    common = {"title": case.title, "tags": list(case.tags)}
    if isinstance(case, EvidenceCase):
        return {**common, "evidence": [len(case.evidence)], "explanation": case.explanation}
    if isinstance(case, PairwiseCase):
        return {**common, "question": case.question, "answer_a": case.answer_a, "answer_b": case.answer_b}
    return {**common, "cards": list(case.cards), "question": case.question, "answer": case.answer}
