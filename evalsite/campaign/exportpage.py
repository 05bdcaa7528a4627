# SPDX-License-Identifier: Apache-2.0
"""``VERIFY.md`` of a bundle: literal commands for tools that are not ours, with the values to expect.

A test runs every block of both pages with ``bash -e`` in a bundle, and again after a file was changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalsite.ledger.authentic import AuthenticRun
from evalsite.ledger.layout import STATEMENT, log_folder, run_folder, trust_folder
from evalsite.ledger.trust import SSH_NAMESPACE

_HEAD = """# Verify {what} without evalsite

Run these commands in this folder, in one shell (`bash -e`), from the top. They need `sha256sum`, `sed`, `base64`,
`find`, `openssl` 3 and `python3` with its standard library{more}. Each ends with exit code 0, or something is wrong.
Or, with evalsite and the fingerprint that you were given: `evalsite verify . --root-key {ledger}=FINGERPRINT`.

| | |
|---|---|
| run | `{run}` |
| ledger | `{ledger}` |
| events under the newest signed root | {size} |
| root of the run's tree | `{root}` |
{rows}
**These commands show** that the bytes are the ones that were signed with the keys of this folder. They cannot show
whose keys these are: compare the fingerprint of step 2 with the one that you got from the key holder by another way.
Nor do they show what was never recorded, and when something happened: the times are claims of the host.
"""

_SUMS = """
## 1. The files are whole

```sh
sha256sum --check --strict --quiet SHA256SUMS
```
"""

_ROOT = """
## 2. The root key is the one that you were told

The key holder's fingerprint must be `{fingerprint}`; the command compares the key that stands here with it.

```sh
test "$(openssl pkey -pubin -in {trust}/root.pem -outform DER | tail -c 32 | sha256sum | cut -c 1-64)" = {digits}
```
"""

_NOTE_COMMAND = """signed_note() {{
  sed '/^$/,$d' "$1" > "$work/text"
  sed -n 's/^— [^ ]* //p' "$1" | head -n 1 | base64 --decode | tail -c +5 > "$work/signature"
  openssl pkeyutl -verify -pubin -inkey "$2" -rawin -in "$work/text" -sigfile "$work/signature"
}}
"""

_NOTES = f"""
## 3. The signed roots are signed

A checkpoint is a text, a blank line, and a signature line: the signature is over the text.

```sh
work=$(mktemp -d)
{_NOTE_COMMAND}signed_note {{record}}/checkpoint {{record_key}}
signed_note {{log}}/checkpoint {{log_key}}
```
"""

_TREES = """
## 4. The lines are under the signed roots

```sh
cat > "$work/root.py" <<'EOF'
import base64, glob, hashlib, sys
def hashed(prefix, data): return hashlib.sha256(prefix + data).digest()
def root(leaves):
    if len(leaves) == 1: return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashed(b"\\1", root(leaves[:half]) + root(leaves[half:]))
folder = sys.argv[1]
names = sorted(glob.glob(sys.argv[2] + "/*.jsonl"), key=lambda name: (len(name), name))
lines = b"".join(open(name, "rb").read() for name in names).split(b"\\n")[:-1]
size, signed = open(folder + "/checkpoint", encoding="utf-8").read().split("\\n")[1:3]
found = base64.b64encode(root([hashed(b"\\0", line) for line in lines[: int(size)]])).decode()
print(folder, len(lines), "lines, root", found)
sys.exit(found != signed or len(lines) < int(size))
EOF
python3 "$work/root.py" {record} {record}/events
python3 "$work/root.py" {log} {log}/entries
```
"""

_ENVELOPES = """
## 5. {title}

An envelope's signature is over `DSSEv1`, its type and its payload, each with its length. The keys of the other steps
are those that the root key signed here: each `grep` finds one in the payloads that were just verified.

```sh
cat > "$work/envelope.py" <<'EOF'
import base64, json, sys
envelope = json.load(open(sys.argv[1], "rb"))
kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"])
signature = [item["sig"] for item in envelope["signatures"] if item["keyid"] == sys.argv[3]][0]
open(sys.argv[2] + "/message", "wb").write(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
open(sys.argv[2] + "/payload", "wb").write(payload)
open(sys.argv[2] + "/signature", "wb").write(base64.b64decode(signature))
EOF
{commands}
```
"""

_ENVELOPE = """python3 "$work/envelope.py" {file} "$work" {key.id}
openssl pkeyutl -verify -pubin -inkey {key.file} -rawin -in "$work/message" -sigfile "$work/signature"
{then}"""

_BLOBS = """
## {number}. What was sent and what came back

Every blob is named by the SHA-256 of its file; the lines name them. A file begins with a line of mark and one of salt.

```sh
find {blobs} -type f -printf '%f  %p\\n' | sha256sum --check --strict --quiet
```
"""

_SSH = """
## 7. The statement, by `ssh-keygen`

```sh
ssh-keygen -Y verify -f {trust}/allowed_signers -I runner@{ledger} -n {namespace} -s statement.json.sig < statement.json
```
"""

_PROOFS = f"""
## 3. Each line is under the signed root

The leaf hash is computed from the line in hand, never read from the proof.

