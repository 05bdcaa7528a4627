# SPDX-License-Identifier: Apache-2.0
"""`evalsite label serve` to anybody but its own page: nothing to read, nothing to write."""

import http.client
import json
import signal
import socket
import struct
import subprocess
import sys
import threading

import pytest
from support.labels import sheet_of

from evalsite.campaign.labelsheet import read_sheet, write_sheet
from evalsite.cli.labelserve import LOOPBACK, LabelServer, OpenSheet
from evalsite.schema.labels import UNLABELLED

KEY = f"{0:016x}"


@pytest.fixture(params=[".yaml", ".csv"])
def server(tmp_path, request):
    """A server of a sheet of two items, in both kinds of file."""
    path = tmp_path / f"sheet{request.param}"
    write_sheet(path, sheet_of("one", "two"))
    with LabelServer(OpenSheet(path)) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        made.path = path
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, *, method="GET", body=None, **headers):
    """Return status, headers and body of one request."""
    link = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    link.putrequest(method, path, skip_host=True)
    for name, value in {"Host": server.host, **headers}.items():
        link.putheader(name.replace("_", "-"), value)
    if body is not None:
        link.putheader("Content-Length", str(len(body)))
    link.endheaders(body)
    reply = link.getresponse()
    return reply.status, dict(reply.getheaders()), reply.read()


def own(server, name=""):
    """Return the path of something behind the token."""
    return server.address.removeprefix(f"http://{server.host}") + name


def label(server, value, **headers):
    """Post one label as the page does."""
    body = json.dumps(value).encode()
    return ask(
        server, own(server, "label"), method="POST", body=body, **{"Content_Type": "application/json", **headers}
    )


def given(server):
    return [(item.label, item.note) for item in read_sheet(server.path).sheet.items]


def test_the_page_is_given_to_who_knows_the_address(server) -> None:
    status, headers, body = ask(server, own(server))
    assert status == 200
    assert b"Blind labels" in body
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert b"<script>" not in body
    assert b" style=" not in body


def test_the_sheet_tells_nothing_but_what_is_labelled(server) -> None:
    shown = json.loads(ask(server, own(server, "sheet"))[2])
    assert set(shown) == {"corpus", "criterion", "annotator", "instructions", "items", "graded"}
    assert set(shown["items"][0]) == {"key", "texts", "label", "note"}


def test_it_listens_on_loopback_only(server) -> None:
    assert server.server_address[0] == LOOPBACK
    assert server.socket.family is socket.AF_INET


@pytest.mark.parametrize("path", ["/", "/sheet", "/x/sheet", "//sheet", "/%2e%2e/sheet"])
def test_without_the_token_there_is_nothing(server, path) -> None:
    status, _, body = ask(server, path)
    assert status == 403
    assert b"one" not in body


@pytest.mark.parametrize("name", ["page.py", "../page.html", "..%2fsheet", "sheet/", "label", "__init__.py"])
def test_behind_the_token_there_are_the_page_and_the_sheet_only(server, name) -> None:
    assert ask(server, own(server, name))[0] == 404


@pytest.mark.parametrize("host", ["localhost", "example.invalid", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_host_name_is_refused(server, host) -> None:
    """A name of somebody else's that leads to this machine (DNS rebinding)."""
    assert ask(server, own(server, "sheet"), Host=host)[0] == 403
    assert label(server, {"key": KEY, "label": 1, "note": None}, Host=host)[0] == 403
    assert given(server)[0] == (UNLABELLED, None)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://example.invalid"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_another_site_cannot_label(server, headers, status) -> None:
    assert label(server, {"key": KEY, "label": 1, "note": None}, **headers)[0] == status
    assert given(server)[0] == (UNLABELLED, None)


def test_a_label_is_in_the_file_before_it_is_answered(server) -> None:
    for value, note in ((1, None), (0, "in doubt"), (None, None), (UNLABELLED, None)):
        assert label(server, {"key": KEY, "label": value, "note": note})[0] == 200
        assert given(server) == [(value, note), (UNLABELLED, None)]


@pytest.mark.parametrize(
    "value",
    [
        {"key": KEY, "label": 2, "note": None},
        {"key": KEY, "label": True, "note": None},
        {"key": KEY, "label": "1", "note": None},
        {"key": KEY, "label": 0.5, "note": None},
        {"key": KEY, "label": 1, "note": ""},
        {"key": KEY, "label": 1, "note": "x" * 301},
        {"key": "f" * 16, "label": 1, "note": None},
        {"key": KEY, "label": 1},
        {"key": KEY, "label": 1, "note": None, "more": 1},
        {"key": KEY, "label": [1], "note": None},
        [],
        "1",
    ],
)
def test_what_is_no_label_changes_nothing(server, value) -> None:
    assert label(server, value)[0] == 400
    assert given(server) == [(UNLABELLED, None), (UNLABELLED, None)]


def test_a_request_is_bounded(server) -> None:
    for length in ("1000000", "-1", "x", "99999999999999999999"):
        status, _, _ = ask(
            server, own(server, "label"), method="POST", Content_Type="application/json", Content_Length=length
        )
        assert status == 413


def test_a_client_that_hangs_up_is_not_spoken_of(server, capsys) -> None:
    """It sent half of what it promised and went away; the page goes on, and no traceback is printed."""
    host, port = server.server_address[:2]
    with socket.create_connection((host, port), timeout=5) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # the end is a reset
        client.sendall(f"GET {own(server)} HTTP/1.0\r\nHost: {server.host}\r\n".encode())
    assert ask(server, own(server))[0] == 200
    for error in (ConnectionResetError(), BrokenPipeError(), TimeoutError()):
        _handled(server, error)
    assert capsys.readouterr().err == ""
    _handled(server, ValueError("a fault of ours"))
    assert "a fault of ours" in capsys.readouterr().err


def _handled(server, error):
    try:
        raise error
    except (OSError, ValueError):
        server.handle_error(None, ("127.0.0.1", 1))


def test_another_method_is_none(server) -> None:
    assert ask(server, own(server, "label"), method="PUT")[0] == 501


def test_a_file_that_another_program_changed_is_left_alone(server) -> None:
    changed = server.path.read_bytes() + b"\n"
    server.path.write_bytes(changed)
    status, _, body = label(server, {"key": KEY, "label": 1, "note": None})
    assert status == 400
    assert b"changed by another program" in body
    assert server.path.read_bytes() == changed


def test_two_servers_have_unlike_addresses(tmp_path) -> None:
    path = tmp_path / "sheet.yaml"
    write_sheet(path, sheet_of("one"))
    with LabelServer(OpenSheet(path)) as one, LabelServer(OpenSheet(path)) as other:
        assert one.address.split("/")[3] != other.address.split("/")[3]
        assert len(one.address.split("/")[3]) >= 32


def test_the_command_serves_until_it_is_stopped(tmp_path) -> None:
    """In a process of its own: the address is printed, a label arrives, Ctrl-C ends with the count."""
    path = tmp_path / "sheet.yaml"
    write_sheet(path, sheet_of("one", "two"))
    command = [sys.executable, "-u", "-m", "evalsite", "label", "serve", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        host, _, rest = address.removeprefix("http://").partition("/")
        link = http.client.HTTPConnection(host, timeout=20)
        body = json.dumps({"key": KEY, "label": 1, "note": None})
        link.request("POST", f"/{rest}label", body=body, headers={"Content-Type": "application/json"})
        assert link.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        assert process.returncode == 0
    assert "labelled 1 of 2" in told
    assert [item.label for item in read_sheet(path).sheet.items] == [1, UNLABELLED]
