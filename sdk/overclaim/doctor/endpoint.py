"""Whether the endpoint takes spans: an empty request is posted and the reply is read, its clock as well."""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from overclaim._scrub import scrub
from overclaim.doctor import Check

MAX_REPLY = 64 * 1024
MAX_SKEW = 5.0
_SECONDS = 5.0
_DEFAULT_ENDPOINT = "http://localhost:4318"


class Answer(NamedTuple):
    """What came back: HTTP status, the first bytes of the body, the Date header."""

    status: int
    body: bytes
    date: str


def checks(given: str | None = None) -> Iterator[Check]:
    """Whether the endpoint takes an OTLP request. given: a base URL in the place of that of the environment."""
    from overclaim._provider import is_url

    url = _traces_url(given)
    if _protocol() == "grpc":
        yield Check("note", "endpoint", "OTLP over gRPC is set; only OTLP/HTTP is probed")
        return
    if not is_url(url):
        yield Check("bad", f"endpoint {scrub(url, 100)}", "is no URL", "begin it with http:// or https://")
        return
    try:
        answer = _post(url)
    except (OSError, ValueError) as error:
        reason = scrub(str(getattr(error, "reason", error)), 200)
        yield Check("bad", f"endpoint {_shown(url)}", f"not reachable: {reason}", "start one: overclaim serve")
        return
    yield _reply(url, answer.status, answer.body)
    yield from _clock(answer.date, time.time())


def _clock(date: str, now: float) -> Iterator[Check]:
    """Whether both clocks agree, as far as a header in whole seconds tells."""
    try:
        skew = now - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return
    if abs(skew) <= MAX_SKEW:
        yield Check("ok", "clock", f"within {MAX_SKEW:.0f} s of the endpoint's")
        return
    cure = "set both by NTP: spans carry this clock, and windows and drift are counted by it"
    yield Check("note", "clock", f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the endpoint's", cure)


def _reply(url: str, status: int, body: bytes) -> Check:
    where = f"endpoint {_shown(url)}"
    if status != 200:
        said = scrub(body[:200].decode("utf-8", "replace"), 200).strip()
        cure = _CURES.get(status, "this is no OTLP/HTTP endpoint for traces")
        return Check("bad", where, f"answers HTTP {status} {said}".rstrip(), cure)
    if not _is_reply(body):
        return Check("bad", where, "answers HTTP 200, but not as an OTLP endpoint does", "check host, port and path")
    return Check("ok", where, "takes spans")


_CURES = {
    401: "set OTEL_EXPORTER_OTLP_HEADERS, such as authorization=Bearer%20TOKEN",
    403: "the token in OTEL_EXPORTER_OTLP_HEADERS may not write here",
    301: "the exporter does not follow redirects; use the address it redirects to",
    308: "the exporter does not follow redirects; use the address it redirects to",
}


def _is_reply(body: bytes) -> bool:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    try:
        ExportTraceServiceResponse.FromString(body)
    except Exception:  # the parser's error class differs between protobuf implementations
        return False
    return True


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The exporter follows no redirect, so the probe must not either."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Decline."""


def _post(url: str) -> Answer:
    headers = {"content-type": "application/x-protobuf", **_headers()}
    request = urllib.request.Request(url, data=b"", headers=headers, method="POST")
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as reply:
            return Answer(reply.status, reply.read(MAX_REPLY), reply.headers.get("date", ""))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(MAX_REPLY), error.headers.get("date", ""))


def _headers() -> dict[str, str]:
    from opentelemetry.util.re import parse_env_headers

    raw = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or os.environ.get("OTEL_EXPORTER_OTLP_HEADERS") or ""
    return dict(parse_env_headers(raw, liberal=True))


def _protocol() -> str:
    specific = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
    return specific or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"


def _traces_url(given: str | None) -> str:
    from overclaim._provider import traces_url

    specific = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if specific and not given:
        return specific
    return traces_url(given or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or _DEFAULT_ENDPOINT)


def _shown(url: str) -> str:
    """The URL without user info and query."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "(unreadable URL)"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
