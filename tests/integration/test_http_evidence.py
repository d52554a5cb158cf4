"""Real HTTP clients against a real server on loopback: what their spans say about the tool around them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import requests
import urllib3

import overclaim

seen: set[str] = set()


class Api(BaseHTTPRequestHandler):
    """An API that refuses an amount which is no whole number."""

    def do_POST(self) -> None:
        """Answer 200 or 400, as the body deserves; refunds are only accepted."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/refunds":
            self._reply(202, {})
            return
        good = str(body["amount"]).isdigit()
        self._reply(200 if good else 400, {"id": "p-1"} if good else {"error": {"code": "invalid_integer"}})

    def do_GET(self) -> None:
        """Be slow on the first request of each path, if it asks for that."""
        place = self.path.partition(";")[0]
        first = place not in seen
        seen.add(place)
        if first and self.path.startswith("/slow"):
            time.sleep(0.6)
        with contextlib.suppress(OSError):
            self._reply(503 if first and self.path.startswith("/busy") else 200, {"rate": 2})

    def _reply(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

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


def with_requests(url: str, amount: str) -> int:
    """POST by requests."""
    with requests.Session() as session:
        return session.post(url, json={"amount": amount}, timeout=5).status_code


def with_httpx(url: str, amount: str) -> int:
    """POST by httpx."""
    with httpx.Client(trust_env=False) as client:
        return client.post(url, json={"amount": amount}).status_code


def with_httpx_async(url: str, amount: str) -> int:
    """POST by httpx, from a coroutine."""

    async def post() -> int:
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.post(url, json={"amount": amount})).status_code

    return asyncio.run(post())


def with_urllib3(url: str, amount: str) -> int:
    """POST by urllib3."""
    with urllib3.PoolManager() as pool:
        return pool.request("POST", url, body=json.dumps({"amount": amount}), retries=False).status


CLIENTS = [with_requests, with_httpx, with_httpx_async, with_urllib3]


