# SPDX-License-Identifier: Apache-2.0
"""What a statistic returns where it does not exist: a reason, never NaN and never a default."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undefined:
    """No value, and why."""

    reason: str
