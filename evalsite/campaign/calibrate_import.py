# SPDX-License-Identifier: Apache-2.0
"""A table of labels and verdicts of others, with its mapping, from files (docs/reference/calibration.md)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from evalsite.campaign.guardedcsv import read_csv
from evalsite.canonical.digest import digest_bytes
from evalsite.corpus.files import read_document, read_regular
from evalsite.errors import InputError, shorten
from evalsite.judging.calibrating_import import check_vocabulary, import_tables
from evalsite.schema.bounds import MAX_LABEL_FILE_BYTES
from evalsite.schema.tables import ImportReport
from evalsite.schema.verdictmap import VerdictMapping


def read_tables(table: Path, mapping: Path) -> ImportReport:
    """Return the tables of a CSV file, as a mapping file says to read it.

    Raises:
        InputError: Either file is unreadable, malformed or too large, the sides have unequal vocabularies, or a
            row does not fit; the place is the file and the line.
    """
    mapped_bytes, document = read_document(mapping, name=mapping.name)
    try:
        how = VerdictMapping.from_value(document.value)
        check_vocabulary(how)
    except InputError as exc:
        raise document.located(exc) from exc
    data = read_regular(table, name=table.name, max_bytes=MAX_LABEL_FILE_BYTES)
    return ImportReport(
        title=how.title,
        source=digest_bytes(data),
        mapping=digest_bytes(mapped_bytes),
        standing="imported: recorded by others, opens no gate",
        tables=import_tables(_rows(data, table.name), how),
    )


def _rows(data: bytes, name: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    header: list[str] | None = None
    for line, cells in read_csv(data, name=name, max_bytes=MAX_LABEL_FILE_BYTES):
        if header is None:
            header = cells
            doubled = sorted({cell for cell in cells if cells.count(cell) > 1})
            if doubled:
                raise InputError(f"expected each column once, got {shorten(doubled[0])} twice", at=f"{name}:{line}")
            continue
        if len(cells) != len(header):
            message = f"expected {len(header)} cells as in the header, got {len(cells)}"
            raise InputError(message, at=f"{name}:{line}", rule="RFC 4180")
        yield f"{name}:{line}", dict(zip(header, cells, strict=True))
    if header is None:
        raise InputError("expected a header and rows, found nothing", at=f"{name}:1")
