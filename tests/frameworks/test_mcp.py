"""MCP, version 1 and 2: a client calls, a server answers, in one process and in two."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import integrations
from overclaim.integrations import mcp as ours
from overclaim.integrations.mcp_results import reply, tool_facts
from overclaim.reading.otlp_files import decode_protobuf

pytest.importorskip("mcp")

from mcp.client.session import ClientSession
from mcp.types import ToolAnnotations

NEW = version("mcp").startswith("2.")
OVERCLAIM = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
ARGUMENTS = {"amount": "12.50", "currency": "eur"}
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}
Work = Callable[[Any], Awaitable[Any]]

if NEW:
    from mcp import Client
    from mcp.client._memory import InMemoryTransport
    from mcp.server.mcpserver import MCPServer as Server
    from mcp.shared.exceptions import MCPError as McpError
else:
    from mcp.server.fastmcp import FastMCP as Server
    from mcp.shared.exceptions import McpError
    from mcp.shared.memory import create_connected_server_and_client_session


@pytest.fixture(autouse=True)
def native(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own spans go to the provider of the test."""
    if NEW:
        monkeypatch.setattr("mcp.shared._otel._tracer", telemetry.provider.get_tracer("mcp-python-sdk"))


@asynccontextmanager
async def connected(server: Any, *, wire: bool = False) -> Any:
    """A client of a server in this process. wire: over streams of JSON-RPC, which version 1 always does."""
    if NEW:
        async with Client(InMemoryTransport(server) if wire else server) as client:
            yield client
    else:
        async with create_connected_server_and_client_session(server) as client:
            yield client


def payments() -> Any:
    """A server with tools that end in all the ways."""
    server = Server("payments")

    @server.tool()
    def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
        """Create a payment intent."""
        return REFUSED

    @server.tool()
    async def delete_user(user: str) -> str:
        """Delete a user."""
        raise ValueError(f"no such user: {user}")

    @server.tool(annotations=ToolAnnotations(**{("read_only_hint" if NEW else "readOnlyHint"): True}))
    async def process_order(order: int) -> int:
        """Say what an order costs."""
        return order + 1

    @server.tool()
    async def slow() -> str:
        """Take too long."""
        await asyncio.sleep(1)
        return "done"

    return server


def asked(work: Work, *, server: Any = None, answer: str = OVERCLAIM, wire: bool = False) -> Any:
    """Do something with a client inside a run of an agent."""

    async def run() -> Any:
        with overclaim.run("payments") as opened:
            async with connected(server or payments(), wire=wire) as client:
                result = await work(client)
            opened.answer(answer)
        return result

    return asyncio.run(run())


def test_the_library_is_left_as_it_was() -> None:
    """After uninstrument() every function of the library is its own again. First, for OpenLLMetry leaves patches."""
    overclaim.uninstrument()
    places = watched()
    before = [vars(owner).get(name) for owner, name in places]
    overclaim.instrument(http_clients=False)
    during = [vars(owner).get(name) for owner, name in places]
    overclaim.uninstrument()
    assert [vars(owner).get(name) for owner, name in places] == before
    assert all(one is not other for one, other in zip(before, during, strict=True))


def watched() -> list[tuple[Any, str]]:
    """What is patched."""
    places: list[tuple[Any, str]] = [(ClientSession, "call_tool"), (ClientSession, "list_tools")]
    if NEW:
        from mcp.server._otel import OpenTelemetryMiddleware

        return [*places, (OpenTelemetryMiddleware, "__call__")]
    from mcp.server.lowlevel.server import Server as Lowlevel
    from mcp.shared.session import BaseSession, RequestResponder

    lower = [(Lowlevel, "_handle_request"), (BaseSession, "send_request"), (RequestResponder, "respond")]
    return [*places, *lower]


@pytest.mark.parametrize("wire", [False, True])
def test_a_soft_failure_contradicts_the_answer(telemetry: Telemetry, wire: bool) -> None:
    """A tool that returns an error as its result is seen to have failed, once, and the client gets its result."""
    result = asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), wire=wire)
    seen = frameworks.sent(telemetry.spans)
    assert "invalid_integer" in result.content[0].text
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


