# SPDX-License-Identifier: Apache-2.0
"""What can be labelled: texts of a corpus, or the candidate's answers of a sealed run (R77, T6).

An annotator sees what the judge sees and not more: no verdict, no model, no label of anybody else.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evalsite.campaign.trusted import TrialRecord, TrustedRun
from evalsite.corpus.load import LoadedCorpus
from evalsite.errors import InputError, UndecidedError
from evalsite.judging.constructs import construct_version, criteria_of, label_instructions, protocol_of, rubric_digest
from evalsite.judging.reading import Unread, read_answer
from evalsite.ledger.labelseal import dimension_of
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import BinaryCase, BinaryCorpus, Card, Corpus, EvidenceCase, GradedCase, GradedCorpus
from evalsite.schema.labels import (
    UNLABELLED,
    LabelItem,
    LabelSheet,
    LabelSubject,
    SheetItem,
    ShownText,
    about_digest,
)
from evalsite.schema.outcome import Dimension, Protocol
from evalsite.schema.replies import CandidateAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSource:
    """A subject with the texts of every item, in the order of the corpus or run."""

    subject: LabelSubject
    instructions: str
    texts: dict[LabelItem, tuple[ShownText, ...]]


def corpus_source(loaded: LoadedCorpus, criterion: Criterion) -> LabelSource:
    """Return what there is to label in a corpus of the evidence or graded protocol.

    Raises:
        InputError: The corpus is of another protocol than the criterion.
    """
    corpus = loaded.corpus
    _check_protocol(corpus, criterion)
    if isinstance(corpus, BinaryCorpus):
        raise InputError(
            "expected a sealed run: the binary protocol judges a candidate's answers, which a corpus has none of",
            at=corpus.name,
            rule="T6",
            advice="Name the run with --run.",
        )
    cards = {card.id: card for card in corpus.cards} if isinstance(corpus, GradedCorpus) else {}
    cases = [case for case in corpus.cases if isinstance(case, EvidenceCase | GradedCase)]
    texts = {_item(case.id, criterion): tuple(_case_texts(case, cards, criterion)) for case in cases}
    return _source(corpus, loaded.fingerprint, criterion, texts)


def run_source(run: TrustedRun) -> LabelSource:
    """Return the answers of a sealed run: those that keep their contract, which are all that a judge is shown.

    Raises:
        InputError: A run of another protocol, or one without such an answer.
        UndecidedError: The run is not sealed.
    """
    corpus = run.snapshot.corpus
    if not isinstance(corpus, BinaryCorpus):
        message = "expected a run of the binary protocol: the others judge texts of their corpus"
        raise InputError(message, at=run.run_id, rule="T6", advice="Name the corpus with --corpus.")
    if not run.sealed:
        raise UndecidedError("expected a sealed run: its answers must not change", at=run.run_id)
    cases = {case.id: case for case in corpus.cases}
    texts = {
        LabelItem(case_id=record.trial.case_id, repetition=record.trial.repetition, dimension=None): tuple(
            _answer_texts(cases[record.trial.case_id], answer)
        )
        for record in run.cases
        if (answer := _answer(run, record)) is not None
    }
    if not texts:
        raise InputError("expected at least one answer that keeps its contract", at=run.run_id)
    return _source(corpus, run.plan.corpus.fingerprint, Criterion.BINARY, texts, run)


def blank_sheet(source: LabelSource, *, annotator: str, seed: str, about: "About | None" = None) -> LabelSheet:
    """Return an empty sheet, its items in an order that the seed alone decides.

    Args:
        source: What is labelled.
        annotator: Role of the annotator, never a name.
        seed: 16 hexadecimal digits; the same seed gives the same order on every machine.
        about: The commitments that are adjudicated and the items that are in question; null for a first sheet.
    """
    about, subject = about or About(of=(), items=tuple(source.texts)), source.subject
    return LabelSheet(
        format="evalsite/label-sheet/v1",
        corpus=subject.corpus,
        criterion=subject.criterion,
        about=about_digest(subject, about.of),
        annotator=annotator,
        seed=seed,
        instructions=source.instructions,
        items=tuple(
            SheetItem(key=key, texts=source.texts[item], label=UNLABELLED, note=None)
            for key, item in sorted(keyed(about.items, seed).items())
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an adjudication is about: the annotators' commitments, and the items that they differ in."""

    of: tuple[str, ...]
    items: tuple[LabelItem, ...]


