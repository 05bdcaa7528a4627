# SPDX-License-Identifier: Apache-2.0
"""evalsite: qualify an LLM before a release, and be able to prove it later."""

__version__ = "0.1.0"