```sh
work=$(mktemp -d)
cat > "$work/proof.py" <<'EOF'
import base64, hashlib, sys
def hashed(prefix, data): return hashlib.sha256(prefix + data).digest()
line, proof = (open(name, "rb").read() for name in sys.argv[1:3])
head, note = proof.split(b"\\n\\n", 1)
kind, index, *hashes = head.decode().split("\\n")
at, (size, root) = int(index.split(" ")[1]), note.decode().split("\\n")[1:3]
last, found = int(size) - 1, hashed(b"\\0", line)
for sibling in map(base64.b64decode, hashes):
    if last <= 0: sys.exit("the proof is too long")
    if at & 1 or at == last:
        found = hashed(b"\\1", sibling + found)
        while not at & 1 and at: at, last = at >> 1, last >> 1
    else:
        found = hashed(b"\\1", found + sibling)
    at, last = at >> 1, last >> 1
if last != 0 or base64.b64encode(found).decode() != root: sys.exit("this line is not under that root")
open(sys.argv[3], "wb").write(note)
print(sys.argv[1], "is line", index.split(" ")[1], "of", size)
EOF
{_NOTE_COMMAND}for line in {{lines}}; do
  python3 "$work/proof.py" lines/$line.json proofs/$line.tlog-proof "$work/note"
  cmp "$work/note" checkpoint
done
signed_note checkpoint {{record_key}}
test "$(head -n 1 checkpoint)" = {{ledger}}/run/{{run}}
for entry in {{entries}}; do
  python3 "$work/proof.py" log/$entry.json log/$entry.tlog-proof "$work/note"
  signed_note "$work/note" {{log_key}}
  test "$(head -n 1 "$work/note")" = {{ledger}}/log
done
```
"""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key of the bundle: its PEM file, its id, and the key in base64."""

    file: str
    id: str
    encoded: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signers:
    """Which key signed what: a key that was rotated away is not the one of the ledger's PEM files.

    ``keyrings`` are the keyring files with the root key that each one names; ``statement`` is null for an open run.
    """

    keyrings: Mapping[str, SigningKey]
    record: SigningKey
    log: SigningKey
    statement: SigningKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """The page of a whole run."""

    run: AuthenticRun
    signers: Signers
    has_sshsig: bool

    def text(self) -> bytes:
        """Return the page."""
        run = self.run
        places = {"trust": trust_folder(run.ledger), "record": run_folder(run.run_id), "log": log_folder(run.ledger)}
        keys = {"record_key": self.signers.record.file, "log_key": self.signers.log.file}
        rows = f"| SHA-256 of the statement | `{run.statement_digest}` |\n" if run.statement_digest else ""
        more = ", and `ssh-keygen`" if self.has_sshsig else ""
        parts = [_head(run, f"the run `{run.run_id}`", rows, more), _SUMS, _root(run)]
        parts += [_NOTES.format(**places, **keys), _TREES.format(**places), _envelopes(run, self.signers)]
        parts.append(_BLOBS.format(number=6, blobs=f"{places['record']}/blobs"))
        if self.has_sshsig:
            parts.append(_SSH.format(ledger=run.ledger, namespace=SSH_NAMESPACE, **places))
        return "".join(parts).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """The page of a disclosed case."""

    run: AuthenticRun
    signers: Signers
    wanted: str
    lines: Sequence[int]

    def text(self) -> bytes:
        """Return the page."""
        run = self.run
        entries = [str(seq) for seq in (run.opened_index, run.closed_index) if seq is not None]
        rows = (
            "\nThis is one case of the run. That these are all lines of the case can be seen in the whole run only.\n"
        )
        proofs = _PROOFS.format(
            record_key=self.signers.record.file,
            log_key=self.signers.log.file,
            ledger=run.ledger,
            run=run.run_id,
            lines=" ".join(map(str, self.lines)),
            entries=" ".join(entries),
        )
        head = _head(run, f"the case `{self.wanted}`", rows, "")
        signers = replace(self.signers, statement=None)  # it is not in this bundle
        parts = [head, _SUMS, _root(run), proofs, _BLOBS.format(number=4, blobs="blobs"), _envelopes(run, signers)]
        return "".join(parts).encode()


def _head(run: AuthenticRun, what: str, rows: str, more: str) -> str:
    values = {"run": run.run_id, "ledger": run.ledger, "size": run.size, "root": run.root}
    return _HEAD.format(what=what, rows=rows, more=more, **values)


def _root(run: AuthenticRun) -> str:
    digits = run.root_fingerprint.removeprefix("sha256:")
    return _ROOT.format(fingerprint=run.root_fingerprint, digits=digits, trust=trust_folder(run.ledger))


def _envelopes(run: AuthenticRun, signers: Signers) -> str:
    commands = []
    used = {signers.record, signers.log, *([signers.statement] if signers.statement else [])}
    for name, root in signers.keyrings.items():
        commands.append(_ENVELOPE.format(file=name, key=root, then='tee -a "$work/keys" < "$work/payload"; echo'))
    commands += [f"grep -qF '{key.encoded}' \"$work/keys\"" for key in sorted(used, key=lambda key: key.file)]
    if signers.statement is not None and run.statement_digest:
        digits = run.statement_digest.removeprefix("sha256:")
        same = (
            f'cmp "$work/payload" statement.json\necho "{digits}  statement.json" | sha256sum --check --strict --quiet'
        )
        file = f"{run_folder(run.run_id)}/{STATEMENT}"
        commands.append(_ENVELOPE.format(file=file, key=signers.statement, then=same))
    title = "Keyring and statement are signed" if signers.statement else "The keyring is signed"
    return _ENVELOPES.format(title=title, commands="\n".join(commands))
