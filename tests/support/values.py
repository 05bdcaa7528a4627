# SPDX-License-Identifier: Apache-2.0
"""JSON values for laws: all of the evalsite profile, and some that are outside of it."""

from typing import Any

from hypothesis import strategies as st

from evalsite.canonical.jcs import MAX_SAFE_INTEGER

#: Text without surrogates, as hypothesis makes it, with the ranges mixed where UTF-16 and code points sort apart.
texts = st.text() | st.text(alphabet=st.sampled_from('aZ\u00e9\u20ac\ufb33\U0001f600\U00010000\uffff\n"\\\x00\x7f'))
integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
scalars = st.none() | st.booleans() | integers | texts


def values(leaves: st.SearchStrategy[Any] = scalars) -> st.SearchStrategy[Any]:
    """Return JSON values of lists and text-keyed dicts over ``leaves``."""
    return st.recursive(
        leaves,
        lambda children: st.lists(children, max_size=4) | st.dictionaries(texts, children, max_size=4),
        max_leaves=12,
    )


def nested(levels: int, innermost: object = None) -> Any:
    """Return ``innermost`` inside ``levels`` lists; with no innermost value the last list is empty."""
    value: Any = [] if innermost is None else [innermost]
    for _ in range(levels - 1):
        value = [value]
    return value
