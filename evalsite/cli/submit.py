# SPDX-License-Identifier: Apache-2.0
"""Asking a witness over HTTP (C2SP tlog-witness): the client's side."""

import http.client
import ipaddress
import re
from http import HTTPStatus
from urllib.parse import SplitResult, urlsplit

from evalsite.errors import InputError, IntegrityError, RefusedError, UndecidedError, shorten
from evalsite.ledger.anchoring import AnchoredLog
from evalsite.ledger.witness import SIZE_TYPE
from evalsite.schema.bounds import MAX_NOTE_BYTES

RULE = "C2SP tlog-witness"
TIMEOUT_S = 20
_SIZE = re.compile(rb"(0|[1-9][0-9]{0,18})\n")


def submit(log: AnchoredLog, url: str, *, old_size: int) -> bytes:
    """Return a witness's signature lines over the newest checkpoint of a log.

    A witness that remembers another size says so once, and is asked again from there.

    Args:
        log: The log.
        url: The witness's submission prefix; plain HTTP on this machine only.
        old_size: The size that it cosigned last, as far as is known.

    Raises:
        InputError: No such address, or the witness does not know the log.
        UndecidedError: The witness can't be reached, or fails.
        IntegrityError: It remembers another history of this log.
        RefusedError: It refuses for another reason.
    """
    where = _address(url)
    status, kind, body = _post(where, log.request(old_size).to_bytes())
    if status == HTTPStatus.CONFLICT and kind == SIZE_TYPE:
        found = _SIZE.fullmatch(body)
        if found is None:
            raise UndecidedError("expected a size from the witness, found something else", at=url, rule=RULE)
        remembered = int(found.group(1))
        if remembered == old_size:
            raise _forked(log, url, remembered)
        status, kind, body = _post(where, log.request(remembered).to_bytes())
        if status == HTTPStatus.CONFLICT and remembered == log.size:
            raise _forked(log, url, remembered)
    if status == HTTPStatus.OK:
        return body
    text = shorten(body.decode("utf-8", "replace").strip())
    if status == HTTPStatus.NOT_FOUND:
        raise InputError(f"the witness does not know {log.ledger}/log", at=url, rule=RULE)
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        raise IntegrityError(f"the witness remembers another history of this log: {text}", at=url, rule=RULE)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise UndecidedError(f"the witness can't answer now ({status}): {text}", at=url, rule=RULE)
    raise RefusedError(f"the witness refused ({status}): {text}", at=url, rule=RULE)


def _forked(log: AnchoredLog, url: str, size: int) -> IntegrityError:
    return IntegrityError(
        f"the witness remembers another root of {log.ledger}/log at size {size}: it was forked", at=url, rule=RULE
    )


def _address(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise InputError("expected http(s)://HOST[:PORT][/PREFIX]", at="--witness", rule=RULE)
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise InputError("expected https, or a witness on this machine", at="--witness", rule=RULE)
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _post(where: SplitResult, body: bytes) -> tuple[int, str, bytes]:
    kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(where.hostname or "", where.port, timeout=TIMEOUT_S)
    except ValueError as exc:
        raise InputError("expected a port number", at="--witness", rule=RULE) from exc
    try:
        connection.request("POST", f"{where.path.rstrip('/')}/add-checkpoint", body)
        answer = connection.getresponse()
        data = answer.read(MAX_NOTE_BYTES + 1)
        return answer.status, answer.getheader("Content-Type", ""), data
    except (OSError, http.client.HTTPException) as exc:
        raise UndecidedError(f"the witness can't be reached: {exc}", at=where.geturl(), rule=RULE) from exc
    finally:
        connection.close()
