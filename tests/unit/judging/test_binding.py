# SPDX-License-Identifier: Apache-2.0
"""A calibration is bound to one judge: whatever differs makes it stale, and is named."""

import pytest
from support import corpora
from support.campaigns import gate_plan

from evalsite.judging.binding import binding_of, stale_fields
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import BinaryCorpus
from evalsite.schema.outcome import Mode
from evalsite.schema.plan import Sampling

DIGEST, OTHER = "sha256:" + "1" * 64, "sha256:" + "2" * 64
CORPUS = BinaryCorpus.from_value(corpora.binary())


def plan_of(**changes):
    """Return a live plan whose judge tells its digest, with changes to the judge."""
    plan = gate_plan(Mode.LIVE)
    identity = plan.judge.identity.model_copy(update={"model_digest": DIGEST, "model_name": "stub"})
    judge = plan.judge.model_copy(update={"identity": identity})
    return plan.model_copy(update={"judge": judge.model_copy(update=changes)})


def stale(relied_on, corpus=CORPUS):
    calibrated = binding_of(plan_of(), CORPUS, Criterion.BINARY)
    return stale_fields(calibrated, binding_of(relied_on, corpus, Criterion.BINARY))


def test_the_same_judge_is_not_stale():
    assert stale(plan_of()) == ()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"instructions_digest": OTHER}, "judge instructions"),
        ({"contract_digest": OTHER}, "reply contract"),
        ({"prompt_version": "x"}, "prompt version"),
    ],
)
def test_another_question_or_contract_is_stale(changes, field):
    assert stale(plan_of(**changes)) == (field,)


@pytest.mark.parametrize(
    ("changes", "field"), [({"model_digest": OTHER}, "judge model digest"), ({"model_name": "b"}, "judge model name")]
)
def test_another_model_is_stale(changes, field):
    identity = plan_of().judge.identity.model_copy(update=changes)
    assert stale(plan_of(identity=identity)) == (field,)


def test_other_sampling_is_stale():
    plan = plan_of()
    spec = plan.judge.spec.model_copy(update={"sampling": Sampling(temperature="0.7")})
    assert stale(plan_of(spec=spec)) == ("sampling temperature",)


def test_another_rubric_is_stale():
    corpus = BinaryCorpus.from_value(corpora.binary(instructions={"candidate": "Help.", "judge": "Be strict."}))
    assert stale(plan_of(), corpus) == ("rubric",)


def test_a_model_that_does_not_tell_its_digest_binds_nothing():
    identity = plan_of().judge.identity.model_copy(update={"model_digest": None})
    untold = binding_of(plan_of(identity=identity), CORPUS, Criterion.BINARY)
    assert stale_fields(untold, untold) == ("judge model digest",)
