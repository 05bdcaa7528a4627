# SPDX-License-Identifier: Apache-2.0
"""What is asked for each planned trial, derived from a corpus snapshot.

The runner asks with it and the verification derives the same questions again, so that a record
whose prompts were not made from its corpus cannot pass.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evalsite.canonical.digest import digest_text
from evalsite.corpus.load import control_fingerprints
from evalsite.judging import prompts
from evalsite.judging.guards import Surface
from evalsite.judging.results import expected_scores
from evalsite.schema import bounds
from evalsite.schema.base import StrictModel
from evalsite.schema.calibration import DesignLock
from evalsite.schema.corpus import (
    BinaryCase,
    BinaryCorpus,
    Case,
    Control,
    CorpusSnapshot,
    EvidenceCase,
    EvidenceControl,
    GradedControl,
    GradedCorpus,
    PairwiseCase,
    controls_of,
)
from evalsite.schema.entries import Framing
from evalsite.schema.outcome import Dimension, Polarity, Protocol, Role, Trial, TrialKind
from evalsite.schema.plan import PlannedCase, PlannedControl
from evalsite.schema.replies import CandidateAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question for one role, in strings, and the contract of its reply.

    ``framing`` says what a judge is shown, as if all of it were sent; null for a candidate.
    """

    role: Role
    instructions: str
    prompt: str
    contract: type[StrictModel]
    framing: Framing | None = None

    @property
    def prompt_digest(self) -> str:
        """Return the digest of the prompt's text."""
        return digest_text(self.prompt)


