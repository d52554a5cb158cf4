"""Expectations in an agent's process: from the file to the labels that go out over OTLP, and to the verdict."""

from __future__ import annotations

import gzip
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from world import Reply, World, world

import overclaim
from overclaim._errors import InputError
from overclaim._postconditions import CHECKS
from overclaim._runtime import RUNTIME
from overclaim.outcome.judge import judge
from overclaim.outcome.model import Judgement, Verdict
from overclaim.reading.otlp_files import decode_protobuf
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs

__all__ = ["world"]
ANN = "/users/ann%40example.com"


class Collector(ThreadingHTTPServer):
    """An OTLP endpoint that keeps the spans it gets."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        super().__init__(("127.0.0.1", 0), _Keep)
        self.url = f"http://127.0.0.1:{self.server_port}/v1/traces"


class _Keep(BaseHTTPRequestHandler):
    """Answers for a Collector."""

    def do_POST(self) -> None:
        """Keep one request."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        assert isinstance(self.server, Collector)
        self.server.spans += decode_protobuf(plain).spans
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Such an endpoint, listening."""
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def provider(collector: Collector) -> Iterator[TracerProvider]:
    """A provider that sends to that endpoint; what was expected is forgotten afterwards."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(collector.url)))
    yield made
    overclaim.uninstrument()
    CHECKS.forget()
    made.shutdown()


@overclaim.tool
def create_user(email: str, status: str = "active") -> dict[str, Any]:
    """A tool whose result says what it is told to say."""
    return {"email": email, "status": status, "ok": True}


def judged(collector: Collector) -> Judgement:
    """The verdict on what arrived over the wire."""
    (run,) = runs(collector.spans)
    return judge(run)


def claims_success(status: str = "active") -> Judgement:
    """An agent that creates a user and says so; the guard's verdict."""
    with overclaim.run("signup") as run:
        create_user("ann@example.com", status)
        verdict = overclaim.check("I created the user ann@example.com.")
        run.answer("I created the user ann@example.com.")
    return verdict


def test_a_declared_condition_reaches_guard_and_wire(collector: Collector, provider: TracerProvider) -> None:
    """A result that misses success_when contradicts the claim, in process and from the labels alone."""
    declared = {"tools": {"create_user": {"success_when": {"field": "status", "equals": "active"}}}}
    overclaim.instrument(tracer_provider=provider, http_clients=False, expectations=declared)
    assert claims_success("invited").verdict is Verdict.CONTRADICTED
    found = judged(collector)
    assert found.verdict is Verdict.CONTRADICTED
    fact = found.findings[0].evidence[0]
    assert (fact.kind, fact.rule, fact.value) == ("declared", "expected.failure", "status")


def test_a_condition_that_holds_supports_the_claim(collector: Collector, provider: TracerProvider) -> None:
    """The same declaration, a result that meets it."""
    declared = {"tools": {"create_*": {"success_when": {"field": "status", "in": ["active", "invited"]}}}}
    overclaim.instrument(tracer_provider=provider, http_clients=False, expectations=declared)
    assert claims_success("invited").verdict is Verdict.SUPPORTED
    assert judged(collector).verdict is Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("declared", "result", "claimed"),
    [
        ({"success_when": {"field": "status", "equals": "x"}}, {"status": "x", "error": "odd"}, "success"),
        ({"pending_when": {"field": "status", "equals": "x"}}, {"status": "x"}, "pending"),
        ({"success_when": {"field": "id", "exists": True}}, {"note": "hm"}, "success"),
        ({"failure_when": {"field": "status", "equals": "declined"}}, {"status": "declined"}, "failure"),
    ],
)
def test_what_the_tool_told_the_agent(
    collector: Collector, provider: TracerProvider, declared: dict[str, Any], result: dict[str, Any], claimed: str
) -> None:
    """A condition knows how to read a result; what the result left unsaid, the tool did not tell."""

    @overclaim.tool(expect=declared)
    def work() -> dict[str, Any]:
        return result

    overclaim.instrument(tracer_provider=provider, http_clients=False)
    work()
    assert collector.spans[0].attributes["overclaim.claimed.outcome"] == claimed


@pytest.mark.parametrize(
    ("reply", "verdict", "rule"),
    [
        (Reply(200, {"email": "ann@example.com"}), Verdict.SUPPORTED, "postcondition.held"),
        (Reply(404), Verdict.CONTRADICTED, "postcondition.failed"),
        (Reply(500), Verdict.SUPPORTED, "postcondition.unanswered"),
        (Reply(200, pause=3), Verdict.SUPPORTED, "postcondition.unanswered"),
        (Reply(302, headers={"Location": "http://127.0.0.2:9/users"}), Verdict.SUPPORTED, "postcondition.unanswered"),
    ],
)
def test_a_declared_request_is_made_before_the_span_ends(
    collector: Collector, provider: TracerProvider, world: World, reply: Reply, verdict: Verdict, rule: str
) -> None:
    """The world is asked once per call, its answer is on the call's span, and the tool's result stays as it is."""
    world.reply(ANN, reply)
    request = {"get": f"{world.url}/users/{{email}}", "timeout": 0.3}
    declared = overclaim.Expectations.load({"tools": {"create_user": {"postcondition": request}}})
    overclaim.instrument(tracer_provider=provider, expectations=declared)
    assert claims_success().verdict is verdict
    found = judged(collector)
    assert found.verdict is verdict
    assert rule in [one.rule for one in found.run.calls[0].observed.evidence]
    assert world.paths == [ANN]
    assert len(found.run.calls) == 1


