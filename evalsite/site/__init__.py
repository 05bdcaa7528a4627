# SPDX-License-Identifier: Apache-2.0
"""The review site: pure pages, stamped into shells of the theme."""
