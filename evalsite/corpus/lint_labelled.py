# SPDX-License-Identifier: Apache-2.0
"""Findings about samples and labels of the evidence and graded protocols (R74, R88, R125, R126, R128)."""

from collections.abc import Iterator

from evalsite.corpus.findings import error, warning
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus
from evalsite.corpus.overlap import normalised
from evalsite.schema.base import Finding
from evalsite.schema.corpus import EvidenceCorpus, GradedCorpus, LabelLevel, LabelSet
from evalsite.schema.outcome import Protocol

#: What calibration data of the evidence protocol must hold (R125), as tags.
EVIDENCE_CATEGORIES = frozenset(
    {"ambiguous", "partially-correct", "evidence-missing", "verbose", "reworded", "embedded-instruction"}
)
#: What answers over cards must hold (R128), as tags.
GRADED_CATEGORIES = frozenset({"fact-and-rule", "rule-only", "tension", "unsupported-consistent", "faithful"})
#: High, middle and low of the rubric (R85), in points.
ANCHORS = frozenset({0, 50, 100})
_HUMAN_LEVELS = frozenset({LabelLevel.HUMAN_REVIEWED, LabelLevel.HUMAN_BLIND_ANCHORED})


def check_evidence(loaded: LoadedCorpus, corpus: EvidenceCorpus) -> Iterator[Finding]:
    """Yield missing categories, samples without evidence, and samples that occur twice."""
    yield from _check_categories(loaded, EVIDENCE_CATEGORIES, "R125")
    seen: dict[str, str] = {}
    for index, case in enumerate(corpus.cases):
        key = normalised("\n".join((*case.evidence, case.explanation)))
        if key in seen:
            message = f"{case.id}: the sample is the same as {seen[key]}"
            yield error("duplicate-input", _case(loaded, index), message=message, rule="R31")
        seen.setdefault(key, case.id)
        if not case.evidence:
            message = f"{case.id}: the sample has no evidence item, so that only null is a valid verdict"
            yield warning("no-evidence-item", _case(loaded, index), message=message, rule="R28")


def check_graded(loaded: LoadedCorpus, corpus: GradedCorpus) -> Iterator[Finding]:
    """Yield missing categories and answers that occur twice."""
    yield from _check_categories(loaded, GRADED_CATEGORIES, "R128")
    seen: dict[str, str] = {}
    for index, case in enumerate(corpus.cases):
        key = normalised("\n".join((*case.cards, case.answer)))
        if key in seen:
            message = f"{case.id}: the answer is the same as {seen[key]}"
            yield error("duplicate-input", _case(loaded, index), message=message, rule="R1")
        seen.setdefault(key, case.id)


def check_label_sets(loaded: LoadedCorpus) -> Iterator[Finding]:
    """Yield label sets that claim too much, miss cases, or hold one pole only."""
    for label_set in loaded.label_sets:
        yield from _check_claims(loaded, label_set)
        yield from _check_coverage(loaded, label_set)
    protocol = loaded.corpus.protocol
    if protocol is not Protocol.BINARY and not loaded.label_sets:
        at = loaded.place(CORPUS_FILE, "protocol")
        message = "the corpus has no label set: its judge cannot be compared with anything"
        yield warning("no-labels", at, message=message, rule="R31")


def _check_claims(loaded: LoadedCorpus, label_set: LabelSet) -> Iterator[Finding]:
    human = label_set.level in _HUMAN_LEVELS
    if label_set.independently_reviewed_by_humans and not human:
        message = f"labels of level {label_set.level.value} cannot be independently reviewed by humans"
        yield error("overclaimed-labels", _label(loaded, label_set, "level"), message=message, rule="R74")
    if not human and label_set.note is None:
        message = "a label set that no human reviewed should say so in its note"
        yield warning("missing-caveat", _label(loaded, label_set, "note"), message=message, rule="R120")


def _check_coverage(loaded: LoadedCorpus, label_set: LabelSet) -> Iterator[Finding]:
    labelled = {label.case_id for label in label_set.labels}
    missing = [case.id for case in loaded.corpus.cases if case.id not in labelled]
    if missing:
        message = f"{len(missing)} of {len(loaded.corpus.cases)} cases have no label, the first is {missing[0]}"
        yield warning("unlabelled-cases", _label(loaded, label_set, "labels"), message=message, rule="R71")
    graded = loaded.corpus.protocol is Protocol.GRADED
    low, high = (0, 100) if graded else (0, 1)
    values = {label.value for label in label_set.labels}
    for pole in (low, high):
        if pole not in values:
            message = f"no label has the value {pole}: a judge that never gives it would go unnoticed"
            yield warning("one-pole", _label(loaded, label_set, "labels"), message=message, rule="R88")
    if graded and label_set.level is LabelLevel.PRESET and not values <= ANCHORS:
        message = "preset labels should stand on the anchors 0, 50 and 100: finer points need a human's judgement"
        yield warning("off-anchor", _label(loaded, label_set, "labels"), message=message, rule="R85")


def _check_categories(loaded: LoadedCorpus, expected: frozenset[str], rule: str) -> Iterator[Finding]:
    tags = {tag for case in loaded.corpus.cases for tag in case.tags}
    if missing := sorted(expected - tags):
        at = loaded.place(CORPUS_FILE, "cases")
        message = f"no case has the tag {', '.join(missing)}"
        yield warning("missing-category", at, message=message, rule=rule)


def _case(loaded: LoadedCorpus, index: int) -> str:
    return loaded.place(CORPUS_FILE, f"cases[{index}].id")


def _label(loaded: LoadedCorpus, label_set: LabelSet, field: str) -> str:
    return loaded.place(f"labels/{label_set.name}.yaml", field)
