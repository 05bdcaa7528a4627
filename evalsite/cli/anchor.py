# SPDX-License-Identifier: Apache-2.0
"""``evalsite anchor``: let others say that a log stood where it stands, and keep what they said."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from evalsite.cli import output
from evalsite.cli.context import find_project, ledger_option
from evalsite.cli.gittag import make_tag
from evalsite.cli.openssl import second_opinion
from evalsite.cli.submit import submit
from evalsite.errors import InputError
from evalsite.ledger.anchoring import AnchoredLog
from evalsite.ledger.anchors import MAX_ANCHOR_BYTES, checkpoint_of
from evalsite.ledger.cosignature import WitnessKey
from evalsite.ledger.heads import head_words
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.policy import parse_witnesses, read_tsa_roots, read_witnesses
from evalsite.ledger.timestamps import Timestamp, open_timestamp, order_chain
from evalsite.ledger.verify import ledger_names
from evalsite.schema.bounds import MAX_NOTE_BYTES
from evalsite.storage import read_regular

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_vkey_option = click.option(
    "--vkey",
    "vkeys",
    multiple=True,
    metavar="VKEY",
    help="The witness's verifier key (repeatable), if your keystore's `witnesses` file does not hold it.",
)


@click.group()
def anchor() -> None:
    """Let others vouch for a log's head: witnesses, git tags, time stamps."""


@anchor.command("add")
@ledger_option
@click.option("--witness", metavar="URL|FILE", help="Ask a witness at an address, or take the answer in a file.")
@_vkey_option
@click.option("--git-tag", metavar="NAME", help="Make an annotated git tag of the checkpoint, or take one that exists.")
@click.option("--rfc3161", type=_FILE, help="Take a time stamp response over the checkpoint's note.")
@click.option("--chain", type=_FILE, help="The certificates of the time stamp, PEM, up to the root.")
@click.option("--size", type=click.IntRange(1), help="Which checkpoint was time stamped. Default: the newest.")
def add(ledger: str | None, vkeys: tuple[str, ...], **sources: str | Path | int | None) -> None:
    """Add an anchor to the newest checkpoint of a ledger's log, as a new file.

    Give one of --witness, --git-tag and --rfc3161. Exit 4 when what comes back does not check out.
    """
    given = [name for name in ("witness", "git_tag", "rfc3161") if sources[name] is not None]
    if len(given) != 1:
        raise InputError("expected one of --witness, --git-tag and --rfc3161", at="evalsite anchor add")
    log = _open_log(ledger)
    place = f"runs/log/{log.ledger}"
    if given == ["witness"]:
        lines = _ask(log, str(sources["witness"]), _asked(vkeys))
        kept = log.keep_cosignatures(lines, _witnesses(vkeys))
        for name, cosignature in kept:
            output.say(f"{place}/{name}  {cosignature.key.name} at {_utc(cosignature.time_s)}")
        if not kept:
            output.note("nothing new: these witnesses cosigned this checkpoint before")
    elif given == ["git_tag"]:
        object_id, raw = make_tag(find_project(), str(sources["git_tag"]), log.note)
        output.say(f"{place}/{log.keep_tag(object_id, raw)}  tag {object_id}")
        output.note(f"Push it to where others see it: git push <remote> {sources['git_tag']}")
    else:
        response, chain, size = sources["rfc3161"], sources["chain"], sources["size"]
        if not isinstance(response, Path) or not isinstance(chain, Path):
            raise InputError("expected the certificates too", at="--chain", rule="RFC 3161")
        name, stamp = _keep_stamp(log, response, chain, size if isinstance(size, int) else log.size)
        output.say(f"{place}/{name}  {_utc(stamp.time_s)} under {stamp.root}")


@anchor.command("request")
@ledger_option
@_vkey_option
@click.option(
    "--old", type=click.IntRange(0), help="The size that the witness cosigned last. Default: what anchors say."
)
def request(ledger: str | None, vkeys: tuple[str, ...], old: int | None) -> None:
    """Write a request to cosign the newest checkpoint, for a witness that is asked by file.

    The witness answers it with `evalsite witness cosign`.
    """
    log = _open_log(ledger)
    if old is None:
        sizes = {log.cosigned_size(key) for key in _asked(vkeys)}
        if len(sizes) > 1:
            raise InputError("expected one witness, those of your keystore cosigned different sizes", at="--vkey")
        old = max(sizes, default=0)
    sys.stdout.write(log.request(old).to_bytes().decode())


@anchor.command("list")
@ledger_option
def list_anchors(ledger: str | None) -> None:
    """List a log's head and its anchors, and which of them your keystore trusts."""
    log = _open_log(ledger)
    keystore, anchors = keystore_folder(), log.facts.anchors
    trusted, roots = {key.public_key for key in read_witnesses(keystore)}, read_tsa_roots(keystore)
    checkpoint = checkpoint_of(log.note)
    output.say(f"head of {log.ledger}: {head_words(checkpoint.size, checkpoint.root)}")
    rows = [
        (size, "cosignature", item.key.name, _utc(item.time_s), _yes(item.key.public_key in trusted))
        for size, item in anchors.cosignatures
    ]
    rows += [
        (size, "time stamp", item.root, _utc(item.time_s), _yes(item.root in roots))
        for size, item in anchors.timestamps
    ]
    rows += [(size, "git tag", object_id, "-", "no: a tag's time is a claim") for size, object_id in anchors.tags]
    if rows:
        output.say_table(("size", "kind", "by", "time", "trusted here"), sorted(rows))
    else:
        output.note("no anchors yet: evalsite anchor add")
    if anchors.unread:
        output.note(f"{anchors.unread} time stamps can't be read here: pip install 'evalsite[timestamps]'")


def _open_log(ledger: str | None) -> AnchoredLog:
    project = find_project()
    names = ledger_names(project)
    if ledger is None and len(names) != 1:
        raise InputError(f"expected --ledger, this project has {len(names)}: {', '.join(names)}", at="--ledger")
    name = ledger or names[0]
    if name not in names:
        raise InputError(f"expected a ledger of this project, found {name!a}", at="--ledger")
    return AnchoredLog(project, name, all_pins().get(name))


def _ask(log: AnchoredLog, source: str, keys: tuple[WitnessKey, ...]) -> bytes:
    if "://" in source:
        return submit(log, source, old_size=max((log.cosigned_size(key) for key in keys), default=0))
    return read_regular(Path(source), MAX_NOTE_BYTES)


def _keep_stamp(log: AnchoredLog, response_file: Path, chain_file: Path, size: int) -> tuple[str, Timestamp]:
    response, chain = read_regular(response_file, MAX_ANCHOR_BYTES), read_regular(chain_file, MAX_ANCHOR_BYTES)
    ordered, note = order_chain(chain), log.note_of(size)
    stamp = open_timestamp(response, ordered, note)
    if not second_opinion(response, ordered, note, time_s=stamp.time_s):
        output.note("checked by one tool only: there is no openssl here for a second opinion")
    return log.keep_timestamp(response, chain, size)


def _witnesses(vkeys: tuple[str, ...]) -> tuple[WitnessKey, ...]:
    return (*read_witnesses(keystore_folder()), *parse_witnesses(("--vkey", text) for text in vkeys))


def _asked(vkeys: tuple[str, ...]) -> tuple[WitnessKey, ...]:
    """Return the witnesses that are named, or else all that the keystore holds."""
    return parse_witnesses(("--vkey", text) for text in vkeys) or read_witnesses(keystore_folder())


def _utc(time_s: int) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _yes(value: bool) -> str:  # noqa: FBT001 - a word for a cell of a table
    return "yes" if value else "no"
