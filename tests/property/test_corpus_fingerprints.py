# SPDX-License-Identifier: Apache-2.0
"""Fingerprints: whatever changes in a corpus changes its fingerprint, and only what is public changes a message."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import corpora

from evalsite.corpus.diff import diff_corpora
from evalsite.corpus.load import LoadedCorpus, load_corpus
from evalsite.errors import InputError
from evalsite.judging import prompts

LABELS = corpora.labels(
    corpora.label("g1", 100, "faithfulness"), corpora.label("g2", 0, "faithfulness", boundary=True, note="Near.")
)
BINARY = corpora.put(corpora.binary(), "cases[0].caveat", "Careful.")
#: Every field of a corpus, its cards and its labels whose value can vary, as (file, path).
FIELDS = [
    *(("binary", path) for path in corpora.paths(BINARY)),
    *(("graded", path) for path in corpora.paths(corpora.graded())),
    *(("cards/card", path) for path in corpora.paths(corpora.card())),
    *(("labels/preset", path) for path in corpora.paths(LABELS)),
]
OTHER = {True: False, False: True, "open": "closed", "author": "human", "clarify": "assist", "en": "fr"}


def another(value, drawn):
    """Return a value of the same kind that differs."""
    if isinstance(value, bool) or (isinstance(value, str) and value in OTHER):  # 0 and 1 equal booleans
        return OTHER[value]
    if isinstance(value, int):
        return 50
    if str(value).startswith("c-"):
        return None  # the id of a control: another one is another control
    if value in {"A", "B", "g1", "g2", "CARD", "tiny", "preset", "faithfulness"} or "evalsite/" in str(value):
        return None  # names that other files refer to: changing one alone is refused
    return {"binary": "graded", "synthetic": "internal", "preset": "ai-reviewed"}.get(value, drawn)


def load(name, part, value) -> LoadedCorpus:
    with tempfile.TemporaryDirectory() as root:
        if name == "binary":
            return load_corpus(corpora.write(Path(root), value if part == "binary" else BINARY))
        files = {"cards__card": corpora.card(), "labels__preset": LABELS}
        main = corpora.graded()
        if part == "graded":
            main = value
        else:
            files[part.replace("/", "__")] = value
        return load_corpus(corpora.write(Path(root), main, **files))


VALUES = {"binary": BINARY, "graded": corpora.graded(), "cards/card": corpora.card(), "labels/preset": LABELS}


#: Fields of a control that take one of a few words: any other is refused.
CHOSEN = re.compile(r"^controls\[\d+\]\.(polarity|probe|place|dimension)$")


@given(field=st.sampled_from(FIELDS), day=st.integers(1, 28))
def test_law_any_changed_field_changes_the_fingerprint(field, day):
    part, path = field
    name = "binary" if part == "binary" else "graded"
    before = corpora.get(VALUES[part], path)
    drawn = f"2026-10-{day:02d}" if str(before).startswith("2026-") else f"other-{day}"
    after = another(before, drawn) if before not in (None, []) else None
    if after is None:
        return
    original = load(name, part, VALUES[part])
    try:
        changed = load(name, part, corpora.put(VALUES[part], path, after))
    except InputError:
        assert path in {"protocol", "labels[0].case_id"} or CHOSEN.search(path)
        return
    assert changed.fingerprint != original.fingerprint
    differing = diff_corpora(original, changed)
    assert len(differing) == 1
    assert differing[0].field in path or path.endswith(differing[0].field)


@given(path=st.sampled_from([path for path in corpora.paths(BINARY) if path.startswith("cases[0].")]))
def test_law_only_public_fields_change_a_candidate_message(path):
    """R7, from the file on: every private field may change, the bytes of the message stay."""
    before = corpora.get(BINARY, path)
    after = another(before, "other")
    if after is None:
        return
    original = load("binary", "binary", BINARY)
    changed = load("binary", "binary", corpora.put(BINARY, path, after))
    messages = [prompts.candidate_prompt(loaded.corpus.cases[0].input) for loaded in (original, changed)]
    assert (messages[0] == messages[1]) == (not path.startswith("cases[0].input."))
    assert original.case_fingerprints["A"] != changed.case_fingerprints["A"]
    assert original.case_fingerprints["B"] == changed.case_fingerprints["B"]


@pytest.mark.parametrize(
    ("part", "path", "changes"),
    [
        pytest.param("graded", "cases[0].answer", ["g1"], id="an answer changes its own case"),
        pytest.param("cards/card", "tail", ["g1", "g2"], id="a card changes every case that cites it"),
        pytest.param("labels/preset", "note", [], id="a label changes no case"),
        pytest.param("graded", "instructions.judge", [], id="instructions change no case"),
    ],
)
def test_what_a_case_fingerprint_covers(part, path, changes):
    original = load("graded", part, VALUES[part])
    changed = load("graded", part, corpora.put(VALUES[part], path, "Another text."))
    known = original.case_fingerprints
    assert [name for name in known if known[name] != changed.case_fingerprints[name]] == changes


@given(order=st.permutations(["alpha", "beta", "gamma"]))
def test_law_the_order_in_which_files_were_written_does_not_count(order):
    cases = [
        {**corpora.graded()["cases"][0], "id": f"g-{card}", "cards": [card]} for card in ("alpha", "beta", "gamma")
    ]
    value = {**corpora.graded(), "cases": cases, "controls": []}
    prints = set()
    for names in (order, sorted(order)):
        with tempfile.TemporaryDirectory() as root:
            cards = {f"cards__{name}": corpora.card(id=name, title=name) for name in names}
            prints.add(load_corpus(corpora.write(Path(root), value, **cards)).fingerprint)
    assert len(prints) == 1
