# SPDX-License-Identifier: Apache-2.0
"""Decision records (MADR) as data."""
