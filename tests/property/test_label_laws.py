# SPDX-License-Identifier: Apache-2.0
"""Laws of labels: what a commitment binds, what an order follows from, what a file gives back."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.labels import commitment, lock

from evalsite.campaign.guardedcsv import guard, read_csv, unguard, write_csv
from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.campaign.labelsource import LabelSource, blank_sheet, keyed
from evalsite.errors import EvalsiteError, IntegrityError
from evalsite.judging.aligning import align_annotators
from evalsite.ledger.labelseal import check_reveal, labels_root, salt_labels
from evalsite.schema.calibration import Criterion
from evalsite.schema.labels import GivenLabel, LabelItem, SealedLabels, ShownText
from evalsite.yamltext import parse_yaml, write_yaml

TEXT = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from(" \n\r\t#:-|>'\"\\%&*!?{}[],;=+@`\x1b\x85\u2028\ufeff"),
    ),
    max_size=40,
)
NOTE = st.none() | TEXT.filter(bool)
CASE = st.from_regex(r"[A-Z][A-Z0-9-]{0,6}", fullmatch=True)


def items(case_ids: list[str]) -> list[LabelItem]:
    return [LabelItem(case_id=case_id, repetition=None, dimension=None) for case_id in case_ids]


@st.composite
def label_sets(draw: st.DrawFn) -> list[GivenLabel]:
    """Labels of the evidence protocol, of one case or more, in any order."""
    cases = draw(st.lists(CASE, min_size=1, max_size=12, unique=True))
    return [GivenLabel(item=item, value=draw(st.sampled_from([0, 1, None])), note=draw(NOTE)) for item in items(cases)]


def salted(labels: list[GivenLabel]) -> SealedLabels:
    numbers = itertools.count()
    made = salt_labels(labels, lambda: next(numbers).to_bytes(32))
    return SealedLabels(format="evalsite/labels-sealed/v1", ledger="desk", commitment="human-a", labels=made)


@given(label_sets(), st.randoms())
def test_law_a_commitment_does_not_depend_on_the_order_of_work(labels, random) -> None:
    shuffled = labels.copy()
    random.shuffle(shuffled)
    assert labels_root(salted(labels).labels) == labels_root(salted(shuffled).labels)


@given(label_sets(), st.data())
def test_law_any_change_of_any_label_is_refused(labels, data) -> None:
    """Value, note, nonce, item, one less, one more, another order: each is told from what was committed."""
    sealed = salted(labels)
    committed = commitment(sealed)
    index = data.draw(st.integers(0, len(labels) - 1))
    label = sealed.labels[index]
    change = data.draw(st.sampled_from(["value", "note", "nonce", "item", "less", "more", "order"]))
    changed = list(sealed.labels)
    if change == "value":
        changed[index] = label.model_copy(update={"value": 0 if label.value is None else None})
    elif change == "note":
        changed[index] = label.model_copy(update={"note": (label.note or "") + "."})
    elif change == "nonce":
        changed[index] = label.model_copy(update={"nonce": "f" * 64})
    elif change == "item":
        changed[index] = label.model_copy(update={"item": label.item.model_copy(update={"case_id": "other"})})
    elif change == "less":
        del changed[index]
    elif change == "more":
        changed.append(label)
    else:
        changed = [*changed[1:], changed[0]]
    if tuple(changed) == sealed.labels:
        return  # one label alone has one order
    with pytest.raises(EvalsiteError) as caught:
        check_reveal("desk", committed, sealed.model_copy(update={"labels": tuple(changed)}))
    assert isinstance(caught.value, IntegrityError)
    check_reveal("desk", committed, sealed)


@given(st.lists(CASE, min_size=1, max_size=30, unique=True), st.binary(min_size=8, max_size=8))
def test_law_the_order_of_a_sheet_follows_from_its_seed_alone(cases, seed) -> None:
    forward, backward = keyed(items(cases), seed.hex()), keyed(items(cases)[::-1], seed.hex())
    assert sorted(forward.items()) == sorted(backward.items())
    assert sorted(item.case_id for item in forward.values()) == sorted(cases)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(CASE, st.lists(st.tuples(TEXT.filter(bool), TEXT), max_size=3)),
        min_size=1,
        max_size=5,
        unique_by=lambda item: item[0],
    ),
    st.lists(st.sampled_from([0, 1, 100, None, "todo"]), min_size=5, max_size=5),
    st.lists(NOTE, min_size=5, max_size=5),
    st.sampled_from([".yaml", ".csv"]),
)
def test_law_a_sheet_reads_back_as_it_was_written(tmp_path_factory, texts, values, notes, suffix) -> None:
    source = LabelSource(
        subject=commitment(salted([GivenLabel(item=items(["A"])[0], value=1, note=None)])).subject,
        instructions="Line one.\nLine two: ' # -\n",
        texts={
            item: tuple(ShownText(title=title, text=text) for title, text in shown)
            for item, (_, shown) in zip(items([case for case, _ in texts]), texts, strict=True)
        },
    )
    sheet = blank_sheet(source, annotator="=cmd|' /C calc'!A0", seed="00" * 8)
    filled = zip(sheet.items, values, notes, strict=False)
    sheet = sheet.model_copy(
        update={"items": tuple(item.model_copy(update={"label": value, "note": note}) for item, value, note in filled)}
    )
    path = tmp_path_factory.mktemp("sheet") / f"sheet{suffix}"
    write_sheet(path, sheet)
    assert read_sheet(path).sheet == sheet


@given(st.lists(st.lists(TEXT, min_size=1, max_size=4).filter(lambda row: row != [""]), max_size=5))
def test_law_guarded_cells_read_back_and_are_no_formulas(rows) -> None:
    data = write_csv(rows)
    assert [row for _, row in read_csv(data, name="x.csv", max_bytes=100_000)] == rows
    for cell in itertools.chain(*rows):
        assert not guard(cell).startswith(
            ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
        )
        assert unguard(guard(cell)) == cell


SCALAR = st.one_of(st.none(), st.booleans(), st.integers(1 - 2**53, 2**53 - 1), TEXT)
KEY = st.from_regex(r"[a-z]{1,6}", fullmatch=True).filter(lambda key: key not in {"true", "false", "null"})
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.dictionaries(KEY, inner, max_size=3),
        st.lists(st.one_of(SCALAR, st.dictionaries(KEY, inner, max_size=3)), max_size=3),
    ),
    max_leaves=8,
)


@given(st.dictionaries(KEY, VALUE, min_size=1, max_size=4))
def test_law_written_yaml_reads_back(value) -> None:
    assert parse_yaml(write_yaml(value), name="x", max_bytes=1_000_000).value == value


ANNOTATORS = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([0, 1, None]), min_size=raters, max_size=raters), min_size=1, max_size=8
    )
)


@given(ANNOTATORS, st.randoms())
def test_law_alignment_does_not_depend_on_who_is_named_first(table, random) -> None:
    """And agreed and differing items are all there are, each once."""
    cases = items([f"C{number}" for number in range(len(table))])
    columns = [
        {item: GivenLabel(item=item, value=row[rater], note=None) for item, row in zip(cases, table, strict=True)}
        for rater in range(len(table[0]))
    ]
    shuffled = columns.copy()
    random.shuffle(shuffled)
    one, other = (align_annotators(found, Criterion.EVIDENCE, lock()) for found in (columns, shuffled))
    assert one == other
    assert sorted([*(label.item for label in one.agreed), *one.differing], key=str) == sorted(cases, key=str)
    assert one.alpha is None or one.alpha <= Fraction(1)
    if not one.differing and one.alpha is not None:
        assert one.alpha == 1
