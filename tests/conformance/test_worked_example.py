# SPDX-License-Identifier: Apache-2.0
"""The specification's worked example: our bytes are the page's, and the page verifies without our code.

The second half is a small verifier of its own. It knows the page and nothing of the package.
"""

import base64
import hashlib
import json
import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from support.worked_example import PAGE, blocks_of, blocks_on_page, make_example

from evalsite.ledger.verify import verify_project
from evalsite.schema import entries, outcome, plan
from evalsite.schema.checks import Area
from evalsite.schema.entries import KeyRole
from evalsite.schema.labels import LabelCommitment

FRAME = {"format", "run", "ledger", "seq", "prev", "recorded_at", "type"}


@pytest.fixture(scope="module")
def page():
    return blocks_on_page()


@pytest.fixture(scope="module")
def events(page):
    return page["events"].encode().splitlines()


@pytest.fixture(scope="module")
def log(page):
    return page["log-entries"].encode().splitlines()


def test_our_bytes_are_those_of_the_page(tmp_path, page):
    project = tmp_path / "project"
    make_example(project)
    made = blocks_of(project)
    assert set(made) == set(page)
    for name, text in made.items():
        assert page[name] == text, name
    report = verify_project(project, pins={"desk": page["root-fingerprint"].strip()})
    assert all(report.holds(area) for area in Area)


def fields_on_page(section):
    text = PAGE.read_text(encoding="utf-8").partition(f"\n### {section}\n")[2]
    table = re.split(r"\n#{2,3} |\n<!-- worked|\n\nA keyring holds", text)[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


@pytest.mark.parametrize(
    "model",
    [
        *(entries.RunOpened, entries.TrialStarted, entries.CallRecorded, entries.TrialEnded, entries.RunInterrupted),
        *(entries.RunResumed, entries.RunClosed, entries.Call, entries.Usage, entries.Totals, entries.Keyring, KeyRole),
        *(entries.LedgerOpened, entries.KeysPublished, entries.KeysRevoked),
        *(entries.RunOpenedLogged, entries.RunClosedLogged),
        *(entries.ConstantsFrozen, entries.CardsFrozen, entries.LabelsCommitted, entries.AnnotatorsAligned),
        *(entries.LabelsRevealed, entries.CalibrationRecorded, LabelCommitment),
        *(outcome.Trial, outcome.Result, plan.Plan),
    ],
)
def test_every_field_of_the_schema_stands_on_the_page(model):
    framed = "seq" in model.model_fields
    own = {"ledger"} if model is entries.RunOpened else {"run"} if "ledger" in model.model_fields else set()
    expected = set(model.model_fields) - (FRAME - own if framed else set())
    assert fields_on_page(model.__name__) == expected


# A verifier of its own, from the page alone.


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf(line):
    return sha256(b"\x00" + line)


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:]))


def digest(raw):
    return f"sha256:{raw.hex()}"


def open_note(text, key):
    """Return the lines of a note's text after checking its one signature."""
    body, _, signature_line = text.rpartition("\n\n")
    dash, name, encoded = signature_line.rstrip("\n").split(" ")
    raw = base64.b64decode(encoded)
    assert (dash, name) == ("—", "desk/log")
    assert raw[:4] == sha256(b"desk/log\n\x01" + key)[:4]
    Ed25519PublicKey.from_public_bytes(key).verify(raw[4:], (body + "\n").encode())
    return body.split("\n")


def open_envelope(text, key, kind):
    """Return the payload of an envelope after checking its one signature."""
    envelope = json.loads(text)
    payload = base64.b64decode(envelope["payload"])
    (signature,) = envelope["signatures"]
    assert envelope["payloadType"] == kind
    assert signature["keyid"] == digest(sha256(key))
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    Ed25519PublicKey.from_public_bytes(key).verify(base64.b64decode(signature["sig"]), message)
    return payload


@pytest.fixture(scope="module")
def keys(page):
    keyring = json.loads(page["keyring-payload"])
    found = {item["role"]: base64.b64decode(item["public_key"]) for item in keyring["keys"]}
    return {**found, "root": base64.b64decode(keyring["root_public_key"])}


def test_keys_come_from_the_seeds_that_the_page_states(keys):
    for role, key in keys.items():
        seed = sha256(f"evalsite worked example: {role}".encode())
        assert Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw() == key


