"""The outcome processor on spans of other instrumentors."""

from __future__ import annotations

import gc
import json
import weakref
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased, TraceIdRatioBased
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode, set_span_in_context

import overclaim
from overclaim import Verdict

TOOLS = {
    "otel": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup"},
    "openinference": {"openinference.span.kind": "TOOL", "tool.name": "lookup"},
    "traceloop": {"traceloop.span.kind": "tool", "traceloop.entity.name": "lookup"},
    "mcp": {"mcp.method.name": "tools/call", "gen_ai.tool.name": "lookup"},
}
RESULTS = {
    "otel": "gen_ai.tool.call.result",
    "openinference": "output.value",
    "traceloop": "traceloop.entity.output",
    "mcp": "mcp.response.value",
}


def http(telemetry: Any, status: int, url: str = "http://127.0.0.1/pay?key=secret", new: bool = True) -> None:
    """One HTTP client span, as an instrumentor would make it."""
    names = ("http.request.method", "url.full", "http.response.status_code")
    old = ("http.method", "http.url", "http.status_code")
    method, full, code = names if new else old
    with telemetry.tracer.start_as_current_span("POST", kind=SpanKind.CLIENT) as span:
        span.set_attributes({method: "POST", full: url, code: status})


@pytest.mark.parametrize("dialect", TOOLS)
def test_failed_result_on_a_foreign_tool_span(telemetry: Any, dialect: str) -> None:
    """A returned error is an observed failure in every dialect, and status and own attributes stay as they were."""
    given = TOOLS[dialect] | {RESULTS[dialect]: json.dumps({"error": {"code": "no_such_user"}, "status": 404})}
    with telemetry.tracer.start_as_current_span("execute_tool lookup") as span:
        span.set_attributes(given)
    (span,) = telemetry.spans
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.claimed.outcome"] == "failure"
    assert span.status.status_code is StatusCode.UNSET
    added = set(span.attributes) - set(given)
    assert all(name.startswith("overclaim.") for name in added)
    assert {name: span.attributes[name] for name in given} == given


@pytest.mark.parametrize("new", [True, False])
def test_swallowed_http_error_below_a_tool(telemetry: Any, new: bool) -> None:
    """A 400 below a tool that claims success is a failure, by old and new attribute names."""

    @overclaim.tool
    def pay() -> str:
        http(telemetry, 400, new=new)
        return "paid"

    pay()
    span = telemetry.one("execute_tool pay")
    child = telemetry.one("POST")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.observed.grade"] == "structured"
    assert span.attributes["overclaim.claimed.outcome"] == "success"
    assert span.attributes["overclaim.evidence.value"] == ("400",)
    assert span.attributes["overclaim.evidence.span_ids"] == (f"{child.context.span_id:016x}",)
    assert span.attributes["error.type"] == "400"
    assert "secret" not in str(dict(span.attributes))


def test_last_word_per_target_counts(telemetry: Any) -> None:
    """A retry that went well outvotes the failure before it, but not one at another place."""

    @overclaim.tool
    def pay(place: str) -> str:
        http(telemetry, 503, "http://127.0.0.1/pay")
        http(telemetry, 200, f"http://127.0.0.1/{place}")
        return "paid"

    pay("pay")
    pay("other")
    outcomes = [span.attributes["overclaim.observed.outcome"] for span in telemetry.named("execute_tool pay")]
    assert outcomes == ["success", "failure"]


def test_expected_status_is_no_failure(telemetry: Any) -> None:
    """A status that the tool declares as expected is fine."""

    @overclaim.tool(expected_status=(404,))
    def exists() -> str:
        http(telemetry, 404)
        return "no"

    exists()
    assert telemetry.one("execute_tool exists").attributes["overclaim.observed.outcome"] == "success"


@pytest.mark.parametrize(
    ("attributes", "failed", "value"),
    [
        ({"db.system.name": "sqlite", "error.type": "IntegrityError"}, True, "IntegrityError"),
        ({"process.exit.code": 2, "process.executable.name": "tar"}, False, "2"),
        ({"rpc.grpc.status_code": 14, "rpc.service": "s", "rpc.method": "m"}, False, "14"),
        ({"http.request.method": "GET", "url.full": "http://x/", "error.type": "ConnectError"}, True, "ConnectError"),
    ],
    ids=["database", "process", "grpc", "no-answer"],
)  # fmt: skip
def test_other_children_are_evidence(telemetry: Any, attributes: dict[str, Any], failed: bool, value: str) -> None:
    """A failed statement, exit code, gRPC status, or a request without an answer makes the tool a failure."""

    @overclaim.tool
    def work() -> str:
        with (
            telemetry.tracer.start_as_current_span("outer"),
            telemetry.tracer.start_as_current_span("child", kind=SpanKind.CLIENT, attributes=attributes) as span,
        ):
            if failed:
                span.set_status(StatusCode.ERROR)
        return "fine"

    work()
    span = telemetry.one("execute_tool work")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.evidence.value"] == (value,)


