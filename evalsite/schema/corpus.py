# SPDX-License-Identifier: Apache-2.0
"""Corpora: cases, controls, evidence samples, cards, label sets (R1-R4, R31, R74, R75, R113)."""

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, StringConstraints

from evalsite.schema import bounds
from evalsite.schema.base import CaseId, Day, FolderName, Later, ShortText, StrictModel, Text
from evalsite.schema.codechecks import CodeChecks
from evalsite.schema.outcome import Dimension, Place, Polarity, Probe, Protocol
from evalsite.schema.replies import Action, CandidateAnswer

Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")]
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]


class DataClass(StrEnum):
    """How sensitive the texts are; unstated is not allowed."""

    SYNTHETIC = "synthetic"
    INTERNAL = "internal"
    PERSONAL = "personal"
    RESTRICTED = "restricted"


class LabelLevel(StrEnum):
    """How much a label set can carry, least first (T8)."""

    PRESET = "preset"
    AI_REVIEWED = "ai-reviewed"
    HUMAN_REVIEWED = "human-reviewed"
    HUMAN_BLIND_ANCHORED = "human-blind-anchored"


class Review(StrictModel):
    """One real review of a corpus: who (a role, never a name), when, of what, how."""

    reviewed_at: Day
    by: ShortText
    kind: Literal["author", "ai", "human"]
    what: ShortText


class CorpusProvenance(StrictModel):
    """Where the texts come from and how far they were reviewed (R113)."""

    authors: ShortText
    created_at: Day
    licence: ShortText
    reviews: tuple[Review, ...]
    independent_human_validation: Literal["open", "closed"]


class Instructions(StrictModel):
    """The general instructions of the two roles: policy only, nothing of a case (R9)."""

    candidate: Text | None
    judge: Text


class ContextItem(StrictModel):
    """One document that is handed to the candidate with the message."""

    title: ShortText
    text: Text


class CandidateInput(StrictModel):
    """All that a candidate may ever see of a case (R5)."""

    message: Text
    context: tuple[ContextItem, ...]


class BinaryCase(StrictModel):
    """A case of the binary protocol; everything but ``input`` is private (R1).

    ``checks`` are decided by code, beside action and refusal; the judge is told nothing of them (R47).
    """

    id: CaseId
    title: ShortText
    tags: tuple[Tag, ...]
    critical: bool
    input: CandidateInput
    required_behavior: Text
    forbidden_behavior: Text
    expected_action: Action
    must_refuse: bool
    positive_reference: CandidateAnswer
    negative_counterexample: CandidateAnswer
    caveat: Text | None
    checks: Later[CodeChecks] = None


class EvidenceCase(StrictModel):
    """A sample of the evidence protocol; its reference label stands in a label set (R31, R34)."""

    id: CaseId
    title: ShortText
    tags: tuple[Tag, ...]
    evidence: Annotated[tuple[Text, ...], Field(max_length=bounds.MAX_EVIDENCE_ITEMS)]
    explanation: Text


class Card(StrictModel):
    """A knowledge card: facts in the head, behaviour rules in the tail (S4)."""

    id: CaseId
    title: ShortText
    domain: ShortText
    source: ShortText
    head: Text
    tail: Text


class GradedCase(StrictModel):
    """An answer over cited cards, to be graded per dimension."""

    id: CaseId
    title: ShortText
    tags: tuple[Tag, ...]
    cards: Annotated[tuple[CaseId, ...], Field(min_length=1, max_length=bounds.MAX_CARDS_PER_CASE)]
    question: Text
    answer: Text


class PairwiseCase(StrictModel):
    """Two answers to one question; which is better stands in a label set: 1 for a, 2 for b, 0 for neither (R97)."""

    id: CaseId
    title: ShortText
    tags: tuple[Tag, ...]
    question: Text
    answer_a: Text
    answer_b: Text


