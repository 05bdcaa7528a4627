# SPDX-License-Identifier: Apache-2.0
"""CSV that a spreadsheet takes for text, and that reads back exactly (RFC 4180).

A cell that begins with ``= + - @`` (also in their full width), a tab or a line end would be run as a
formula: it gets an apostrophe in front, and so does a cell that begins with an apostrophe, so that taking
one away is exact.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from evalsite.errors import InputError

_RISKY = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n", "'")


def guard(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_RISKY) else cell


def unguard(cell: str) -> str:
    """Return what `guard` was given."""
    return cell.removeprefix("'")


def write_csv(rows: Iterable[Sequence[str]]) -> bytes:
    """Return rows as CSV in UTF-8, every cell guarded."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows([guard(cell) for cell in row] for row in rows)
    return out.getvalue().encode("utf-8")


def read_csv(data: bytes, *, name: str, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty with the line that it begins on, guards taken away.

    Args:
        data: UTF-8; a byte order mark, which some programs write, is passed over.
        name: The file's name as errors shall show it.
        max_bytes: The greatest accepted length.

    Raises:
        InputError: Too long, not UTF-8, or not CSV; the place is ``name:line``.
    """
    if len(data) > max_bytes:
        raise InputError(f"expected at most {max_bytes} bytes of CSV, got {len(data)}", at=name, rule="size limit")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise InputError(
            f"expected UTF-8, got byte 0x{data[exc.start]:02x}", at=f"{name}:{line}", advice="save the file as UTF-8"
        ) from exc
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begin = 1
    try:
        for row in reader:
            if row:
                yield begin, [unguard(cell) for cell in row]
            begin = reader.line_num + 1
    except csv.Error as exc:
        raise InputError(f"expected CSV: {exc}", at=f"{name}:{begin}", rule="RFC 4180") from exc
