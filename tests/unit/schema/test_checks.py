# SPDX-License-Identifier: Apache-2.0
"""A step of a verification holds when it looked at something and found nothing wanting."""

import pytest

from evalsite.schema.base import Finding, Severity
from evalsite.schema.checks import Area, Check, Level

FINDING = Finding(code="X", severity=Severity.ERROR, at="a", message="m")


@pytest.mark.parametrize(
    ("checked", "findings", "holds"), [(1, (), True), (0, (), False), (1, (FINDING,), False), (0, (FINDING,), False)]
)
def test_a_step_that_looked_at_nothing_has_not_held(
    checked: int, findings: tuple[Finding, ...], *, holds: bool
) -> None:
    check = Check(step=1, name="links", area=Area.INTEGRITY, checked=checked, findings=findings)
    assert check.holds is holds


def test_levels_are_ordered_by_their_names() -> None:
    assert sorted(Level) == list(Level)