def test_the_request_makes_no_span(collector: Collector, provider: TracerProvider, world: World) -> None:
    """Instrumentors of HTTP clients look away, so the agent's trace shows the agent's work only."""
    world.reply(ANN, Reply(200))
    request = {"get": f"{world.url}/users/{{email}}"}
    overclaim.instrument(tracer_provider=provider, expectations={"tools": {"create_user": {"postcondition": request}}})
    claims_success()
    assert {span.name.split()[0] for span in collector.spans} == {"execute_tool", "invoke_agent", "overclaim.claim"}


def test_a_postcondition_in_python_through_a_real_client(
    collector: Collector, provider: TracerProvider, world: World
) -> None:
    """A function that asks with an instrumented library leaves no span and no evidence of its own."""
    import requests

    world.reply(ANN, Reply(404))

    @overclaim.verify("create_user")
    def there(arguments: dict[str, Any], result: Any) -> bool:
        return requests.get(f"{world.url}/users/ann%40example.com", timeout=5).ok

    overclaim.instrument(tracer_provider=provider)
    assert claims_success().verdict is Verdict.CONTRADICTED
    found = judged(collector)
    assert [one.rule for one in found.run.calls[0].observed.evidence if one.kind == "http_status"] == []
    assert found.verdict is Verdict.CONTRADICTED


def test_what_stands_at_the_tool_comes_first(collector: Collector, provider: TracerProvider) -> None:
    """A decorator may declare what a file may, and wins."""

    @overclaim.tool(expect={"success_when": {"field": "code", "equals": 0}}, read_only=True)
    def probe() -> dict[str, int]:
        return {"code": 0}

    declared = {"tools": {"probe": {"success_when": {"field": "code", "equals": 1}, "effect": "write"}}}
    overclaim.instrument(tracer_provider=provider, http_clients=False, expectations=declared)
    probe()
    attributes = collector.spans[0].attributes
    assert attributes["overclaim.observed.outcome"] == "success"
    assert attributes["overclaim.call.effect"] == "read"


def test_a_tool_may_declare_a_request_of_its_own(collector: Collector, provider: TracerProvider, world: World) -> None:
    """A postcondition at the decorator works like one in the file."""
    world.reply("/things/7", Reply(404))

    @overclaim.tool(expect={"postcondition": {"get": f"{world.url}/things/{{number}}"}})
    def create_thing(number: int) -> dict[str, bool]:
        return {"ok": True}

    overclaim.instrument(tracer_provider=provider, http_clients=False)
    create_thing(7)
    assert collector.spans[0].attributes["overclaim.observed.outcome"] == "failure"


def test_foreign_spans_with_content_are_read_by_the_expectations(
    collector: Collector, provider: TracerProvider
) -> None:
    """A call that another instrumentor shows is labelled with what is declared about its tool."""
    declared = {"tools": {"create_user": {"failure_when": {"field": "status", "equals": "invited"}}}}
    overclaim.instrument(tracer_provider=provider, http_clients=False, expectations=declared)
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_user",
        "gen_ai.tool.call.result": '{"status": "invited", "ok": true}',
    }  # fmt: skip
    with provider.get_tracer("other").start_as_current_span("execute_tool create_user", attributes=attributes):
        pass
    assert collector.spans[0].attributes["overclaim.observed.outcome"] == "failure"


def test_the_environment_names_a_file(
    collector: Collector, provider: TracerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OVERCLAIM_EXPECTATIONS is read where nothing is given, once, when instrument() runs."""
    path = tmp_path / "expectations.toml"
    path.write_text('[tools.create_user.success_when]\nfield = "status"\nequals = "active"\n')
    monkeypatch.setenv("OVERCLAIM_EXPECTATIONS", str(path))
    overclaim.instrument(tracer_provider=provider, http_clients=False)
    path.unlink()
    assert claims_success("invited").verdict is Verdict.CONTRADICTED


def test_a_bad_file_of_the_environment_is_a_warning(
    provider: TracerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The program goes on without, and the log says what is wrong and where."""
    path = tmp_path / "expectations.toml"
    path.write_text('[tools.create_user]\nefect = "write"\n')
    monkeypatch.setenv("OVERCLAIM_EXPECTATIONS", str(path))
    with caplog.at_level(logging.WARNING, logger="overclaim"):
        overclaim.instrument(tracer_provider=provider, http_clients=False)
    assert RUNTIME.tracer is not None
    assert "OVERCLAIM_EXPECTATIONS cannot be used, going on without" in caplog.text
    assert "did you mean 'effect'?" in caplog.text


def test_bad_expectations_that_are_given_raise(provider: TracerProvider) -> None:
    """A program that asks for them must not run without, and nothing is switched on half."""
    with pytest.raises(InputError, match="there is no such key; did you mean 'effect'"):
        overclaim.instrument(tracer_provider=provider, expectations={"tools": {"pay": {"efect": "write"}}})
    assert RUNTIME.tracer is None


def test_uninstrument_forgets_what_was_expected(provider: TracerProvider) -> None:
    """Until it is declared again."""
    overclaim.instrument(tracer_provider=provider, http_clients=False, expectations="payments")
    assert RUNTIME.rules
    overclaim.uninstrument()
    assert not RUNTIME.rules
