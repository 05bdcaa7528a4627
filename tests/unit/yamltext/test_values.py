# SPDX-License-Identifier: Apache-2.0
"""What a YAML file of this profile means, and where its fields stand."""

import json

import pytest

from evalsite.errors import InputError
from evalsite.yamltext import MAX_DEPTH, parse_yaml


def parse(text, **limits):
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    return parse_yaml(data, name="corpora/x/corpus.yaml", **{"max_bytes": 10_000, **limits})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("", None, id="empty file"),
        pytest.param("# only a comment\n", None, id="comment only"),
        pytest.param("a: null\nb: ~\nc:\n", {"a": None, "b": None, "c": None}, id="three spellings of null"),
        pytest.param("a: true\nb: False\n", {"a": True, "b": False}, id="booleans"),
        pytest.param(
            "a: yes\nb: NO\nc: on\n", {"a": "yes", "b": "NO", "c": "on"}, id="words that YAML 1.1 took for booleans"
        ),
        pytest.param("a: 12\nb: -3\nc: +4\n", {"a": 12, "b": -3, "c": 4}, id="integers"),
        pytest.param("a: '12'\nb: \"1.5\"\n", {"a": "12", "b": "1.5"}, id="quoted numbers are text"),
        pytest.param("a: '2026-11-30'", {"a": "2026-11-30"}, id="quoted date"),
        pytest.param("a: 12:30\nb: 1_000\n", {"a": "12:30", "b": "1_000"}, id="no base 60, no underscores"),
        pytest.param("a: >-\n  one\n  two\nb: |\n  three\n", {"a": "one two", "b": "three\n"}, id="blocks"),
        pytest.param('a: "x\\ty\\u00e9"', {"a": "x\tyé"}, id="escapes"),
        pytest.param('a: "\\ud83d\\ude42"', {"a": "🙂"}, id="a JSON escape of two halves"),
        pytest.param("- [1, {a: b}]\n- []\n- {}\n", [[1, {"a": "b"}], [], {}], id="flow style"),
        pytest.param("---\na: 1\n...\n", {"a": 1}, id="explicit document marks"),
        pytest.param("a: 1\r\nb: |\r\n  x\r\n  y\r\n", {"a": 1, "b": "x\ny\n"}, id="CRLF"),
        pytest.param("'<<': 1\n'1': 2\n", {"<<": 1, "1": 2}, id="quoted keys are text"),
        pytest.param("a: 中文 🙂\n", {"a": "中文 🙂"}, id="Unicode"),
    ],
)
def test_values(text, value):
    assert parse(text).value == value


def test_json_is_read_as_json_reads_it():
    value = {"a": [1, True, None, "x: y # z", {"b": '\n"\\'}], "c": {}}
    assert parse(json.dumps(value, indent=1)).value == value


def test_the_greatest_depth_is_accepted_and_one_more_is_not():
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH).value is not None
    with pytest.raises(InputError, match="levels"):
        parse("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


FILE = """\
# a comment
name: x
cases:
  - id: A
    input:
      message: >-
        several
        lines
      context: []
  -
    id: B
    flow: {k: [1,
      2]}
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 2),
        ("name", 2),
        ("cases", 3),
        ("cases[0]", 4),
        ("cases[0].id", 4),
        ("cases[0].input", 5),
        ("cases[0].input.message", 6),
        ("cases[0].input.context", 9),
        ("cases[1].id", 11),
        ("cases[1].flow.k[1]", 13),
        pytest.param("cases[0].input.absent", 5, id="nearest parent of an absent field"),
        pytest.param("cases[7].id", 3, id="nearest parent of an absent item"),
        pytest.param("name.deeper", 2, id="below a leaf"),
        pytest.param("nothing", 2, id="absent at the top"),
    ],
)
def test_place(path, line):
    assert parse(FILE).place(path) == f"corpora/x/corpus.yaml:{line}"


def test_place_skips_the_name_of_a_union_member():
    document = parse("endpoint:\n  kind: ollama\n  host: here\n")
    assert document.place("endpoint.ollama.host").endswith(":3")
    assert document.place("endpoint.fixture.host").endswith(":1")


def test_located_completes_an_error():
    error = parse(FILE).located(InputError("expected more", at="cases[1].id", rule="r", advice="a"))
    assert str(error) == "expected more at corpora/x/corpus.yaml:11 cases[1].id [r]"
    assert error.advice == "a"
    assert parse(FILE).located(InputError("bad")).at == "corpora/x/corpus.yaml:2"
