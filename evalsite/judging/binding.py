# SPDX-License-Identifier: Apache-2.0
"""What a calibration is bound to: the judge that was calibrated, and no other (docs/reference/calibration.md). Pure.

A calibration says something about one judge: this model, told this, sampled so, read so, about this
construct. Whoever relies on it with anything else relies on a judge that nobody calibrated: it is STALE.

How a reply is read is bound through the contract and the prompt version. The code that reads it needs no
version of its own here: a verification derives the verdicts of both runs with one and the same code.
"""

from evalsite.judging.constructs import constructs_of, rubric_digest
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import Corpus
from evalsite.schema.plan import Plan


def binding_of(plan: Plan, corpus: Corpus, criterion: Criterion) -> dict[str, str]:
    """Return what a calibration of a run's judge is bound to, by name; an empty text is: not told.

    Args:
        plan: The plan of the run.
        corpus: The corpus of the run's snapshot.
        criterion: What is calibrated.
    """
    judge = plan.judge
    return {
        "criterion": criterion.value,
        "construct version": constructs_of(plan).get(criterion, ""),
        "rubric": rubric_digest(corpus, criterion),
        "judge endpoint": judge.spec.endpoint.kind,
        "judge model name": judge.identity.model_name or "",
        "judge model digest": judge.identity.model_digest or "",
        "judge instructions": judge.instructions_digest,
        "prompt version": judge.prompt_version,
        "reply contract": judge.contract_digest,
        **{f"sampling {name}": str(value) for name, value in judge.spec.sampling.plain().items()},
    }


def stale_fields(calibrated: dict[str, str], relied_on: dict[str, str]) -> tuple[str, ...]:
    """Return what differs between two bindings, or is told by neither: those fields make a calibration stale."""
    untold = {"judge model digest"} if not relied_on.get("judge model digest") else set()
    names = dict.fromkeys((*calibrated, *relied_on))
    return tuple(name for name in names if name in untold or calibrated.get(name) != relied_on.get(name))
