# SPDX-License-Identifier: Apache-2.0
"""What the pages tell key holders, witnesses and auditors to type is typed here, by each in a place of their own."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from support.bundles import tools_missing
from support.shell import Shell, blocks
from support.witnesses import StampAuthority

from evalsite.ledger import timestamps

LEDGER, RUN = "release-2027", "first"
KEYS = f'evalsite keys init --ledger {LEDGER}\ncp "$EVALSITE_KEYS/{LEDGER}/log.pem" log.pem\n'
CAMPAIGN = "corpora/support-behaviors-v1/campaigns/fixture.yaml"
MISSING = tools_missing("bash", "git", "openssl", "ssh-keygen")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
readable = pytest.mark.skipif(
    importlib.util.find_spec(timestamps.LIBRARY) is None, reason="time stamps need the extra [timestamps]"
)


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The key holder, whose project has a sealed run."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    outer = Shell(tmp_path)
    assert outer.type("evalsite init project").returncode == 0
    inner = Shell(tmp_path / "project", outer.keys)
    typed(inner, f"evalsite keys init --ledger {LEDGER}\nevalsite run {CAMPAIGN} --run-id {RUN}\n")
    return inner


@pytest.fixture
def person(tmp_path: Path) -> Shell:
    """Somebody else, with a home and keys of their own."""
    (tmp_path / "person").mkdir()
    return Shell(tmp_path / "person")


def typed(shell: Shell, script: str, **variables: str) -> str:
    """Type a script that must work; return what it printed."""
    done = shell.type(script, HOME=str(shell.folder), **variables)
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


def fingerprint(shell: Shell) -> str:
    return (shell.keys / LEDGER / "root.pin").read_text(encoding="utf-8").strip()


def test_keys_are_rotated_and_revoked_as_the_page_says(repository: Path, holder: Shell) -> None:
    replace, root, revoke, people, finish, export = blocks(repository / "docs/how-to/rotate-a-key.md")
    before = fingerprint(holder)
    typed(holder, replace)
    assert fingerprint(holder) == before
    assert fingerprint(holder) not in typed(holder, root)
    assert fingerprint(holder) != before
    runner = [line for line in typed(holder, f"evalsite keys list --ledger {LEDGER}").splitlines() if "runner" in line]
    (key,) = (word for word in runner[-1].split() if word.startswith("sha256:"))
    typed(holder, revoke.replace("sha256:0123...", key))
    typed(holder, "openssl genpkey -algorithm ed25519 -out qa.pem && openssl pkey -in qa.pem -pubout -out qa-lead.pem")
    typed(holder, people)
    typed(holder, finish)
    typed(holder, export)
    assert (holder.folder / "keys-for-audit/allowed_signers").is_file()
    typed(holder, f"evalsite verify --root-key {LEDGER}={before}\n")


def test_a_witness_does_what_the_page_says(repository: Path, holder: Shell, person: Shell) -> None:
    begin, watch, cosign, serve = blocks(repository / "docs/how-to/run-a-witness.md")
    assert serve.startswith("evalsite witness serve")  # without an end: its protocol is tested where it is served
    vkey = typed(person, begin).strip()
    shutil.copy(holder.folder / f"runs/trust/{LEDGER}/log.vkey", person.folder)
    typed(person, watch)
    assert vkey.startswith("qa.example/w1+")
    listing, http, by_file, *_ = blocks(repository / "docs/how-to/anchor-a-head.md")
    typed(holder, listing)
    assert http.startswith("evalsite anchor add --witness https://")  # nobody is there
    (holder.keys / "witnesses").write_text(vkey + "\n", encoding="utf-8")
    ask, keep = (line + "\n" for line in by_file.splitlines())
    typed(holder, ask)
    shutil.copy(holder.folder / "request", person.folder)
    typed(person, cosign)
    shutil.copy(person.folder / "answer", holder.folder)
    typed(holder, keep)
    assert vkey in typed(holder, f"cat runs/log/{LEDGER}/anchors/*.cosig")


def test_a_tag_and_a_kept_note_do_what_the_page_says(repository: Path, holder: Shell, person: Shell) -> None:
    _, _, _, tag, kept, _ = blocks(repository / "docs/how-to/anchor-a-head.md")
    typed(
        holder,
        "git init --quiet --bare ../origin && git init --quiet && git remote add origin ../origin\n"
        "git config user.name holder && git config user.email holder@example.org\n"
        "git commit --quiet --allow-empty --message start\n" + tag,
    )
    typed(holder, f"cp -r . {person.folder}/copy")
    said = typed(
        Shell(person.folder / "copy", person.keys), f"export EVALSITE_ROOT_KEYS={LEDGER}={fingerprint(holder)}\n{kept}"
    )
    assert "A2" in said


@readable
def test_a_time_stamp_is_asked_for_and_kept_as_the_page_says(repository: Path, holder: Shell, tmp_path: Path) -> None:
    authority = StampAuthority(tmp_path / "tsa")
    script = blocks(repository / "docs/how-to/anchor-a-head.md")[5].replace("<ledger>", LEDGER)
    ask, send, keep = (line + "\n" for line in script.splitlines())
    assert send.startswith("curl ")  # the authority is here: openssl answers
    typed(holder, ask)
    shutil.copy(holder.folder / "head.tsq", authority.folder / "q.tsq")
    words = "-signer tsa.pem -inkey tsa.key -config ca.cnf -section stamp"
    authority.openssl(f"ts -reply -queryfile q.tsq {words} -out r.tsr")
    shutil.copy(authority.folder / "r.tsr", holder.folder / "head.tsr")
    (holder.folder / "chain.pem").write_bytes(authority.chain)
    typed(holder, keep)
    assert "A3" in typed(holder, f"evalsite verify --tsa-root {authority.folder}/root.pem")


def test_an_auditor_does_what_the_pages_say(repository: Path, holder: Shell, person: Shell) -> None:
    whole, one = blocks(repository / "docs/how-to/hand-over-an-audit.md")
    first = (holder.folder / f"runs/{RUN}/events/000.jsonl").read_text(encoding="utf-8").split("\n")[1]
    case = first.split('"case_id":"')[1].split('"')[0]
    typed(holder, whole.replace("<run>", RUN))
    typed(holder, one.replace("<run>", RUN).replace("<case>", case))
    install, heads, run, bundle, ours = blocks(repository / "docs/how-to/verify-as-an-outsider.md")
    assert "git clone" in install  # the last line of it is what is typed in a clone
    pinned = f"{LEDGER}={fingerprint(holder)}"

    def filled(script: str, **words: str) -> str:
        script = script.replace("../verify/bin/evalsite", "evalsite").replace("<ledger>=sha256:<64 digits>", pinned)
        script = script.replace("sha256:<64 digits>", pinned.partition("=")[2])
        for word, value in words.items():
            script = script.replace(f"<{word.replace('_', ' ')}>", value)
        return script

    shutil.copytree(holder.folder, person.folder / "clone")
    auditor = Shell(person.folder / "clone", person.keys)
    typed(auditor, filled(install.splitlines()[-1]))
    typed(auditor, filled(run, run=RUN))
    head = (auditor.folder / f"runs/log/{LEDGER}/checkpoint").read_bytes()
    (auditor.folder / "kept.note").write_bytes(head)
    root, size = typed(holder, "evalsite anchor list").split("sha256:")[1].split()[0].split("@")
    heads = heads.replace("<ledger>=sha256:<64 digits of the root>@<size>", f"{LEDGER}=sha256:{root}@{size}")
    assert typed(auditor, filled(heads)).count("A2") == 2
    for name in ("audit", "audit.tar.gz", "case"):
        typed(auditor, filled(bundle, folder_or_archive=str(holder.folder.parent / name)))
    (ours,) = ours.split("\n", 1)[:1]
    script = filled(ours.strip()).replace("python examples", f'"$PYTHON" {repository}/examples')
    assert "integrity holds" in typed(auditor, script)
