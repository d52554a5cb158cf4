"""Reading a store through the `overclaim serve` that owns it: POST /api/query.

Where that server asks for a token, OVERCLAIM_TOKEN or the file named by OVERCLAIM_TOKEN_FILE has it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPException, RemoteDisconnected
from ssl import SSLCertVerificationError
from typing import Any, NoReturn, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from overclaim._errors import StoreError
from overclaim_detectors import _token
from overclaim_detectors.store import LIMITS, Params, QueryError, Rows

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_OTHER_NAME = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH


class RemoteStore:
    """A store behind a running server, for reading. Values arrive as JSON has them: times are strings."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._opener = _opener(url)
        self._token = _token.from_environment(os.environ)

    def query(self, sql: str, params: Params | None = None) -> Rows:
        """Run one read-only statement on the server."""
        answer = self._post({"sql": sql, "params": dict(params or {})})
        columns, rows = answer.get("columns"), answer.get("rows")
        if not isinstance(columns, list) or not isinstance(rows, list):
            raise self._somebody_else()
        return Rows(tuple(cast("list[str]", columns)), [tuple(row) for row in cast("list[list[Any]]", rows)])

    def read(self, sql: str, params: Params | None = None) -> Rows:
        """The same: the server allows nothing but reading."""
        return self.query(sql, params)

    def answer(self, sql: str, params: Params | None = None) -> bytes:
        """The same as JSON."""
        return json.dumps(self._post({"sql": sql, "params": dict(params or {})})).encode()

    def asker(self) -> None:
        """Nobody: the server answers for itself."""

    def owner(self) -> dict[str, Any]:
        """What the server says about itself: pid, command, url, store, version, detector."""
        return self._ask(Request(f"{self.url}/api/owner", headers={"Accept": "application/json"}))

    def detector(self) -> dict[str, Any]:
        """How its detectors do: state (off, running, failing, dead), interval, passes, last_pass, error."""
        said = self.owner().get("detector")
        return cast("dict[str, Any]", said) if isinstance(said, dict) else {}

    def metrics(self) -> dict[str, float]:
        """Its figures, as /metrics has them: by name, with labels as in `name{label="value"}`."""
        lines = self._read(Request(f"{self.url}/metrics")).decode("utf-8", "replace").splitlines()
        found = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        try:
            return {name: float(value) for name, _, value in found}
        except ValueError as error:
            raise self._somebody_else() from error

    def command(self, sql: str, params: Params | None = None) -> None:
        """Refused."""
        self._refuse()

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Refused."""
        self._refuse()

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """Refused."""
        self._refuse()

    def announce(self, url: str) -> None:
        """Nothing to do: the server announces itself."""

    def interrupt(self) -> None:
        """Nothing to do: they run in the server."""

    def give_back(self) -> None:
        """Nothing to do: the server does so by itself."""

    def close(self) -> None:
        """Nothing to do: each request has its own connection."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"the store is owned by the server at {self.url}, which alone writes to it")

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        request = Request(
            f"{self.url}/api/query",
            data=json.dumps(body, default=_plain).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        return self._ask(request)

    def _somebody_else(self) -> StoreError:
        return StoreError(f"something answers at {self.url}, but it is no `overclaim serve`: is the address right?")

    def _ask(self, request: Request) -> dict[str, Any]:
        try:
            answer: object = json.loads(self._read(request))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise self._somebody_else() from error
        if not isinstance(answer, dict):
            raise self._somebody_else()
        return cast("dict[str, Any]", answer)

    def _read(self, request: Request) -> bytes:
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")  # for this server only
        try:
            with self._opener.open(request, timeout=LIMITS["max_execution_time"] + 10) as response:
                return response.read()
        except HTTPError as error:
            raise self._refusal(error) from error
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(reason := getattr(error, "reason", error), SSLCertVerificationError):
                raise StoreError(f"{self.url} is not trusted: {_certificate(reason, self.url)}") from error
            raise StoreError(f"no answer from {self.url} ({error}): {_of_none(self.url, error)}") from error

    def _refusal(self, error: HTTPError) -> StoreError:
        """What our server says when it refuses; other servers have other words."""
        if error.code == HTTPStatus.UNAUTHORIZED:
            return StoreError(
                f"the server at {self.url} asks for a token"
                f"{', and the one given is another' if self._token else ''}: "
                "set OVERCLAIM_TOKEN, or OVERCLAIM_TOKEN_FILE to the file that it was started with"
            )
        try:
            return QueryError(str(json.load(error)["error"]))
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            return self._somebody_else()


def _of_none(url: str, error: Exception) -> str:
    if isinstance(error, RemoteDisconnected) and url.startswith("http://"):
        return "is it an `overclaim serve`, and with --tls-cert? Then its address begins with https://"
    return "is `overclaim serve` running there?"


def _certificate(error: SSLCertVerificationError, url: str) -> str:
    """What is wrong with a server's certificate, and what helps."""
    why = error.verify_message.rstrip(".")
    if error.verify_code in _OTHER_NAME:
        cure = f"use --store {urlsplit(url).scheme}://NAME:{urlsplit(url).port}, with a name that stands in it"
        return f"its certificate is for another name ({why}): {cure}"
    cure = "set SSL_CERT_FILE to the file of its --tls-cert, or of the CA that signed it"
    return f"its certificate cannot be verified ({why}): {cure}"


def _opener(url: str) -> OpenerDirector:
    # A proxy for the outside world knows nothing of this machine's loopback.
    direct = urlsplit(url).hostname in _LOOPBACK
    return build_opener(ProxyHandler({})) if direct else build_opener()


def _plain(value: object) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else str(value)
