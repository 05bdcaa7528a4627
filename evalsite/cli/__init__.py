# SPDX-License-Identifier: Apache-2.0
"""The commands. The only floor that reads the clock."""
