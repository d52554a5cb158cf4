"""The OTLP/HTTP endpoint that requests are passed on to, and what its answers mean.

After the OTLP specification, "OTLP/HTTP Response" and "Failures": 429, 502, 503, 504 and a failed connection may be
tried again, after what Retry-After asks for; every other failure is final. Redirects are not followed.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final, cast
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

import requests
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from urllib3.exceptions import HTTPError

from overclaim._errors import InputError
from overclaim._version import __version__

LONGEST_ANSWER: Final = 64 * 1024
_LONGEST_TEXT: Final = 300
_RETRYABLE: Final = (429, 502, 503, 504)
_OVERHEAD: Final = 512
_CONNECT_SECONDS: Final = 5.0
_LONGEST_PAUSE: Final = 300.0
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


@dataclass(frozen=True, slots=True)
class Parcel:
    """A request as it came: its path (/v1/traces), body, Content-Type, and Content-Encoding ("" for none)."""

    path: str
    body: bytes = field(repr=False)
    content_type: str
    content_encoding: str
    since: float = field(default_factory=time.monotonic)

    @property
    def size(self) -> int:
        """Roughly what it takes in memory."""
        return len(self.body) + _OVERHEAD


class Fate(Enum):
    """What became of a request that was sent."""

    DELIVERED = "delivered"
    RETRY = "retry"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """pause: seconds that the endpoint asks for before the next try. text: what it said, empty if all is well."""

    fate: Fate
    text: str = ""
    pause: float = 0.0


class Target:
    """Where to send. Its headers show nowhere.

    url: the base URL, to which /v1/traces is added, without a password. headers: name=value pairs with commas between,
    values percent-encoded, as OTEL_EXPORTER_OTLP_HEADERS has them.

    Raises:
        InputError: the URL or a header cannot be used.
    """

    def __init__(self, url: str, headers: str = "", read_seconds: float = 10.0) -> None:
        parts = _split(url)
        self.name: Final = urlunsplit(parts).rstrip("/")
        self.host: Final = cast(str, parts.hostname)
        self.port: Final = parts.port or (443 if parts.scheme == "https" else 80)
        self._headers = {**_headers(headers), "User-Agent": f"overclaim/{__version__}", "Accept-Encoding": "identity"}
        values = _headers(headers).values()
        # A whole value, and its words: an answer may repeat a token without the "Bearer" before it.
        self._secrets = [text for value in values for text in (value, *value.split()) if len(text) > 3]
        self._timeout = (_CONNECT_SECONDS, read_seconds)

    def __repr__(self) -> str:
        return f"Target({self.name!r})"

    @contextmanager
    def session(self) -> Generator[requests.Session]:
        """A connection for one thread, kept open between requests."""
        with requests.Session() as session:
            # With no authentication of ours, requests would take one from ~/.netrc, over the headers.
            session.auth = _unchanged
            yield session

    def send(self, session: requests.Session, parcel: Parcel) -> Outcome:
        """Send a request, byte for byte."""
        headers = {**self._headers, "Content-Type": parcel.content_type}
        if parcel.content_encoding:
            headers["Content-Encoding"] = parcel.content_encoding
        url = self.name + parcel.path
        try:
            with session.post(
                url, parcel.body, headers=headers, timeout=self._timeout, stream=True, allow_redirects=False
            ) as response:
                return self._outcome(response)
        except requests.RequestException as error:
            passing = isinstance(error, (requests.ConnectionError, requests.Timeout))
            fate = Fate.RETRY if passing else Fate.REFUSED
            return Outcome(fate, self._clean(f"{type(error).__name__}: {error}"))

    def _outcome(self, response: requests.Response) -> Outcome:
        status = response.status_code
        if 200 <= status < 300:
            return Outcome(Fate.DELIVERED, self._clean(_partial_success(response)))
        if status in _RETRYABLE:
            return Outcome(Fate.RETRY, f"HTTP {status}", _pause(response.headers.get("Retry-After", "")))
        return Outcome(Fate.REFUSED, self._clean(f"HTTP {status} {_said(response)}"))

    def _clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return "".join(character if character.isprintable() else " " for character in text[:_LONGEST_TEXT]).strip()


def refuse_own(target: Target, host: str, ports: tuple[int, ...]) -> None:
    """Refuse a target that is this very server, which listens on `host` and `ports`: it would send to itself for ever.

    Raises:
        InputError: it is.
    """
    if target.port in ports and any(_is_own(address, host) for address in _addresses(target.host)):
        raise InputError(f"--forward {target.name} is this server itself: give the endpoint of another one")


def _is_own(address: str, host: str) -> bool:
    if host.strip("[]") not in ("0.0.0.0", "::", ""):
        return address in _addresses(host.strip("[]"))
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))  # only an address of this machine can be bound
        except OSError:
            return False
    return True


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(host, None)}
    except OSError:  # a name that nobody knows is none of ours
        return set()


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        raise InputError("--forward is no URL: give one like http://127.0.0.1:4318") from None
    if "@" in parts.netloc:
        raise InputError(
            "--forward (or OVERCLAIM_FORWARD) holds a user or a password, which every process of this machine could "
            "read: put them into the variable OVERCLAIM_FORWARD_HEADERS=authorization=Basic%20..., with the base64 of "
            "user:password behind it"
        )
    if not usable or parts.query or parts.fragment:
        raise InputError("--forward must be like http://HOST:PORT or https://HOST/PATH, with nothing behind")
    return parts


def _headers(text: str) -> dict[str, str]:
    """The headers. An error tells a pair by its place only: it may be a secret."""
    found: dict[str, str] = {}
    pairs = [pair.strip() for pair in text.split(",") if pair.strip()]
    for place, pair in enumerate(pairs, 1):
        name, equals, value = (unquote(part.strip()) for part in pair.partition("="))
        if not equals or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise InputError(
                f"OVERCLAIM_FORWARD_HEADERS: pair {place} is not name=value, with the value percent-encoded"
            )
        found[name] = value
    return found


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _pause(retry_after: str) -> float:
    """The seconds of a Retry-After header, which may be a date (RFC 9110, section 10.2.3)."""
    try:
        seconds = float(retry_after) if retry_after.strip().isdecimal() else _until(retry_after)
    except (ValueError, TypeError):
        return 0.0
    return min(max(seconds, 0.0), _LONGEST_PAUSE)


def _until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()


def _partial_success(response: requests.Response) -> str:
    """What the other side did not take of a request that it took, "" for nothing."""
    said = _answer(response)
    if response.headers.get("Content-Type", "").startswith("application/json"):
        rejected, message = _partial_json(said)
    else:
        rejected, message = _partial_protobuf(said)
    return f"{rejected} items rejected: {message}" if rejected else message


def _partial_protobuf(said: bytes) -> tuple[int, str]:
    try:
        # The answers to all signals have these two under the same numbers.
        partial = ExportTraceServiceResponse.FromString(said).partial_success
    except DecodeError:
        return 0, ""
    return partial.rejected_spans, partial.error_message


def _partial_json(said: bytes) -> tuple[int, str]:
    try:
        partial = json.loads(said)["partialSuccess"]
        rejected = next((int(partial[name]) for name in partial if name.startswith("rejected")), 0)
        return rejected, str(partial.get("errorMessage", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return 0, ""


def _said(response: requests.Response) -> str:
    if response.is_redirect:
        return f"redirect to {response.headers.get('Location', '')}, which is not followed"
    return _answer(response).decode("utf-8", "replace")


def _answer(response: requests.Response) -> bytes:
    """The body of an answer: no more than 64 KiB of it. Without it the status still says what became of the request."""
    try:
        return response.raw.read(LONGEST_ANSWER, decode_content=False)
    except (HTTPError, OSError):
        return b""
