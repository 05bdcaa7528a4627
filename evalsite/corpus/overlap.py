# SPDX-License-Identifier: Apache-2.0
"""Shared wording of two texts: how a leak of private text into a public one is found.

Texts are compared after NFKC, case folding and collapsing of blanks and punctuation, so that a
copy with other line breaks or quotation marks is still a copy.
"""

import re
import unicodedata

_BETWEEN_WORDS = re.compile(r"[\W_]+")
_IDEOGRAPHS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
IDEOGRAPH_WEIGHT = 3  # one ideograph says about as much as three letters


def normalised(text: str) -> str:
    """Return ``text`` in the form in which wording is compared."""
    return _BETWEEN_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def is_ideographic(text: str) -> bool:
    """Return whether more than a fifth of ``text`` is Chinese, Japanese or Korean script."""
    return len(_IDEOGRAPHS.findall(text)) * 5 > len(text)


def shared_run(private: str, public: str, *, letters: int) -> str:
    """Return the first stretch of ``private`` of the given length that also occurs in ``public``.

    Args:
        private: Text that should not show up.
        public: Text in which it is looked for.
        letters: How long a shared stretch counts, in letters of an alphabet; a third of it is
            enough for ideographs.

    Returns:
        The stretch in normalised form, or the empty string.
    """
    needle, hay = normalised(private), normalised(public)
    width = max(1, letters // IDEOGRAPH_WEIGHT) if is_ideographic(needle) else letters
    seen = {hay[start : start + width] for start in range(len(hay) - width + 1)}
    for start in range(len(needle) - width + 1):
        if needle[start : start + width] in seen:
            return needle[start : start + width]
    return ""
