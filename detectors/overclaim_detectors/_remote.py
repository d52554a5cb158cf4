"""Reading a store through the `overclaim serve` that owns it, POST /api/query, and having it do what people decide.

Where that server asks for a token, OVERCLAIM_TOKEN or the file named by OVERCLAIM_TOKEN_FILE has it. A server that
hangs is noticed within seconds, before anything that may take long is asked of it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPException, IncompleteRead, RemoteDisconnected
from ssl import SSLCertVerificationError
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import OpenerDirector, ProxyHandler, Request, build_opener

from overclaim._errors import InputError, OverclaimError, StoreError
from overclaim_detectors import _token
from overclaim_detectors.store import LIMITS, Params, QueryError, Rows

if TYPE_CHECKING:
    from overclaim_detectors.drift.actions import Action, Done

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
ALIVE_SECONDS: Final = 10.0  # until a server says that it lives
QUERY_SECONDS: Final = LIMITS["max_execution_time"] + 10.0
_READING_SECONDS: Final = 120.0  # for a large answer on its way; the server gives up then as well
_PIECE: Final = 1 << 20
_OTHER_NAME = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH


class RemoteStore:
    """A store behind a running server, for reading. Values arrive as JSON has them: times are strings."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._opener = _opener(url)
        self._token = _token.from_environment(os.environ)
        self._alive = False

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

    def decide(self, action: Action, key: str = "") -> Done:
        """Have the server do what somebody decided about a drift.

        key: what it wrote beside its store, shown where there is no token.

        Raises:
            InputError: it cannot be done, and why.
            StoreError: the server does not answer, or does not let us.
        """
        from overclaim_detectors.drift.actions import Done

        body, headers = json.dumps(action.fields()).encode(), {"Content-Type": "application/json"}
        request = Request(f"{self.url}/api/drifts", data=body, headers=headers)
        if key and not self._token:
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        said = self._ask(request)
        try:
            return Done(*(str(said[name]) for name in ("what", "drift", "state", "sentence")))
        except LookupError as error:
            raise self._somebody_else() from error

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
        raise StoreError(f"the store is owned by the server at {self.url}, which alone writes to it: stop it first")

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
            self._make_sure_it_lives()
            with self._opener.open(request, timeout=QUERY_SECONDS) as response:
                return _all_of(response)
        except HTTPError as error:
            raise self._refusal(error) from error
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(reason := getattr(error, "reason", error), SSLCertVerificationError):
                raise StoreError(f"{self.url} is not trusted: {_certificate(reason, self.url)}") from error
            if isinstance(reason, TimeoutError):
                raise self._hangs() from error
            raise StoreError(f"no answer from {self.url} ({error}): {_of_none(self.url, error)}") from error

    def _make_sure_it_lives(self) -> None:
        """Ask what costs nothing, once. Any answer will do, and why there is none is said by the real question."""
        if self._alive:
            return
        try:
            self._opener.open(f"{self.url}/ping", timeout=ALIVE_SECONDS).close()
        except HTTPError:
            pass  # an answer
        except (OSError, HTTPException, ValueError) as error:
            if isinstance(getattr(error, "reason", error), TimeoutError):
                raise
            return
        self._alive = True

    def _hangs(self) -> StoreError:
        seconds = QUERY_SECONDS if self._alive else ALIVE_SECONDS
        return StoreError(
            f"the server at {self.url} does not answer within {seconds:.0f} s: it hangs, is stopped, or has too much to"
            " do; its log may say why, and a restart loses nothing that it acknowledged"
        )

    def _refusal(self, error: HTTPError) -> OverclaimError:
        """What our server says when it refuses; other servers have other words."""
        deciding = urlsplit(error.url).path == "/api/drifts"
        if error.code == HTTPStatus.UNAUTHORIZED and deciding and not self._token:
            return StoreError(
                f"the server at {self.url} lets nobody decide without its token: set OVERCLAIM_TOKEN, or"
                " OVERCLAIM_TOKEN_FILE to the file that it was started with; or, on its machine, name the directory of"
                " its store by --store"
            )
        if error.code == HTTPStatus.UNAUTHORIZED:
            return StoreError(
                f"the server at {self.url} asks for a token"
                f"{', and the one given is another' if self._token else ''}: "
                "set OVERCLAIM_TOKEN, or OVERCLAIM_TOKEN_FILE to the file that it was started with"
            )
        kind = InputError if deciding and error.code == HTTPStatus.BAD_REQUEST else QueryError
        try:
            return kind(str(json.load(error)["error"]))
        except (OSError, HTTPException, ValueError, LookupError, TypeError):
            return self._somebody_else()


def _all_of(response: Any) -> bytes:
    """The body of an answer, which may be large, but must come to its end."""
    end, pieces = time.monotonic() + _READING_SECONDS, list[bytes]()
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        if time.monotonic() > end:
            raise TimeoutError("the answer does not end")
    if response.length:  # read1 leaves it to us to see that some of it is missing
        raise IncompleteRead(b"", response.length)
    return b"".join(pieces)


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
