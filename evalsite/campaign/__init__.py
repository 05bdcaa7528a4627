# SPDX-License-Identifier: Apache-2.0
"""Campaigns: plan, run, resume, and re-derive what a record says."""
