# SPDX-License-Identifier: Apache-2.0
"""What a YAML file may not hold: each refusal with its message, its line and its rule."""

import pytest

from evalsite.errors import InputError
from evalsite.yamltext import parse_yaml

BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefg", "bcdefgh", strict=True))
LONG = "'" + "9" * 59 + "... (5002 characters in all)"
REFUSALS = {
    "bomb of aliases": (BOMB, "expected plain values, got the anchor &a at f.yaml:1 [no anchors, no aliases]"),
    "anchor": ("a: 1\nb: &x 1\n", "expected plain values, got the anchor &x at f.yaml:2 [no anchors, no aliases]"),
    "anchor on a list": (
        "a: &x [1]\n",
        "expected plain values, got the anchor &x at f.yaml:1 [no anchors, no aliases]",
    ),
    "anchor on a key": ("&x a: 1\n", "expected plain values, got the anchor &x at f.yaml:1 [no anchors, no aliases]"),
    "alias": ("a: *x\n", "expected plain values, got the alias *x at f.yaml:1 [no anchors, no aliases]"),
    "merge key": ("a:\n  <<: {b: 1}\n", "expected plain keys, got the merge key << at f.yaml:2 [no merge keys]"),
    "standard tag": (
        "a: !!str 1\n",
        "expected a value without a tag, got 'tag:yaml.org,2002:str' at f.yaml:1 [no tags]",
    ),
    "custom tag": (
        "- !python/object x\n",
        "expected a value without a tag, got '!python/object' at f.yaml:1 [no tags]",
    ),
    "tagged mapping": (
        "a: !!omap [b: 1]\n",
        "expected a value without a tag, got 'tag:yaml.org,2002:omap' at f.yaml:1 [no tags]",
    ),
    "non-specific tag": ("a: ! x\n", "expected a value without a tag, got '!' at f.yaml:1 [no tags]"),
    "float": ("a: 1\nb: 1.5\n", "expected no float, got '1.5' at f.yaml:2 [no floats in signed bytes]"),
    "exponent": ("a: 1e3\n", "expected no float, got '1e3' at f.yaml:1 [no floats in signed bytes]"),
    "infinity": ("a: -.inf\n", "expected no float, got '-.inf' at f.yaml:1 [no floats in signed bytes]"),
    "not a number": ("a: .NaN\n", "expected no float, got '.NaN' at f.yaml:1 [no floats in signed bytes]"),
    "date": ("a: 2026-11-30\n", "expected quoted text, got the timestamp '2026-11-30' at f.yaml:1 [no dates]"),
    "time": (
        "a: 2026-11-30T01:02:03Z\n",
        "expected quoted text, got the timestamp '2026-11-30T01:02:03Z' at f.yaml:1 [no dates]",
    ),
    "octal-looking": ("a: 0755\n", "expected a decimal integer, got '0755' at f.yaml:1 [decimal integers]"),
    "hexadecimal": ("a: 0xff\n", "expected a decimal integer, got '0xff' at f.yaml:1 [decimal integers]"),
    "unsafe integer": (
        "a: 9007199254740992\n",
        "expected an integer within 2^53 - 1, got '9007199254740992' at f.yaml:1 [RFC 7493 §2.2]",
    ),
    "endless integer": (
        "a: " + "9" * 5000,
        f"expected an integer within 2^53 - 1, got {LONG} at f.yaml:1 [RFC 7493 §2.2]",
    ),
    "duplicate key": (
        "a:\n  b: 1\n  c: 2\n  b: 3\n",
        "expected every key once, got 'b' twice at f.yaml:4 [no duplicate keys]",
    ),
    "duplicate key, quoted once": (
        "a: 1\n'a': 2\n",
        "expected every key once, got 'a' twice at f.yaml:2 [no duplicate keys]",
    ),
    "number as key": ("1: x\n", "expected a text key, got '1' at f.yaml:1 [text keys only]"),
    "null as key": ("~: x\n", "expected a text key, got '~' at f.yaml:1 [text keys only]"),
    "list as key": ("[a, b]: x\n", "expected a text key, got a list or mapping at f.yaml:1 [text keys only]"),
    "mapping as key": ("? {a: b}\n: x\n", "expected a text key, got a list or mapping at f.yaml:1 [text keys only]"),
    "two documents": (
        "a: 1\n---\na: 2\n",
        "expected one document, got a second one at f.yaml:2 [one document per file]",
    ),
    "version directive": (
        "%YAML 1.1\n---\na: yes\n",
        "expected no %YAML or %TAG directive, got one at f.yaml:2 [YAML 1.2 without directives]",
    ),
    "tag directive": (
        "%TAG ! x:\n---\na: 1\n",
        "expected no %YAML or %TAG directive, got one at f.yaml:2 [YAML 1.2 without directives]",
    ),
    "lone surrogate": ('a: "\\ud800"\n', "expected Unicode text, got the lone surrogate U+D800 at f.yaml:1 [RFC 7493]"),
    "surrogates in the wrong order": (
        'a: "\\ude42\\ud83d"\n',
        "expected Unicode text, got the lone surrogate U+DE42 at f.yaml:1 [RFC 7493]",
    ),
    "escape beyond Unicode": ('a: "\\U00110000"\n', "expected YAML, got a malformed file at f.yaml:1 [YAML 1.2]"),
    "control character": (
        "a: 1\nb: \x07\n",
        "expected printable text, got the character U+0007 at f.yaml:2 [YAML 1.2 §5.1]",
    ),
    "too deep": ("[" * 40, "expected at most 32 levels, got more at f.yaml:1 [depth limit]"),
    "too deep in blocks": ("- " * 40 + "x", "expected at most 32 levels, got more at f.yaml:1 [depth limit]"),
    "unclosed list": (
        "a: 1\nb: [1,\n",
        "expected YAML: expected the node content, but found '<stream end>' at f.yaml:3 [YAML 1.2]",
    ),
    "unquoted colon": ("a: b: c\n", "expected YAML: mapping values are not allowed here at f.yaml:1 [YAML 1.2]"),
    "tab as indent": (
        "a:\n\tb: 1\n",
        "expected YAML: found character '\\t' that cannot start any token at f.yaml:2 [YAML 1.2]",
    ),
}
BYTES = {
    "UTF-8 with BOM": (
        b"\xef\xbb\xbfa: 1",
        "expected UTF-8 without a byte order mark, got one at f.yaml:1 [UTF-8 only]",
    ),
    "UTF-16 with BOM": (
        "a: 1".encode("utf-16"),
        "expected UTF-8 without a byte order mark, got one at f.yaml:1 [UTF-8 only]",
    ),
    "UTF-16 without BOM": (
        "a: 1".encode("utf-16-le"),
        "expected UTF-8 text, got a NUL character at f.yaml:1 [UTF-8 only]",
    ),
    "UTF-32": ("a: 1".encode("utf-32"), "expected UTF-8 without a byte order mark, got one at f.yaml:1 [UTF-8 only]"),
    "Latin-1": (b"a: 1\nb: \xe9t\xe9\n", "expected UTF-8, got byte 0xe9 at f.yaml:2 [UTF-8 only]"),
    "overlong UTF-8": (b"a: \xc0\xaf", "expected UTF-8, got byte 0xc0 at f.yaml:1 [UTF-8 only]"),
    "surrogate in UTF-8": (b"a: \xed\xa0\x80", "expected UTF-8, got byte 0xed at f.yaml:1 [UTF-8 only]"),
    "GB 18030": ("a: 中文".encode("gb18030"), "expected UTF-8, got byte 0xd6 at f.yaml:1 [UTF-8 only]"),
    "too large": (b"a: 1" + b" " * 9997, "expected at most 10000 bytes of YAML, got 10001 at f.yaml [size limit]"),
}


@pytest.mark.parametrize(("text", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refused(text, message):
    with pytest.raises(InputError) as refused:
        parse_yaml(text.encode("utf-8"), name="f.yaml", max_bytes=10_000)
    assert str(refused.value) == message
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(("data", "message"), BYTES.values(), ids=BYTES)
def test_refused_bytes(data, message):
    with pytest.raises(InputError) as refused:
        parse_yaml(data, name="f.yaml", max_bytes=10_000)
    assert str(refused.value) == message


@pytest.mark.parametrize("text", ["a: 1.5", "a: 2026-11-30", "a: 010", "1: a", "a: 99999999999999999"])
def test_the_advice_is_to_quote(text):
    with pytest.raises(InputError) as refused:
        parse_yaml(text.encode(), name="f.yaml", max_bytes=100)
    assert refused.value.advice == "put it in quotes if text is meant"


def test_prose_with_a_colon_gets_advice():
    with pytest.raises(InputError) as refused:
        parse_yaml(b"title: Returns: the rules", name="f.yaml", max_bytes=100)
    assert "in quotes or in a block" in refused.value.advice
