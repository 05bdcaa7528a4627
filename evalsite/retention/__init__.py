# SPDX-License-Identifier: Apache-2.0
"""Retention policies as data."""
