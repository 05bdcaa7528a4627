# SPDX-License-Identifier: Apache-2.0
"""The ledger: hash-chained, Merkle-hashed, signed records. Bytes in, verified objects out."""
