# SPDX-License-Identifier: Apache-2.0
"""The counted sub-verdicts of a verification."""

from dataclasses import dataclass
from enum import StrEnum

from evalsite.schema.base import Finding


class Level(StrEnum):
    """How strong the evidence is, weakest first.

    A0: the files agree with each other. A1: signed under a root key that the verifier pinned.
    A2: extends a head that the verifier already held. A3: outside time. A4: witness quorum.
    """

    A0 = "A0"
    A1 = "A1"
    A2 = "A2"
    A3 = "A3"
    A4 = "A4"


class Area(StrEnum):
    """Integrity, completeness and availability are three verdicts, never one."""

    INTEGRITY = "integrity"
    COMPLETENESS = "completeness"
    AVAILABILITY = "availability"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One numbered step of a verification.

    ``checked`` counts the items that were looked at: a step that looked at none has not held.
    """

    step: int
    name: str
    area: Area
    checked: int
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Return whether at least one item was checked and none was found wanting."""
        return self.checked > 0 and not self.findings
