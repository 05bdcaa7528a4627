# SPDX-License-Identifier: Apache-2.0
"""``evalsite witness``: a second person's side. A witness needs no project, only what it is asked."""

import http.server
import os
import re
import stat
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

import click

from evalsite.cli import output
from evalsite.cli.context import host_clock
from evalsite.cli.unlock import passphrase_option, sealing
from evalsite.errors import EvalsiteError, InputError, IntegrityError, RefusedError
from evalsite.ledger.checkpoint import parse_checkpoint
from evalsite.ledger.cosignature import WitnessKey, parse_witness_key
from evalsite.ledger.ed25519 import Signer, is_encrypted
from evalsite.ledger.note import parse_note, parse_note_key
from evalsite.ledger.passphrase import passphrase_for, sealing_passphrase
from evalsite.ledger.witness import MAX_REQUEST_BYTES, Reply, Witness, add_log, parse_request
from evalsite.storage import PRIVATE_FILE, PRIVATE_FOLDER, create, ensure_folder, read_regular

KEY = "witness.pem"
VKEY = "witness.vkey"
LOOPBACK = "127.0.0.1"
REQUEST_PATH = "/add-checkpoint"
_NAME = re.compile(r"[a-z0-9][a-z0-9._/-]{0,63}")
_MAX_KEY_BYTES = 4096

_state_option = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The witness's folder: its memory. Keep it; a witness that forgets is none.",
)
_key_option = click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"The witness's private key. Default: {KEY} in its folder.",
)


@click.group()
def witness() -> None:
    """Watch other people's logs as a second person, and cosign what only grew."""


@witness.command("init")
@_state_option
@_key_option
@click.option("--name", required=True, help="The witness's name, for instance qa.example/w1.")
@click.option("--passphrase", "protect", is_flag=True, help="Encrypt the private key with a passphrase.")
@passphrase_option
def init(state: Path, key_file: Path | None, name: str, *, protect: bool) -> None:
    """Make a witness's key and folder, and print its verifier key.

    Give the printed line to those who verify: they put it into their keystore's `witnesses` file.
    """
    if not _NAME.fullmatch(name):
        raise InputError("expected a name of lower-case letters, digits, dots, slashes and hyphens", at="--name")
    if (state / VKEY).exists():
        raise InputError("expected no witness in this folder yet", at=VKEY, rule="keys are made once")
    ensure_folder(state, mode=PRIVATE_FOLDER)
    signer = Signer.generate()
    with sealing(asked=protect):
        create(key_file or state / KEY, signer.to_pem(sealing_passphrase()), mode=PRIVATE_FILE)
    key = WitnessKey(name, signer.public_key)
    create(state / VKEY, f"{key.to_text()}\n".encode())
    output.say(key.to_text())
    output.note("Next: let it watch a log with `evalsite witness watch`; the log's key holder has the log.vkey.")


@witness.command("watch")
@_state_option
@click.argument("vkey")
def watch(state: Path, vkey: str) -> None:
    """Let the witness watch a log, by its verifier key VKEY, or a file that holds it (log.vkey).

    Get it from the key holder, not from the one who asks for a cosignature.
    """
    path = Path(vkey)
    text = read_regular(path, _MAX_KEY_BYTES).decode("utf-8", "replace") if path.is_file() else vkey
    key = parse_note_key(text.strip())
    _open_vkey(state)
    add_log(state, key)
    output.say(f"watches {key.name}")


@witness.command("cosign")
@_state_option
@_key_option
@passphrase_option
@click.argument("request", type=click.Path(path_type=Path, dir_okay=False, exists=True))
def cosign(state: Path, key_file: Path | None, request: Path) -> None:
    """Cosign by file: answer a REQUEST that `evalsite anchor request` wrote, with signature lines.

    Exit 3 when the request starts from another size than this witness cosigned last, 4 when the log
    was rolled back or forked or its signature is wrong.
    """
    body = read_regular(request, MAX_REQUEST_BYTES)
    one = _open_witness(state, key_file)
    reply = one.answer(body, time_s=_now_s())
    if reply.status != HTTPStatus.OK:
        raise _refusal(one, body, reply)
    output.say(reply.body.decode().rstrip("\n"))


