# SPDX-License-Identifier: Apache-2.0
"""Every limit in one place, with its unit and its reason (R22).

Characters are Unicode code points, everywhere, in the JSON schema as in the reader.
"""

# Replies (S0, S3).
MAX_RESPONSE_CHARS = 1200  # R15
MAX_EXPLANATION_CHARS = 2000  # R18
MAX_REASON_CHARS = 1000  # R26; the graded protocol uses the same bound (decision 0006)
MAX_GRADE = 100  # graded scores are whole points, 0 to 100: no floats in signed bytes
MAX_CITATIONS = 64  # evidence indices in one verdict
MAX_NONCE_CHARS = 64  # what a judge repeats of the end of the cards

# Calls (R35, R36).
DEFAULT_MAX_OUTPUT_TOKENS = 800
DEFAULT_TIMEOUT_S = 120
DEFAULT_CONTEXT_TOKENS = 4096
MAX_REPLY_BYTES = 16 * 1024 * 1024  # a reply body beyond this is a transport failure
MAX_REPLY_DEPTH = 32  # JSON levels in a reply; ours needs 2

# Corpora and campaigns.
MAX_YAML_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 20_000  # one text field of a case or card
MAX_CASES = 100_000
MAX_CONTROLS = 256
MAX_PATTERN_WORK = 10_000_000  # ways to try a check's pattern on the longest answer: well below a second
MAX_REPETITIONS = 100
MAX_EVIDENCE_ITEMS = 64
MAX_CARDS_PER_CASE = 16

# Records.
MAX_EVENT_BYTES = 1024 * 1024  # one line of a run; the opening event holds the whole plan (some 4,500 cases)
MAX_LOG_ENTRY_BYTES = 64 * 1024  # one line of a ledger's log (tiles hold a 16-bit length)
SEGMENT_LINES = 1024  # lines in one segment file: a power of two, so that its subtree stands alone
MAX_RECORD_FILE_BYTES = SEGMENT_LINES * (MAX_EVENT_BYTES + 1)
MAX_LABEL_FILE_BYTES = 64 * 1024 * 1024  # revealed labels, and a sheet that an annotator fills
MAX_NOTE_BYTES = 64 * 1024
MAX_NOTE_SIGNATURES = 64
MAX_PROOF_HASHES = 63
MAX_BLOB_OF_CORPUS_BYTES = 256 * 1024 * 1024