@pytest.mark.parametrize("new_names", [False, True], ids=["old-names", "new-names"])
@pytest.mark.parametrize("client", CLIENTS)
def test_swallowed_400_is_an_observed_failure(
    telemetry: Any, base: str, client: Callable[[str, str], int], new_names: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that gets a 400 and says "confirmed" claims success and is observed to have failed."""
    if new_names:
        use_new_names(monkeypatch, telemetry)

    @overclaim.tool
    def confirm_payment(amount: str) -> str:
        client(f"{base}/payments?api_key=sk_live_123456", amount)
        return "endpoint confirmed working"

    confirm_payment("12,50")
    confirm_payment("1250")
    bad, good = telemetry.named("execute_tool confirm_payment")
    assert bad.attributes["overclaim.claimed.outcome"] == "success"
    assert bad.attributes["overclaim.observed.outcome"] == "failure"
    assert bad.attributes["overclaim.observed.grade"] == "structured"
    assert "400" in bad.attributes["overclaim.evidence.value"]
    assert good.attributes["overclaim.observed.outcome"] == "success"
    children = {f"{span.context.span_id:016x}" for span in telemetry.spans if span.parent is not None}
    assert set(bad.attributes["overclaim.evidence.span_ids"]) <= children
    assert "sk_live" not in str(dict(bad.attributes))


def use_new_names(monkeypatch: pytest.MonkeyPatch, telemetry: Any) -> None:
    """Switch the instrumentors to the stable HTTP attribute names; they read the variable only once."""
    from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability as Stability

    overclaim.uninstrument()
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http")
    monkeypatch.setattr(Stability, "_initialized", False)
    monkeypatch.setattr(Stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
    overclaim.instrument(tracer_provider=telemetry.provider)


def test_no_answer_is_an_observed_failure(telemetry: Any) -> None:
    """A refused connection that the tool swallows is a failure."""

    @overclaim.tool
    def ping() -> str:
        with contextlib.suppress(requests.ConnectionError):
            with_requests("http://127.0.0.1:9/x", "1")
        return "pong"

    ping()
    span = telemetry.one("execute_tool ping")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert "http.no_response" in span.attributes["overclaim.evidence.rule"]


def get_requests(url: str) -> None:
    """GET by requests."""
    with requests.Session() as session:
        session.get(url, timeout=0.2)


def get_httpx(url: str) -> None:
    """GET by httpx."""
    with httpx.Client(trust_env=False, timeout=0.2) as client:
        client.get(url)


def get_urllib3(url: str) -> None:
    """GET by urllib3."""
    with urllib3.PoolManager(retries=False, timeout=0.2) as pool:
        pool.request("GET", url)


GETS = [get_requests, get_httpx, get_urllib3]
LOST = (requests.Timeout, httpx.TimeoutException, urllib3.exceptions.TimeoutError)


@pytest.mark.parametrize("new_names", [False, True], ids=["old-names", "new-names"])
@pytest.mark.parametrize("trouble", ["slow", "busy"])
@pytest.mark.parametrize("get", GETS)
def test_retry_inside_a_tool_has_the_last_word(
    telemetry: Any,
    base: str,
    get: Callable[[str], None],
    trouble: str,
    new_names: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A timeout, or a 503, and then a 200 of the same URL is a success, live and as read back from the spans."""
    if new_names:
        use_new_names(monkeypatch, telemetry)
    url = f"{base.replace('//', '//bob:pw@')}/{trouble}/{get.__name__}/{new_names}"

    @overclaim.tool
    def fetch_rates() -> str:
        for attempt in range(2):
            with contextlib.suppress(*LOST):
                get(f"{url};a={attempt}?attempt={attempt}" if trouble == "busy" else url)
        return "rates"

    fetch_rates()
    span = telemetry.one("execute_tool fetch_rates")
    assert len(telemetry.spans) == 3
    assert span.attributes["overclaim.observed.outcome"] == "success"
    assert span.attributes["overclaim.evidence.rule"] == ("http.status_2xx",)


@pytest.mark.parametrize("get", GETS)
def test_timeout_of_a_side_request_is_only_a_suspicion(telemetry: Any, base: str, get: Callable[[str], None]) -> None:
    """The write went well without the rates; where it did not, and for a read, the failure stands and comes first."""

    def look_then_post(place: str, amount: str) -> str:
        with contextlib.suppress(*LOST):
            get(f"{base}/slow/side/{place}/{get.__name__}")
        with_requests(f"{base}/payments", amount)
        return "done"

    for name, amount in (("create_payment", "1250"), ("create_order", "12,50"), ("get_report", "1250")):
        overclaim.tool(name=name)(look_then_post)(name, amount)
    good, bad, read = (
        telemetry.one(f"execute_tool {name}").attributes for name in ("create_payment", "create_order", "get_report")
    )
    assert good["overclaim.observed.outcome"] == "success"
    assert good["overclaim.evidence.rule"] == ("http.status_2xx", "http.no_response")
    assert good["overclaim.evidence.kind"] == ("http_status", "swallowed_exception")
    assert (bad["overclaim.observed.outcome"], read["overclaim.observed.outcome"]) == ("failure", "failure")
    assert read["overclaim.evidence.rule"][0] == "http.no_response"


def test_retry_that_works_is_a_success(telemetry: Any, base: str) -> None:
    """The last answer of the same place counts."""

    @overclaim.tool
    def create_payment() -> str:
        with_httpx(f"{base}/payments", "12,50")
        with_httpx(f"{base}/payments", "1250")
        return "created"

    create_payment()
    assert telemetry.one("execute_tool create_payment").attributes["overclaim.observed.outcome"] == "success"


def test_accepted_is_pending(telemetry: Any, base: str) -> None:
    """A 202 is pending, not a success."""

    @overclaim.tool
    def refund_payment() -> str:
        with_httpx(f"{base}/refunds", "5")
        return "refunded"

    refund_payment()
    assert telemetry.one("execute_tool refund_payment").attributes["overclaim.observed.outcome"] == "pending"


def test_founding_incident(telemetry: Any, base: str) -> None:
    """The agent gets 400 invalid_integer, reports the endpoint as working, and is contradicted."""

    @overclaim.tool
    def create_payment(amount: str) -> str:
        with_requests(f"{base}/payments", amount)
        return "request sent"

    with overclaim.run("tester") as run:
        create_payment("12,50")
        answer = "I created the payment."
        judgement = overclaim.check(answer)
        run.answer(answer)
    assert judgement.verdict is overclaim.Verdict.CONTRADICTED
    agent = telemetry.one("invoke_agent tester")
    assert agent.attributes["overclaim.claimed.outcome"] == "success"
    assert agent.attributes["overclaim.observed.outcome"] == "failure"
    assert agent.attributes["overclaim.run.spans"] == len(telemetry.spans)
