# SPDX-License-Identifier: Apache-2.0
"""What every attack is tried on: one sealed run."""

from support.sealed import pristine, project

__all__ = ["pristine", "project"]