def keyed(items: Iterable[LabelItem], seed: str) -> dict[str, LabelItem]:
    """Return items by the key that stands for each in a sheet; the order of the keys is the sheet's.

    A key is the start of a SHA-256 of seed and item: the same on every machine, and it tells nothing.
    """
    return {hashlib.sha256(bytes.fromhex(seed) + item.to_bytes()).hexdigest()[:16]: item for item in items}


def _check_protocol(corpus: Corpus, criterion: Criterion) -> None:
    protocol = Protocol(corpus.protocol)
    if protocol_of(criterion) is not protocol:
        names = ", ".join(found.value for found in criteria_of(protocol))
        message = f"expected a criterion of the {protocol.value} protocol ({names}), got {criterion.value}"
        raise InputError(message, at="--criterion", rule="T1")


def _source(
    corpus: Corpus,
    fingerprint: str,
    criterion: Criterion,
    texts: dict[LabelItem, tuple[ShownText, ...]],
    run: TrustedRun | None = None,
) -> LabelSource:
    return LabelSource(
        subject=LabelSubject(
            corpus=corpus.name,
            corpus_fingerprint=fingerprint,
            run=None if run is None else run.run_id,
            run_root=None if run is None else run.head.root,
            criterion=criterion,
            construct_version=construct_version(criterion),
            rubric_digest=rubric_digest(corpus, criterion),
        ),
        instructions=label_instructions(corpus, criterion),
        texts=texts,
    )


def _item(case_id: str, criterion: Criterion) -> LabelItem:
    return LabelItem(case_id=case_id, repetition=None, dimension=dimension_of(criterion))


def _case_texts(case: EvidenceCase | GradedCase, cards: dict[str, Card], criterion: Criterion) -> Iterator[ShownText]:
    if isinstance(case, EvidenceCase):
        for number, text in enumerate(case.evidence):
            yield ShownText(title=f"Evidence {number}", text=text)
        yield ShownText(title="Explanation", text=case.explanation)
        return
    for number, card in enumerate((cards[card_id] for card_id in case.cards), start=1):
        yield ShownText(title=f"Card {number}", text=card.title)
        yield ShownText(title=f"Facts of card {number}", text=card.head)
        if dimension_of(criterion) is Dimension.FAITHFULNESS:  # as the judge: rules stand in the tail (R83, R84)
            yield ShownText(title=f"Rules of card {number}", text=card.tail)
    yield ShownText(title="Answer", text=case.answer)


def _answer_texts(case: BinaryCase, answer: CandidateAnswer) -> Iterator[ShownText]:
    yield ShownText(title="Message", text=case.input.message)
    for number, context in enumerate(case.input.context, start=1):
        yield ShownText(title=f"Document {number}", text=f"{context.title}\n{context.text}")
    yield ShownText(title="Required behaviour", text=case.required_behavior)
    yield ShownText(title="Forbidden behaviour", text=case.forbidden_behavior)
    yield ShownText(title="Answer", text=answer.response)
    yield ShownText(title="Action of the answer", text=answer.action.value)
    yield ShownText(title="The answer says that it refuses", text="yes" if answer.refused else "no")


def _answer(run: TrustedRun, record: TrialRecord) -> CandidateAnswer | None:
    call = record.candidate_call
    if call is None or call.reply is None:
        return None
    answer = read_answer(call, run.blob(call.reply))
    return None if isinstance(answer, Unread) else answer
