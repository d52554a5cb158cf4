"""FastMCP: its clients, its servers, and servers mounted in servers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from opentelemetry.trace import SpanKind, StatusCode
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import integrations
from overclaim.integrations import mcp as ours

pytest.importorskip("fastmcp")

from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.low_level import FastMCPServerMiddleware

OVERCLAIM = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
ARGUMENTS = {"amount": "12.50", "currency": "eur"}
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer", "param": "amount"}, "status": 400}


@pytest.fixture(autouse=True)
def native(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's own spans, and those of MCP's, go to the provider of the test."""

    def tracer(name: str, version: str | None = None) -> Any:
        return telemetry.provider.get_tracer(name, version)

    monkeypatch.setattr("fastmcp.telemetry.otel_get_tracer", tracer)
    monkeypatch.setattr("mcp.shared._otel._tracer", tracer("mcp-python-sdk"))


def payments() -> Any:
    """A server with tools that end in all the ways."""
    server: Any = FastMCP("payments")

    @server.tool
    def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
        """Create a payment intent."""
        return REFUSED

    @server.tool
    async def delete_user(user: str) -> str:
        """Delete a user."""
        raise ToolError(f"no such user: {user}")

    @server.tool(annotations={"readOnlyHint": True})
    async def process_order(order: int) -> int:
        """Say what an order costs."""
        return order + 1

    return server


def mounted() -> Any:
    """The same behind another server, which puts a prefix before the names."""
    outer: Any = FastMCP("all")
    outer.mount(payments(), namespace="crm")
    return outer


def asked(work: Callable[[Any], Awaitable[Any]], server: Any, *, answer: str = OVERCLAIM) -> Any:
    """Do something with a client inside a run of an agent."""

    async def run() -> Any:
        with overclaim.run("payments") as opened:
            async with Client(server) as client:
                result = await work(client)
            opened.answer(answer)
        return result

    return asyncio.run(run())


@pytest.mark.parametrize(("make", "prefix"), [(payments, ""), (mounted, "crm_")])
def test_every_outcome_is_seen_once(telemetry: Telemetry, make: Callable[[], Any], prefix: str) -> None:
    """Each call counts once, though client, transport, server and mounted server make a span each."""

    async def work(client: Any) -> Any:
        for tool in ("delete_user", "no_such_tool"):
            with pytest.raises(ToolError):
                await client.call_tool(prefix + tool, {"user": "ann"})
        await client.call_tool(f"{prefix}process_order", {"order": 1})
        return await client.call_tool(f"{prefix}create_payment_intent", ARGUMENTS)

    result = asked(work, make())
    seen = frameworks.sent(telemetry.spans)
    assert result.data == REFUSED
    assert seen.calls == [
        (f"{prefix}delete_user", "failure"),
        (f"{prefix}no_such_tool", "failure"),
        (f"{prefix}process_order", "success"),
        (f"{prefix}create_payment_intent", "failure"),
    ]
    assert seen.verdicts == ["contradicted"]
    assert telemetry.one("invoke_agent payments").attributes["overclaim.run.calls"] == 4


def test_parallel_calls_keep_apart(telemetry: Telemetry) -> None:
    """Calls at the same time each get their own outcome."""

    async def work(client: Any) -> None:
        calls = [client.call_tool("process_order", {"order": order}) for order in range(3)]
        await asyncio.gather(*calls, client.call_tool("create_payment_intent", ARGUMENTS))

    asked(work, payments())
    calls = sorted(frameworks.sent(telemetry.spans).calls)
    assert calls == [("create_payment_intent", "failure"), *[("process_order", "success")] * 3]


def test_a_servers_span_says_what_its_tool_came_to(telemetry: Telemetry) -> None:
    """A soft failure is on the server's own span, whose status stays as the library set it."""
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), payments())
    spans = telemetry.named("tools/call create_payment_intent")
    (served,) = [span for span in spans if span.kind is SpanKind.SERVER]
    assert served.status.status_code is StatusCode.UNSET
    assert served.attributes["overclaim.observed.outcome"] == "failure"


def test_a_decorated_tool_stays_one_call(telemetry: Telemetry) -> None:
    """A server's tool may be one of ours."""
    server: Any = FastMCP("payments")
    server.tool(create_payment_intent)
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), server)
    assert frameworks.sent(telemetry.spans).calls == [("create_payment_intent", "failure")]


@overclaim.tool
def create_payment_intent(amount: str, currency: str) -> dict[str, Any]:
    """Create a payment intent."""
    return REFUSED


def test_without_spans_of_its_own_it_stays_one_call(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the program switched the library's spans off, ours take their place."""
    monkeypatch.setattr("fastmcp.settings.telemetry_mode", "off")
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), payments())
    seen = frameworks.sent(telemetry.spans)
    assert seen.calls == [("create_payment_intent", "failure")]
    assert seen.verdicts == ["contradicted"]


def test_beside_openinference_it_stays_one_call(telemetry: Telemetry) -> None:
    """With OpenInference for MCP, calls and outcomes are the same."""
    from openinference.instrumentation.mcp import MCPInstrumentor

    other: Any = MCPInstrumentor()
    other.instrument(tracer_provider=telemetry.provider)
    try:
        asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), payments())
    finally:
        other.uninstrument()
    assert frameworks.sent(telemetry.spans).calls == [("create_payment_intent", "failure")]


def test_no_content_leaves(telemetry: Telemetry) -> None:
    """Neither arguments nor results are on any span."""
    asked(lambda client: client.call_tool("create_payment_intent", ARGUMENTS), payments())
    written = [str(value) for span in telemetry.spans for value in (span.attributes or {}).values()]
    assert not [text for text in written if "12.50" in text or "invalid_request" in text]


def test_the_library_is_left_as_it_was() -> None:
    """After uninstrument() the server's middleware is its own again."""
    overclaim.uninstrument()
    before = vars(FastMCPServerMiddleware)["__call__"]
    overclaim.instrument(http_clients=False)
    assert vars(FastMCPServerMiddleware)["__call__"] is not before
    overclaim.uninstrument()
    assert vars(FastMCPServerMiddleware)["__call__"] is before


def test_a_fault_of_ours_is_nobodys_trouble(telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where our own hooks fail, client and server go on as if we were not there."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(ours, "tool_call", broken)
    result = asked(lambda client: client.call_tool("process_order", {"order": 1}), payments())
    assert result.data == 2


def test_it_is_switched_on() -> None:
    """The integration is in force once the library is imported."""
    (found,) = [one for one in integrations.status() if one.integration.name == "fastmcp"]
    assert (found.state, found.why) == ("on", "")


def test_the_example_overclaims() -> None:
    """The example as a user would run it."""
    seen = frameworks.example("fastmcp_agent")
    assert seen.verdicts == ["contradicted"]
    assert seen.calls == [("create_payment_intent", "failure")]
