"""Spans of several layers for one call of a tool: frameworks, MCP clients, MCP servers, prefixes, sub-agents."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from opentelemetry.context import attach, detach, get_current
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import SpanKind
from recorded import Telemetry, telemetry

import frameworks
import overclaim
from overclaim import _hooks
from overclaim._runs import outside_runs
from overclaim.reading import dialects
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs

__all__ = ["telemetry"]

CREATE = "create_user"
ANSWER = "I created the user."


def tool(name: str) -> dict[str, str]:
    """The attributes of a framework's tool span."""
    return {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}


MCP = {"mcp.method.name": "tools/call"}
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}


def of(id: str, parent: str, name: str, attributes: dict[str, str], *, service: str = "shop", start: int = 1) -> Span:
    """A span as a collector gets it."""
    return Span("t", id, parent, name=name, attributes=attributes, service=service, start_ns=start, end_ns=100 - start)


@pytest.mark.parametrize("prefix", ["", "crm_", "crm__"])
def test_client_and_server_are_one_call_for_a_reader(prefix: str) -> None:
    """A framework's span, MCP's client span and the server's span, unlabelled, come to one call."""
    spans = [
        of("a", "", "invoke_agent shop", AGENT),
        of("b", "a", "execute_tool", tool(prefix + CREATE), start=2),
        of("c", "b", f"MCP send tools/call {CREATE}", MCP, start=3),
        of("d", "c", f"tools/call {CREATE}", tool(CREATE) | MCP, service="crm", start=4),
    ]
    (run,) = runs(spans)
    assert [call.tool for call in run.calls] == [prefix + CREATE]


def test_a_server_below_a_span_of_the_same_call_is_no_second_call() -> None:
    """Where our SDK named the span that stands for the call, what is below counts to that call as well."""
    again = MCP | {"overclaim.call.span_id": "b", "overclaim.observed.outcome": "success"}
    spans = [
        of("a", "", "invoke_agent shop", AGENT),
        of("b", "a", "execute_tool", tool("their_" + CREATE) | {"overclaim.observed.outcome": "success"}, start=2),
        of("c", "b", f"MCP send tools/call {CREATE}", again, start=3),
        of("d", "c", f"tools/call {CREATE}", tool(CREATE) | MCP, service="crm", start=4),
    ]
    (run,) = runs(spans)
    assert [call.tool for call in run.calls] == ["their_" + CREATE]


def test_a_tool_that_uses_another_is_two_calls() -> None:
    """Only spans of MCP may hide behind a prefix: what a tool itself calls is a call of its own."""
    spans = [
        of("a", "", "invoke_agent shop", AGENT),
        of("b", "a", "execute_tool", tool("bulk_" + CREATE), start=2),
        of("c", "b", "execute_tool", tool(CREATE), start=3),
    ]
    (run,) = runs(spans)
    assert sorted(call.tool for call in run.calls) == ["bulk_create_user", "create_user"]


@pytest.mark.parametrize("prefix", ["", "crm_"])
def test_client_and_server_are_one_call_here(telemetry: Telemetry, prefix: str) -> None:
    """The same in the agent's process, whose labels then name the span that stands for the call."""
    start = telemetry.tracer.start_as_current_span
    with overclaim.run("shop") as run:
        with start("execute_tool", attributes=tool(prefix + CREATE)), start(f"tools/call {CREATE}", attributes=MCP):
            pass
        run.answer(ANSWER)
    assert telemetry.one("invoke_agent shop").attributes["overclaim.run.calls"] == 1
    assert [call for call, _ in frameworks.sent(telemetry.spans).calls] == [prefix + CREATE]


def test_a_request_that_is_served_here_is_not_the_runs(telemetry: Telemetry) -> None:
    """A server in the agent's own process answers on somebody's behalf: its span and its calls are not the run's."""
    carrier: dict[str, str] = {}

    @overclaim.tool
    def audit() -> bool:
        return True

    def serve() -> None:
        with telemetry.tracer.start_as_current_span("serve", extract(carrier), SpanKind.SERVER, tool(CREATE)):
            token = attach(outside_runs(get_current()))
            audit()
            detach(token)

    with overclaim.run("shop"), telemetry.tracer.start_as_current_span("client", kind=SpanKind.CLIENT):
        inject(carrier)
        serve()
    assert telemetry.one("invoke_agent shop").attributes["overclaim.run.calls"] == 0
    assert "overclaim.run.id" not in telemetry.one("serve").attributes


@pytest.mark.parametrize("result", [2, "hello there", None, {"id": "u1"}, {"status": "pending"}, {"error": "no"}])
def test_what_a_hook_saw_inside_a_span_counts(telemetry: Telemetry, result: object) -> None:
    """A result comes to the same on a span of ours and on another's inside of which a hook has seen it."""
    for span in (nullcontext(), telemetry.tracer.start_as_current_span("execute_tool", attributes=tool(CREATE))):
        with span:
            scope = _hooks.tool_call(CREATE, {"name": "ann"})
            assert scope is not None
            scope.returned(result)
    ours, theirs = (span.attributes["overclaim.observed.outcome"] for span in telemetry.spans)
    assert ours == theirs


def test_a_sub_agents_answer_is_not_the_users(telemetry: Telemetry) -> None:
    """What an agent inside the run says counts only where the outer one says nothing."""
    for said, claimed in (("I could not create the user.", "failure"), (None, "success")):
        with telemetry.tracer.start_as_current_span("invoke_agent shop", attributes=AGENT) as span:
            outer = _hooks.agent_run("shop")
            with telemetry.tracer.start_as_current_span("invoke_agent crm", attributes=AGENT):
                inner = _hooks.agent_run("crm")
                assert inner is not None
                inner.returned(ANSWER)
            assert outer is not None
            outer.returned(said)
        assert span.attributes["overclaim.claimed.outcome"] == claimed  # pyright: ignore[reportAttributeAccessIssue]


def test_a_call_without_its_arguments_is_no_text() -> None:
    """What OpenInference writes of a model's wish to call a tool, with content off, is no answer."""
    assert dialects.message_text('[{"id": "call_1", "name": "create_user"}]') == ""
    assert dialects.message_text('{"summary": "I created the user."}') == "I created the user."
