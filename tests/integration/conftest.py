# SPDX-License-Identifier: Apache-2.0
"""What a test of the command begins with unless it makes a project of its own: one recorded run."""

from support.recorded import pristine, project

__all__ = ["pristine", "project"]
