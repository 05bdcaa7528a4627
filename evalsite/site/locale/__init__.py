# SPDX-License-Identifier: Apache-2.0
"""Catalogues of our own words, one PO file per language."""
