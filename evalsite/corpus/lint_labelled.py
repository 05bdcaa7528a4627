# SPDX-License-Identifier: Apache-2.0
"""Findings about samples and labels of the evidence and graded protocols (R74, R88, R125, R126, R128)."""

from collections.abc import Iterator

from evalsite.corpus.findings import error, warning
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus
from evalsite.corpus.overlap import normalised
from evalsite.schema.base import Finding
from evalsite.schema.corpus import (
    Control,
    EvidenceCase,
    EvidenceControl,
    EvidenceCorpus,
    GradedCase,
    GradedControl,
    GradedCorpus,
    LabelLevel,
    LabelSet,
    controls_of,
)
from evalsite.schema.outcome import Dimension, Place, Polarity, Probe, Protocol

#: What calibration data of the evidence protocol must hold (R125), as tags.
EVIDENCE_CATEGORIES = frozenset(
    {"ambiguous", "partially-correct", "evidence-missing", "verbose", "reworded", "embedded-instruction"}
)
#: What answers over cards must hold (R128), as tags.
GRADED_CATEGORIES = frozenset({"fact-and-rule", "rule-only", "tension", "unsupported-consistent", "faithful"})
#: High, middle and low of the rubric (R85), in points.
ANCHORS = frozenset({0, 50, 100})
#: Label values that a judge must be able to give; of pairs: neither, a, b.
_POLES = {Protocol.BINARY: (0, 1), Protocol.EVIDENCE: (0, 1), Protocol.GRADED: (0, 100), Protocol.PAIRWISE: (0, 1, 2)}
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


def check_controls(loaded: LoadedCorpus) -> Iterator[Finding]:
    """Yield what the controls of the evidence or graded protocol leave untried (T2, R126)."""
    corpus = loaded.corpus
    if not isinstance(corpus, EvidenceCorpus | GradedCorpus):
        return
    controls = controls_of(corpus)
    if not controls:
        message = "the corpus has no controls: a live judge is shown nothing of known classification first"
        yield warning("no-controls", loaded.place(CORPUS_FILE, "protocol"), message=message, rule="T2")
        return
    lengths = _Lengths(corpus)
    longest = max((lengths.of(case) for case in corpus.cases), default=0)
    for index, control in enumerate(controls):
        if control.probe is Probe.REACH and lengths.of(control) < longest:
            message = f"{control.id}: what is shown has {lengths.of(control)} characters, the longest case {longest}"
            at = loaded.place(CORPUS_FILE, f"controls[{index}]")
            yield warning("short-control", at, message=f"{message}: a cut behind it goes unseen", rule="R83")
    dimensions = {control.dimension if isinstance(control, GradedControl) else None for control in controls}
    if isinstance(corpus, GradedCorpus):
        dimensions |= set(Dimension)
    for dimension in sorted(dimensions, key=str):
        of_one = [control for control in controls if getattr(control, "dimension", None) is dimension]
        yield from _check_untried(loaded, "" if dimension is None else f"{dimension.value}: ", of_one)


def _check_untried(loaded: LoadedCorpus, name: str, controls: list[Control]) -> Iterator[Finding]:
    at = loaded.place(CORPUS_FILE, "controls")
    missing = [pole.value for pole in Polarity if pole not in {control.polarity for control in controls}]
    if missing:
        message = f"{name}no control is {' or '.join(missing)}: a judge that always says the other passes them all"
        yield warning("one-pole", at, message=message, rule="R67, R88")
    if Place.TAIL not in {control.place for control in controls}:
        message = f"{name}no control has what decides in its tail: a judge that is shown heads only passes them all"
        yield warning("no-tail-control", at, message=message, rule="R83, R129")


class _Lengths:
    """How many characters of evidence or cards a judge is shown of a case or control."""

    def __init__(self, corpus: EvidenceCorpus | GradedCorpus) -> None:
        cards = corpus.cards if isinstance(corpus, GradedCorpus) else ()
        self._cards = {card.id: len(card.head) + len(card.tail) for card in cards}

    def of(self, shown: EvidenceCase | GradedCase | Control) -> int:
        if isinstance(shown, EvidenceCase | EvidenceControl):
            return sum(map(len, shown.evidence))
        return sum(self._cards[card] for card in shown.cards)


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
    poles = _POLES[loaded.corpus.protocol]
    values = {label.value for label in label_set.labels}
    for pole in poles:
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