def test_tool_in_a_foreign_span_of_the_same_tool_is_one_call(telemetry: Any) -> None:
    """The framework's span around our wrapper stays the only one, and gets the result that the wrapper saw."""

    @overclaim.tool
    def lookup(user: str) -> dict[str, Any]:
        return {"isError": True, "message": user}

    around = telemetry.tracer.start_as_current_span("execute_tool lookup", attributes=TOOLS["otel"])
    with overclaim.run("agent"), around:
        lookup("ann@example.com")
    span = telemetry.one("execute_tool lookup")
    assert span.instrumentation_scope.name == "somebody.else"
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.attributes["overclaim.call.targets"]
    assert telemetry.one("invoke_agent agent").attributes["overclaim.run.calls"] == 1


def test_two_foreign_spans_of_the_same_tool_are_one_call(telemetry: Any) -> None:
    """Two instrumentors that both see one call count once, and the inner one's evidence reaches the outer."""
    with overclaim.run("agent"), telemetry.tracer.start_as_current_span("lookup") as outer:
        outer.set_attributes(TOOLS["openinference"])  # late, as some instrumentors do
        with telemetry.tracer.start_as_current_span("execute_tool lookup", attributes=TOOLS["otel"]):
            http(telemetry, 500)
    assert telemetry.one("invoke_agent agent").attributes["overclaim.run.calls"] == 1
    assert telemetry.one("lookup").attributes["overclaim.observed.outcome"] == "failure"


def test_foreign_agent_span_is_a_run(telemetry: Any) -> None:
    """The outermost agent span of another instrumentor becomes a run: roll-up, claims, run ids."""
    agent = {"openinference.span.kind": "AGENT", "agent.name": "helper"}
    with telemetry.tracer.start_as_current_span("helper", attributes=agent) as span:
        tool = {"openinference.span.kind": "TOOL", "tool.name": "create_user"}
        with telemetry.tracer.start_as_current_span("create_user", attributes=tool):
            http(telemetry, 400)
        span.set_attribute("output.value", "I created the user.")
    span = telemetry.one("helper")
    assert span.attributes["overclaim.run.calls"] == 1
    assert span.attributes["overclaim.run.failed_calls"] == 1
    assert span.attributes["overclaim.claimed.outcome"] == "success"
    assert span.attributes["overclaim.run.spans"] == len(telemetry.spans)
    claim = telemetry.one("overclaim.claim")
    assert claim.links[0].context.span_id == telemetry.one("create_user").context.span_id
    assert {one.attributes["overclaim.run.span_id"] for one in telemetry.spans} == {f"{span.context.span_id:016x}"}


def test_error_status_of_a_foreign_tool_is_a_failure(telemetry: Any) -> None:
    """A foreign tool span with status ERROR is an observed and a claimed failure; its status stays."""
    with telemetry.tracer.start_as_current_span("t", attributes=TOOLS["otel"]) as span:
        span.set_status(StatusCode.ERROR, "theirs")
    (span,) = telemetry.spans
    assert span.attributes["overclaim.claimed.outcome"] == "failure"
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.status.description == "theirs"


def test_nothing_seen_is_unknown_not_success(telemetry: Any) -> None:
    """A foreign tool span without a result and without children is unknown."""
    with telemetry.tracer.start_as_current_span("t", attributes=TOOLS["otel"]):
        pass
    assert telemetry.spans[0].attributes["overclaim.observed.outcome"] == "unknown"


def test_order_of_processors_does_not_matter(telemetry: Any) -> None:
    """An exporter added before ours and one added after it both get the labels."""
    later = InMemorySpanExporter()
    telemetry.provider.add_span_processor(SimpleSpanProcessor(later))
    with telemetry.tracer.start_as_current_span("t", attributes=TOOLS["otel"]):
        pass
    for span in (telemetry.spans[0], later.get_finished_spans()[0]):
        assert span.attributes["overclaim.observed.outcome"] == "unknown"


