# SPDX-License-Identifier: Apache-2.0
"""Where answers come from: strings in, raw bytes out."""
