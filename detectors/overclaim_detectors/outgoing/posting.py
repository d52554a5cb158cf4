"""One HTTP request to an address that was checked before: no redirects, no proxies, little time, a small answer."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Final
from urllib.parse import SplitResult

from overclaim_detectors.outgoing.sink import Undelivered

SECONDS: Final = 10.0  # for all of it
_LARGEST_ANSWER: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. retry_after: the header, "" without."""

    status: int
    retry_after: str
    text: str


class _Plain(HTTPConnection):
    """A connection to an address, whatever the host's name is."""

    address = ""
    used: socket.socket | None = None  # `sock` is None as soon as an answer begins that ends with the connection

    def connect(self) -> None:
        """Connect to the address."""
        self.sock = self.used = socket.create_connection((self.address, self.port), self.timeout)


class _Tls(HTTPSConnection):
    """The same over TLS; the certificate must be the name's."""

    address = ""
    used: socket.socket | None = None
    verified: ssl.SSLContext

    def connect(self) -> None:
        """Connect to the address, and have it prove that it is the host."""
        plain = socket.create_connection((self.address, self.port), self.timeout)
        # Known before the handshake, which must end in time as well.
        self.sock = self.used = secure = self.verified.wrap_socket(
            plain, server_hostname=self.host, do_handshake_on_connect=False
        )
        secure.do_handshake()


def post(
    url: SplitResult, address: str, body: bytes, headers: Mapping[str, str], context: ssl.SSLContext | None
) -> Answer:
    """POST a body to this address of the URL's host.

    Raises:
        Undelivered: there is no answer, or none in time.
    """
    connection = _connection(url, address, context)
    # Each read has a time limit of its own, which one byte now and then would begin anew: this one holds for all.
    watch = threading.Timer(SECONDS, _end, [connection])
    watch.daemon = True
    watch.start()
    try:
        connection.request("POST", url.path + (f"?{url.query}" if url.query else "") or "/", body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers.get("Retry-After", ""), _text(answer))
    except (OSError, HTTPException, ValueError) as error:
        raise Undelivered(
            f"no answer within {SECONDS:.0f} s, or none of HTTP ({error or type(error).__name__})"
        ) from error
    finally:
        watch.cancel()
        connection.close()


def _text(answer: HTTPResponse) -> str:
    """The beginning of what it says; a status is an answer, whatever becomes of the rest."""
    try:
        return answer.read(_LARGEST_ANSWER).decode("utf-8", "replace")
    except (OSError, HTTPException, ValueError):
        return ""


def _connection(url: SplitResult, address: str, context: ssl.SSLContext | None) -> _Plain | _Tls:
    host = url.hostname or ""
    if url.scheme == "http" or context is None:
        plain = _Plain(host, url.port or 80, timeout=SECONDS)
        plain.address = address
        return plain
    secure = _Tls(host, url.port or 443, timeout=SECONDS, context=context)
    secure.address, secure.verified = address, context
    return secure


def _end(connection: _Plain | _Tls) -> None:
    if (sock := connection.used) is not None:
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # TLS has one of its own, which is for its own thread
