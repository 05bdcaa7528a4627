# SPDX-License-Identifier: Apache-2.0
"""Verifiers that are not ours accept what we write, and refuse it once a byte is another.

``make foreign`` installs the Python ones and prints a line for each. A tool that is not here is skipped, with the
reason; with ``EVALSITE_FOREIGN=required`` (CI) it fails.
"""

import base64
import importlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.bundles import audit_bundle, case_bundle, example_project
from support.ledgers import LEDGER, RUN

from evalsite.ledger.dsse import pae, parse_envelope
from evalsite.ledger.lines import read_segments, segment_files
from evalsite.ledger.merkle import consistency_proof, inclusion_proof, leaf_hash, tree_root
from evalsite.ledger.note import parse_note
from evalsite.ledger.trust import SSH_NAMESPACE
from evalsite.storage import list_tree

GO_PATH = Path("/usr/share/gocode")
PROGRAM = Path(__file__).parent / "go" / "main.go"
TRUST = f"runs/trust/{LEDGER}"
CLOSED_SEQ = 3  # the log's entry that closes the example's run


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    """A bundle of the worked example: every artefact that another tool can read."""
    folder = tmp_path_factory.mktemp("foreign")
    project = example_project(folder)
    audit_bundle(project, folder / "audit")
    case_bundle(project, folder / "case")
    return folder / "audit"


@pytest.fixture
def tell(capsys):
    """Print the line of a tool."""

    def say(tool, what):
        with capsys.disabled():
            print(f"\nforeign  {tool:<28} {what}", end="")

    return say


def absent(reason):
    if os.environ.get("EVALSITE_FOREIGN") == "required":
        pytest.fail(f"required here, and {reason}")
    pytest.skip(reason)


def program(name):
    if shutil.which(name) is None:
        absent(f"{name} is not installed")
    return name


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        absent(f"the Python package of {name} is not installed (make foreign)")


def call(*words, **options):
    return subprocess.run([*map(str, words)], capture_output=True, timeout=120, check=False, **options)


def flipped(data):
    """Return the data with one bit changed, in its middle."""
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def openssl_accepts(folder, key, message, signature):
    (folder / "message").write_bytes(message)
    (folder / "signature").write_bytes(signature)
    words = ["-verify", "-pubin", "-inkey", key, "-rawin", "-in", folder / "message", "-sigfile", folder / "signature"]
    return call(program("openssl"), "pkeyutl", *words).returncode == 0


@pytest.mark.parametrize("name", [f"runs/log/{LEDGER}/checkpoint", f"runs/{RUN}/checkpoint"])
def test_openssl_on_checkpoints(name, audit, tmp_path, tell):
    note = parse_note((audit / name).read_bytes())
    text, signature, key = note.text.encode(), note.signatures[0].signature, audit / TRUST / "log.pem"
    assert openssl_accepts(tmp_path, key, text, signature)
    assert not openssl_accepts(tmp_path, key, flipped(text), signature)
    assert not openssl_accepts(tmp_path, audit / TRUST / "runner.pem", text, signature)
    tell("openssl pkeyutl", f"{name}: accepted; changed text and another key refused")


@pytest.mark.parametrize(
    ("name", "key"),
    [(f"runs/{RUN}/statement.dsse.json", "runner.pem"), (f"{TRUST}/keyring/001.dsse.json", "root.pem")],
)
def test_openssl_on_envelopes(name, key, audit, tmp_path, tell):
    envelope = parse_envelope((audit / name).read_bytes())
    message, signature = pae(envelope.payload_type, envelope.payload), envelope.signatures[0].signature
    assert openssl_accepts(tmp_path, audit / TRUST / key, message, signature)
    assert not openssl_accepts(tmp_path, audit / TRUST / key, flipped(message), signature)
    tell("openssl pkeyutl", f"{name}: accepted; changed payload refused")


def test_ssh_keygen_on_the_statement(audit, tell):
    payload = (audit / "statement.json").read_bytes()

    def accepts(data, who="runner", namespace=SSH_NAMESPACE):
        words = ["-f", audit / TRUST / "allowed_signers", "-I", f"{who}@{LEDGER}", "-n", namespace]
        signature = audit / "statement.json.sig"
        return call(program("ssh-keygen"), "-Y", "verify", *words, "-s", signature, input=data).returncode == 0

    assert accepts(payload)
    assert not accepts(flipped(payload))
    assert not accepts(payload, who="log")
    assert not accepts(payload, namespace="file")
    tell("ssh-keygen -Y verify", "statement: accepted; changed payload, another signer, another namespace refused")


