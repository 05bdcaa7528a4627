# SPDX-License-Identifier: Apache-2.0
"""A label sheet as a file that a person fills in: YAML, or CSV for a spreadsheet (R77).

A label is ``todo`` until it is given; ``null`` says that the person could not decide. In CSV the
facts of the sheet stand in rows of two cells above the table of items.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.guardedcsv import read_csv, write_csv
from evalsite.campaign.labelsource import About, LabelSource, blank_sheet, keyed
from evalsite.errors import InputError, shorten
from evalsite.ledger.labelseal import check_label
from evalsite.schema.bounds import MAX_LABEL_FILE_BYTES
from evalsite.schema.labels import UNLABELLED, GivenLabel, LabelItem, LabelSheet
from evalsite.storage import PRIVATE_FILE, read_regular, replace
from evalsite.yamltext import parse_yaml, write_yaml

YAML_SUFFIX, CSV_SUFFIX = ".yaml", ".csv"
_FACTS = ("format", "corpus", "criterion", "about", "annotator", "seed", "instructions")
_FIXED = ("key", "label", "note")
_RULE = "label sheet"


@dataclass(frozen=True, slots=True)
class ReadSheet:
    """A sheet with the place of each item in its file, as ``file:line``."""

    sheet: LabelSheet
    place: Callable[[int], str]


def read_sheet(path: Path) -> ReadSheet:
    """Return the sheet in a file.

    Raises:
        InputError: No YAML or CSV file of a sheet; the place is ``file:line``.
    """
    data = read_regular(path, MAX_LABEL_FILE_BYTES)
    if path.suffix == CSV_SUFFIX:
        return _read_csv(data, path.name)
    if path.suffix != YAML_SUFFIX:
        raise InputError(f"expected a file {YAML_SUFFIX} or {CSV_SUFFIX}", at=path.name, rule=_RULE)
    document = parse_yaml(data, name=path.name, max_bytes=MAX_LABEL_FILE_BYTES)
    try:
        sheet = LabelSheet.from_value(document.value)
    except InputError as exc:
        raise document.located(exc) from exc
    return ReadSheet(sheet, lambda index: document.place(f"items[{index}].label"))


def sheet_bytes(sheet: LabelSheet, suffix: str) -> bytes:
    """Return a sheet as the content of a file.

    Args:
        sheet: The sheet.
        suffix: ``.yaml`` or ``.csv``.

    Raises:
        InputError: Another suffix.
    """
    if suffix == YAML_SUFFIX:
        return write_yaml(sheet.plain())
    if suffix == CSV_SUFFIX:
        return write_csv(_rows(sheet))
    raise InputError(f"expected a file {YAML_SUFFIX} or {CSV_SUFFIX}, got {shorten(suffix)}", at="sheet", rule=_RULE)


def write_sheet(path: Path, sheet: LabelSheet) -> None:
    """Put a sheet in the place of the file, in one step; readable by its annotator alone: it tells the labels.

    Raises:
        UndecidedError: The operating system refused; the old file stands.
    """
    replace(path, sheet_bytes(sheet, path.suffix), mode=PRIVATE_FILE)


def filled(read: ReadSheet, source: LabelSource, about: About | None = None) -> tuple[GivenLabel, ...]:
    """Return the labels of a sheet that is complete and shows exactly what is labelled.

    The sheet is made again from its source and seed: whatever else it shows than that, the annotator
    did not label what the judge is asked about.

    Raises:
        InputError: An item without a label, twice, unknown or missing; other texts or instructions; a label
            outside the vocabulary. The place is ``file:line``.
    """
    sheet = read.sheet
    expected = blank_sheet(source, annotator=sheet.annotator, seed=sheet.seed, about=about)
    _check_head(read, expected)
    _check_items(read, expected)
    items = keyed(source.texts if about is None else about.items, sheet.seed)
    return tuple(_given(read, index, items[item.key], source) for index, item in enumerate(sheet.items))


def _given(read: ReadSheet, index: int, item: LabelItem, source: LabelSource) -> GivenLabel:
    found = read.sheet.items[index]
    if found.label == UNLABELLED:
        advice = "Label every item; write null where you cannot decide."
        raise InputError(f"expected a label, got {UNLABELLED}", at=read.place(index), rule=_RULE, advice=advice)
    label = GivenLabel(item=item, value=found.label, note=found.note)
    try:
        check_label(source.subject, label)
    except InputError as exc:
        raise InputError(exc.message, at=read.place(index), rule=exc.rule) from exc
    return label


def _check_head(read: ReadSheet, expected: LabelSheet) -> None:
    sheet = read.sheet
    if (sheet.corpus, sheet.criterion, sheet.about) != (expected.corpus, expected.criterion, expected.about):
        raise InputError(
            f"expected a sheet of {expected.corpus}, {expected.criterion.value}, as it is now",
            at=read.place(0),
            rule="corpus fingerprint",
            advice="The corpus, run, rubric or adjudicated labels are others by now: make a new sheet.",
        )
    if sheet.instructions != expected.instructions:
        raise InputError("expected the instructions as the sheet was made with", at=read.place(0), rule=_RULE)


def _check_items(read: ReadSheet, expected: LabelSheet) -> None:
    wanted = {item.key: item.texts for item in expected.items}
    seen = set()
    for index, item in enumerate(read.sheet.items):
        if item.key not in wanted:
            raise InputError(f"expected no item {item.key}", at=read.place(index), rule=_RULE)
        if item.key in seen:
            raise InputError(f"expected the item {item.key} once", at=read.place(index), rule=_RULE)
        if item.texts != wanted[item.key]:
            raise InputError("expected the texts as they are judged", at=read.place(index), rule=_RULE)
        seen.add(item.key)
    missing = [key for key in wanted if key not in seen]
    if missing:
        message = f"expected {len(missing)} more items, the first of them {missing[0]}"
        raise InputError(message, at=read.place(len(read.sheet.items) - 1), rule=_RULE)


def _rows(sheet: LabelSheet) -> Iterator[list[str]]:
    value = sheet.plain()
    yield from ([name, value[name]] for name in _FACTS)
    widest = max((len(item.texts) for item in sheet.items), default=0)
    yield [*_FIXED, *(f"{part}_{number}" for number in range(1, widest + 1) for part in ("title", "text"))]
    for item in sheet.items:
        label = "null" if item.label is None else str(item.label)
        texts = [part for text in item.texts for part in (text.title, text.text)]
        padding = [""] * (2 * widest - len(texts))
        yield [item.key, label, item.note or "", *texts, *padding]


def _read_csv(data: bytes, name: str) -> ReadSheet:
    rows = read_csv(data, name=name, max_bytes=MAX_LABEL_FILE_BYTES)
    value: dict[str, object] = {}
    for fact in _FACTS:
        line, row = _next(rows, name)
        if row[:1] != [fact] or any(row[2:]):
            raise InputError(f"expected the row {fact} of a label sheet", at=f"{name}:{line}", rule=_RULE)
        value[fact] = "".join(row[1:2])
    line, header = _next(rows, name)
    if tuple(header[: len(_FIXED)]) != _FIXED:
        message = f"expected the columns {', '.join(_FIXED)}"
        raise InputError(message, at=f"{name}:{line}", rule=_RULE)
    items, lines = [], []
    for line, row in rows:
        if len(row) != len(header):
            message = f"expected {len(header)} cells, got {len(row)}"
            raise InputError(message, at=f"{name}:{line}", rule=_RULE)
        items.append(_item_value(row, f"{name}:{line}"))
        lines.append(line)
    try:
        sheet = LabelSheet.from_value({**value, "items": items})
    except InputError as exc:
        raise InputError(exc.message, at=f"{name} {exc.at}", rule=exc.rule) from exc
    return ReadSheet(sheet, lambda index: f"{name}:{lines[index] if lines else 1}")


def _next(rows: Iterator[tuple[int, list[str]]], name: str) -> tuple[int, list[str]]:
    try:
        return next(rows)
    except StopIteration as exc:
        raise InputError("expected more rows of a label sheet", at=name, rule=_RULE) from exc


def _item_value(row: list[str], at: str) -> dict[str, object]:
    key, label, note, *texts = row
    pairs = list(zip(texts[::2], texts[1::2], strict=True)) if len(texts) % 2 == 0 else [("", "")]
    return {
        "key": key,
        "texts": [{"title": title, "text": text} for title, text in pairs if title],
        "label": _label(label, at),
        "note": note or None,
    }


def _label(cell: str, at: str) -> int | str | None:
    word = cell.strip()
    if word in {"", UNLABELLED}:
        return UNLABELLED
    if word == "null":
        return None
    if not (word.isascii() and word.isdigit() and len(word) <= 3):  # noqa: PLR2004 - 100 is the greatest
        raise InputError(f"expected a whole number, null or {UNLABELLED}, got {shorten(cell, 40)}", at=at, rule=_RULE)
    return int(word)