class CaseBook:
    """The questions of one corpus.

    Args:
        snapshot: The corpus with its label sets; labels are never read here (R34).
        version: Version of the judge's prompts, as a plan says; null is the newest of the protocol.
    """

    def __init__(self, snapshot: CorpusSnapshot, version: str | None = None) -> None:
        self.corpus = snapshot.corpus
        self.protocol = Protocol(self.corpus.protocol)
        self.version = prompts.PROMPT_VERSIONS[self.protocol] if version is None else version
        self._cases: dict[str, Case] = {case.id: case for case in self.corpus.cases}
        self._controls: dict[str, Control] = {control.id: control for control in controls_of(self.corpus)}
        self._asked: dict[str, Question] = {}  # the same in every repetition
        self._cards = {card.id: card for card in self.corpus.cards} if isinstance(self.corpus, GradedCorpus) else {}

    def planned_cases(
        self, selection: tuple[str, ...] | None, fingerprints: Mapping[str, str]
    ) -> tuple[PlannedCase, ...]:
        """Return the case table of a plan: what the host decides with, fixed in advance."""
        chosen = tuple(self._cases) if selection is None else selection
        return tuple(self._planned(self._cases[case_id], fingerprints[case_id]) for case_id in chosen)

    def planned_controls(self, lock: DesignLock) -> tuple[PlannedControl, ...] | None:
        """Return what is expected of the judge on the corpus's own controls; null if it has none.

        Args:
            lock: The constants in force: a grade is high or low by their bins.
        """
        fingerprints = control_fingerprints(self.corpus)
        planned = []
        for control in self._controls.values():
            dimension = control.dimension if isinstance(control, GradedControl) else None
            lowest, highest = expected_scores(control.polarity, None if dimension is None else lock)
            planned.append(
                PlannedControl(
                    control_id=control.id,
                    fingerprint=fingerprints[control.id],
                    polarity=control.polarity,
                    dimension=dimension,
                    probe=control.probe,
                    place=control.place,
                    lowest=lowest,
                    highest=highest,
                )
            )
        return tuple(planned) or None

    @staticmethod
    def _planned(case: Case, fingerprint: str) -> PlannedCase:
        binary = case if isinstance(case, BinaryCase) else None
        return PlannedCase(
            case_id=case.id,
            fingerprint=fingerprint,
            critical=binary.critical if binary else False,
            expected_action=binary.expected_action if binary else None,
            must_refuse=binary.must_refuse if binary else None,
            checks=binary.checks if binary else None,
        )

    def candidate_instructions(self) -> str | None:
        """Return the candidate's instructions; null where the protocol has no candidate."""
        policy = self.corpus.instructions.candidate
        if not isinstance(self.corpus, BinaryCorpus) or policy is None:
            return None
        return prompts.candidate_instructions(policy)

    def told(self) -> frozenset[str]:
        """Return every text of instructions that a role may be given: one per role and dimension."""
        policy, graded = self.corpus.instructions.judge, self.protocol is Protocol.GRADED
        dimensions: tuple[Dimension | None, ...] = tuple(Dimension) if graded else (None,)
        judge = (
            prompts.judge_instructions(policy, self.protocol, dimension, version=self.version)
            for dimension in dimensions
        )
        candidate = self.candidate_instructions()
        return frozenset(judge) | ({candidate} if candidate is not None else set())

    def candidate_question(self, trial: Trial) -> Question:
        """Return what the candidate is asked: the common policy and the public input only (R5, R9)."""
        asked = self._asked.get(trial.case_id)
        if asked is None:
            asked = self._asked[trial.case_id] = Question(
                role=Role.CANDIDATE,
                instructions=prompts.candidate_instructions(self.corpus.instructions.candidate or ""),
                prompt=prompts.candidate_prompt(self.binary_case(trial).input),
                contract=CandidateAnswer,
            )
        return asked

    def judge_question(self, trial: Trial, answer: CandidateAnswer | None = None) -> Question:
        """Return what the judge is asked about a trial.

        Args:
            trial: The trial; its dimension chooses the rubric of the graded protocol, its order that of a pair.
            answer: The parsed answer, unaltered (binary protocol only).

        Raises:
            ValueError: A binary trial without an answer (a bug in the caller).
        """
        shown = self._shown(trial)
        mode: Literal["answer", "evidence", "full", "head", "pair"]
        nonce = None
        if isinstance(shown, BinaryCase):
            if answer is None:
                raise ValueError(trial)
            mode, prompt = "answer", prompts.binary_judge_prompt(shown, answer)
        elif isinstance(shown, EvidenceCase | EvidenceControl):
            mode, prompt = "evidence", prompts.evidence_judge_prompt(shown)
        elif isinstance(shown, PairwiseCase):
            if trial.order is None:
                raise ValueError(trial)
            mode, prompt = "pair", prompts.pairwise_judge_prompt(shown, trial.order)
        else:
            if trial.dimension is None:
                raise ValueError(trial)
            mode = "full" if trial.dimension is Dimension.FAITHFULNESS else "head"
            cards = [self._cards[card_id] for card_id in shown.cards]
            prompt, nonce = prompts.graded_judge_prompt(cards, shown.answer, trial.dimension, version=self.version)
        policy = self.corpus.instructions.judge
        return Question(
            role=Role.JUDGE,
            instructions=prompts.judge_instructions(policy, self.protocol, trial.dimension, version=self.version),
            prompt=prompt,
            contract=prompts.verdict_model(self.protocol, self.version),
            framing=Framing(mode=mode, rendered_chars=len(prompt), sent_chars=len(prompt), nonce=nonce),
        )

    def _shown(self, trial: Trial) -> Case | Control:
        if trial.kind is TrialKind.CONTROL and self.protocol is not Protocol.BINARY:
            return self._controls[trial.case_id]
        return self._cases[trial.case_id]

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
        shown = self._shown(trial)
        return len(shown.evidence) if isinstance(shown, EvidenceCase | EvidenceControl) else 0


def surface_of(snapshot: CorpusSnapshot) -> Surface:
    """Return what guards may know of a corpus: where its labels hold both poles, and how much evidence there is.

    Verdicts are never compared with a label here: that is for calibration (R34).
    """
    values: dict[Dimension | None, set[int]] = {}
    for labels in snapshot.label_sets:
        for label in labels.labels:
            values.setdefault(label.dimension, set()).add(label.value)
    top = 1 if snapshot.corpus.protocol is Protocol.EVIDENCE else bounds.MAX_GRADE
    cases = snapshot.corpus.cases
    return Surface(
        both_poles=frozenset(dimension for dimension, found in values.items() if {0, top} <= found),
        evidence={case.id: len(case.evidence) for case in cases if isinstance(case, EvidenceCase)},
    )
