# SPDX-License-Identifier: Apache-2.0
"""The fixture's table of answers, made from the corpus (R39, R45).

The candidate's stand-in answers with the positive reference; the judge's stand-in with the expected
classification, or with the reference label. A campaign can put text or a fault in an answer's
place, to exercise what happens then. Whatever a fixture run shows, it shows about code and
contracts, and nothing about a model.
"""

from collections.abc import Iterator

from evalsite.campaign.casebook import CaseBook, Question
from evalsite.endpoint.fixture import FixtureAnswer
from evalsite.errors import InputError
from evalsite.judging.pairwise import CHOICES
from evalsite.judging.statistics.position import Choice
from evalsite.schema import bounds
from evalsite.schema.base import StrictModel
from evalsite.schema.corpus import BinaryCase, CorpusSnapshot, EvidenceCase, PairwiseCase
from evalsite.schema.outcome import Dimension, Order, Trial, TrialKind
from evalsite.schema.plan import FixtureEndpointSpec, FixtureReply
from evalsite.schema.replies import (
    BinaryVerdict,
    CandidateAnswer,
    EvidenceVerdict,
    GradedVerdictV2,
    PairwiseVerdict,
    Winner,
)

_BY_FIXTURE = "Fixture: taken from the corpus, no model was asked."
_GOOD = BinaryVerdict(required_behavior_met=True, forbidden_behavior_absent=True, explanation=_BY_FIXTURE)
_BAD = BinaryVerdict(required_behavior_met=False, forbidden_behavior_absent=False, explanation=_BY_FIXTURE)

Table = dict[str, FixtureAnswer]


def candidate_table(snapshot: CorpusSnapshot, spec: FixtureEndpointSpec) -> Table:
    """Return candidate prompt to answer: the positive reference, unless the campaign scripts a reply."""
    book = CaseBook(snapshot)
    scripted = _scripted(spec, "candidate")
    table: Table = {}
    for case in book.corpus.cases:
        if isinstance(case, BinaryCase):
            prompt = book.candidate_question(_trial(case.id)).prompt
            _put(table, prompt, case.positive_reference.to_bytes(), scripted.get(case.id))
    return table


def judge_table(snapshot: CorpusSnapshot, spec: FixtureEndpointSpec, candidate: FixtureEndpointSpec | None) -> Table:
    """Return judge prompt to verdict: the expected classification or the reference label.

    A scripted candidate answer that keeps its contract is judged compliant, unless it is the
    negative counter-example: the stand-in reads no prose.
    """
    book = CaseBook(snapshot)
    scripted = _scripted(spec, "judge")
    answers = _scripted(candidate, "candidate") if candidate is not None else {}
    table: Table = {}
    for case_id, prompt, verdict in _judge_entries(book, snapshot, answers):
        _put(table, prompt, verdict, scripted.get(case_id))
    return table


def _scripted(spec: FixtureEndpointSpec, role: str) -> dict[str, FixtureReply]:
    return {reply.case_id: reply for reply in spec.replies if reply.role == role}


def _put(table: Table, prompt: str, raw: bytes, scripted: FixtureReply | None) -> None:
    if scripted is None:
        table.setdefault(prompt, FixtureAnswer(raw=raw, fault=None))
    elif scripted.text is not None:
        table[prompt] = FixtureAnswer(raw=scripted.text.encode("utf-8"), fault=None)
    else:
        table[prompt] = FixtureAnswer(raw=None, fault=scripted.fault)


def _trial(case_id: str, dimension: Dimension | None = None, order: Order | None = None) -> Trial:
    return Trial(kind=TrialKind.CASE, case_id=case_id, repetition=1, polarity=None, dimension=dimension, order=order)


def _judge_entries(
    book: CaseBook, snapshot: CorpusSnapshot, answers: dict[str, FixtureReply]
) -> Iterator[tuple[str, str, bytes]]:
    labels = {
        (label.case_id, label.dimension): label.value for labels in snapshot.label_sets for label in labels.labels
    }
    for case in book.corpus.cases:
        if isinstance(case, BinaryCase):
            answer = _answer_of(case, answers.get(case.id))
            verdict = _BAD if answer == case.negative_counterexample else _GOOD
            yield case.id, book.judge_question(_trial(case.id), answer).prompt, verdict.to_bytes()
        elif isinstance(case, EvidenceCase):
            score = labels.get((case.id, None))
            cited = () if score is None else (0,)
            scored = EvidenceVerdict(score=score, reason=_BY_FIXTURE, evidence=cited)
            yield case.id, book.judge_question(_trial(case.id)).prompt, scored.to_bytes()
        elif isinstance(case, PairwiseCase):
            for order in Order:
                paired = PairwiseVerdict(winner=_winner(labels.get((case.id, None)), order), reason=_BY_FIXTURE)
                yield case.id, book.judge_question(_trial(case.id, order=order)).prompt, paired.to_bytes()
        else:
            for dimension in Dimension:
                question = book.judge_question(_trial(case.id, dimension))
                yield case.id, question.prompt, _graded(labels.get((case.id, dimension)), question).to_bytes()


def _graded(score: int | None, question: Question) -> StrictModel:
    nonce = None if question.framing is None else question.framing.nonce
    if nonce is None:  # pragma: no cover - the newest prompts close the cards
        raise ValueError(question)
    return GradedVerdictV2(score=score, reason=_BY_FIXTURE, end_of_card=nonce)


def _winner(label: int | None, order: Order) -> Winner | None:
    if label is None:
        return None
    choice = CHOICES[label]
    if choice is Choice.TIE:
        return Winner.TIE
    return Winner.FIRST if (choice is Choice.A) is (order is Order.AB) else Winner.SECOND


def _answer_of(case: BinaryCase, scripted: FixtureReply | None) -> CandidateAnswer:
    """Return the answer that the judge will be shown, if the scripted one keeps its contract."""
    if scripted is None or scripted.text is None:
        return case.positive_reference
    try:
        return CandidateAnswer.parse(scripted.text.encode("utf-8"), max_bytes=bounds.MAX_REPLY_BYTES)
    except InputError:
        return case.positive_reference  # the judge will not be asked
