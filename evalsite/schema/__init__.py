# SPDX-License-Identifier: Apache-2.0
"""Frozen data contracts: what stands in corpora, campaigns, replies, records. No I/O."""