@witness.command("serve")
@_state_option
@_key_option
@click.option("--port", default=7380, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free port.")
@passphrase_option
def serve(state: Path, key_file: Path | None, port: int) -> None:
    """Answer cosigning requests on this machine only (C2SP tlog-witness)."""
    with make_server(_open_witness(state, key_file), port) as server:
        output.say(f"http://{LOOPBACK}:{server.server_address[1]}/  (Ctrl-C stops)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.note("stopped")


def make_server(one: Witness, port: int) -> http.server.HTTPServer:
    """Return a server on loopback that answers one request after the other."""

    class Handler(_Handler):
        witness = one

    return http.server.HTTPServer((LOOPBACK, port), Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    """The protocol's one call."""

    witness: Witness
    timeout = 10  # seconds; a silent client must not hold up the others
    protocol_version = "HTTP/1.0"

    def do_POST(self) -> None:
        """Answer ``POST /add-checkpoint``."""
        if self.path != REQUEST_PATH:
            self._send(Reply(404, b"unknown path\n"))
            return
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,7}", length, re.ASCII) or int(length) > MAX_REQUEST_BYTES:
            self._send(Reply(413, b"expected a request of known and bounded length\n"))
            return
        try:
            reply = self.witness.answer(self.rfile.read(int(length)), time_s=_now_s())
        except InputError as exc:
            reply = Reply(503, f"{exc.message}\n".encode())  # another process of this witness holds the lock
        except EvalsiteError as exc:
            output.note(f"not cosigned: {exc}")
            reply = Reply(500, b"this witness can't answer: its memory or its disk failed\n")
        self._send(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Say nothing."""

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)


def _now_s() -> int:
    return int(datetime.fromisoformat(host_clock().now()).timestamp())


def _open_vkey(state: Path) -> WitnessKey:
    return parse_witness_key(read_regular(state / VKEY, _MAX_KEY_BYTES).decode("utf-8", "replace").strip())


def _open_witness(state: Path, key_file: Path | None) -> Witness:
    key, path = _open_vkey(state), key_file or state / KEY
    data = read_regular(path, _MAX_KEY_BYTES)
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise RefusedError(f"expected mode 0600, found {mode:04o}", at=path.name, rule="mode 0600")
    signer = Signer.from_pem(data, passphrase_for(f"key of the witness {key.name}") if is_encrypted(data) else None)
    if signer.public_key != key.public_key:
        raise InputError(f"expected the private key of {key.name}", at=path.name, advice="Pass it with --key.")
    return Witness(state, key.name, signer)


def _refusal(one: Witness, body: bytes, reply: Reply) -> EvalsiteError:
    text = reply.body.decode("utf-8", "replace").strip()
    if reply.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
        return InputError(
            f"not cosigned: {text}", rule="C2SP tlog-witness", advice="`evalsite witness watch` names a log."
        )
    if reply.status != HTTPStatus.CONFLICT:
        return IntegrityError(f"not cosigned: {text}", rule="C2SP tlog-witness")
    checkpoint = parse_checkpoint(parse_note(parse_request(body).note).text)
    head = one.head(checkpoint.origin)
    if head is not None and head.size == checkpoint.size and head.root != checkpoint.root:
        return IntegrityError(
            f"not cosigned: {checkpoint.origin} showed another root at size {head.size} before, it was forked",
            at="evidence/",
            rule="C2SP tlog-witness",
        )
    if head is not None and head.size > checkpoint.size:
        return IntegrityError(
            f"not cosigned: {checkpoint.origin} showed {head.size} entries before, it was rolled back",
            rule="C2SP tlog-witness",
        )
    return RefusedError(
        f"not cosigned: this witness cosigned size {text} last",
        rule="C2SP tlog-witness",
        advice=f"Ask again with `evalsite anchor request --old {text}`.",
    )
