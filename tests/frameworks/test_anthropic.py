"""Anthropic's client in a plain loop, and its tool runner: every pair of call and result is one call."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import json
from collections.abc import Callable
from importlib.util import find_spec
from inspect import signature
from typing import Any

import pytest

pytest.importorskip("anthropic")

from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool
from anthropic._base_client import AsyncAPIClient, SyncAPIClient
from anthropic.lib.tools import ToolError
from anthropic.lib.tools._beta_runner import BaseAsyncToolRunner, BaseSyncToolRunner
from recorded import Telemetry

import frameworks
import overclaim
from overclaim import _hooks
from overclaim.integrations import raw_clients

# What the client is built on, which was another one up to its version 1.
HTTP: Any = importlib.import_module("httpx2" if find_spec("httpx2") else "httpx")
REFUSED = {"error": {"type": "invalid_request_error", "code": "invalid_integer"}, "status": 400}
ACCEPTED = {"id": "pi_1", "amount": 1250, "status": "succeeded"}
BOAST = "I created the payment intent for 12.50 EUR. Endpoint confirmed working."
ASK = [("create_payment_intent", {"amount": "12.50"})]
SCHEMA = {"type": "object", "properties": {"amount": {"type": "string"}}}
TOOLS: list[Any] = [
    {"name": "create_payment_intent", "description": "Create a payment intent.", "input_schema": SCHEMA}
]
GIVEN: dict[str, Any] = {"model": "scripted", "max_tokens": 1000, "tools": TOOLS}
IDS = itertools.count()
Turn = str | list[tuple[str, dict[str, str]]]
Tool = Callable[..., Any]


class Server:
    """Plays the API: each request gets the next turn of a script, as an object or as a stream of events."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)

    def __call__(self, request: Any) -> Any:
        """Answer one request."""
        turn = self.turns.pop(0)
        uses = [] if isinstance(turn, str) else turn
        blocks: list[dict[str, Any]] = [{"type": "text", "text": turn}] if isinstance(turn, str) else []
        blocks += [{"type": "tool_use", "id": f"toolu_{next(IDS)}", "name": name, "input": one} for name, one in uses]
        reason = "end_turn" if isinstance(turn, str) else "tool_use"
        usage = {"input_tokens": 0, "output_tokens": 0}
        body = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "stop_sequence": None}
        body |= {"usage": usage}
        if json.loads(request.content).get("stream"):
            return _events(_pieces({**body, "content": [], "stop_reason": None}, blocks, reason))
        return HTTP.Response(200, json={**body, "content": blocks, "stop_reason": reason})


def _pieces(message: dict[str, Any], blocks: list[dict[str, Any]], reason: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        text = block.get("text") or json.dumps(block["input"])
        kind, field = ("text_delta", "text") if "text" in block else ("input_json_delta", "partial_json")
        empty = {**block, "text": ""} if "text" in block else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: part}}
            for part in (text[:5], text[5:])
        ]
        events.append({"type": "content_block_stop", "index": index})
    stopped = {"stop_reason": reason, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 1}})
    return [*events, {"type": "message_stop"}]


def _events(events: list[dict[str, Any]]) -> Any:
    text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return HTTP.Response(200, text=text, headers={"content-type": "text/event-stream"})


def client(server: Server, **more: Any) -> Anthropic:
    """A client of the server."""
    return Anthropic(api_key="none", http_client=HTTP.Client(transport=HTTP.MockTransport(server)), **more)


def async_client(server: Server, **more: Any) -> AsyncAnthropic:
    """An asynchronous client of the server."""
    transport = HTTP.MockTransport(server)
    return AsyncAnthropic(api_key="none", http_client=HTTP.AsyncClient(transport=transport), **more)


def refuse(**_: Any) -> Any:
    """A tool that is refused."""
    return REFUSED


def accept(**_: Any) -> Any:
    """A tool that works."""
    return ACCEPTED


def fail(**_: Any) -> Any:
    """A tool that raises."""
    raise RuntimeError("HTTP 400")


def begun() -> list[Any]:
    """The first message."""
    return [{"role": "user", "content": "Charge 12.50 EUR."}]


def handed_back(messages: list[Any], message: Any, tool: Tool) -> bool:
    """Whether the reply asked for calls; their results are handed back then, with the error mark where one raised."""
    messages.append({"role": "assistant", "content": message.content})
    results: list[dict[str, Any]] = []
    for use in message.content:
        if use.type != "tool_use":
            continue
        try:
            given, failed = json.dumps(tool(**use.input)), False
        except RuntimeError as error:
            given, failed = str(error), True
        blocks = [{"type": "text", "text": given}]
        results.append({"type": "tool_result", "tool_use_id": use.id, "content": blocks, "is_error": failed})
    if results:
        messages.append({"role": "user", "content": results})
    return bool(results)


def plain(server: Server, tool: Tool) -> str:
    """The loop as everybody writes it."""
    one, messages = client(server), begun()
    while True:
        message = one.messages.create(messages=messages, **GIVEN)
        if not handed_back(messages, message, tool):
            return message.content[0].text


