# SPDX-License-Identifier: Apache-2.0
"""What most tests of the ledger begin with: one sealed run."""

from support.sealed import pristine, project

__all__ = ["pristine", "project"]
