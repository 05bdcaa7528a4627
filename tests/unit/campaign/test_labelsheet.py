# SPDX-License-Identifier: Apache-2.0
"""Sheets as files: what a person may have done to one, told with its line."""

import pytest
from support.labels import sheet_of

from evalsite.campaign.guardedcsv import read_csv
from evalsite.campaign.labelsheet import read_sheet, sheet_bytes, write_sheet
from evalsite.errors import InputError


def refused(path, data):
    """Return what a file of these bytes is refused with."""
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_sheet(path)
    return caught.value


@pytest.fixture
def csv(tmp_path):
    """A sheet of two items as CSV, and its file."""
    path = tmp_path / "sheet.csv"
    write_sheet(path, sheet_of("one", "two"))
    return path


@pytest.fixture
def yaml(tmp_path):
    """The same as YAML."""
    path = tmp_path / "sheet.yaml"
    write_sheet(path, sheet_of("one", "two"))
    return path


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b"corpus,some-texts\r\n", b"", 2),
        (b"annotator,annotator", b"annotator,annotator,more", 5),
        (b"key,label,note", b"key,note,label", 9),
        (b",todo,", b",yes,", 10),
        (b",todo,", b",-1,", 10),
        (b",todo,", b",1.0,", 10),
        (b",todo,", b",1000,", 10),
        (b",todo,", ",\u0661,".encode(), 10),
        (b",todo,,Explanation,one", b",todo,,Explanation", 10),
        (b",todo,,Explanation,one", b",todo,,Explanation,one,more", 10),
        (b"Explanation,one", b'Explanation,"one', 10),
        (b"Explanation,one", b"Explanation,\xff", 10),
    ],
)
def test_a_csv_that_was_damaged_is_refused_with_its_line(csv, old, new, line) -> None:
    data = csv.read_bytes()
    assert old in data
    error = refused(csv, data.replace(old, new, 1))
    assert error.at.startswith(f"sheet.csv:{line}")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"0123456789abcdef", b"zz"), (b"criterion,evidence", b"criterion,beauty"), (b"0000000000000001", b"1")],
)
def test_a_csv_of_another_shape_is_refused_with_its_field(csv, old, new) -> None:
    error = refused(csv, csv.read_bytes().replace(old, new, 1))
    assert error.at.startswith("sheet.csv ")


def test_an_empty_or_cut_csv_is_refused(csv) -> None:
    data = csv.read_bytes()
    assert refused(csv, b"").rule == "label sheet"
    assert refused(csv, data[: data.index(b"about")]).rule == "label sheet"


def test_what_a_spreadsheet_does_to_a_csv_is_accepted(csv) -> None:
    """A byte order mark, blanks around a label, an empty label, empty lines, plain line ends."""
    before = read_sheet(csv).sheet
    data = csv.read_bytes().replace(b"\r\n", b"\n").replace(b",todo,", b", 1 ,", 1).replace(b",todo,", b",,", 1)
    csv.write_bytes(b"\xef\xbb\xbf" + data + b"\n\n")
    found = read_sheet(csv).sheet
    assert [item.label for item in found.items] == [1, "todo"]
    assert [item.texts for item in found.items] == [item.texts for item in before.items]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (b'label: "todo"', b"label: maybe", 15),
        (b'label: "todo"', b"label: 101", 15),
        (b'label: "todo"', b"label: 0.5", 15),
        (b'label: "todo"', b"other: 1", 11),
        (b"note: null", b'note: ""', 16),
        (b"criterion: ", b"criterium: ", 1),
    ],
)
def test_a_yaml_that_was_damaged_is_refused_with_its_line(yaml, old, new, line) -> None:
    data = yaml.read_bytes()
    assert old in data
    error = refused(yaml, data.replace(old, new, 1))
    assert error.at.startswith(f"sheet.yaml:{line}"), error.at


def test_a_label_may_be_written_without_quotes(yaml) -> None:
    data = yaml.read_bytes().replace(b'label: "todo"', b"label: 1", 1).replace(b'label: "todo"', b"label: null", 1)
    yaml.write_bytes(data)
    assert [item.label for item in read_sheet(yaml).sheet.items] == [1, None]


def test_another_kind_of_file_is_none(tmp_path, yaml) -> None:
    path = tmp_path / "sheet.txt"
    path.write_bytes(yaml.read_bytes())
    with pytest.raises(InputError, match=r"\.yaml or \.csv"):
        read_sheet(path)
    with pytest.raises(InputError, match=r"\.yaml or \.csv"):
        sheet_bytes(sheet_of("one"), ".txt")


def test_a_csv_beyond_its_bound_is_refused() -> None:
    with pytest.raises(InputError, match="at most 3 bytes"):
        list(read_csv(b"a,b,c", name="x.csv", max_bytes=3))


def test_a_label_is_placed_by_its_line_in_either_kind_of_file(csv, yaml) -> None:
    assert read_sheet(csv).place(1) == "sheet.csv:11"
    assert yaml.read_text().splitlines()[int(read_sheet(yaml).place(1).split(":")[1]) - 1].strip() == 'label: "todo"'


def test_a_sheet_is_readable_by_its_annotator_alone(tmp_path):
    """A filled sheet tells the labels before they are revealed."""
    path = tmp_path / "sheet.yaml"
    write_sheet(path, sheet_of("one"))
    assert path.stat().st_mode & 0o777 == 0o600
