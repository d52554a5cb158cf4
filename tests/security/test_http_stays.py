"""Spans of the HTTP clients that `instrument()` switches on: no query, fragment, credentials, header, body or error."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import httpx
import pytest
import requests
import urllib3
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

import overclaim
from overclaim.integrations.bare_spans import BareProvider

MARKER = "Zq7Kx9marker4Wv"
HEADERS = {"authorization": f"Bearer {MARKER}", "x-note": MARKER}


class Api(BaseHTTPRequestHandler):
    """Answers with the marker everywhere, redirects, is slow, breaks off, or refuses, as the path says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take the body, then do what the path says."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition(";")[0]
        if path == "/slow":
            time.sleep(0.6)
        status = {"/redirect": 307, "/forever": 307, "/bad": 400}.get(path, 200)
        self.send_response(status)
        if status == 307:
            target = "/forever" if path == "/forever" else "/kept"
            self.send_header("location", f"{target};m={MARKER}?token={MARKER}#{MARKER}")
        self.send_header("x-answer", MARKER)
        self.send_header("content-length", "999" if path == "/broken" else str(len(MARKER)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(MARKER.encode())
        self.close_connection = True

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    """Host and port of the API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def with_requests(url: str) -> None:
    """By requests."""
    with requests.Session() as session:
        session.max_redirects = 3
        session.post(url, data=MARKER, headers=HEADERS, timeout=0.2)


def with_httpx(url: str) -> None:
    """By httpx."""
    with httpx.Client(trust_env=False, follow_redirects=True, max_redirects=3, timeout=0.2) as client:
        client.post(url, content=MARKER, headers=HEADERS)


def with_httpx_async(url: str) -> None:
    """By httpx, from a coroutine."""

    async def post() -> None:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True, max_redirects=3, timeout=0.2) as client:
            await client.post(url, content=MARKER, headers=HEADERS)

    asyncio.run(post())


def with_urllib3(url: str) -> None:
    """By urllib3."""
    with urllib3.PoolManager(retries=urllib3.Retry(2, redirect=3, connect=0, read=0)) as pool:
        pool.request("POST", url, body=MARKER, headers=HEADERS, timeout=0.2)


def with_urllib(url: str) -> None:
    """By urllib, whose instrumentor need not be there. It takes no user info, and follows redirects of a GET only."""
    pytest.importorskip("opentelemetry.instrumentation.urllib")
    bare = url.replace(f"{MARKER}:{MARKER}@", "")
    data = None if "/redirect" in url or "/forever" in url else MARKER.encode()
    with suppress(OSError, HTTPException):
        try:
            with urlopen(Request(bare, data, HEADERS), timeout=0.2) as answer:
                answer.read()
        except HTTPError as error:
            error.close()


def with_aiohttp(url: str) -> None:
    """By aiohttp, which need not be there, nor its instrumentor."""
    aiohttp = pytest.importorskip("aiohttp")
    pytest.importorskip("opentelemetry.instrumentation.aiohttp_client")

    async def post() -> None:
        timeout = aiohttp.ClientTimeout(total=0.2)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=MARKER, headers={"x-note": MARKER}, max_redirects=3) as answer,
        ):
            await answer.read()

    with suppress(aiohttp.ClientError, TimeoutError):
        asyncio.run(post())


CLIENTS = [with_requests, with_httpx, with_httpx_async, with_urllib3, with_urllib, with_aiohttp]
PATHS = ["/kept", "/redirect", "/forever", "/slow", "/broken", "/bad", "refused", "no-host"]


def use_names(monkeypatch: pytest.MonkeyPatch, telemetry: Any, names: str) -> None:
    """Switch the instrumentors to other HTTP attribute names; they read the variable only once."""
    from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability as Stability

    overclaim.uninstrument()
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", names)
    monkeypatch.setattr(Stability, "_initialized", False)
    monkeypatch.setattr(Stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
    overclaim.instrument(tracer_provider=telemetry.provider)


def url_for(place: str, path: str) -> str:
    """A URL with the marker wherever a secret may stand."""
    where = {"refused": "127.0.0.1:9", "no-host": "no-such-host.invalid"}.get(path, place)
    bare = path if path.startswith("/") else "/kept"
    return f"http://{MARKER}:{MARKER}@{where}{bare};m={MARKER}?token={MARKER}&q=1#{MARKER}"


@pytest.mark.parametrize("names", ["", "http", "http/dup"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_of_a_request_is_sent_but_its_place(
    telemetry: Any,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    client: Callable[[str], None],
    path: str,
    names: str,
) -> None:
    """Whatever becomes of the request, the marker is in no byte; method, path and the kind of error are."""
    use_names(monkeypatch, telemetry, names)

    @overclaim.tool
    def post(url: str) -> str:
        with suppress(requests.RequestException, httpx.HTTPError, urllib3.exceptions.HTTPError):
            client(url)
        return "posted"

    post(url_for(place, path))
    requests_made = [span for span in telemetry.spans if span.kind is SpanKind.CLIENT]
    assert requests_made
    body = encode_spans(telemetry.spans).SerializeToString()
    assert MARKER.lower().encode() not in body.lower()
    shown = [span.attributes.get("url.full") or span.attributes["http.url"] for span in requests_made]
    assert all(
        url.startswith("http://") and url.endswith(path if path.startswith("/") else "/kept") for url in shown[:1]
    )
    if path in ("/slow", "refused", "no-host"):
        (last,) = requests_made
        assert last.status.status_code is StatusCode.ERROR
        assert last.attributes["error.type"] in str(last.events[0].attributes["exception.type"])
        seen = telemetry.one("execute_tool post").attributes
        assert seen["overclaim.evidence.rule"][0] == "http.no_response"
        assert seen["overclaim.evidence.value"][0] == last.attributes["error.type"]


def test_processors_never_see_the_whole_url(telemetry: Any, place: str) -> None:
    """It is cut before the span starts, so that a processor that sends on start has nothing to leak."""
    seen: list[str] = []

    class Early(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            seen.append(str(dict(span.attributes)))

    telemetry.provider.add_span_processor(Early())
    with_requests(url_for(place, "/kept"))
    assert seen
    assert MARKER not in str(seen)


def test_what_is_set_later_is_cut_too(telemetry: Any) -> None:
    """Other versions of an instrumentor may set a URL, an error or a status on the living span."""
    tracer = BareProvider(telemetry.provider).get_tracer("some.client")
    with suppress(ValueError), tracer.start_as_current_span("GET", attributes={"url.query": MARKER}) as span:
        span.set_attribute("http.url", f"http://{MARKER}@h/a?{MARKER}")
        span.set_attributes({"url.full": f"http://h/b;{MARKER}#{MARKER}", "http.target": f"/c?{MARKER}", "n": 1})
        span.add_event("retry", {"url.full": f"http://h/d?{MARKER}"})
        span.set_status(Status(StatusCode.ERROR, f"refused {MARKER}"))
        raise ValueError(MARKER)
    (span,) = telemetry.spans
    assert MARKER.encode() not in encode_spans([span]).SerializeToString()
    kept = dict(span.attributes)
    assert (kept["http.url"], kept["url.full"], kept["http.target"]) == ("http://h/a", "http://h/b", "/c")
    assert (kept["n"], kept["error.type"], span.status.description) == (1, "ValueError", "ValueError")


def test_an_ended_span_is_let_go(telemetry: Any) -> None:
    """What stands in front of a span's methods does not keep it alive."""
    import gc
    import weakref

    gc.disable()
    try:
        span = BareProvider(telemetry.provider).get_tracer("some.client").start_span("GET")
        span.end()
        telemetry.exporter.clear()
        gone = weakref.ref(span)
        del span
        assert gone() is None
    finally:
        gc.enable()


def test_an_instrumentor_of_the_program_stays_as_it_is(telemetry: Any, place: str) -> None:
    """What the program switched on itself is its own affair: doctor and docs say that its URLs are whole."""
    from opentelemetry.instrumentation.requests import RequestsInstrumentor

    from overclaim.doctor.instrumentation import checks

    overclaim.uninstrument()
    RequestsInstrumentor().instrument(tracer_provider=telemetry.provider)
    try:
        overclaim.instrument(tracer_provider=telemetry.provider)
        with_requests(f"http://{place}/kept?page=2")
        assert telemetry.spans[0].attributes["http.url"].endswith("/kept?page=2")
        said = next(check for check in checks() if check.what == "integration requests")  # frameworks come after it
        assert said.level == "note"
        assert "whole URLs" in said.found
    finally:
        overclaim.uninstrument()
        RequestsInstrumentor().uninstrument()
    assert "whole URLs" in (overclaim.instrument.__doc__ or "")
