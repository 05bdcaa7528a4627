# SPDX-License-Identifier: Apache-2.0
"""What is asked for each planned trial, derived from a corpus snapshot.

The runner asks with it and the verification derives the same questions again, so that a record
whose prompts were not made from its corpus cannot pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from evalsite.canonical.digest import digest_text
from evalsite.judging import prompts
from evalsite.schema.base import StrictModel
from evalsite.schema.corpus import BinaryCase, BinaryCorpus, CorpusSnapshot, EvidenceCase, GradedCase, GradedCorpus
from evalsite.schema.outcome import Polarity, Protocol, Role, Trial
from evalsite.schema.plan import PlannedCase
from evalsite.schema.replies import CandidateAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question for one role, in strings, and the contract of its reply."""

    role: Role
    instructions: str
    prompt: str
    contract: type[StrictModel]

    @property
    def prompt_digest(self) -> str:
        """Return the digest of the prompt's text."""
        return digest_text(self.prompt)


class CaseBook:
    """The questions of one corpus.

    Args:
        snapshot: The corpus with its label sets; labels are never read here (R34).
    """

    def __init__(self, snapshot: CorpusSnapshot) -> None:
        self.corpus = snapshot.corpus
        self.protocol = Protocol(self.corpus.protocol)
        self._cases = {case.id: case for case in self.corpus.cases}
        self._cards = {card.id: card for card in self.corpus.cards} if isinstance(self.corpus, GradedCorpus) else {}

    def planned_cases(
        self, selection: tuple[str, ...] | None, fingerprints: Mapping[str, str]
    ) -> tuple[PlannedCase, ...]:
        """Return the case table of a plan: what the host decides with, fixed in advance."""
        chosen = tuple(self._cases) if selection is None else selection
        return tuple(self._planned(self._cases[case_id], fingerprints[case_id]) for case_id in chosen)

    @staticmethod
    def _planned(case: BinaryCase | EvidenceCase | GradedCase, fingerprint: str) -> PlannedCase:
        binary = case if isinstance(case, BinaryCase) else None
        return PlannedCase(
            case_id=case.id,
            fingerprint=fingerprint,
            critical=binary.critical if binary else False,
            expected_action=binary.expected_action if binary else None,
            must_refuse=binary.must_refuse if binary else None,
        )

    def candidate_instructions(self) -> str | None:
        """Return the candidate's instructions; null where the protocol has no candidate."""
        policy = self.corpus.instructions.candidate
        if not isinstance(self.corpus, BinaryCorpus) or policy is None:
            return None
        return prompts.candidate_instructions(policy)

    def candidate_question(self, trial: Trial) -> Question:
        """Return what the candidate is asked: the common policy and the public input only (R5, R9)."""
        policy = self.corpus.instructions.candidate or ""
        return Question(
            role=Role.CANDIDATE,
            instructions=prompts.candidate_instructions(policy),
            prompt=prompts.candidate_prompt(self.binary_case(trial).input),
            contract=CandidateAnswer,
        )

    def judge_question(self, trial: Trial, answer: CandidateAnswer | None = None) -> Question:
        """Return what the judge is asked about a trial.

        Args:
            trial: The trial; its dimension chooses the rubric of the graded protocol.
            answer: The parsed answer, unaltered (binary protocol only).

        Raises:
            ValueError: A binary trial without an answer (a bug in the caller).
        """
        case = self._cases[trial.case_id]
        if isinstance(case, BinaryCase):
            if answer is None:
                raise ValueError(trial)
            prompt = prompts.binary_judge_prompt(case, answer)
        elif isinstance(case, EvidenceCase):
            prompt = prompts.evidence_judge_prompt(case)
        else:
            if trial.dimension is None:
                raise ValueError(trial)
            cards = [self._cards[card_id] for card_id in case.cards]
            prompt = prompts.graded_judge_prompt(cards, case.answer, trial.dimension)
        policy = self.corpus.instructions.judge
        return Question(
            role=Role.JUDGE,
            instructions=prompts.judge_instructions(policy, self.protocol, trial.dimension),
            prompt=prompt,
            contract=prompts.VERDICT_MODELS[self.protocol],
        )

    def binary_case(self, trial: Trial) -> BinaryCase:
        """Return the case of a trial of the binary protocol."""
        case = self._cases[trial.case_id]
        if not isinstance(case, BinaryCase):
            raise TypeError(type(case).__name__)
        return case

    def control_answer(self, trial: Trial) -> CandidateAnswer:
        """Return the author-written answer that a control shows to the judge (R41)."""
        case = self.binary_case(trial)
        return case.positive_reference if trial.polarity is Polarity.POSITIVE else case.negative_counterexample

    def evidence_count(self, trial: Trial) -> int:
        """Return how many evidence items the judge is shown (R27)."""
        case = self._cases[trial.case_id]
        return len(case.evidence) if isinstance(case, EvidenceCase) else 0
