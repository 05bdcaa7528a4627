# SPDX-License-Identifier: Apache-2.0
"""Prompts, contracts, gates and calibration: pure decisions of host code."""
