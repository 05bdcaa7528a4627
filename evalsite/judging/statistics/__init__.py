# SPDX-License-Identifier: Apache-2.0
"""Statistics of calibration and comparison, from counts: exact where something is decided, standard library only."""