def beta(server: Server, tool: Tool) -> str:
    """The loop over the beta endpoint."""
    one, messages = client(server), begun()
    while True:
        message = one.beta.messages.create(messages=messages, **GIVEN)
        if not handed_back(messages, message, tool):
            return message.content[0].text


def raw(server: Server, tool: Tool) -> str:
    """The loop over raw responses."""
    one, messages = client(server), begun()
    while True:
        message = one.messages.with_raw_response.create(messages=messages, **GIVEN).parse()
        if not handed_back(messages, message, tool):
            return message.content[0].text


def streamed(server: Server, tool: Tool) -> str:
    """The loop over a stream of events, put together by hand."""
    one, messages = client(server), begun()
    while True:
        text, uses = "", list[Any]()
        for event in one.messages.create(messages=messages, stream=True, **GIVEN):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                uses.append([event.content_block, ""])
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                uses[-1][1] += event.delta.partial_json
            elif event.type == "content_block_delta":
                text += event.delta.text
        if not uses:
            return text
        for use, given in uses:
            use.input = json.loads(given)
        message = type("Message", (), {"content": [use for use, _ in uses]})
        handed_back(messages, message, tool)


def helper(server: Server, tool: Tool) -> str:
    """The loop over the client's own helper for streams."""
    one, messages = client(server), begun()
    while True:
        with one.messages.stream(messages=messages, **GIVEN) as stream:
            message = stream.get_final_message()
        if not handed_back(messages, message, tool):
            return message.content[0].text


def awaited(server: Server, tool: Tool) -> str:
    """The asynchronous loop."""

    async def main() -> str:
        one, messages = async_client(server), begun()
        while True:
            message = await one.messages.create(messages=messages, **GIVEN)
            if not handed_back(messages, message, tool):
                return message.content[0].text

    return asyncio.run(main())


def streamed_async(server: Server, tool: Tool) -> str:
    """The asynchronous loop over the client's helper for streams."""

    async def main() -> str:
        one, messages = async_client(server), begun()
        while True:
            async with one.messages.stream(messages=messages, **GIVEN) as stream:
                message = await stream.get_final_message()
            if not handed_back(messages, message, tool):
                return message.content[0].text

    return asyncio.run(main())


LOOPS = (plain, beta, raw, streamed, helper, awaited, streamed_async)


def runner(server: Server, tool: Tool, **more: Any) -> str:
    """The tool runner."""
    given = {**GIVEN, "tools": [_declared(tool, beta_tool)]}
    return client(server, **more).beta.messages.tool_runner(messages=begun(), **given).until_done().content[0].text


def streaming_runner(server: Server, tool: Tool, **more: Any) -> str:
    """The tool runner over streams."""
    given = {**GIVEN, "tools": [_declared(tool, beta_tool)]}
    said = ""
    for stream in client(server, **more).beta.messages.tool_runner(messages=begun(), stream=True, **given):
        said = "".join(event.text for event in stream if event.type == "text")
    return said


def async_runner(server: Server, tool: Tool, **more: Any) -> str:
    """The asynchronous tool runner."""

    async def main() -> str:
        given = {**GIVEN, "tools": [_declared(tool, beta_async_tool)]}
        running = async_client(server, **more).beta.messages.tool_runner(messages=begun(), **given)
        return (await running.until_done()).content[0].text

    return asyncio.run(main())


def _declared(tool: Tool, declare: Any) -> Any:
    def create_payment_intent(amount: str) -> str:
        return json.dumps(tool(amount=amount))

    async def create_payment_intent_async(amount: str) -> str:
        return json.dumps(tool(amount=amount))

    function = create_payment_intent if declare is beta_tool else create_payment_intent_async
    return declare(function, name="create_payment_intent", description="Create a payment intent.", input_schema=SCHEMA)


RUNNERS = (runner, streaming_runner, async_runner)
NATIVE = "open_telemetry" in signature(Anthropic).parameters


def seen(telemetry: Telemetry) -> frameworks.Seen:
    """What a collector got."""
    return frameworks.sent(telemetry.spans)


OUTCOMES = [(refuse, "failure", "contradicted"), (accept, "success", "supported"), (fail, "failure", "contradicted")]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("tool", "outcome", "verdict"), OUTCOMES)
def test_a_loop_with_nothing_declared(
    telemetry: Telemetry, loop: Callable[[Server, Tool], str], tool: Tool, outcome: str, verdict: str
) -> None:
    """With no run and no decorator there is one run, with its calls and its answer, whatever way it is written."""
    assert loop(Server(ASK, BOAST), tool) == BOAST
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", outcome)]
    assert got.verdicts == [verdict]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("decorated", [True, False])