@pytest.mark.parametrize("wire", [False, True])
def test_every_outcome_is_seen_once(telemetry: Telemetry, wire: bool) -> None:
    """Tools that raise, succeed and do not exist, one after the other: each call counts once."""

    async def work(client: Any) -> None:
        await client.call_tool("delete_user", {"user": "ann"})
        await client.call_tool("process_order", {"order": 1})
        await client.call_tool("no_such_tool", {})

    asked(work, wire=wire)
    calls = [("delete_user", "failure"), ("process_order", "success"), ("no_such_tool", "failure")]
    assert frameworks.sent(telemetry.spans).calls == calls
    assert [span.attributes["overclaim.run.calls"] for span in telemetry.named("invoke_agent payments")] == [3]


def test_parallel_calls_keep_apart(telemetry: Telemetry) -> None:
    """Calls at the same time each get their own outcome."""

    async def work(client: Any) -> None:
        calls = [client.call_tool("process_order", {"order": order}) for order in range(4)]
        await asyncio.gather(*calls, client.call_tool("create_payment_intent", ARGUMENTS))

    asked(work)
    calls = sorted(frameworks.sent(telemetry.spans).calls)
    assert calls == [("create_payment_intent", "failure"), *[("process_order", "success")] * 4]


def test_an_error_of_the_protocol_is_a_failure(telemetry: Telemetry) -> None:
    """A call without an answer raises as ever, and has failed."""

    async def work(client: Any) -> None:
        with pytest.raises(McpError):
            await client.call_tool("slow", {}, read_timeout_seconds=0.05 if NEW else timedelta(seconds=0.05))

    asked(work, answer="The slow thing is done.")
    assert frameworks.sent(telemetry.spans).calls == [("slow", "failure")]


def test_the_hints_of_a_tool_say_what_it_does(telemetry: Telemetry) -> None:
    """A tool that is listed as reading only counts as a read, whatever its name says."""

    async def work(client: Any) -> None:
        await client.list_tools()
        await client.call_tool("process_order", {"order": 1})

    asked(work)
    assert telemetry.one("execute_tool process_order").attributes["overclaim.call.effect"] == "read"


def test_a_servers_span_says_what_its_tool_came_to(telemetry: Telemetry) -> None:
    """The server's span hangs below the client's, with the mark of an error, and has the outcome on it."""

    async def work(client: Any) -> None:
        await client.call_tool("delete_user", {"user": "ann"})
        await client.call_tool("create_payment_intent", ARGUMENTS)

    asked(work, wire=True)
    raised, soft = telemetry.one("tools/call delete_user"), telemetry.one("tools/call create_payment_intent")
    assert raised.kind is SpanKind.SERVER
    assert raised.status.status_code is StatusCode.ERROR
    assert raised.attributes["error.type"] == "tool_error"
    assert soft.status.status_code is StatusCode.UNSET
    assert soft.attributes["overclaim.observed.outcome"] == "failure"
    assert soft.context.trace_id == telemetry.one("invoke_agent payments").context.trace_id


def test_a_server_answers_for_itself(telemetry: Telemetry) -> None:
    """What a server in the same process calls on its own account is no call of the client's run."""
    server = Server("payments")

    @overclaim.tool
    def audit(text: str) -> bool:
        return True

    @server.tool()
    def create_user(name: str) -> str:
        """Create a user."""
        audit(name)
        return f"created {name}"

    asked(lambda client: client.call_tool("create_user", {"name": "ann"}), server=server, wire=True)
    (agent,) = telemetry.named("invoke_agent payments")
    assert agent.attributes["overclaim.run.calls"] == 1


@pytest.mark.parametrize("wire", [False, True])
def test_a_decorated_tool_stays_one_call(telemetry: Telemetry, wire: bool) -> None:
    """A server's tool may be one of ours."""
    server = Server("payments")
    server.tool()(create_payment_intent)
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), server=server, wire=wire)
    assert frameworks.sent(telemetry.spans).calls == [("create_payment_intent", "failure")]


@overclaim.tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return REFUSED


@pytest.mark.parametrize("prefix", ["", "stripe_", "mcp__stripe__"])
def test_a_frameworks_tool_that_calls_a_server_is_one_call(telemetry: Telemetry, prefix: str) -> None:
    """The framework's span, the client and the server stand for one call, whatever prefix the framework adds."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"{prefix}create_payment_intent"}

    async def work(client: Any) -> None:
        with telemetry.tracer.start_as_current_span("execute_tool", attributes=attributes):
            await client.call_tool("create_payment_intent", ARGUMENTS)

    asked(work, wire=True)
    assert frameworks.sent(telemetry.spans).calls == [(f"{prefix}create_payment_intent", "failure")]


SERVER = """
import overclaim
overclaim.instrument(service_name="payments-server")
if {new}:
    from mcp.server.mcpserver import MCPServer as Server
