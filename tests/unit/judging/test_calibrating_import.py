# SPDX-License-Identifier: Apache-2.0
"""Tables of others: read as their mapping says, or refused with the place (docs/reference/calibration.md)."""

import pytest

from evalsite.errors import InputError
from evalsite.judging.calibrating_import import import_tables
from evalsite.schema.tables import Unavailable
from evalsite.schema.verdictmap import VerdictMapping

PACKED = {
    "format": "evalsite/verdict-mapping/v1",
    "title": "Packed",
    "layout": "packed",
    "group": ["judge"],
    "columns": {"label": "gold", "verdict": "one", "swapped": "two", "count": "n"},
    "vocabulary": {
        "labels": ["1", "2"],
        "verdicts": ["2", "1"],
        "passing": "1",
        "unavailable": {"N": "parse_failure", "T": "truncated"},
    },
    "first": "1",
    "swapped_names": "answer",
}
PLAIN = {
    **PACKED,
    "layout": "rows",
    "columns": {"item": "id", "label": "gold", "verdict": "one"},
    "first": None,
    "swapped_names": None,
}
ROW = {"judge": "j", "gold": "1122N"[:4], "one": "121N", "two": "1221", "n": "4"}


def changed(value, **changes):
    return VerdictMapping.from_value({**value, **changes})


def read(mapping, *rows):
    return import_tables([(f"table.csv:{number}", row) for number, row in enumerate(rows, 2)], mapping)


def test_packed_rows_are_one_table_each():
    one, two = read(changed(PACKED), ROW, {**ROW, "judge": "k", "one": "11TT"})
    assert (one.group, two.group) == ({"judge": "j"}, {"judge": "k"})
    assert (one.counts.labeled, one.counts.judged, one.counts.agreed) == (4, 3, 1)
    assert (one.counts.false_pass, one.counts.false_fail) == (1, 1)
    assert one.counts.unavailable == {Unavailable.PARSE: 1}
    assert two.counts.unavailable == {Unavailable.TRUNCATED: 2}
    assert (one.position.both_decided, one.position.consistent.count) == (3, 2)
    assert (one.position.flips_first, one.position.flips_second) == (1, 0)


def test_a_verdict_of_the_other_order_may_name_the_slot():
    (found,) = read(changed(PACKED, swapped_names="slot"), ROW)
    assert (found.position.consistent.count, found.position.flips_first, found.position.flips_second) == (1, 1, 1)


def test_plain_rows_are_collected_by_judge():
    rows = [{"judge": judge, "id": str(n), "gold": "1", "one": "1"} for n in (1, 2) for judge in ("a", "b")]
    found = read(changed(PLAIN), *rows)
    assert [(table.group["judge"], table.counts.judged, table.position) for table in found] == [
        ("a", 2, None),
        ("b", 2, None),
    ]


@pytest.mark.parametrize(
    ("mapping", "row", "rule", "words"),
    [
        (PACKED, {**ROW, "gold": "1123"}, "label vocabulary", "got '3'"),
        (PACKED, {**ROW, "one": "1210"}, "verdict vocabulary", "got '0'"),
        (PACKED, {**ROW, "two": "122?"}, "verdict vocabulary", "got '?'"),
        (PACKED, {**ROW, "one": "12"}, "packed rows", "[2, 4]"),
        (PACKED, {**ROW, "n": "5"}, "packed rows", "'5'"),
        (PACKED, {"judge": "j"}, "mapping", "'gold'"),
        (PLAIN, {"id": "1", "gold": "1", "one": "1"}, "mapping", "'judge'"),
    ],
)
def test_what_the_mapping_does_not_explain_is_refused(mapping, row, rule, words):
    with pytest.raises(InputError) as refused:
        read(changed(mapping), row)
    assert (refused.value.at, refused.value.rule) == ("table.csv:2", rule)
    assert words in refused.value.message


def test_r71_an_item_stands_once():
    row = {"judge": "a", "id": "1", "gold": "1", "one": "1"}
    with pytest.raises(InputError, match="twice") as refused:
        read(changed(PLAIN), row, row)
    assert refused.value.at == "table.csv:3"


@pytest.mark.parametrize("rows", [(), ({"judge": "j", "gold": "", "one": "", "two": "", "n": "0"},)])
def test_a_table_without_rows_is_no_calibration(rows):
    with pytest.raises(InputError, match="expected rows"):
        read(changed(PACKED), *rows)


def test_unequal_vocabularies_are_refused_before_any_row():
    words = {**PACKED["vocabulary"], "verdicts": ["0", "1"]}
    with pytest.raises(InputError, match="one vocabulary") as refused:
        import_tables([], changed(PACKED, vocabulary=words))
    assert refused.value.at == "vocabulary"


@pytest.mark.parametrize(
    "changes",
    [
        {"layout": "rows"},
        {"columns": {"item": "id", "label": "gold", "verdict": "one"}},
        {"first": None},
        {"swapped_names": None},
        {"columns": {"label": "gold", "verdict": "one"}},
        {"first": "3"},
        {"vocabulary": {**PACKED["vocabulary"], "passing": "N"}},
        {"vocabulary": {**PACKED["vocabulary"], "unavailable": {"1": "refusal"}}},
        {"vocabulary": {**PACKED["vocabulary"], "unavailable": {"??": "refusal"}}},
        {"vocabulary": {**PACKED["vocabulary"], "unavailable": {"N": "whatever"}}},
        {"vocabulary": {**PACKED["vocabulary"], "labels": ["1", "2", "3"]}},
    ],
)
def test_a_mapping_that_contradicts_itself_is_refused(changes):
    with pytest.raises(InputError):
        changed(PACKED, **changes)
    assert changed(PACKED).first == "1"
