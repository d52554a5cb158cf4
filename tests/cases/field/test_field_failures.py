"""Failures that a tool reports without raising, which other tools show green."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

import overclaim
from frameworks import sent
from overclaim import _calls
from overclaim._hooks import Reply, tool_call


@dataclass
class CallToolResult:
    """The shape of the MCP SDK's results; 1.x says isError, 2.x is_error."""

    content: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    isError: bool = True


def outcome_of(telemetry: Any, result: object) -> str:
    """What a tool that returns this came to."""
    telemetry.exporter.clear()
    overclaim.tool(name="call_it")(lambda: result)()
    return telemetry.one("execute_tool call_it").attributes["overclaim.observed.outcome"]


def test_p01_an_mcp_error_result_is_an_error_span(telemetry: Any) -> None:
    """jaegertracing/jaeger#9332: status, error type and label agree on an isError result."""
    assert outcome_of(telemetry, CallToolResult([{"type": "text", "text": "boom"}])) == "failure"
    span = telemetry.one("execute_tool call_it")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"]


def test_p02_a_fault_of_ours_never_changes_the_result(telemetry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """traceloop/openllmetry#4464: the caller gets its own object though our writer of labels raises."""
    monkeypatch.setattr(_calls, "call_labels", lambda *_: 1 / 0)
    result = CallToolResult([{"type": "image", "data": "AA=="}])
    assert overclaim.tool(lambda: result)() is result


def test_p03_an_error_without_content_still_has_its_type(telemetry: Any) -> None:
    """traceloop/openllmetry#4057: status and error.type are set though there is nothing to read."""
    outcome_of(telemetry, CallToolResult([]))
    span = telemetry.one("execute_tool call_it")
    assert (span.status.status_code, bool(span.attributes["error.type"])) == (StatusCode.ERROR, True)


def test_p05_one_rule_for_every_kind_of_tool(telemetry: Any) -> None:
    """agynio/v1#1279: the same failure by MCP, by a function and by a shell comes to the same outcome."""
    results = (CallToolResult(), {"ok": False, "error": "boom"}, {"exit_code": 1, "stdout": "", "stderr": "boom"})
    assert {outcome_of(telemetry, one) for one in results} == {"failure"}


def test_p06_every_error_result_is_counted(telemetry: Any) -> None:
    """alexhawat/mergeCraft#296: five results with is_error give five failed spans."""
    for _ in range(5):
        overclaim.tool(name="call_it")(lambda: SimpleNamespace(is_error=True, content=[]))()
    failed = [one for one in telemetry.spans if one.attributes["overclaim.observed.outcome"] == "failure"]
    assert len(failed) == 5


def test_p07_a_status_attribute_against_the_spans_status(telemetry: Any) -> None:
    """strands-agents/harness-sdk#2027: the framework stamps OK and says error beside it."""
    with telemetry.tracer.start_as_current_span("execute_tool x", attributes={"gen_ai.tool.name": "x"}) as span:
        span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.status": "error"})
        span.set_status(StatusCode.OK)
    assert telemetry.one("execute_tool x").attributes["overclaim.observed.outcome"] == "failure"


def test_p08_an_object_that_says_failure(telemetry: Any) -> None:
    """open-telemetry/opentelemetry-python-genai#557: `.status == "failure"` with `.error` set."""
    assert outcome_of(telemetry, SimpleNamespace(status="failure", error="no such user", result=None)) == "failure"


def test_p09_failure_as_data(telemetry: Any) -> None:
    """open-telemetry/opentelemetry-python-genai#485: `ok: false` is a failure, with the field as evidence."""
    assert outcome_of(telemetry, {"ok": False, "error": "channel_not_found"}) == "failure"
    assert telemetry.one("execute_tool call_it").attributes["overclaim.evidence.rule"]


def test_p10_a_retry_that_works_mends_the_failure(telemetry: Any) -> None:
    """Datus-ai/Datus-agent#1245: one failed call, recovered: neither hidden nor held against the agent."""
    replies = iter([{"success": 0, "error": "locked"}, {"success": 1, "table": "orders"}])
    save = overclaim.tool(name="save_table")(lambda table: next(replies))
    with overclaim.run("agent") as run:
        save("orders")
        save("orders")
        run.answer("I saved the table orders.")
    (judged,) = sent(telemetry.spans).judged
    assert judged.verdict.value == "recovered"
    assert judged.recovered == {0}


def test_p11_the_run_of_failures_that_was_a_success(telemetry: Any) -> None:
    """crewAIInc/crewAI#6712: five calls that return an error text, and an answer that says posted."""
    post = overclaim.tool(name="post_message")(lambda n: "API request failed: 200 OK, error: channel_not_found")
    with overclaim.run("agent") as run:
        for number in range(5):
            post(number)
        run.answer("I posted the message to the channel.")
    assert sent(telemetry.spans).verdicts == ["contradicted"]


def test_p12_an_error_survives_the_end_of_the_span_around_it(telemetry: Any) -> None:
    """elastic/kibana#277689: the outer helper ends well, the tool's span stays an error."""
    with telemetry.tracer.start_as_current_span("outer") as outer:
        outcome_of(telemetry, {"status": 500, "error": "down"})
        outer.set_status(StatusCode.OK)
    assert telemetry.one("execute_tool call_it").status.status_code is StatusCode.ERROR


def test_p13_a_stream_that_ends_after_an_error_is_no_success(telemetry: Any) -> None:
    """Arize-ai/openinference#2776: the last item says error; the end of the stream does not make it good."""

    @overclaim.tool
    def stream() -> Any:
        yield {"type": "text", "text": "working"}
        yield {"type": "error", "error": {"code": "overloaded"}}

    list(stream())
    span = telemetry.one("execute_tool stream")
    assert span.attributes["overclaim.observed.outcome"] == "failure"
    assert span.status.status_code is not StatusCode.OK


def test_p14_failing_calls_are_exported_like_all_others(telemetry: Any) -> None:
    """Arize-ai/openinference#2654: as many spans as calls, whatever the call came to."""
    for result in ({"status": "failure"}, {"status": "unknown"}, None, "ok"):
        overclaim.tool(name="call_it")(lambda result=result: result)()
    assert len(telemetry.named("execute_tool call_it")) == 4


def test_p88_the_body_says_error_though_the_envelope_says_fine(telemetry: Any) -> None:
    """humansys/raise#112: is_error is false, the text in it says error; both stay as evidence."""
    body = CallToolResult([{"type": "text", "text": '{"status": "error", "message": "no such repo"}'}], isError=False)
    assert outcome_of(telemetry, body) == "failure"


def test_p89_the_status_of_an_inner_span_reaches_the_tool(telemetry: Any) -> None:
    """UsefulSoftwareCo/executor#992: an HTTP span with 400 below a green tool span."""
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    request = {"http.request.method": "GET", "url.full": "https://x.example/", "http.response.status_code": 400}
    start = telemetry.tracer.start_as_current_span
    with start("execute_tool search", attributes=tool), start("GET", attributes=request):
        pass
    assert telemetry.one("execute_tool search").attributes["overclaim.observed.outcome"] == "failure"


@pytest.mark.parametrize(
    "result",
    ["text", ["a", 1], None, True, b"\x00", SimpleNamespace(a=1), {"a": [1]}],
    ids=lambda one: type(one).__name__,
)
def test_p92_results_of_any_type(telemetry: Any, result: object) -> None:
    """open-telemetry/semantic-conventions-genai#532: results need not be objects; each gives a span with an outcome."""
    assert outcome_of(telemetry, result) in ("success", "empty")


def test_p64_a_tool_and_the_mcp_call_in_it_are_one_call(telemetry: Any) -> None:
    """DataDog/dd-trace-js#9416: framework and MCP client tell of the same call; its failure counts once."""
    with overclaim.run("agent") as run:
        outer = tool_call("crm__create_user", {"email": "ann@example.com"}, call_id="c1")
        assert outer is not None
        with overclaim_context(outer):
            inner = tool_call("create_user", {"email": "ann@example.com"}, read=lambda r: Reply(r, is_error=True))
            assert inner is not None
            inner.returned([])
        outer.returned("could not")
        run.answer("I created the user ann@example.com.")
    seen = sent(telemetry.spans)
    assert seen.calls == [("crm__create_user", "failure")]
    assert seen.verdicts == ["contradicted"]


def overclaim_context(scope: Any) -> Any:
    """Make a scope's context current for a block."""
    from contextlib import contextmanager

    from overclaim._wrapping import enter, leave

    @contextmanager
    def current() -> Any:
        token = enter(scope)
        yield
        leave(token)

    return current()