def test_sha256sum_on_a_bundle(audit, tmp_path, tell):
    shutil.copytree(audit, tmp_path / "copy")
    words = [program("sha256sum"), "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert call(*words, cwd=tmp_path / "copy").returncode == 0
    page = tmp_path / "copy" / "VERIFY.md"
    page.write_bytes(flipped(page.read_bytes()))
    assert call(*words, cwd=tmp_path / "copy").returncode != 0
    tell("sha256sum -c", "SHA256SUMS of a bundle: accepted; changed file refused")


@pytest.fixture(scope="module")
def go_check(tmp_path_factory):
    """The Go program, built with Debian's packages."""
    if not (GO_PATH / "src" / "golang.org" / "x" / "mod" / "sumdb").is_dir():
        absent("golang.org/x/mod/sumdb is not installed (Debian: golang-golang-x-mod-dev)")
    folder = tmp_path_factory.mktemp("go")
    cache = {} if "HOME" in os.environ else {"GOCACHE": str(folder / "cache")}
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(GO_PATH), "GOFLAGS": "", **cache}
    done = call(program("go"), "build", "-o", folder / "check", PROGRAM, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return folder / "check"


def tree_of(root, folder, kind, key):
    """Return all notes, an inclusion proof of every line, and a consistency proof between any two signed sizes."""
    names, _ = segment_files(kind, list_tree(root / folder).files)
    lines = [line for segment in read_segments(root / folder, names) for line in segment.lines]
    leaves = [leaf_hash(line) for line in lines]
    sizes = sorted(int(path.stem) for path in (root / folder / "checkpoints").iterdir())

    def encode(raw):
        return base64.b64encode(raw).decode()

    notes = [(root / folder / "checkpoints" / f"{size}.note").read_bytes() for size in sizes]
    records = [
        {
            "Size": len(leaves),
            "Index": index,
            "Root": encode(tree_root(leaves)),
            "Line": encode(line),
            "Proof": [encode(item) for item in inclusion_proof(leaves, index)],
        }
        for index, line in enumerate(lines)
    ]
    trees = [
        {
            "OldSize": old,
            "NewSize": new,
            "OldRoot": encode(tree_root(leaves[:old])),
            "NewRoot": encode(tree_root(leaves[:new])),
            "Proof": [encode(item) for item in consistency_proof(leaves[:new], old)],
        }
        for old in sizes
        for new in sizes
        if old < new
    ]
    return {"Notes": [{"Key": key, "Note": encode(note)} for note in notes], "Records": records, "Trees": trees}


def committed(repository):
    """Return folder, kind and log key of each tree that is committed."""
    for trust in sorted((repository / "runs" / "trust").iterdir()):
        key = (trust / "log.vkey").read_text(encoding="utf-8").strip()
        yield f"runs/log/{trust.name}", "entries", key
        for first in sorted((repository / "runs").glob("*/events/000.jsonl")):
            if json.loads(first.read_bytes().split(b"\n")[0])["ledger"] == trust.name:
                yield f"runs/{first.parent.parent.name}", "events", key


def test_go_on_the_committed_trees(repository, go_check, tmp_path, tell):
    for folder, kind, key in committed(repository):
        (tmp_path / "input.json").write_text(json.dumps(tree_of(repository, folder, kind, key)), encoding="utf-8")
        done = call(go_check, tmp_path / "input.json")
        assert done.returncode == 0, done.stderr.decode()
        tell("Go sumdb/note, sumdb/tlog", f"{folder}: {done.stdout.decode().strip()} accepted")


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("Notes", "Note"),
        ("Records", "Line"),
        ("Records", "Root"),
        ("Records", "Proof"),
        ("Trees", "OldRoot"),
        ("Trees", "Proof"),
    ],
)
def test_go_refuses_a_changed_byte(kind, field, repository, go_check, tmp_path, tell):
    folder, lines, key = next(committed(repository))
    value = tree_of(repository, folder, lines, key)
    item = value[kind][1]
    old = item[field][0] if field == "Proof" else item[field]
    new = base64.b64encode(flipped(base64.b64decode(old))).decode()
    item[field] = [new, *item[field][1:]] if field == "Proof" else new
    (tmp_path / "input.json").write_text(json.dumps(value), encoding="utf-8")
    assert call(go_check, tmp_path / "input.json").returncode == 4
    tell("Go sumdb/note, sumdb/tlog", f"one bit of a {field} of {kind}: refused")


