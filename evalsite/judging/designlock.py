# SPDX-License-Identifier: Apache-2.0
"""The constants of calibration gates that hold where a corpus states none (R63, R64). Pure.

They are fixed by decision record 0015, which holds their digest: a test compares the two, so that no
constant moves without another record.
"""

from typing import Final

from evalsite.schema.calibration import Criterion, DesignLock, GateConstants
from evalsite.schema.outcome import Dimension


def _gate(criterion: Criterion, false_pass: str, minimum_agreement: str | None = None) -> GateConstants:
    return GateConstants(
        criterion=criterion,
        false_pass_tolerance=false_pass,
        false_fail_tolerance="0.20",
        max_unavailable="0.10",
        minimum_agreement=minimum_agreement,
    )


#: The constants of this software, for a corpus without a ``design-lock.yaml``.
DEFAULT_LOCK: Final = DesignLock(
    format="evalsite/design-lock/v1",
    name="default",
    decision="docs/adr/0015-calibration-constants.md",
    alpha="0.05",
    minimum_human_alpha="0.667",
    bins=(33, 66),
    gated_dimensions=(Dimension.FAITHFULNESS, Dimension.GROUNDEDNESS),
    gates=(
        _gate(Criterion.BINARY, "0.05"),
        _gate(Criterion.EVIDENCE, "0.05"),
        _gate(Criterion.FAITHFULNESS, "0.10", minimum_agreement="0.75"),
        _gate(Criterion.GROUNDEDNESS, "0.10", minimum_agreement="0.75"),
    ),
)
