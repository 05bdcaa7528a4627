# SPDX-License-Identifier: Apache-2.0
"""Cosignatures that others wrote (read in place): two witnesses and a mirror, and a ready split view."""

import json

import pytest

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.anchors import cosig_bytes, open_cosig
from evalsite.ledger.checkpoint import parse_checkpoint
from evalsite.ledger.cosignature import open_cosignature, parse_witness_key, signature_line
from evalsite.ledger.ed25519 import to_base64
from evalsite.ledger.heads import HeldHead, Shown, check_heads
from evalsite.ledger.merkle import tree_root
from evalsite.ledger.note import NoteSignature, parse_note

ROME = "000de184301123b9278c086a7d9f68c9577e83872224c197058fd90784ea9706"
MILAN = "88ad7a28caeb0b2aa890fdf0304c2fcaf59fca2ee140134ff8c1300bac493482"
TIME_S = 1_767_139_200  # what all three state
COSIGNED = {
    "witness": ("witness/witness.v0.json", f"witness/{ROME}/checkpoint"),
    "witness2": ("witness2/witness.v0.json", f"witness2/{MILAN}/checkpoint"),
    "mirror": ("witness/mirror/mirror.v0.json", f"witness/mirror/{ROME}/checkpoint"),
}


@pytest.fixture(scope="session")
def sunlight(vectors):
    return vectors / "audit" / "sunlight-witness" / "cmd" / "skylight" / "testdata"


@pytest.fixture(params=COSIGNED)
def cosigned(request, sunlight):
    """The verifier key and the note of one of the three."""
    about, checkpoint = COSIGNED[request.param]
    (text,) = json.loads((sunlight / about).read_bytes())["verifier_keys"]
    return text, (sunlight / checkpoint).read_bytes()


def line_under(key, note):
    """Return the note's one line under a key's name and hash."""
    (line,) = [line for line in note.signatures if (line.name, line.key_hash) == (key.name, key.key_hash)]
    return line


def test_the_cosignature_verifies(cosigned):
    text, raw = cosigned
    key, note = parse_witness_key(text), parse_note(raw)
    assert key.to_text() == text
    line = line_under(key, note)
    found = open_cosignature(note.text, line, key)
    assert (found.key, found.time_s) == (key, TIME_S)
    assert open_cosig(cosig_bytes(key, line), note.text) == found
    assert signature_line(line).encode() in raw


def test_every_changed_byte_of_it_is_refused(cosigned):
    text, raw = cosigned
    key, note = parse_witness_key(text), parse_note(raw)
    line = line_under(key, note)
    for index in range(len(line.signature)):
        changed = bytearray(line.signature)
        changed[index] ^= 1
        with pytest.raises(IntegrityError):
            open_cosignature(note.text, NoteSignature(line.name, line.key_hash, bytes(changed)), key)
    with pytest.raises(IntegrityError):
        open_cosignature(note.text.replace("300", "301"), line, key)
    with pytest.raises(InputError):
        parse_witness_key(text[:-4] + to_base64(b"xyz"))


def test_other_signatures_of_a_checkpoint_are_ignored(sunlight):
    """A log of another kind signs with a type that is not ours; its line disturbs nobody."""
    note = parse_note((sunlight / f"witness/{ROME}/checkpoint").read_bytes())
    assert len(note.signatures) == 2
    assert len({line.name for line in note.signatures}) == 2


def test_the_split_view_shows_two_roots_at_one_size(sunlight):
    """The witness and the mirror of one log cosigned different roots at size 300."""
    shown = [
        parse_checkpoint(parse_note((sunlight / name).read_bytes()).text)
        for name in (f"witness/{ROME}/checkpoint", f"witness/mirror/{ROME}/checkpoint")
    ]
    assert {checkpoint.origin for checkpoint in shown} == {"rome2026h1.example.org"}
    assert {checkpoint.size for checkpoint in shown} == {300}
    assert shown[0].root != shown[1].root


def test_whoever_holds_the_witnessed_head_finds_the_mirrored_tree_forked(sunlight, tmp_path):
    folder = sunlight / "witness" / "mirror" / ROME / "tile" / "0"
    tiles = (folder / "000").read_bytes() + (folder / "001.p" / "44").read_bytes()
    leaves = [tiles[start : start + 32] for start in range(0, len(tiles), 32)]
    witnessed, mirrored = (
        parse_checkpoint(parse_note((sunlight / name).read_bytes()).text)
        for name in (f"witness/{ROME}/checkpoint", f"witness/mirror/{ROME}/checkpoint")
    )
    assert (len(leaves), tree_root(leaves)) == (mirrored.size, mirrored.root)
    shown = Shown("rome", leaves, {}, ())
    step, extended = check_heads(tmp_path, shown, [HeldHead("mirror", "rome", mirrored.size, mirrored.root)])
    assert (step.findings, extended) == ([], True)
    step, extended = check_heads(tmp_path, shown, [HeldHead("witness", "rome", witnessed.size, witnessed.root)])
    assert not extended
    assert "forked" in step.findings[0].message