def test_explicit_end_time_and_second_end(telemetry: Any, caplog: pytest.LogCaptureFixture) -> None:
    """`span.end(end_time)` keeps its time; ending twice still only warns, as without us."""
    span = telemetry.tracer.start_span("t", start_time=1)
    span.end(end_time=5)
    assert telemetry.spans[0].end_time == 5
    assert not caplog.records
    span.end()
    assert "ended span" in caplog.text


def test_late_child_is_left_to_the_collector(telemetry: Any) -> None:
    """A child that ends after its tool changes nothing any more, and breaks nothing."""
    tool = telemetry.tracer.start_span("t", attributes=TOOLS["otel"])
    child = telemetry.tracer.start_span(
        "late", set_span_in_context(tool), kind=SpanKind.CLIENT,
        attributes={"http.request.method": "GET", "url.full": "http://x/", "http.response.status_code": 500},
    )  # fmt: skip
    tool.end()
    child.end()
    assert telemetry.one("t").attributes["overclaim.observed.outcome"] == "unknown"


def test_server_spans_are_no_evidence_of_the_caller(telemetry: Any) -> None:
    """What a server in the same process answers is not what the tool was told."""

    @overclaim.tool
    def work() -> str:
        with telemetry.tracer.start_as_current_span("GET /", kind=SpanKind.SERVER) as span:
            span.set_attributes({"http.request.method": "GET", "url.path": "/", "http.response.status_code": 500})
        return "fine"

    work()
    assert telemetry.one("execute_tool work").attributes["overclaim.observed.outcome"] == "success"


def test_evidence_is_bounded(telemetry: Any) -> None:
    """A tool with a thousand failing children keeps 16 facts on its span, failures first."""

    @overclaim.tool
    def crawl() -> str:
        for number in range(1000):
            http(telemetry, 200 if number % 2 else 500, f"http://127.0.0.1/{number}")
        return "fine"

    crawl()
    attributes = telemetry.one("execute_tool crawl").attributes
    assert len(attributes["overclaim.evidence.kind"]) == 16
    assert set(attributes["overclaim.evidence.value"]) == {"500"}


def test_ended_spans_leave_no_memory_behind(telemetry: Any) -> None:
    """Span and record do not keep each other alive once the span has ended."""
    telemetry.exporter.shutdown()
    gc.disable()
    try:
        with telemetry.tracer.start_as_current_span("t") as span:
            watched = weakref.ref(span)
        del span
        assert watched() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, ParentBased(TraceIdRatioBased(0.0))], ids=["off", "ratio"])
def test_sampled_out_runs_change_nothing(sampler: Any) -> None:
    """Where the sampler says no, tools and runs work as ever; the guard sees the calls all the same."""
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    overclaim.instrument(tracer_provider=provider)

    @overclaim.tool
    def pay() -> str:
        return "paid"

    try:
        with overclaim.run("agent") as run:
            assert pay() == "paid"
            assert overclaim.check("I paid.").verdict is Verdict.SUPPORTED
            run.answer("I paid.")
    finally:
        overclaim.uninstrument()
        provider.shutdown()


def test_evidence_keeps_its_order_through_nested_spans_of_one_call(telemetry: Any) -> None:
    """Two instrumentors see one call: a look that failed after the change fails it, on both spans."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "create_order"}
    start = telemetry.tracer.start_as_current_span
    with start("execute_tool create_order", attributes=tool), start("execute_tool create_order", attributes=tool):
        for method, status in (("POST", 201), ("GET", 500)):
            request = {"http.request.method": method, "url.full": "https://api.example.com/orders"}
            request |= {"http.response.status_code": status}
            with start(method, kind=SpanKind.CLIENT, attributes=request):
                pass
    for span in telemetry.named("execute_tool create_order"):
        assert span.attributes["overclaim.observed.outcome"] == "failure"
        assert span.attributes["overclaim.evidence.value"][0] == "500"


def test_spans_that_nobody_follows_do_not_hide_the_call(telemetry: Any) -> None:
    """Inside a tool the spans of another provider, or of none, are current: evidence and nested calls find the tool."""

    @overclaim.tool
    def book() -> str:
        overclaim.observe("failure")
        return "booked"

    @overclaim.tool
    def plan() -> str:
        unwatched = TracerProvider(shutdown_on_exit=False).get_tracer("a")
        nothing = NoOpTracerProvider().get_tracer("b")
        with unwatched.start_as_current_span("x"), nothing.start_as_current_span("y"):
            overclaim.observe("failure")
            return book()

    with overclaim.run("agent"):
        plan()
        seen = overclaim.check("I booked it.").run.calls
    assert [(call.tool, call.observed.outcome.value) for call in seen] == [("book", "failure"), ("plan", "failure")]
