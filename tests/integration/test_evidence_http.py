"""HTTP clients against a real server on loopback, without any instrumentor: what their answers say about the tool."""

from __future__ import annotations

import asyncio
import http.client
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import opentelemetry.context as otel
import pytest
import requests
import urllib3

import overclaim
from overclaim._record import current_record
from overclaim.evidence import http_status
from overclaim.integrations import registry
from overclaim.outcome.model import Evidence, Outcome

SUPPRESS = ("_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY")


class Api(BaseHTTPRequestHandler):
    """Answers with the status that the path names, redirects, is slow, or breaks off."""

    def do_GET(self) -> None:
        """Do what the path says: /400, /redirect/400, /slow, /broken, /forever."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        first, _, rest = self.path.partition("?")[0].strip("/").partition("/")
        if first == "slow":
            time.sleep(0.5)
        status = int(first) if first.isdigit() else 307 if first in ("redirect", "forever") else 200
        self.send_response(status)
        if status == 307:
            self.send_header("location", f"/{rest or first}")
        self.send_header("content-length", "999" if first == "broken" else "2")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(b"{}")
        self.close_connection = True

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    """The base URL of the API."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=[False, True], ids=["alone", "instrumentors"])
def watched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Spans of one test, with and without the official instrumentors."""
    if not request.param:
        monkeypatch.setattr(registry, "HTTP_CLIENTS", ())
    return request.getfixturevalue("telemetry")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """Spans of one test, without the official instrumentors."""
    monkeypatch.setattr(registry, "HTTP_CLIENTS", ())
    return request.getfixturevalue("telemetry")


def with_requests(url: str) -> None:
    """By requests."""
    with requests.Session() as session:
        session.max_redirects = 3
        session.post(url, data=b"{}", timeout=0.2)


def with_httpx(url: str) -> None:
    """By httpx."""
    with httpx.Client(trust_env=False, follow_redirects=True, max_redirects=3, timeout=0.2) as client:
        client.post(url, content=b"{}")


def with_httpx_async(url: str) -> None:
    """By httpx, from a coroutine."""

    async def post() -> None:
        async with httpx.AsyncClient(trust_env=False, follow_redirects=True, max_redirects=3, timeout=0.2) as client:
            await client.post(url, content=b"{}")

    asyncio.run(post())


def with_httpx2(url: str) -> None:
    """By httpx2, which is httpx under a new name."""
    httpx2 = pytest.importorskip("httpx2")
    client = httpx2.Client(trust_env=False, follow_redirects=True, max_redirects=3, timeout=0.2)
    with suppress(httpx2.HTTPError), client:
        client.post(url, content=b"{}")


def with_urllib3(url: str) -> None:
    """By urllib3."""
    with urllib3.PoolManager(retries=urllib3.Retry(2, redirect=3, connect=0, read=0)) as pool:
        pool.request("POST", url, body=b"{}", timeout=0.2)


def with_urllib(url: str) -> None:
    """By urllib, which follows redirects of a GET only."""
    data = None if "redirect" in url or "forever" in url else b"{}"
    request = urllib.request.Request(url.replace("bob:pw@", ""), data)  # it takes no user info
    try:
        with suppress(http.client.IncompleteRead), urllib.request.urlopen(request, timeout=0.2) as answer:
            answer.read()
    except urllib.error.HTTPError as error:
        error.close()


def with_aiohttp(url: str) -> None:
    """By aiohttp."""
    aiohttp = pytest.importorskip("aiohttp")

    async def post() -> None:
        timeout = aiohttp.ClientTimeout(total=0.2)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=b"{}", max_redirects=3) as answer,
        ):
            await answer.read()

    with suppress(aiohttp.ClientError, TimeoutError):
        asyncio.run(post())


CLIENTS = [with_requests, with_httpx, with_httpx_async, with_httpx2, with_urllib3, with_urllib, with_aiohttp]
TROUBLES = (requests.RequestException, httpx.HTTPError, urllib3.exceptions.HTTPError, OSError)


def call(client: Callable[[str], None], *urls: str, name: str = "post_it") -> list[Evidence]:
    """What requests leave in a tool that asks for these URLs and swallows every trouble."""
    kept: list[Evidence] = []

    @overclaim.tool(name=name)
    def tool() -> str:
        for url in urls:
            with suppress(*TROUBLES):
                client(url)
        record = current_record()
        assert record is not None
        kept.extend(one for one in record.evidence if one.rule.startswith("http."))
        return "posted"

    tool()
    return kept


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("status", [200, 202, 400, 404, 503])
def test_a_status_is_seen_once(watched: Any, base: str, client: Callable[[str], None], status: int) -> None:
    """Whatever sees the request, its status is one fact under its own place, and secrets of the URL are not in it."""
    kept = call(client, f"{base.replace('//', '//bob:pw@')}/{status}/x?key=sk_live_1#a")
    told = {(one.target.partition(" ")[2], one.value, one.kind) for one in kept}
    assert told == {(f"{base}/{status}/x", str(status), "http_status")}
    assert len(kept) == 1
    observed = watched.one("execute_tool post_it").attributes["overclaim.observed.outcome"]
    assert observed == {200: "success", 202: "pending"}.get(status, "failure")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("path", "observed"),
    [("/redirect/400", "failure"), ("/redirect/200", "success"), ("/forever", "failure"), ("/slow", "failure")],
)
def test_the_last_answer_counts(
    watched: Any, base: str, client: Callable[[str], None], path: str, observed: str
) -> None:
    """A redirect ends where it ends, and a request without an answer failed."""
    call(client, base + path)
    found = watched.one("execute_tool post_it").attributes
    assert found["overclaim.observed.outcome"] == observed
    assert found["overclaim.observed.grade"] == "structured"


@pytest.mark.parametrize("client", CLIENTS)
def test_no_answer_and_then_one(watched: Any, base: str, client: Callable[[str], None]) -> None:
    """A refused connection is a failure; a second attempt at the same place has the last word."""
    (kept,) = {(one.rule, one.target.partition(" ")[2]) for one in call(client, "http://127.0.0.1:9/x")}
    assert kept == ("http.no_response", "http://127.0.0.1:9/x")
    call(client, f"{base}/200/a", f"{base}/503/b", name="two_places")
    assert watched.one("execute_tool two_places").attributes["overclaim.observed.outcome"] == "failure"
    call(client, f"{base}/503/a", f"{base}/200/b", name="another_way")
    assert watched.one("execute_tool another_way").attributes["overclaim.observed.outcome"] == "success"


@pytest.mark.parametrize("client", [one for one in CLIENTS if one is not with_aiohttp])
def test_an_answer_that_breaks_off_is_none(alone: Any, base: str, client: Callable[[str], None]) -> None:
    """A body that the client could not read to its end is a failure, where the client reads it with the request."""
    kept = call(client, f"{base}/broken")
    if client is not with_urllib:  # reads the body later, and nothing here looks at bodies
        assert kept[-1].rule == "http.no_response"


def test_an_expected_status_is_fine(alone: Any, base: str) -> None:
    """What is declared about the tool around it counts here as well."""
    overclaim.instrument(
        tracer_provider=alone.provider, expectations={"tools": {"post_it": {"expected_status": [404]}}}
    )
    assert [one.rule for one in call(with_httpx, f"{base}/404")] == ["http.expected"]


def test_a_body_is_not_read(alone: Any, base: str) -> None:
    """A stream stays unread until the program reads it."""
    seen: list[bool] = []

    @overclaim.tool
    def stream() -> str:
        with httpx.Client(trust_env=False) as client, client.stream("GET", f"{base}/400") as answer:
            seen.append(answer.is_stream_consumed)
            assert answer.read() == b"{}"
        with requests.get(f"{base}/400", stream=True, timeout=5) as other:
            seen.append(bool(other._content_consumed))
        return "ok"

    stream()
    assert seen == [False, False]
    assert alone.one("execute_tool stream").attributes["overclaim.observed.outcome"] == "failure"


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("key", SUPPRESS)
def test_suppressed_requests_are_not_seen(alone: Any, base: str, client: Callable[[str], None], key: str) -> None:
    """Where instrumentation is told to look away, as for the exporter's own requests, nothing is noted."""

    def quietly(url: str) -> None:
        token = otel.attach(otel.set_value(getattr(otel, key), True))
        try:
            client(url)
        finally:
            otel.detach(token)

    assert call(quietly, f"{base}/400") == []