def test_within_a_run_of_the_program(
    telemetry: Telemetry, loop: Callable[[Server, Tool], str], decorated: bool
) -> None:
    """The calls belong to the run that is open, once, whether a decorator saw them too or not."""
    tool = overclaim.tool(name="create_payment_intent")(refuse) if decorated else refuse
    with overclaim.run("payments"):
        loop(Server(ASK, ASK, BOAST), tool)
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")] * 2
    assert got.verdicts == ["contradicted"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_decorated_tool_without_a_run(telemetry: Telemetry, loop: Callable[[Server, Tool], str]) -> None:
    """What a decorator saw is part of the conversation's run, and not counted again."""
    loop(Server(ASK, ASK, BOAST), overclaim.tool(name="create_payment_intent")(refuse))
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")] * 2
    assert got.verdicts == ["contradicted"]


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize(("tool", "outcome", "verdict"), OUTCOMES)
@pytest.mark.parametrize("native", [True, False])
def test_the_tool_runner(
    telemetry: Telemetry, run: Callable[..., str], tool: Tool, outcome: str, verdict: str, native: bool
) -> None:
    """The tool runner's calls and answer, with its own spans, which get the outcome, and without them."""
    more = {"open_telemetry": {"tracer_provider": telemetry.provider} if native else {"traces": False}}
    if not NATIVE:
        more, native = {}, False
    said = "I created the payment intent for 12.50 EUR."
    assert run(Server(ASK, said), tool, **more) == said
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", outcome)]
    assert got.verdicts == [verdict]
    spans = [one for one in telemetry.spans if (one.attributes or {}).get("gen_ai.operation.name") == "execute_tool"]
    assert [one.name.split()[0] for one in spans] == ["anthropic.custom_tool_use" if native else "execute_tool"]


@pytest.mark.parametrize("run", RUNNERS)
def test_the_tool_runner_within_a_run(telemetry: Telemetry, run: Callable[..., str]) -> None:
    """A runner inside a run of the program's is part of it, and says its answer where the program says none."""
    with overclaim.run("payments"):
        run(Server(ASK, BOAST), overclaim.tool(name="create_payment_intent")(refuse))
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")]
    assert got.verdicts == ["contradicted"]


def test_an_error_that_a_tool_reports(telemetry: Telemetry) -> None:
    """A `ToolError` is a failure."""

    def report(**_: Any) -> Any:
        raise ToolError("the amount must be an integer")

    runner(Server(ASK, BOAST), report)
    assert seen(telemetry).calls == [("create_payment_intent", "failure")]


INSTRUMENTORS = (
    "openinference.instrumentation.anthropic",
    "opentelemetry.instrumentation.anthropic",
    "opentelemetry.instrumentation.genai.anthropic",
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # those of other instrumentors
@pytest.mark.parametrize("module", INSTRUMENTORS)
@pytest.mark.parametrize("loop", [plain, helper, awaited, runner])
def test_with_other_instrumentors(telemetry: Telemetry, module: str, loop: Callable[[Server, Tool], str]) -> None:
    """With the spans of other instrumentors around each request a call stays one call."""
    instrumentor = pytest.importorskip(module).AnthropicInstrumentor()
    instrumentor.instrument(tracer_provider=telemetry.provider)
    try:
        assert loop(Server(ASK, BOAST), refuse) == BOAST
    finally:
        instrumentor.uninstrument()
    got = seen(telemetry)
    assert got.calls == [("create_payment_intent", "failure")]
    assert "contradicted" in got.verdicts


def test_switching_off_restores_the_library(telemetry: Telemetry) -> None:
    """What was patched is what it was."""
    places = [(owner, "request") for owner in (SyncAPIClient, AsyncAPIClient)]
    names = ("__run__", "_run_tool", "_run_toolset_member") if NATIVE else ()
    places += [(owner, name) for owner in (BaseSyncToolRunner, BaseAsyncToolRunner) for name in names]
    ours = [vars(owner)[name] for owner, name in places]
    overclaim.uninstrument()
    before = [vars(owner)[name] for owner, name in places]
    assert all(one is not other for one, other in zip(ours, before, strict=True))
    overclaim.instrument(tracer_provider=telemetry.provider)
    overclaim.uninstrument()
    assert [vars(owner)[name] for owner, name in places] == before


@pytest.mark.parametrize("loop", [*LOOPS, *RUNNERS])
@pytest.mark.parametrize("fault", ["requested", "replied", "tool_call", "agent_run"])
def test_a_fault_of_ours_leaves_the_loop_alone(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, loop: Callable[[Server, Tool], str], fault: str
) -> None:
    """Hooks that fail change nothing for the program."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(raw_clients if hasattr(raw_clients, fault) else _hooks, fault, broken)
    assert loop(Server(ASK, BOAST), refuse) == BOAST


@pytest.mark.skipif(HTTP.__name__ == "httpx", reason="the example is for later versions")
def test_the_example() -> None:
    """The example's agent is found out."""
    got = frameworks.example("anthropic_agent")
    assert got.verdicts == ["contradicted"]
    assert got.calls == [("create_payment_intent", "failure")]