class EvidenceControl(StrictModel):
    """An example of known classification, shown to the judge before the cases: score 1 or 0 is expected."""

    id: CaseId
    title: ShortText
    polarity: Polarity
    probe: Probe
    place: Place | None
    evidence: Annotated[tuple[Text, ...], Field(min_length=1, max_length=bounds.MAX_EVIDENCE_ITEMS)]
    explanation: Text


class GradedControl(StrictModel):
    """An answer over cards of known classification in one dimension: a high or a low grade is expected."""

    id: CaseId
    title: ShortText
    polarity: Polarity
    probe: Probe
    place: Place | None
    dimension: Dimension
    cards: Annotated[tuple[CaseId, ...], Field(min_length=1, max_length=bounds.MAX_CARDS_PER_CASE)]
    answer: Text


class Label(StrictModel):
    """One reference label. ``dimension`` is set for the graded protocol only."""

    case_id: CaseId
    value: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)]
    dimension: Dimension | None
    boundary: bool
    note: ShortText | None


class LabelSet(StrictModel):
    """Reference labels of one construct by one annotator role (R74, R75).

    Read by calibration and by the fixture endpoint only; a judge never sees any of it.
    """

    format: Literal["evalsite/labels/v1"]
    name: FolderName
    construct_name: ShortText
    construct_version: ShortText
    level: LabelLevel
    annotator: ShortText
    independently_reviewed_by_humans: bool
    aligned_on_standard_first: bool
    note: Text | None
    labels: Annotated[tuple[Label, ...], Field(max_length=bounds.MAX_CASES)]


class _CorpusBase(StrictModel):
    format: Literal["evalsite/corpus/v1"]
    name: FolderName
    version: ShortText
    title: ShortText
    description: Text
    language: Language
    translation_of: FolderName | None
    data_class: DataClass
    provenance: CorpusProvenance
    caveats: tuple[Text, ...]
    instructions: Instructions


class BinaryCorpus(_CorpusBase):
    """A corpus of the binary protocol."""

    protocol: Literal[Protocol.BINARY]
    cases: Annotated[tuple[BinaryCase, ...], Field(max_length=bounds.MAX_CASES)]


class EvidenceCorpus(_CorpusBase):
    """A corpus of the evidence protocol."""

    protocol: Literal[Protocol.EVIDENCE]
    cases: Annotated[tuple[EvidenceCase, ...], Field(max_length=bounds.MAX_CASES)]
    controls: Later[Annotated[tuple[EvidenceControl, ...], Field(max_length=bounds.MAX_CONTROLS)]] = None


class GradedCorpus(_CorpusBase):
    """A corpus of the graded protocol. ``cards`` come from the files under ``cards/``."""

    protocol: Literal[Protocol.GRADED]
    cards: tuple[Card, ...]
    cases: Annotated[tuple[GradedCase, ...], Field(max_length=bounds.MAX_CASES)]
    controls: Later[Annotated[tuple[GradedControl, ...], Field(max_length=bounds.MAX_CONTROLS)]] = None


class PairwiseCorpus(_CorpusBase):
    """A corpus of the pairwise protocol."""

    protocol: Literal[Protocol.PAIRWISE]
    cases: Annotated[tuple[PairwiseCase, ...], Field(max_length=bounds.MAX_CASES)]


Corpus: TypeAlias = Annotated[
    BinaryCorpus | EvidenceCorpus | GradedCorpus | PairwiseCorpus, Field(discriminator="protocol")
]
Case: TypeAlias = BinaryCase | EvidenceCase | GradedCase | PairwiseCase
Control: TypeAlias = EvidenceControl | GradedControl


def controls_of(corpus: Corpus) -> tuple[Control, ...]:
    """Return the controls that a corpus keeps apart from its cases; those of the binary protocol stand in them."""
    return corpus.controls or () if isinstance(corpus, EvidenceCorpus | GradedCorpus) else ()


class CorpusSnapshot(StrictModel):
    """A corpus with its label sets, as it is kept in a run's blob (R99)."""

    format: Literal["evalsite/corpus-snapshot/v1"]
    corpus: Corpus
    label_sets: tuple[LabelSet, ...]
