# SPDX-License-Identifier: Apache-2.0
"""Values to bytes to digests, without any I/O."""
