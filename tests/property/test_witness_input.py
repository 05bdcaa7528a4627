# SPDX-License-Identifier: Apache-2.0
"""Whatever bytes come from outside, parsers of the witness protocol say no in their own words or read them exactly."""

from hypothesis import given
from hypothesis import strategies as st
from support.ledgers import fixed_key
from support.witnesses import TIME_S, line_of, log_key, witness_key

from evalsite.errors import InputError, IntegrityError
from evalsite.ledger.anchors import cosig_bytes, open_cosig
from evalsite.ledger.checkpoint import Checkpoint, sign_checkpoint
from evalsite.ledger.cosignature import parse_signature_lines, parse_witness_key
from evalsite.ledger.merkle import leaf_hash, tree_root
from evalsite.ledger.note import parse_note
from evalsite.ledger.witness import AddCheckpoint, RefusedRequestError, decide, parse_request

NOTE = sign_checkpoint(Checkpoint("desk/log", 1, tree_root([leaf_hash(b"")])), "desk/log", fixed_key("log"))
REQUEST = AddCheckpoint(0, (), NOTE).to_bytes()
COSIG = cosig_bytes(witness_key("w1"), parse_signature_lines(line_of("w1", NOTE))[0])
hashes = st.lists(st.binary(min_size=32, max_size=32), max_size=63).map(tuple)


def spoiled(data):
    """Bytes near to ``data``: some replaced, cut or put in."""
    places = st.integers(0, len(data))
    return st.tuples(places, places, st.binary(max_size=8)).map(
        lambda change: data[: change[0]] + change[2] + data[max(change[0], change[1]) :]
    )


@given(st.integers(0, 10**18), hashes)
def test_a_request_reads_back(old_size, proof):
    request = AddCheckpoint(old_size, proof, NOTE)
    assert parse_request(request.to_bytes()) == request


@given(st.one_of(st.binary(max_size=300), spoiled(REQUEST)))
def test_any_request_is_answered_by_a_status(data):
    try:
        request = parse_request(data)
        accepted = decide(request, {"desk/log": (log_key(),)}, {})
    except InputError:
        return
    except RefusedRequestError as exc:
        refused = exc
    else:
        refused = None
    if refused is not None:
        assert refused.status in (400, 403, 404, 409, 422)
        return
    assert accepted.checkpoint.to_text().encode() in data
    assert accepted.note.text == parse_note(NOTE).text


@given(st.one_of(st.binary(max_size=300), spoiled(COSIG)))
def test_a_cosignature_is_these_bytes_or_none(data):
    try:
        found = open_cosig(data, parse_note(NOTE).text)
    except (InputError, IntegrityError):
        assert data != COSIG
    else:
        assert (data, found.time_s) == (COSIG, TIME_S)


@given(
    st.one_of(
        st.text(max_size=100), spoiled(witness_key("w1").to_text().encode()).map(lambda data: data.decode("latin-1"))
    )
)
def test_a_verifier_key_has_one_spelling(text):
    try:
        key = parse_witness_key(text)
    except (InputError, IntegrityError):
        return
    assert key.to_text() == text