else:
    from mcp.server.fastmcp import FastMCP as Server
server = Server("payments")

@server.tool()
def create_payment_intent(amount: str, currency: str) -> dict:
    return {{"error": {{"code": "invalid_integer"}}, "status": 400}}

server.run("stdio")
"""


def test_a_server_in_another_process_counts_once(telemetry: Telemetry, tmp_path: Path) -> None:
    """Both processes send their spans of the call: for the client's run it is one call."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    script = tmp_path / "server.py"
    script.write_text(SERVER.format(new=NEW))

    async def main(env: dict[str, str]) -> None:
        place = StdioServerParameters(command=sys.executable, args=[str(script)], env=env)
        with overclaim.run("payments") as run:
            async with stdio_client(place) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                await session.call_tool("create_payment_intent", ARGUMENTS)
            run.answer(OVERCLAIM)

    with frameworks.collector() as bodies:
        asyncio.run(main({**os.environ, "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}))
    theirs = [span for body in bodies for span in decode_protobuf(body).spans]
    served = [span for span in theirs if span.name == "tools/call create_payment_intent"]
    both = frameworks.Seen((*frameworks.sent(telemetry.spans).spans, *theirs))
    assert [span.attributes["overclaim.observed.outcome"] for span in served] == ["failure"]
    assert both.calls == [("create_payment_intent", "failure")]
    assert both.verdicts == ["contradicted"], both.judged[0].run.gaps


def instrumentors() -> list[Any]:
    """What others offer for this version of the library."""
    from openinference.instrumentation.mcp import MCPInstrumentor

    if NEW:
        return [MCPInstrumentor]
    from opentelemetry.instrumentation.mcp import McpInstrumentor

    return [MCPInstrumentor, McpInstrumentor]


@pytest.mark.parametrize("number", range(1 if NEW else 2))
def test_beside_other_instrumentors_it_stays_one_call(telemetry: Telemetry, number: int) -> None:
    """With OpenInference, and with OpenLLMetry where it loads, calls and outcomes are the same."""
    frameworks.needs("openinference.instrumentation.mcp", *(() if NEW else ("opentelemetry.instrumentation.mcp",)))
    other = instrumentors()[number]()
    other.instrument(tracer_provider=telemetry.provider)
    try:
        asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), wire=True)
    finally:
        other.uninstrument()
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_no_content_leaves(telemetry: Telemetry) -> None:
    """Neither arguments nor results are on any span."""
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), wire=True)
    written = [str(value) for span in telemetry.spans for value in (span.attributes or {}).values()]
    assert not [text for text in written if "12.50" in text or "invalid_request" in text]


def test_a_fault_of_ours_is_nobodys_trouble(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our own hooks fail, client and server go on as if we were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(ours, "tool_call", broken)
    result = asked(lambda client: client.call_tool("process_order", {"order": 1}), wire=True)
    assert result.content[0].text == "2"


def test_it_is_switched_on() -> None:
    """The integration is in force once the library is imported."""
    (found,) = [one for one in integrations.status() if one.integration.name == "mcp"]
    assert (found.state, found.why) == ("on", "")


@pytest.mark.parametrize(
    ("hints", "read_only"),
    [
        ({}, None),
        ({"readOnlyHint": True, "destructiveHint": False}, True),
        ({"readOnlyHint": False}, False),
        ({"destructiveHint": True}, False),
        ({"idempotent_hint": True}, False),
        ({"title": "A tool"}, None),
    ],
)
def test_hints_become_facts(hints: dict[str, Any], read_only: bool | None) -> None:
    """Only hints that a server gives count, not what the protocol takes for granted without them."""
    assert tool_facts(hints).read_only is read_only


def test_answers_are_read_in_every_spelling() -> None:
    """Structured content comes first, a wrapped value is unwrapped, an error is its text, a task is not seen."""
    text = [{"type": "text", "text": "2"}]
    assert reply({"content": text, "structuredContent": {"result": 2}}).result == 2
    assert reply({"content": text}).result == "2"
    assert reply({"content": text, "isError": True})[:3] == ("2", True, "2")
    assert reply({"code": -32602, "message": "no"})[:3] == ("no", True, "no")
    assert not reply({"task": {}}).captured


@pytest.mark.skipif(not NEW, reason="the example is written for version 2")
def test_the_example_overclaims() -> None:
    """The example as a user would run it."""
    seen = frameworks.example("mcp_agent")
    assert seen.verdicts == ["contradicted"]
    assert seen.calls == [("create_payment_intent", "failure")]