def test_securesystemslib_on_envelopes(audit, tell):
    dsse, signer = module("securesystemslib.dsse"), module("securesystemslib.signer")
    error = module("securesystemslib.exceptions").VerificationError
    for name, key in ((f"runs/{RUN}/statement.dsse.json", "runner"), (f"{TRUST}/keyring/001.dsse.json", "root")):
        value = json.loads((audit / name).read_bytes())
        other = json.loads((audit / name).read_bytes())  # `from_dict` empties what it is given
        other["payload"] = base64.b64encode(flipped(base64.b64decode(other["payload"]))).decode()
        pem = (audit / TRUST / f"{key}.pem").read_text(encoding="utf-8")
        keys = [signer.SSlibKey(value["signatures"][0]["keyid"], "ed25519", "ed25519", {"public": raw_hex(pem)})]
        assert len(dsse.Envelope.from_dict(value).verify(keys, 1)) == 1
        with pytest.raises(error):
            dsse.Envelope.from_dict(other).verify(keys, 1)
        tell("securesystemslib DSSE", f"{name}: accepted; changed payload refused")


def raw_hex(pem):
    """Return the raw key at the end of a SubjectPublicKeyInfo, in hexadecimal."""
    return base64.b64decode("".join(pem.splitlines()[1:-1]))[-32:].hex()


def test_in_toto_attestation_on_the_statement(audit, tell):
    statement, pb, formats = (
        module(name)
        for name in (
            "in_toto_attestation.v1.statement",
            "in_toto_attestation.v1.statement_pb2",
            "google.protobuf.json_format",
        )
    )
    value = json.loads((audit / "statement.json").read_bytes())

    def validate(changed):
        statement.Statement.copy_from_pb(formats.ParseDict(changed, pb.Statement())).validate()

    validate(value)
    with pytest.raises(ValueError, match="type"):
        validate({**value, "_type": "https://in-toto.io/Statement/v0.1"})
    with pytest.raises(ValueError, match="subject"):
        validate({**value, "subject": []})
    tell("in_toto_attestation", "statement: valid; another type and no subject refused")


def test_jcs_on_the_published_outputs(vectors, tell):
    """Six of six, floats and all: whoever asks what the two that our profile leaves out come to gets the same bytes."""
    canonicalize = module("jcs").canonicalize
    folder = vectors / "audit/json-canonicalization/testdata"
    paths = sorted((folder / "input").iterdir())
    same = [
        canonicalize(json.loads(path.read_bytes())) == (folder / "output" / path.name).read_bytes() for path in paths
    ]
    assert same == [True] * 6
    tell("jcs", "published outputs of RFC 8785: 6 of 6")


def test_jcs_on_every_committed_line(repository, tell):
    canonicalize = module("jcs").canonicalize
    lines = [
        line
        for path in sorted((repository / "runs").rglob("*.jsonl"))
        for line in path.read_bytes().split(b"\n")
        if line
    ]
    assert lines
    assert [line for line in lines if canonicalize(json.loads(line)) != line] == []
    tell("jcs", f"committed records: {len(lines)} lines are the bytes that it makes of them")


def test_proofbundle_on_proofs(audit, tell):
    check = module("proofbundle.tlogproof").verify_tlog_proof
    key = (audit / TRUST / "log.vkey").read_text(encoding="utf-8").strip()
    entries = (audit / f"runs/log/{LEDGER}/entries/000.jsonl").read_bytes().split(b"\n")
    proof = (audit / f"runs/{RUN}/proofs/run-closed.tlog-proof").read_text(encoding="utf-8")
    assert check(proof, entries[CLOSED_SEQ], key, expected_origin=f"{LEDGER}/log")["ok"] is True
    changed = check(proof, entries[CLOSED_SEQ] + b" ", key, expected_origin=f"{LEDGER}/log")
    assert (changed["ok"], changed["inclusion_ok"]) == (False, False)
    tell("proofbundle tlog-proof", "run-closed: accepted; line with one more space refused")


def test_proofbundle_on_a_disclosed_line(audit, tell):
    check = module("proofbundle.tlogproof").verify_tlog_proof
    case = audit.parent / "case"
    key = (case / TRUST / "log.vkey").read_text(encoding="utf-8").strip()
    for path in sorted((case / "lines").iterdir()):
        proof = (case / "proofs" / f"{path.stem}.tlog-proof").read_text(encoding="utf-8")
        said = check(proof, path.read_bytes(), key, expected_origin=f"{LEDGER}/run/{RUN}")
        assert said["ok"] is True, said
        assert check(proof, flipped(path.read_bytes()), key, expected_origin=f"{LEDGER}/run/{RUN}")["ok"] is False
    tell("proofbundle tlog-proof", "lines of a disclosed case: accepted; changed lines refused")