def test_what_a_postcondition_asks_is_not_seen(alone: Any, base: str) -> None:
    """It is the user's question, not the tool's work."""
    overclaim.verify("post_it")(lambda arguments, result: requests.get(f"{base}/404", timeout=5).ok or None)
    call(with_requests, f"{base}/200")
    rules = alone.one("execute_tool post_it").attributes["overclaim.evidence.rule"]
    assert "http.status_4xx" not in rules


def test_spans_on_their_way_are_no_evidence(alone: Any, base: str) -> None:
    """An exporter that sends at once, from inside the tool, is refused: that is nothing the tool did."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    alone.provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/400/v1/traces")))
    kept: list[Any] = []

    @overclaim.tool
    def look() -> str:
        with alone.tracer.start_as_current_span("part"):
            pass
        kept.extend(current_record().evidence)  # type: ignore[union-attr]
        return "seen"

    look()
    assert kept == []


def test_the_transport_of_mcp_is_no_evidence(alone: Any, base: str) -> None:
    """A server that offers no stream answers 405, and the client knows what to make of that."""

    def listen(url: str) -> None:
        httpx.get(url, headers={"MCP-Protocol-Version": "2025-06-18"}, trust_env=False)

    assert call(listen, f"{base}/405/mcp") == []


def test_a_sub_agent_answers_for_itself(alone: Any, base: str) -> None:
    """What an agent asks for between its own calls is no evidence about the tool that started the agent."""

    @overclaim.tool
    def delegate() -> str:
        with overclaim.run("helper") as run:
            with_requests(f"{base}/429")
            run.answer("Here you are.")
        return "helped"

    delegate()
    assert alone.one("execute_tool delegate").attributes["overclaim.observed.outcome"] == "success"


def test_outside_a_tool_nothing_changes(alone: Any, base: str) -> None:
    """Results and errors are the program's, inside and outside."""
    assert requests.get(f"{base}/400", timeout=5).status_code == 400
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(f"{base}/400", timeout=5)
    raised.value.close()
    assert alone.spans == ()


