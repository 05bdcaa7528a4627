# SPDX-License-Identifier: Apache-2.0
"""``evalsite label serve``: fill a sheet in a browser on this machine, and nowhere else.

The server listens on loopback only. Its address holds a random token, every request must name this
address as its host, and the page may load nothing but its own three files: another site in the same
browser can neither read the sheet nor label in its name.
"""

import http.server
import json
import secrets
import sys
import threading
from pathlib import Path
from typing import Any

import click

from evalsite.campaign.labelsheet import ReadSheet, read_sheet, sheet_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.cli import output
from evalsite.cli.labelpage import TYPES, page_files
from evalsite.errors import EvalsiteError, InputError, UndecidedError
from evalsite.ledger.labelseal import dimension_of
from evalsite.schema.bounds import MAX_LABEL_FILE_BYTES
from evalsite.schema.labels import UNLABELLED, LabelSheet, SheetItem
from evalsite.storage import PRIVATE_FILE, read_regular, replace

LOOPBACK = "127.0.0.1"
_MAX_REQUEST_BYTES = 16 * 1024
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@click.command("serve")
@click.argument("sheet", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Default: a free one.")
def serve(sheet: Path, port: int) -> None:
    """Fill SHEET in a web page on this machine; every label is written to the file at once."""
    with LabelServer(OpenSheet(sheet), port) as server:
        output.say(f"{server.address}  (Ctrl-C stops)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            output.note(f"stopped; labelled {server.open_sheet.sheet.labelled} of {len(server.open_sheet.sheet.items)}")


class OpenSheet:
    """A sheet whose file is written anew with every label.

    Raises:
        InputError: The file is no sheet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        read: ReadSheet = read_sheet(path)
        self.sheet: LabelSheet = read.sheet
        self._written = read_regular(path, MAX_LABEL_FILE_BYTES)
        self._lock = threading.Lock()  # one label after the other

    def shown(self) -> bytes:
        """Return what the page is given, as JSON."""
        sheet = self.sheet
        graded = dimension_of(sheet.criterion) is not None
        facts = {**sheet.plain(), "graded": graded}
        return json.dumps({key: facts[key] for key in _SHOWN}).encode()

    def label(self, request: bytes) -> None:
        """Take one label and write the file.

        Raises:
            InputError: No label of this sheet, or the file was changed by somebody else meanwhile.
            UndecidedError: The operating system refused; the file is as before.
        """
        value = parse_json(request, max_bytes=_MAX_REQUEST_BYTES)
        if not isinstance(value, dict) or set(value) != {"key", "label", "note"}:
            raise InputError("expected key, label and note", rule="label sheet")
        self._check(value["label"])
        with self._lock:
            index = next((place for place, item in enumerate(self.sheet.items) if item.key == value["key"]), None)
            if index is None:
                raise InputError("expected an item of this sheet", rule="label sheet")
            plain = self.sheet.items[index].plain()
            self._write(index, SheetItem.from_value({**plain, "label": value["label"], "note": value["note"]}))

    def _write(self, index: int, item: SheetItem) -> None:
        if read_regular(self._path, MAX_LABEL_FILE_BYTES) != self._written:
            raise InputError("the sheet's file was changed by another program: serve it again", rule="one writer")
        items = (*self.sheet.items[:index], item, *self.sheet.items[index + 1 :])
        sheet = self.sheet.model_copy(update={"items": items})
        data = sheet_bytes(sheet, self._path.suffix)
        replace(self._path, data, mode=PRIVATE_FILE)
        self.sheet, self._written = sheet, data

    def _check(self, label: object) -> None:
        graded = dimension_of(self.sheet.criterion) is not None
        verdict = isinstance(label, int) and not isinstance(label, bool) and label in {0, 1}
        if not (graded or verdict or label is None or label == UNLABELLED):
            raise InputError("expected 0, 1 or null", rule="label vocabulary")


_SHOWN = ("corpus", "criterion", "annotator", "instructions", "items", "graded")


class LabelServer(http.server.ThreadingHTTPServer):
    """A server of one sheet on loopback; a connection that a browser keeps in reserve holds up no other."""

    def __init__(self, open_sheet: OpenSheet, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.open_sheet = open_sheet
        self.files = page_files()
        self.host = f"{LOOPBACK}:{self.server_address[1]}"
        self._token = secrets.token_urlsafe(24)

    @property
    def address(self) -> str:
        """Return the page's address, token included."""
        return f"http://{self.host}/{self._token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that hung up; anything else is a fault of ours and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def resource(self, path: str) -> str | None:
        """Return what a path asks for behind the token; null if it has another token or none."""
        token, slash, name = path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
        return name if known and slash else None


class _Handler(http.server.BaseHTTPRequestHandler):
    server: LabelServer
    timeout = 10  # seconds; a silent client must not hold up the page
    protocol_version = "HTTP/1.0"
    server_version = "evalsite"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page, its files, or the sheet."""
        name = self._allowed()
        if name is None:
            return
        if name == "sheet":
            self._send(200, self.server.open_sheet.shown(), "application/json")
        elif (name or "page.html") in TYPES:
            self._send(200, self.server.files[name or "page.html"], TYPES[name or "page.html"])
        else:
            self._send(404, b"nothing here\n")

    def do_POST(self) -> None:
        """Take one label."""
        name = self._allowed()
        if name is None:
            return
        origin, length = self.headers.get("Origin"), self.headers.get("Content-Length", "")
        if name != "label" or origin not in {None, f"http://{self.server.host}"}:
            self._send(403, b"not from this page\n")
        elif self.headers.get("Content-Type") != "application/json":
            self._send(415, b"expected JSON\n")
        elif not (length.isascii() and length.isdigit() and len(length) < 6 and int(length) <= _MAX_REQUEST_BYTES):  # noqa: PLR2004 - digits
            self._send(413, b"expected a request of known and bounded length\n")
        else:
            self._take(self.rfile.read(int(length)))

    def _take(self, request: bytes) -> None:
        try:
            self.server.open_sheet.label(request)
        except UndecidedError as exc:
            self._send(500, exc.message.encode())
        except EvalsiteError as exc:
            self._send(400, exc.message.encode())
        else:
            self._send(200, b"saved\n")

    def _allowed(self) -> str | None:
        """Return what is asked for, or answer that nothing is to be had: another host name, another token."""
        name = self.server.resource(self.path)
        if self.headers.get("Host") != self.server.host or name is None:
            self._send(403, b"open the address that evalsite label serve printed\n")
            return None
        return name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method
        """Say nothing: a path holds the token."""

    def _send(self, status: int, body: bytes, media_type: str = "text/plain") -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{media_type}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
