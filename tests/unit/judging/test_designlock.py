# SPDX-License-Identifier: Apache-2.0
"""Constants of calibration gates stand in one record, and do not move without another (R63, R64)."""

import re

import pytest

from evalsite.errors import InputError
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger.labelbook import lock_digest
from evalsite.schema.calibration import Criterion, DesignLock
from evalsite.schema.outcome import Dimension


def test_r64_the_constants_are_those_of_their_decision_record(repository):
    record = (repository / DEFAULT_LOCK.decision).read_text(encoding="utf-8")
    assert re.findall(r"sha256:[0-9a-f]{64}", record) == [lock_digest(DEFAULT_LOCK)], (
        "a constant moved: that needs a new decision record, not a new digest in this one"
    )
    for gate in DEFAULT_LOCK.gates:
        for rate in (gate.false_pass_tolerance, gate.false_fail_tolerance, gate.max_unavailable):
            assert rate in record
    assert DEFAULT_LOCK.alpha in record
    assert DEFAULT_LOCK.minimum_human_alpha in record


def test_r63_exactly_two_dimensions_are_gated_and_hallucination_is_none():
    assert DEFAULT_LOCK.gated_dimensions == (Dimension.FAITHFULNESS, Dimension.GROUNDEDNESS)
    assert {criterion.value for criterion in Criterion} == {"binary", "evidence", "faithfulness", "groundedness"}
    assert {gate.criterion for gate in DEFAULT_LOCK.gates} == set(Criterion)


@pytest.mark.parametrize(
    "dimensions", [["faithfulness"], ["faithfulness", "faithfulness"], ["faithfulness", "groundedness", "faithfulness"]]
)
def test_r63_a_lock_cannot_gate_anything_but_the_two_dimensions(dimensions):
    with pytest.raises(InputError, match="R63"):
        DesignLock.from_value(DEFAULT_LOCK.plain() | {"gated_dimensions": dimensions})


def test_graded_criteria_alone_ask_for_an_agreement():
    asked = {gate.criterion for gate in DEFAULT_LOCK.gates if gate.minimum_agreement is not None}
    assert asked == {Criterion.FAITHFULNESS, Criterion.GROUNDEDNESS}


def test_the_bins_are_those_of_the_decision_about_the_graded_scale():
    assert [DEFAULT_LOCK.bin_of(grade) for grade in (0, 33, 34, 66, 67, 100)] == [0, 0, 1, 1, 2, 2]