def test_a_fault_of_ours_is_not_theirs(alone: Any, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request goes through, whatever breaks here."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(http_status, "note", broken)
    assert call(with_requests, f"{base}/400") == []
    monkeypatch.setattr(http_status, "tool_inside", broken)
    assert call(with_httpx, f"{base}/400") == []
    assert call(with_httpx_async, f"{base}/400", "http://127.0.0.1:9/x") == []


def functions() -> dict[str, Any]:
    """What is patched, by name."""
    places = [requests.Session, httpx.Client, httpx.AsyncClient, urllib3.HTTPConnectionPool, urllib3.PoolManager]
    found = {f"{one.__module__}.{name}": vars(one).get(name) for one in places for name in ("send", "urlopen")}
    return {**found, "urllib": urllib.request.OpenerDirector.open}


def test_off_is_off(alone: Any, base: str) -> None:
    """Everything is the very same object again."""
    watched = functions()
    overclaim.uninstrument()
    before = functions()
    assert watched != before
    overclaim.instrument(tracer_provider=alone.provider)
    overclaim.uninstrument()
    assert functions() == before


INSTRUMENTORS = {
    with_requests: ("requests", "RequestsInstrumentor"),
    with_httpx: ("httpx", "HTTPXClientInstrumentor"),
    with_httpx_async: ("httpx", "HTTPXClientInstrumentor"),
    with_urllib3: ("urllib3", "URLLib3Instrumentor"),
    with_urllib: ("urllib", "URLLibInstrumentor"),
    with_aiohttp: ("aiohttp_client", "AioHttpClientInstrumentor"),
}


@pytest.mark.parametrize("client", INSTRUMENTORS)
def test_an_instrumentor_that_was_there_first(alone: Any, base: str, client: Callable[[str], None]) -> None:
    """Its wrapper goes on to work below ours, the request counts once, and it is what it was when ours is off."""
    library, name = INSTRUMENTORS[client]
    instrumentor = getattr(pytest.importorskip(f"opentelemetry.instrumentation.{library}"), name)()
    overclaim.uninstrument()
    instrumentor.instrument(tracer_provider=alone.provider)
    try:
        before = functions()
        overclaim.instrument(tracer_provider=alone.provider)
        (fact,) = call(client, f"{base}/400")
        assert fact.rule == "http.status_4xx"
        assert any("400" in str(dict(span.attributes)) for span in alone.spans if span.name != "execute_tool post_it")
        overclaim.uninstrument()
        assert functions() == before
    finally:
        overclaim.uninstrument()
        instrumentor.uninstrument()


def test_http_clients_false_switches_it_off(alone: Any, base: str) -> None:
    """Who wants none of it says so once."""
    overclaim.uninstrument()
    before = functions()
    overclaim.instrument(tracer_provider=alone.provider, http_clients=False)
    assert functions() == before
    call(with_requests, f"{base}/400")
    assert alone.one("execute_tool post_it").attributes["overclaim.observed.outcome"] == Outcome.SUCCESS.value


def test_the_founding_incident_without_any_instrumentor(alone: Any, base: str) -> None:
    """The agent gets a 400 that its tool swallows, and is contradicted."""

    @overclaim.tool
    def create_payment(amount: str) -> str:
        with_httpx(f"{base}/400/payments")
        return "request sent"

    with overclaim.run("tester") as run:
        create_payment("12,50")
        answer = "I created the payment."
        judgement = overclaim.check(answer)
        run.answer(answer)
    assert judgement.verdict is overclaim.Verdict.CONTRADICTED


def test_what_a_request_starts_is_no_part_of_it(telemetry: Any) -> None:
    """A job that a handler of the same process begins, and its requests, have a call of their own."""
    jobs: list[asyncio.Task[str]] = []

    @overclaim.tool
    async def create_order() -> str:
        async with client(broken) as http:
            await http.post("/orders")
        return "ok"

    async def later() -> str:
        await asyncio.sleep(0.01)
        return await create_order()

    async def accept(scope: Any, receive: Any, send: Any) -> None:
        jobs.append(asyncio.create_task(later()))
        await answer(send, 202)

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 500)

    @overclaim.tool
    async def enqueue() -> str:
        async with client(accept) as http:
            await http.post("/jobs")
        return "queued"

    async def main() -> None:
        await enqueue()
        await jobs[0]

    asyncio.run(main())
    assert telemetry.one("execute_tool create_order").attributes["overclaim.observed.outcome"] == "failure"


def client(app: Any) -> httpx.AsyncClient:
    """A client of an application in the same process."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a")


async def answer(send: Any, status: int) -> None:
    """Answer with a status and nothing else."""
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})