def test_the_keyring_is_signed_by_the_fingerprinted_root_key(page, keys):
    assert digest(sha256(keys["root"])) == page["root-fingerprint"].strip()
    payload = open_envelope(page["keyring"], keys["root"], "application/vnd.evalsite.keyring+json")
    assert payload.decode() + "\n" == page["keyring-payload"]
    name, key_hash, encoded = page["log-vkey"].strip().split("+", 2)
    assert (name, base64.b64decode(encoded)) == ("desk/log", b"\x01" + keys["log"])
    assert key_hash == sha256(b"desk/log\n\x01" + keys["log"])[:4].hex()


@pytest.mark.parametrize("name", ["events", "log-entries"])
def test_lines_are_linked(page, name):
    before = None
    for seq, line in enumerate(page[name].encode().splitlines()):
        entry = json.loads(line)
        assert (entry["seq"], entry["prev"]) == (seq, before)
        before = digest(leaf(line))


def test_the_checkpoints_are_over_the_lines(page, keys, events, log):
    for note, origin, lines in (
        (page["run-checkpoint"], "desk/run/run-1", events),
        (page["log-checkpoint"], "desk/log", log),
    ):
        expected = [origin, str(len(lines)), base64.b64encode(root([leaf(line) for line in lines])).decode()]
        assert open_note(note, keys["log"]) == expected


def test_the_log_holds_keys_opening_and_close(page, events, log):
    ledger_opened, published, opened, closed = (json.loads(line) for line in log)
    plan_bytes = json.dumps(json.loads(events[0])["plan"], sort_keys=True, separators=(",", ":")).encode()
    assert ledger_opened["root_fingerprint"] == page["root-fingerprint"].strip()
    assert published["envelope"] == digest(sha256(page["keyring"].encode()))
    assert opened["opened_leaf"] == digest(leaf(events[0]))
    assert opened["plan_digest"] == digest(sha256(plan_bytes))
    assert (closed["size"], closed["root"]) == (5, digest(root([leaf(line) for line in events])))
    assert closed["statement"] == digest(sha256(page["statement-payload"].strip().encode()))


def test_the_proofs_lead_from_the_entries_to_checkpoints(page, keys, log):
    for name, index, size in (("proof-opened", 2, 3), ("proof-closed", 3, 4)):
        head, _, note = page[name].partition("\n\n")
        header, index_line, *hashes = head.split("\n")
        assert (header, index_line) == ("c2sp.org/tlog-proof@v1", f"index {index}")
        node, at, last = leaf(log[index]), index, size - 1
        for item in (base64.b64decode(text) for text in hashes):
            left = at % 2 or at == last
            node = sha256(b"\x01" + item + node) if left else sha256(b"\x01" + node + item)
            while left and at % 2 == 0 and at:
                at, last = at // 2, last // 2
            at, last = at // 2, last // 2
        assert open_note(note, keys["log"]) == ["desk/log", str(size), base64.b64encode(node).decode()]


def test_the_statement_is_signed_and_follows_from_the_record(page, keys, events):
    payload = open_envelope(page["statement"], keys["runner"], "application/vnd.in-toto+json")
    assert payload.decode() + "\n" == page["statement-payload"]
    statement = json.loads(payload)
    first, last = json.loads(events[0]), json.loads(events[-1])
    lines = page["events"].encode()
    assert statement["subject"][0]["digest"] == {
        "sha256": hashlib.sha256(lines).hexdigest(),
        "sha512": hashlib.sha512(lines).hexdigest(),
    }
    assert statement["subject"][1]["digest"] == {"sha256": first["plan"]["corpus"]["fingerprint"][7:]}
    assert statement["predicate"]["totals"] == last["totals"]
    assert statement["predicate"]["tree"] == {"size": 5, "root": digest(root([leaf(line) for line in events]))}


def test_the_blob_has_the_name_and_the_salt_that_the_page_states(page, events):
    name, encoded = page["blob"].split()
    container = bytes.fromhex(encoded)
    salt = sha256(b"evalsite worked example: salt 1").hex().encode()
    assert container == b"evalsite-blob/v1\n" + salt + b"\n{}"
    assert sha256(container).hex() == name
    assert json.loads(events[0])["plan"]["corpus"]["snapshot"] == f"sha256:{name}"
