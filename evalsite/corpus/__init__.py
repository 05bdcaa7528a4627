# SPDX-License-Identifier: Apache-2.0
"""Corpora from YAML files, with line numbers, lint and fingerprints."""
